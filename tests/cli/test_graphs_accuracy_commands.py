"""`gradfuzz graphs` and `gradfuzz accuracy` from the outside."""

import json
import subprocess
import sys


def gradfuzz(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", "gradfuzz", *map(str, arguments)], cwd=cwd, capture_output=True, text=True)


def test_graphs_say_how_many_ran_and_store_what_they_found(tmp_path):
    done = gradfuzz("graphs", "torch", "--count", 60, "--size", 8, "--order", 1, "--workers", 1, cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr + done.stdout
    assert "60 of 60 graphs" in done.stdout and "% valid" in done.stdout
    assert gradfuzz("findings", cwd=tmp_path).returncode == 0
    resumed = gradfuzz("run", "torch", "--resume", "--mutants", 1, "--workers", 1, cwd=tmp_path)
    assert resumed.returncode == 2 and "gradfuzz graphs" in resumed.stderr


def test_accuracy_says_how_many_digits_are_lost_and_draws_it(tmp_path):
    done = gradfuzz("accuracy", "torch", "--op", "erfcx", "--op", "rsqrt", "--points", 5, "--out", "page", "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr + done.stdout
    found = json.loads(done.stdout)
    assert {f["function"] for f in found} == {"torch.special.erfcx(x)"}
    assert all(f["digits_lost"] > 7 and f["from"] <= abs(f["worst_at"]) <= f["to"] for f in found)
    assert (tmp_path / "page" / "erfcx.png").read_bytes().startswith(b"\x89PNG") and not (tmp_path / "page" / "rsqrt.png").exists()


def test_a_form_that_does_not_exist_is_one_line_and_status_2(tmp_path):
    done = gradfuzz("accuracy", "torch", "--op", "nonsense", cwd=tmp_path)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "erfcx" in done.stderr

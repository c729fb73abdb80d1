"""The command line, end to end: a target that came by its entry point is like any other."""

import json
import subprocess
import sys

PROGRAM = 'x = tensor((3,), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_mlx.{}(x)\n'


def test_the_target_is_listed_with_its_scenarios(gradfuzz):
    (row,) = [line for line in gradfuzz("targets").stdout.splitlines() if line.startswith("mlx")]
    assert "not here" not in row


def test_a_campaign_finds_the_planted_bug_and_its_script_proves_it(gradfuzz, tmp_path):
    done = gradfuzz("run", "mlx", "--module", "planted_mlx", "--api", "planted_mlx.*", "--order", 1, "--mutants", 60, "--workers", 1)
    assert done.returncode == 1, done.stderr + done.stdout
    findings = json.loads(gradfuzz("findings", "--json").stdout)
    found = {f["api"]: f for f in findings}
    assert "planted_mlx.wrong_reverse" in found and "planted_mlx.healthy" not in found
    finding = found["planted_mlx.wrong_reverse"]
    assert finding["confirmed"] and finding["kind"] == "gradient" and finding["scenarios"] == ["reverse"]
    assert "wrong gradient" in gradfuzz("show", finding["id"]).stdout
    (tmp_path / "bug.py").write_text(gradfuzz("repro", finding["id"]).stdout)
    script = subprocess.run([sys.executable, "bug.py"], cwd=tmp_path, capture_output=True, text=True)
    assert script.returncode == 1 and script.stdout.splitlines()[-1] == "BUG", script.stderr
    healed = (tmp_path / "bug.py").read_text().replace("wrong_reverse", "healthy")
    assert subprocess.run([sys.executable, "-c", healed], cwd=tmp_path).returncode == 0
    assert gradfuzz("report", "--out", "page").returncode == 0
    assert "mlx.core.tanh" not in gradfuzz("coverage").stderr


def test_check_tells_a_wrong_program_from_a_right_one(gradfuzz, tmp_path):
    for name, status in (("healthy", 0), ("wrong_reverse", 1)):
        (tmp_path / "program.py").write_text(PROGRAM.format(name))
        done = gradfuzz("check", "program.py", "--target", "mlx", "--module", "planted_mlx", "--order", 1)
        assert done.returncode == status, done.stderr + done.stdout


def test_random_graphs_chains_and_closed_forms_work_too(gradfuzz):
    graphs = gradfuzz("graphs", "mlx", "--count", 20, "--size", 6, "--order", 1, "--workers", 1)
    assert graphs.returncode in (0, 1) and "20 of 20 graphs" in graphs.stdout, graphs.stderr
    chains = gradfuzz("chain", "mlx", "--op", "tanh", "--op", "square", "--depth", 2, "--workers", 1)
    assert chains.returncode in (0, 1), chains.stderr
    lost = gradfuzz("accuracy", "mlx", "--op", "rsqrt", "--points", 3)
    assert lost.returncode in (0, 1), lost.stderr

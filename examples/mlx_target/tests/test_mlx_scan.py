"""`gradfuzz scan`: what is under `mx.custom_function` is found, heard and fuzzed; the wrong one is a finding, its healthy twin is not."""

PACKAGE = """
import mlx.core as mx


@mx.custom_function
def healthy(x):
    return x * x * x


@healthy.vjp
def _(primals, cotangent, output):
    return cotangent * 3 * primals * primals


@mx.custom_function
def wrong(x):
    return x * x * x


@wrong.vjp
def _(primals, cotangent, output):
    return cotangent * 2 * primals * primals
"""
USE = "import mlx.core as mx, scanned_mlx\n\nscanned_mlx.wrong(mx.ones((2, 3)))\nscanned_mlx.healthy(mx.ones((3,)))\n"


def test_a_wrong_rule_is_a_finding_and_its_healthy_twin_is_not(gradfuzz, tmp_path):
    (tmp_path / "scanned_mlx.py").write_text(PACKAGE)
    (tmp_path / "use.py").write_text(USE)
    done = gradfuzz("scan", "scanned_mlx", "--time", "20s", "--workers", 1, "--order", 1, "--", "python", "use.py")
    text = " ".join(done.stdout.split())
    assert done.returncode == 1, done.stderr + done.stdout
    assert "mlx: 2 hand-written derivatives in scanned_mlx, 2 of which can be called" in text
    assert "scanned_mlx.wrong: wrong gradient in reverse" in text
    assert "scanned_mlx.healthy: nothing found" in text

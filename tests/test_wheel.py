"""The wheel has all its files: installed where there is nothing else of gradfuzz, it runs a campaign."""

import os
import site
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "gradfuzz"
PROGRAM = 'x = tensor((4,), "float64", uniform(0.5, 2.0, seed=1))\ny = torch.sinc(x)\n'


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy so that nothing is left in the tree."""
    folder = tmp_path_factory.mktemp("wheel")
    build = (
        "import shutil, sys; from setuptools import build_meta\n"
        "print(build_meta.build_wheel(sys.argv[1]))"
    )  # fmt: skip
    copy = folder / "copy"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (copy / name).write_bytes((ROOT / name).read_bytes())
    for path in SOURCE.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            to = copy / "src" / "gradfuzz" / path.relative_to(SOURCE)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
    done = subprocess.run([sys.executable, "-c", build, str(folder)], cwd=copy, capture_output=True, text=True)
    if "No module named 'setuptools'" in done.stderr:
        pytest.skip("setuptools is not installed, and nothing is downloaded here")
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


def test_the_wheel_has_every_file_of_the_package(wheel):
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("gradfuzz/")}
    files = {p for p in SOURCE.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert packed == {f"gradfuzz/{p.relative_to(SOURCE).as_posix()}" for p in files}


def test_a_campaign_runs_from_the_installed_wheel(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "venv")}))
    zipfile.ZipFile(wheel).extractall(packages)  # which is what installing a wheel without scripts is
    # The dependencies are those of this environment; its own gradfuzz comes later on the path, and the check below says whose was used.
    here = [p for p in {*site.getsitepackages(), sysconfig.get_path("purelib")} if Path(p).is_dir()]
    (packages / "dependencies.pth").write_text("\n".join(here) + "\n")
    (tmp_path / "seeds.py").write_text(PROGRAM)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def run(*command):
        return subprocess.run([python, *map(str, command)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)

    where = run("-c", "import gradfuzz; print(gradfuzz.__file__)").stdout.strip()
    assert Path(where).parent == packages / "gradfuzz"
    done = run("-m", "gradfuzz", "run", "torch", "--seeds", "seeds.py", "--mutants", 30, "--order", 1, "--workers", 1)
    assert done.returncode in (0, 1) and "30 of 30 mutants" in done.stdout, done.stdout + done.stderr
    assert run("-m", "gradfuzz", "report", "--out", "page").returncode == 0 and (tmp_path / "page" / "index.html").exists()

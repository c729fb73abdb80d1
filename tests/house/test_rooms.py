"""The house itself: libraries live in their folders, targets are found by looking, and nobody else knows their names."""

import io
import re
import tokenize
from pathlib import Path

import pytest
import tomllib

import gradfuzz
from gradfuzz.targets import homes as homes_module
from gradfuzz.targets.homes import home_of, homes, known_targets

SOURCE = Path(gradfuzz.__file__).parent
ROOT = Path(__file__).parent.parent.parent
# Names of libraries, known to us or not yet, their aliases, and what only one of them has.
LIBRARIES = {home.about["module"] for home in homes().values()} | {home.title for home in homes().values()}
LIBRARIES |= {"jnp", "tf", "keras", "Keras", "functorch", "aten", "oneflow", "OneFlow", "paddle", "PaddlePaddle", "mlx", "MLX"}
WORD = re.compile(rf"\b({'|'.join(sorted(map(re.escape, LIBRARIES)))})\b")


def outside_targets():
    """Files outside the targets' own folders."""
    own = {home.folder for home in homes().values()}
    files = [f for f in SOURCE.rglob("*") if f.suffix in (".py", ".json", ".j2", ".sql", ".txt") and f.is_file()]
    return [f for f in files if not any(folder in f.parents for folder in own)]


def spoken(file):
    """What a file says of libraries; in the command line, help texts may."""
    text = file.read_text(encoding="utf-8")
    if "cli" not in file.relative_to(SOURCE).parts:
        return WORD.findall(text)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [t.string for t in tokens if t.type == tokenize.NAME and WORD.fullmatch(t.string)]


def test_no_module_outside_the_targets_folders_names_a_library():
    found = {str(f.relative_to(SOURCE)): spoken(f) for f in outside_targets()}
    assert len(found) > 100  # it did look
    assert {name: words for name, words in found.items() if words} == {}


def test_the_search_would_find_a_name(tmp_path):
    assert WORD.findall("import torch; jnp.sin") == ["torch", "jnp"] and not WORD.findall("torchlight")


def test_targets_are_the_folders_with_an_about_file():
    beside = {p.parent.name for p in (SOURCE / "targets").glob("*/about.json")}
    assert beside <= set(homes()) and {"torch", "jax", "tensorflow"} <= set(known_targets())
    assert "autograd" in homes() and "autograd" not in known_targets()


@pytest.mark.parametrize("name", known_targets())
def test_a_target_s_folder_holds_all_that_is_known_about_it(name):
    home = home_of(name)
    assert {"title", "module", "target", "functions"} <= set(home.about)
    for file in ("language", "refusals", "labels", "dialect", "spelling"):
        assert home.data(file), file
    assert (home.folder / "script.py.j2").exists()
    assert all(row["reason"] for row in home.data("refusals")["refusals"])


def test_every_target_has_its_import_contracts():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    beside = {f"gradfuzz.targets.{p.parent.name}" for p in (SOURCE / "targets").glob("*/about.json")}
    independent = next(c for c in contracts if c["type"] == "independence")
    outside = next(c for c in contracts if c["name"].startswith("Nobody outside"))
    assert set(independent["modules"]) == beside <= set(outside["forbidden_modules"])


def test_every_room_is_in_a_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layered = {room for c in contracts if c["type"] == "layers" for layer in c["layers"] for room in layer.replace(" ", "").split("|")}
    rooms = {f"gradfuzz.{p.parent.name}" for p in SOURCE.glob("*/__init__.py")}
    assert rooms <= layered


def test_a_package_from_elsewhere_brings_a_target(tmp_path, monkeypatch):
    package = tmp_path / "its_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('looking must not import')\n")
    (package / "about.json").write_text('{"title": "Elsewhere", "module": "elsewhere", "target": "target:Target"}')
    (package / "language.json").write_text('{"aliases": {}, "namespaces": ["elsewhere"]}')
    info = tmp_path / "its_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: its-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gradfuzz.targets]\nelsewhere = its_package\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    homes_module.homes.cache_clear()
    try:
        found = home_of("elsewhere")
        assert (found.title, found.package, found.folder) == ("Elsewhere", "its_package", package)
        assert found.language().refusal("elsewhere.sin") is None and found.language().refusal("elsewhere.load")
    finally:
        homes_module.homes.cache_clear()


def test_a_sort_of_edits_is_found_by_looking():
    from gradfuzz.mutate.edits import SORTS

    files = {p.stem for p in (SOURCE / "mutate" / "sorts").glob("*.py")} - {"__init__"}
    assert files == {sort.draw.__module__.rsplit(".", 1)[-1] for sort in SORTS} and len(files) > 4


def test_a_format_is_found_by_looking():
    from gradfuzz.report.formats import formats

    assert {form: write.__module__ for form, write in formats().items()} == {form: f"gradfuzz.report.{form}" for form in formats()}
    assert {"html", "png", "csv", "junit", "sarif", "json", "markdown"} == set(formats())

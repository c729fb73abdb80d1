"""The pytest plugin: fixture, marker, options, saved examples, reproducers; also under xdist and beside Hypothesis' database."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

HERE = Path(__file__).parent
# Loaded by name where the installed package does not announce it yet.
ANNOUNCED = any(point.value == "gradfuzz.testing.plugin" for point in entry_points(group="pytest11"))
PLUGIN = [] if ANNOUNCED else ["-p", "gradfuzz.testing.plugin"]

WRONG = """
import numpy as np
from gradfuzz.testing import strategies as gf
from tiny import Forgetful, Value, adapter, cube

CALLS = []

def counted(x):
    CALLS.append(x)
    return cube(x)

def test_wrong(gradfuzz):
    try:
        gradfuzz.fuzz(counted, gf.arrays(gf.shapes(min_dims=1)), library=adapter(Forgetful))
    finally:
        print("calls:", len(CALLS))

def test_right(gradfuzz):
    print("draws:", gradfuzz.fuzz(cube, "float64[2]", library=adapter(Value)))
"""


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ":".join([str(HERE), *sys.path]))
    return lambda *arguments: pytester.runpytest_subprocess(*PLUGIN, *arguments)


def number(result, label):
    return int(re.search(rf"{label}: (-?\d+)", result.stdout.str())[1])


def test_a_failure_is_shrunk_printed_as_a_reproducer_saved_and_replayed_first(pytester, run):
    pytester.makepyfile(WRONG)
    first = run("-k", "wrong")
    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(
        [
            "*GradientMismatch: the first derivative of counted is wrong (tiny; inputs x float64[[]1[]])",
            "*gradfuzz reproducer*",
            "from *_printed_as_a_reproducer_* import counted",
            "x = np.array([[]*[]])",
            "gradfuzz.check_gradients(counted, x, library=adapter)",
        ]
    )
    saved = list((pytester.path / ".pytest_cache" / "d" / "gradfuzz").glob("*.json"))
    assert len(saved) == 1
    assert json.loads(saved[0].read_text())["inputs"][0]["shape"] == [1]
    second = run("-k", "wrong")
    second.assert_outcomes(failed=1)
    assert number(second, "calls") < number(first, "calls") / 2


def test_what_is_mended_is_forgotten(pytester, run):
    pytester.makepyfile(WRONG)
    run("-k", "wrong").assert_outcomes(failed=1)
    pytester.makepyfile(WRONG.replace("adapter(Forgetful)", "adapter(Value)"))
    run("-k", "wrong").assert_outcomes(passed=1)
    assert not list((pytester.path / ".pytest_cache" / "d" / "gradfuzz").glob("*.json"))


def test_the_budget_comes_from_the_option_the_marker_or_the_default(pytester, run):
    marked = WRONG.replace("def test_right", "import pytest\n@pytest.mark.gradfuzz(budget=7)\ndef test_right")
    pytester.makepyfile(marked)
    assert number(run("-s", "-k", "right"), "draws") == 7
    assert number(run("-s", "-k", "right", "--gradfuzz-budget", "4"), "draws") == 4
    pytester.makepyfile(WRONG)
    assert number(run("-s", "-k", "right"), "draws") == 100


def test_the_marker_gives_options_and_is_known(pytester, run):
    pytester.makepyfile(
        """
        import numpy as np, pytest
        from tiny import Forgetful, adapter, cube

        @pytest.mark.gradfuzz(library=adapter(Forgetful))
        def test_marked(gradfuzz):
            gradfuzz.check(cube, np.array([1.0, 2.0]))
        """
    )
    result = run("--strict-markers")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*gradfuzz reproducer*"])


def test_the_seed_decides_the_draws(pytester, run):
    pytester.makepyfile(
        """
        from gradfuzz.testing import strategies as gf
        from tiny import Value, adapter, cube

        def test_seen(gradfuzz):
            seen = []
            gradfuzz.fuzz(lambda x: (seen.append(x.ravel()[0].data), cube(x))[1], gf.arrays((1,)), library=adapter(Value))
            print("sum:", hash(tuple(seen)))
        """
    )
    draws = [number(run("-s", "--gradfuzz-seed", seed), "sum") for seed in ("1", "1", "2")]
    assert draws[0] == draws[1] != draws[2]


def test_under_xdist(pytester, run):
    pytest.importorskip("xdist")
    pytester.makepyfile(WRONG)
    result = run("-n", "1")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*gradfuzz reproducer*", "gradfuzz.check_gradients(counted, x, library=adapter)"])
    assert list((pytester.path / ".pytest_cache" / "d" / "gradfuzz").glob("*.json"))


def test_beside_hypothesis_own_database(pytester, run):
    pytester.makepyfile(
        """
        from hypothesis import given, settings
        from hypothesis.database import DirectoryBasedExampleDatabase
        import gradfuzz
        from gradfuzz.testing import strategies as gf
        from tiny import Forgetful, adapter, cube

        CALLS = []

        @settings(database=DirectoryBasedExampleDatabase("examples"), deadline=None)
        @given(gf.arrays(gf.shapes(min_dims=1)))
        def property_of_cube(x):
            CALLS.append(x)
            gradfuzz.check_gradients(cube, x, library=adapter(Forgetful), shrink=False)

        def test_property():
            try:
                property_of_cube()
            finally:
                print("calls:", len(CALLS))
        """
    )
    first, second = run(), run()
    first.assert_outcomes(failed=1)
    second.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(["*property_of_cube(*", "*gradfuzz reproducer*"])
    assert (pytester.path / "examples").is_dir()
    assert number(second, "calls") < number(first, "calls")


def test_the_plugin_costs_nothing_until_it_is_used(pytester, run):
    pytester.makepyfile(
        "def test_light():\n    import sys\n    assert not {'numpy', 'torch', 'gradfuzz.testing.check'} & set(sys.modules)\n"
    )
    run("-p", "no:hypothesispytest").assert_outcomes(passed=1)


PROPERTIES = """
import pytest
import warnings
from tiny import Value, adapter, cube

@pytest.mark.gradfuzz(budget="0.2s")
def test_timed(gradfuzz):
    assert gradfuzz.fuzz(cube, "float64[2]", library=adapter(Value)) >= 20

def test_checked(gradfuzz):
    gradfuzz.check(cube, __import__("numpy").ones(2), library=adapter(Value))

@pytest.mark.xfail(reason="known for long", strict=True)
def test_known(gradfuzz):
    from tiny import Forgetful
    gradfuzz.check(cube, __import__("numpy").ones(2), library=adapter(Forgetful))
"""


def test_budgets_in_seconds_junit_properties_and_reasons_of_expected_failures(pytester, run):
    pytester.makepyfile(PROPERTIES)
    result = run("--junitxml=report.xml", "-W", "error", "-rx")
    result.assert_outcomes(passed=2, xfailed=1)
    assert "known for long" in result.stdout.str()
    text = (pytester.path / "report.xml").read_text()
    assert 'name="gradfuzz.cube.verdict" value="agree"' in text
    assert 'name="gradfuzz.cube.evaluations"' in text


UNDER_XDIST = (
    PROPERTIES
    + """

def test_a_module(gradfuzz):
    gradfuzz.check_module("tiny", inputs={"cube": [__import__("numpy").ones(2)]}, library=adapter(Value))

def test_a_module_with_a_wrong_function(gradfuzz):
    from gradfuzz.testing import ModuleMismatch
    from tiny import Forgetful
    with pytest.raises(ModuleMismatch):
        gradfuzz.check_module("tiny", inputs={"cube": [__import__("numpy").ones(3)]}, library=adapter(Forgetful))

from hypothesis import given, settings
from gradfuzz import check_gradients
from gradfuzz.testing import strategies as gf

@settings(deadline=10_000, max_examples=20)  # a check of twelve evaluations is far from it
@given(gf.arrays((2,)))
def test_a_property(x):
    check_gradients(cube, x, library=adapter(Value))
"""
)


def test_tables_properties_and_deadlines_under_xdist_where_warnings_are_errors(pytester, run):
    pytest.importorskip("xdist")
    pytester.makepyfile(UNDER_XDIST)
    result = run("-n", "2", "--junitxml=report.xml", "-W", "error", "-W", "default::gradfuzz.testing.check.InconclusiveWarning", "-rxP")
    result.assert_outcomes(passed=5, xfailed=1)
    assert "known for long" in result.stdout.str()
    result.stdout.fnmatch_lines(["tiny: 1 functions, 0 wrong", "*cube*right*evaluations*"])
    text = (pytester.path / "report.xml").read_text()
    assert 'name="gradfuzz.cube.verdict" value="agree"' in text
    assert 'name="gradfuzz.cube.evaluations"' in text
    assert 'name="gradfuzz.cube.verdict" value="WRONG: ' in text

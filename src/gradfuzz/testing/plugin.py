"""The pytest plugin: a `gradfuzz` fixture, a `gradfuzz` marker, and failures printed as reproducers.

It is loaded in every pytest run of an environment that has gradfuzz, so it imports nothing before it is used.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gradfuzz.testing.fixture import Fuzzer

DEFAULT_BUDGET = 100
MARKER = "gradfuzz(budget=…, seed=…, order=…, modes=…, library=…): settings of the gradfuzz fixture for this test"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gradfuzz", "wrong gradients")
    group.addoption(
        "--gradfuzz-budget", default=None, metavar="N",
        help=f"draws that gradfuzz.fuzz makes in each test, or a time as in 20s (by default {DEFAULT_BUDGET}, or what the marker says)",
    )  # fmt: skip
    group.addoption("--gradfuzz-seed", type=int, default=None, metavar="N", help="where gradfuzz's chance starts (by default 0)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def gradfuzz(request: pytest.FixtureRequest) -> Fuzzer:
    """Checks and fuzzes gradients: `gradfuzz.check(f, *inputs)`, `gradfuzz.fuzz(f, *strategies)`."""
    from gradfuzz.testing.fixture import Fuzzer

    marker = request.node.get_closest_marker("gradfuzz")
    options: dict[str, Any] = dict(marker.kwargs) if marker else {}
    budget, seed = options.pop("budget", DEFAULT_BUDGET), options.pop("seed", 0)
    given_budget, given_seed = request.config.getoption("--gradfuzz-budget"), request.config.getoption("--gradfuzz-seed")
    return Fuzzer(
        request.node.nodeid,
        budget if given_budget is None else given_budget,
        seed if given_seed is None else given_seed,
        options,
        _folder(request.config),
        lambda name, value: request.node.user_properties.append((name, value)),
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    report = yield
    script = getattr(call.excinfo.value, "reproducer", None) if call.excinfo is not None else None
    if isinstance(script, str):
        report.sections.append(("gradfuzz reproducer", script))
    return report


def _folder(config: pytest.Config) -> Path | None:
    """Where failing examples stay between runs: pytest's own cache; nowhere if that is switched off."""
    cache = getattr(config, "cache", None)
    return None if cache is None else Path(cache.mkdir("gradfuzz"))

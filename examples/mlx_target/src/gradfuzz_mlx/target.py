"""MLX as a target."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

import mlx.core as mx
import mlx.nn  # noqa: F401  (a namespace that Programs may call)

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import Program
from gradfuzz.targets.base.plans import Plans
from gradfuzz.targets.base.protocol import Overload, Refusal, SeedProgram, Trying, anything
from gradfuzz.targets.base.refusals import Refusals
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.base.ways import declared
from gradfuzz.targets.homes import Home
from gradfuzz_mlx.bounds import BoundedCompiler
from gradfuzz_mlx.graph import Graph
from gradfuzz_mlx.parameters import overloads
from gradfuzz_mlx.point import MlxPoint
from gradfuzz_mlx.ways import WAYS

MOST_GRAPHS = 4096
# Memory that MLX keeps for itself after use: a worker's may grow by a few gigabytes alone.
MOST_KEPT = 2**28


class MlxTarget:
    """The installed MLX on the CPU, where it has double precision.

    It can be forked for as long as nothing was computed: the first computation starts a thread, which a forked worker has not.
    """

    family = 1
    patience = 3.0  # a compiled kernel is built by a C++ compiler, most of a second each
    steady_rules = True

    def __init__(self, home: Home, modules: tuple[str, ...] = ()) -> None:
        self.name = home.name
        self.version = version("mlx")
        self.language = home.language(modules)
        self.compiler = BoundedCompiler(self.language)
        self.graphs: Plans[Graph] = Plans(MOST_GRAPHS)
        self._overloads: dict[str, list[Overload]] = {}
        self.ways = declared(home.data("ways"), WAYS)
        self._refusals = Refusals(home.data("refusals"))
        mx.set_default_device(mx.cpu)
        mx.set_cache_limit(MOST_KEPT)
        warnings.filterwarnings("ignore")

    def point(self, program: Program, arrays: list[Any] | None = None) -> MlxPoint:
        return MlxPoint(program, self.compiler, self.graphs, arrays)

    def bare(self, program: Program, scenario: Scenario) -> str:
        return self.point(program).bare(scenario)

    def classify(self, error: BaseException) -> Refusal:
        return self._refusals.classify(error)

    def forget(self) -> None:
        self.compiler.forget()
        self.graphs.forget()

    def seeds(self, trying: Trying = anything) -> Iterable[SeedProgram]:
        from gradfuzz_mlx.seeds import library_seeds

        return library_seeds(self, trying)

    def probe(self, api: str, overload: Overload) -> Iterable[SeedProgram]:
        from gradfuzz_mlx.seeds import probe

        return probe(self, api, overload)

    def parameters(self, func: str) -> list[Overload]:
        if func not in self._overloads:
            try:
                found = getattr(mx.array, func[1:], None) if func[0] == "." else self.compiler.resolve(func) if "." in func else None
            except ProgramError:
                found = None
            self._overloads[func] = [] if found is None else overloads(found)
        return self._overloads[func]

    def prepare(self, ways: Sequence[str]) -> None:
        pass  # nothing that bears a fork is worth it

    def rules(self) -> dict[str, str]:
        return {}  # MLX keeps no table of its rules

    def smoke_test(self) -> str:
        return 'x = tensor((2,), "float64", uniform(0.5, 1.0, seed=1))\ny = mlx.core.tanh(x)\n'

    def restore_defaults(self) -> None:
        """Scripts set what they need themselves."""

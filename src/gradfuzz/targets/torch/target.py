"""PyTorch as a target."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import torch
import torch.autograd.forward_ad as fwd

from gradfuzz.program.model import Program
from gradfuzz.targets.base.evaluate import Compiler
from gradfuzz.targets.base.protocol import Overload, Point, Refusal, SeedProgram, Trying, anything
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.base.ways import declared
from gradfuzz.targets.homes import Home
from gradfuzz.targets.torch import compile, decompose, tape
from gradfuzz.targets.torch.bare import bare
from gradfuzz.targets.torch.inferring import inferred
from gradfuzz.targets.torch.modules import is_module_class
from gradfuzz.targets.torch.parameters import overloads
from gradfuzz.targets.torch.point import TorchPoint
from gradfuzz.targets.torch.refusals import TorchRefusals
from gradfuzz.targets.torch.transforms import functional
from gradfuzz.targets.torch.ways import COMPILED, WAYS


class TorchTarget:
    """The installed PyTorch, single-threaded, warnings off."""

    family = 1
    patience = 1.0
    steady_rules = True

    def __init__(self, home: Home, modules: tuple[str, ...] = ()) -> None:
        self.name = home.name
        self.version = str(torch.__version__).split("+")[0]
        self.language = home.language(modules)
        self.compiler = Compiler(self.language, is_module_class)
        self.ways = declared(home.data("ways"), [name for name in WAYS if hasattr(torch, "compile") or name not in COMPILED])
        self._refusals = TorchRefusals(home.data("refusals"))
        torch.set_num_threads(1)
        warnings.filterwarnings("ignore")
        with fwd.dual_level():  # brings the formulas that forward mode looks up; what is below it (derivatives.py) does not
            fwd.make_dual(torch.ones(1), torch.ones(1))

    def point(self, program: Program, arrays: list[Any] | None = None) -> Point:
        return TorchPoint(program, self.compiler, arrays)

    def bare(self, program: Program, scenario: Scenario) -> str:
        return bare(TorchPoint(program, self.compiler), scenario)

    def inferred(self, program: Program) -> list[tuple[int, ...]]:
        return inferred(TorchPoint(program, self.compiler))

    def classify(self, error: BaseException) -> Refusal:
        return self._refusals.classify(error)

    def seeds(self, trying: Trying = anything) -> Iterable[SeedProgram]:
        from gradfuzz.targets.torch.seeds import library_seeds

        return library_seeds(self, trying)

    def probe(self, api: str, overload: Overload) -> Iterable[SeedProgram]:
        from gradfuzz.targets.torch.seeds import form_of, probed

        return probed(self, api, form_of(api, self), [overload])

    def parameters(self, func: str) -> list[Overload]:
        return overloads(f"torch.Tensor{func}" if func[0] == "." else func, self.language) if "." in func else []

    def forget(self) -> None:
        """What batches before this one taught does not count: each answers for itself."""
        tape.forget()
        compile.KEPT.forget()
        self.compiler.forget()

    def prepare(self, ways: Sequence[str]) -> None:
        compile.prepare(ways)

    def warm_up(self) -> None:
        """Nested forward mode imports PyTorch's compiler, which takes longer than PyTorch itself. No backward pass: its engine does not
        survive a fork."""
        x = torch.ones(2, dtype=torch.float64)
        if functional is not None:
            functional.jvp(lambda y: functional.jvp(torch.sin, (y,), (x,))[1], (x,), (x,))
            functional.vjp(torch.sin, x)
        if torch.version.cuda is None:  # builds for CUDA bring compilers along whose libraries do not survive a fork
            decompose.table()

    def rules(self) -> dict[str, str]:
        from gradfuzz.targets.torch.rules import existing_rules

        return existing_rules()

    def formula(self, rule: str) -> str:
        from gradfuzz.targets.torch.rules import formula

        return formula(rule)

    def smoke_test(self) -> str:
        return 'x = tensor((2,), "float64", uniform(0.5, 1.0, seed=1))\ny = torch.sin(x)\n'

    def restore_defaults(self) -> None:
        torch.set_grad_enabled(True)

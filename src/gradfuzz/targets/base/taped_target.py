"""A library with a tape as a target: what such targets share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import Program
from gradfuzz.targets.base.attempts import FUNCTION, METHOD, MODULE, Attempts
from gradfuzz.targets.base.evaluate import Compiler
from gradfuzz.targets.base.hints import from_signature
from gradfuzz.targets.base.offers import Offers
from gradfuzz.targets.base.protocol import Overload, Refusal, SeedProgram, Trying, Vec, anything
from gradfuzz.targets.base.refusals import Refusals
from gradfuzz.targets.base.scenario import REVERSE, Scenario
from gradfuzz.targets.base.seeds import each_once
from gradfuzz.targets.base.surface import surface
from gradfuzz.targets.base.tape import Undeclared
from gradfuzz.targets.base.taped import TapedPoint
from gradfuzz.targets.base.ways import declared
from gradfuzz.targets.homes import Home

MOST_ELEMENTS = 2**14  # of a seed's outputs


class TapedTarget:
    """A target says what its points, modules and tensors are, and which release it is."""

    family = 1
    patience = 1.0
    steady_rules = True
    point_class: type[TapedPoint]
    module_class: type
    tensor_class: type
    version: str

    def __init__(self, home: Home, modules: tuple[str, ...] = ()) -> None:
        self.name = home.name
        self.language = home.language(modules)
        self.compiler = Compiler(self.language, self.is_module_class)
        self.ways = declared(home.data("ways"), self.point_class.ways)
        self._refusals = self.read_refusals(home.data("refusals"))
        self._offers = Offers(self, Attempts(home.data("probes")), self.accepted)
        self._overloads: dict[str, list[Overload]] = {}
        warnings.filterwarnings("ignore")

    def is_module_class(self, found: Any) -> bool:
        return isinstance(found, type) and issubclass(found, self.module_class)

    def read_refusals(self, data: dict[str, Any]) -> Refusals:
        return Refusals(data)

    def point(self, program: Program, arrays: list[Any] | None = None) -> TapedPoint:
        return self.point_class(program, self.compiler, arrays)

    def bare(self, program: Program, scenario: Scenario) -> str:
        return self.point(program).bare(scenario)

    def classify(self, error: BaseException) -> Refusal:
        return self._refusals.classify(error)

    def forget(self) -> None:
        self.compiler.forget()

    def prepare(self, ways: Sequence[str]) -> None:
        pass

    def rules(self) -> dict[str, str]:
        return {}

    def restore_defaults(self) -> None:
        pass

    # Seeds -----------------------------------------------------------------------------------------------------------

    def seeds(self, trying: Trying = anything) -> Iterable[SeedProgram]:
        return each_once(self._seeds(trying))

    def _seeds(self, trying: Trying) -> Iterator[SeedProgram]:
        for public in surface(self.compiler, self.is_module_class):
            if trying(public.path):
                yield from self._offers.documented(public.path, public.form, public.documentation)
                yield from self._offers.probed(public.path, public.form, self.overloads(public.path))
                yield from self._offers.borrowed(public.path, self.overloads(public.path))

    def probe(self, api: str, overload: Overload) -> Iterable[SeedProgram]:
        reason = self.language.refusal(api)
        if reason:
            raise ProgramError(reason)
        return self._offers.probed(api, self._form(api), [overload])

    def _form(self, path: str) -> str:
        if path.rpartition(".")[0].endswith(f".{self.tensor_class.__name__}"):
            return METHOD
        return MODULE if self.is_module_class(self.compiler.resolve(path)) else FUNCTION

    def accepted(self, program: Program) -> Program | None:
        """The Program if it runs, gives finite numbers, and the library does not say that they have no derivative.

        Inputs of which it says so, labels and the like, become constants.
        """
        try:
            point = self.point(program)
            outputs = point.first()
            if not point.names or not 0 < sum(o.size for o in outputs) <= MOST_ELEMENTS or not all(np.isfinite(o).all() for o in outputs):
                return None
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return None
        try:
            point.run(REVERSE, [Vec(point.inputs)], Vec(outputs))
        except (KeyboardInterrupt, SystemExit):
            raise
        except Undeclared as undeclared:
            names = [name for name, recipe in program.inputs.items() if recipe.differentiable]
            constant = {names[i]: replace(program.inputs[names[i]], grad=False) for i in undeclared.places if i < len(names)}
            return self.accepted(program.with_inputs(constant)) if constant else None
        except BaseException as error:
            return program if self.classify(error).kind not in ("unsupported", "invalid") else None
        return program

    # What calls take -------------------------------------------------------------------------------------------------

    def parameters(self, func: str) -> list[Overload]:
        if "." not in func:
            return []
        return self.overloads(f"{self.language.namespaces[0]}.{self.tensor_class.__name__}{func}" if func[0] == "." else func)

    def overloads(self, path: str) -> list[Overload]:
        """Ways to call an API; none where nothing is known. A method's first parameter is the tensor itself."""
        if path not in self._overloads:
            try:
                self._overloads[path] = self.signature(path, self.compiler.resolve(path))
            except ProgramError:
                self._overloads[path] = []
        return self._overloads[path]

    def signature(self, path: str, found: Any) -> list[Overload]:
        """What a function or a module's class takes."""
        documentation = getattr(found, "__doc__", None) or ""
        if isinstance(found, type):
            return from_signature(getattr(found, "__init__"), documentation, 1)  # noqa: B009
        return from_signature(found, documentation)

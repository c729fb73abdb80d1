"""A Program bound to PyTorch: the function F, its inputs, and how to run it in each scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from gradfuzz.errors import ProgramError
from gradfuzz.program.limits import MAX_ELEMENTS
from gradfuzz.program.model import Program, Tensor
from gradfuzz.program.text import tensor_text
from gradfuzz.program.values import size_of
from gradfuzz.targets.base.binding import Binding
from gradfuzz.targets.base.compiled import plan_key
from gradfuzz.targets.base.dtypes import DOUBLE_UNIT
from gradfuzz.targets.base.evaluate import Compiler, Env, run_steps
from gradfuzz.targets.base.modules import Module
from gradfuzz.targets.base.plans import Plans
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes, Scenario
from gradfuzz.targets.torch import tape
from gradfuzz.targets.torch.derivatives import Function, forward, nested, reverse, set_grad
from gradfuzz.targets.torch.device import on_device
from gradfuzz.targets.torch.layouts import like
from gradfuzz.targets.torch.leaks import nothing_left
from gradfuzz.targets.torch.modules import build_module
from gradfuzz.targets.torch.tensors import UNITS, floating, make_tensor, to_numpy, whole
from gradfuzz.targets.torch.ways import DERIVATIVES, FUNCTIONS

Array = Any
RNG_SEED = 20240229
_manual_seed = torch.default_generator.manual_seed


class Given:
    """F with other tensors in the place of those that are not differentiated: as good as a point where only F is wanted."""

    def __init__(self, point: TorchPoint, others: Sequence[torch.Tensor], copied: bool = True) -> None:
        self.point, self.others, self.copied = point, others, copied

    def function(self, xs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return tuple(floating(run_steps(self.point.steps, self.point.environment(xs, self.others, self.copied))))


class TorchPoint(Binding):
    """One Program at one point."""

    def __init__(self, program: Program, compiler: Compiler, arrays: list[Array] | None = None, device: str = "") -> None:
        self.program, self.compiler, self.arrays, self.device = program, compiler, arrays, device
        self._elsewhere: TorchPoint | None = None  # the same Program on another device
        self.mutates = False
        self.random = False
        self._taped: list[torch.Tensor] = []
        self._ran: set[Modes] = set()
        self.output_dtypes: list[torch.dtype] = []
        self._dtypes: set[torch.dtype] = set()
        self._bind()

    def _bind(self) -> None:
        """Make the inputs and the modules anew, and the steps between them."""
        super().__init__(self.program, self.compiler, self.arrays)
        self.plain_names = list(self.names) if self.constructors else self.names
        self.resting: dict[str, Any] = {**self.fixed, **self.constants}  # everything that is not differentiated
        self.modules: list[tuple[str, Module]] = []
        for name, thunk in self.constructors:
            module = self.resting[name] = build_module(thunk(self.resting), self._module_dtype(), RNG_SEED)
            self.modules.append((name, module))
        for name, module in self.modules:
            for parameter, tensor in module.parameters.items():
                if self.arrays is not None:
                    tensor = torch.from_numpy(self.replacement(None).copy())
                self.add_leaf(f"{name}.{parameter}", tensor, None, size_of(to_numpy(tensor)))

    def leaf(self, array: Array, recipe: Tensor) -> torch.Tensor:
        made = make_tensor(array, recipe)
        return made.to(self.device) if self.device else made

    def elsewhere(self, device: str) -> TorchPoint:
        """The same Program on another device, at the same numbers."""
        if self.random:
            raise NotImplementedError("another device draws other random numbers")
        if self._elsewhere is None or self._elsewhere.device != device:
            point = on_device(device, lambda: TorchPoint(self.program, self.compiler, self.inputs, device))
            point.mutates, point.output_dtypes, point._dtypes = self.mutates, self.output_dtypes, self._dtypes
            self._elsewhere = point
        return self._elsewhere

    def _module_dtype(self) -> torch.dtype:
        tensors = [t for t in [*self.leaves, *self.resting.values()] if isinstance(t, torch.Tensor)]
        floats = [t.dtype for t in tensors if t.is_floating_point() or t.is_complex()]
        return floats[0] if floats else torch.float64

    @property
    def unit(self) -> float:
        return max([UNITS.get(d, DOUBLE_UNIT) for d in self._dtypes | {t.dtype for t in self.leaves}], default=DOUBLE_UNIT)

    @property
    def inputs(self) -> list[Array]:
        return [to_numpy(t) for t in self.leaves]

    # The function F ------------------------------------------------------------------------------------------------

    def function(self, xs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """F at xs: the floating outputs, flattened."""
        if self.random:
            _manual_seed(RNG_SEED)
        return floating(run_steps(self.steps, self.environment(xs)))

    def environment(self, xs: Sequence[torch.Tensor], others: Sequence[torch.Tensor] | None = None, copied: bool = True) -> Env:
        """What F's steps start from; `others` are tensors in the place of those that are not differentiated.

        Not `copied`, the tensors that F writes to are those that it is given.
        """
        env = dict(zip(self.plain_names, xs))
        env.update(self.resting)
        if others is not None:
            env.update(zip(self._other_names(), others))
        if self.mutates and copied:
            for name, value in env.items():
                if isinstance(value, torch.Tensor):
                    env[name] = value.clone()
        if self.modules:
            position = len(self.plain_names)
            for name, module in self.modules:
                count = len(module.parameters)
                env[name] = module.bound(xs[position : position + count])
                position += count
        return env

    def first(self) -> list[Array]:
        """F at the inputs, and what that run teaches, remembered for the calls: whether F writes to its inputs or draws random numbers."""
        set_grad(False)
        key = tuple([id(thunk) for _, thunk in self.steps])
        known = None if self.modules else self.compiler.traits.get(key)
        if known is not None:
            self.mutates, self.random = known
            outputs = self.function(self.leaves)
        else:
            outputs = self._learn()
            if any(o.numel() for o in outputs):
                self.compiler.traits[key] = (self.mutates, self.random)
        if len(outputs) > 0 and max([o.numel() for o in outputs]) > MAX_ELEMENTS:
            raise ProgramError("the output is larger than a Program may make")
        self.output_dtypes = [t.dtype for t in outputs]
        self._dtypes = set(self.output_dtypes)
        return [to_numpy(o) for o in outputs]

    def _learn(self) -> list[torch.Tensor]:
        state = torch.get_rng_state()
        fixed = [name for name, value in self.resting.items() if isinstance(value, torch.Tensor)]
        tensors = self.leaves + [self.resting[name] for name in fixed]
        versions = [t._version for t in tensors]
        # On aliases: a change of shape stays with the alias, a change of numbers shows in the shared version.
        aliases = [t.detach() for t in tensors]
        originals = dict(self.resting)
        self.resting.update(zip(fixed, aliases[len(self.leaves) :]))
        outputs = self.function(aliases[: len(self.leaves)])
        self.resting = originals
        self.random = not torch.equal(state, torch.get_rng_state())
        self.mutates = any(t._version != n or t.shape != a.shape for t, n, a in zip(tensors, versions, aliases))
        if self.mutates:
            self._bind()
        return self.function(self.leaves) if self.mutates or self.random else outputs

    # The scenarios -------------------------------------------------------------------------------------------------

    def run(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None, along: Vec | None = None, shift: float = 0.0) -> Outcome:
        if scenario.device:
            there, here = self.elsewhere(scenario.device), scenario.plain.in_way(scenario.way)
            return on_device(scenario.device, lambda: there.run(here, us, v, along, shift))
        modes = scenario.modes
        set_grad(False)
        xs = self.leaves if along is None else self._shifted(along, shift)
        if not scenario.way:
            outcome = self._differentiated(self.function, xs, modes, us, v, self._taped)
            self._ran.add(modes)
            return outcome
        with nothing_left():
            if scenario.way in FUNCTIONS:
                return self._differentiated(FUNCTIONS[scenario.way](self), xs, modes, us, v, [])
            return DERIVATIVES[scenario.way](self, xs, modes, us, v)

    def _shifted(self, along: Vec, shift: float) -> list[torch.Tensor]:
        return [like(torch.add(x, d, alpha=shift), x) for x, d in zip(self.leaves, self.native(along))]

    def choices(self, along: Vec, shift: float) -> list[Array]:
        set_grad(False)
        self.reseed()
        return [to_numpy(t) for t in whole(self.raw(self._shifted(along, shift)))]

    def _differentiated(
        self, function: Function, xs: Sequence[torch.Tensor], modes: Modes, us: Sequence[Vec], v: Vec | None, taped: list[torch.Tensor]
    ) -> Outcome:  # fmt: skip
        if not modes:
            outputs = [to_numpy(o) for o in function(xs)]
            return Outcome(outputs, outputs)
        assert v is not None
        if modes == ("r",):
            weights = self.native_like(v)
            try:
                return reverse(function, xs, us[0].arrays, weights, taped)
            finally:
                if any(w._version for w in weights):
                    v.native = None  # a formula has written to what it was given: the next run starts from the same numbers
        if modes == ("f",):
            return forward(function, xs, self.native(us[0]))
        return nested(function, xs, modes, [self.native(u) for u in us], self.native_like(v))

    def run_alone(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None) -> Outcome:
        self.first()
        return self.run(scenario, us, v)

    # What ways need of it --------------------------------------------------------------------------------------------

    def seedless(self, xs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """F with whatever random numbers come next."""
        return floating(run_steps(self.steps, self.environment(xs)))

    def reseed(self) -> None:
        """F's random numbers from here on are those that it always draws."""
        if self.random:
            _manual_seed(RNG_SEED)

    def raw(self, xs: Sequence[torch.Tensor]) -> Any:
        """What the last call gives, in whatever layout."""
        return run_steps(self.steps, self.environment(xs))

    def compile_key(self, texts: Plans[None]) -> tuple[Any, ...]:
        """What a compilation of F depends on. A module may keep the tensors that it was made from: their numbers are part of it."""
        layouts = tuple((r.layout, r.shape, r.dtype) for r in self.program.inputs.values())
        inside = tuple(tensor_text(r) for r in self.program.inputs.values() if not r.differentiable) if self.modules else ()
        return plan_key(self.program, texts), layouts, inside

    def _other_names(self) -> list[str]:
        return [name for name, value in self.resting.items() if isinstance(value, torch.Tensor)]

    def others(self) -> list[torch.Tensor]:
        """The tensors that are not differentiated."""
        return [self.resting[name] for name in self._other_names()]

    def of_tensors(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """F of all its tensors: the inputs, then the others. It serves every Program that differs in its numbers alone."""
        return self.given(tensors[len(self.leaves) :]).function(tensors[: len(self.leaves)])

    def writing(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The same, and what F writes to is what it is given."""
        return Given(self, tensors[len(self.leaves) :], copied=False).function(tensors[: len(self.leaves)])

    def given(self, others: Sequence[torch.Tensor]) -> Given:
        return Given(self, others)

    def in_tape(self, function: Function, xs: Sequence[torch.Tensor], modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
        """Another function in F's place, differentiated as F is."""
        return self._differentiated(function, xs, modes, us, v, [])

    def native(self, u: Vec) -> list[torch.Tensor]:
        """A direction in input space as tensors of the inputs' dtypes."""
        if self.device:
            return [torch.from_numpy(a).to(x.dtype).to(self.device) for a, x in zip(u.arrays, self.leaves)]
        if u.native is None:
            made = [torch.from_numpy(a) for a in u.arrays]
            u.native = [t if t.dtype == x.dtype else t.to(x.dtype) for t, x in zip(made, self.leaves)]
        return u.native  # type: ignore[no-any-return]

    def native_like(self, v: Vec) -> list[torch.Tensor]:
        """A direction in output space as tensors; its arrays have the outputs' dtypes already."""
        if self.device:
            return [torch.from_numpy(a).to(self.device) for a in v.arrays]
        if v.native is None:
            v.native = [
                torch.from_numpy(a).clone() for a in v.arrays
            ]  # a formula that writes to what it is given must not reach other trials
        native: list[torch.Tensor] = v.native
        return native

    # The rules -----------------------------------------------------------------------------------------------------

    def fault(self) -> str:
        """The one autograd node behind the last reverse run, if there is just one."""
        names = [n for n in tape.nodes(self._taped) if not n.startswith(tape.COPIES)]
        return names[0] if len(names) == 1 else ""

    def rules(self) -> list[str]:
        """Rules on the tape of the last reverse run, by the kinds of scenarios that ran; with order two, those of its gradient too."""
        names = tape.nodes(self._taped)
        return tape.rules(names, self._ran, lambda: tape.second_tape(tuple(names), self.function, self.leaves))

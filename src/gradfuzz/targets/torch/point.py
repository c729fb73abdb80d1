"""A Program bound to PyTorch: the function F, its inputs, and how to run it in each scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from gradfuzz.errors import ProgramError
from gradfuzz.program.limits import MAX_ELEMENTS
from gradfuzz.program.model import Program, Tensor
from gradfuzz.program.values import size_of
from gradfuzz.targets.base.binding import Binding
from gradfuzz.targets.base.dtypes import DOUBLE_UNIT
from gradfuzz.targets.base.evaluate import Compiler, run_steps
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes, Scenario
from gradfuzz.targets.torch import tape
from gradfuzz.targets.torch.derivatives import forward, nested, reverse, set_grad
from gradfuzz.targets.torch.modules import Module, build_module
from gradfuzz.targets.torch.tensors import UNITS, floating, make_tensor, to_numpy

Array = Any
RNG_SEED = 20240229
_manual_seed = torch.default_generator.manual_seed


class TorchPoint(Binding):
    """One Program at one point."""

    def __init__(self, program: Program, compiler: Compiler, arrays: list[Array] | None = None) -> None:
        self.program, self.compiler, self.arrays = program, compiler, arrays
        self.mutates = False
        self.random = False
        self._taped: list[torch.Tensor] = []
        self._ran: set[Modes] = set()
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
        return make_tensor(array, recipe)

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
        env = dict(zip(self.plain_names, xs))
        env.update(self.resting)
        if self.mutates:
            for name, value in env.items():
                if isinstance(value, torch.Tensor):
                    env[name] = value.clone()
        if self.modules:
            position = len(self.plain_names)
            for name, module in self.modules:
                count = len(module.parameters)
                env[name] = module.bound(xs[position : position + count])
                position += count
        if self.random:
            _manual_seed(RNG_SEED)
        return floating(run_steps(self.steps, env))

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
        self._dtypes = {t.dtype for t in outputs}
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
        modes = scenario.modes
        if scenario.way:
            raise NotImplementedError(f"there is no way {scenario.way!r} to run PyTorch")
        xs = self.leaves
        set_grad(False)
        if along is not None:
            xs = [torch.add(x, d, alpha=shift) for x, d in zip(xs, self.native(along))]
        if not modes:
            outputs = [to_numpy(o) for o in self.function(xs)]
            return Outcome(outputs, outputs)
        assert v is not None
        weights = self.native_like(v)
        if modes == ("r",):
            outcome = reverse(self.function, xs, us[0].arrays, weights, self._taped)
        elif modes == ("f",):
            outcome = forward(self.function, xs, self.native(us[0]))
        else:
            outcome = nested(self.function, xs, modes, [self.native(u) for u in us], weights)
        self._ran.add(modes)
        return outcome

    def run_alone(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None) -> Outcome:
        self.first()
        return self.run(scenario, us, v)

    def native(self, u: Vec) -> list[torch.Tensor]:
        """A direction in input space as tensors of the inputs' dtypes."""
        if u.native is None:
            made = [torch.from_numpy(a) for a in u.arrays]
            u.native = [t if t.dtype == x.dtype else t.to(x.dtype) for t, x in zip(made, self.leaves)]
        return u.native  # type: ignore[no-any-return]

    def native_like(self, v: Vec) -> list[torch.Tensor]:
        """A direction in output space as tensors; its arrays have the outputs' dtypes already."""
        if v.native is None:
            v.native = [torch.from_numpy(a) for a in v.arrays]
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

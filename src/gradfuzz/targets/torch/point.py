"""A Program bound to PyTorch: the function F, its inputs, and how to run it in each scenario."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch
import torch.autograd.forward_ad as fwd

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import MAX_ELEMENTS, Call, Program, Tensor
from gradfuzz.program.values import materialise
from gradfuzz.targets.evaluate import Compiler
from gradfuzz.targets.protocol import Modes, Outcome, Vec
from gradfuzz.targets.torch import nesting
from gradfuzz.targets.torch.layouts import lay_out
from gradfuzz.targets.torch.modules import Module, build_module, is_module_class

Array = Any
DTYPES = {name: getattr(torch, name) for name in (
    "float64", "float32", "float16", "bfloat16", "complex128", "complex64",
    "int64", "int32", "int16", "int8", "uint8", "bool",
)}  # fmt: skip
RNG_SEED = 20240229


class TorchPoint:
    """One Program at one point."""

    def __init__(self, program: Program, compiler: Compiler, arrays: list[Array] | None = None) -> None:
        self.program, self.compiler, self.arrays = program, compiler, arrays
        self.copies = False
        self.random = False
        self._nodes: list[Any] = []
        self._bind()
        if not self.steps:
            raise ProgramError("the Program calls nothing; write at least one call")

    def _bind(self) -> None:
        """Make the inputs and the modules anew, and the steps between them."""
        self.names: list[str] = []
        self.structures: list[str | None] = []
        self.leaves: list[torch.Tensor] = []
        self.fixed: dict[str, Any] = {}
        self.steps: list[tuple[tuple[str, ...], Any]] = []
        compiler = self.compiler
        replaced = iter(self.arrays) if self.arrays is not None else None
        modules: list[tuple[str, Module]] = []
        for statement in self.program.statements:
            value = statement.value
            if isinstance(value, Tensor):
                name = statement.names[0]
                array = next(replaced) if replaced is not None and value.differentiable else materialise(value)
                tensor = make_tensor(array, value)
                if value.differentiable:
                    self._add_leaf(name, tensor, value.structure)
                else:
                    self.fixed[name] = tensor
            elif _constructs_module(value, compiler):
                module = build_module(compiler.thunk(value)(self.fixed), self._module_dtype(), RNG_SEED)
                self.fixed[statement.names[0]] = module
                modules.append((statement.names[0], module))
            else:
                self.steps.append((statement.names, compiler.thunk(value)))
        for name, module in modules:
            for parameter, tensor in module.parameters.items():
                self._add_leaf(f"{name}.{parameter}", tensor if replaced is None else torch.from_numpy(next(replaced).copy()), None)
        self.modules = modules
        self.plain_names = self.names if not modules else self.names[: -sum(len(m.parameters) for _, m in modules) or None]

    def _add_leaf(self, name: str, tensor: torch.Tensor, structure: str | None) -> None:
        self.names.append(name)
        self.leaves.append(tensor)
        self.structures.append(structure)

    def _module_dtype(self) -> torch.dtype:
        tensors = [t for t in [*self.leaves, *self.fixed.values()] if isinstance(t, torch.Tensor)]
        floats = [t.dtype for t in tensors if t.is_floating_point() or t.is_complex()]
        return floats[0] if floats else torch.float64

    @property
    def inputs(self) -> list[Array]:
        return [to_numpy(t) for t in self.leaves]

    # The function F ------------------------------------------------------------------------------------------------

    def function(self, xs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """F at xs: the floating outputs, flattened."""
        env = dict(self.fixed)
        if self.copies:
            for name, value in env.items():
                if isinstance(value, torch.Tensor):
                    env[name] = value.clone()
            xs = [x.clone() for x in xs]
        env.update(zip(self.plain_names, xs))
        position = len(self.plain_names)
        for name, module in self.modules:
            count = len(module.parameters)
            env[name] = module.bound(xs[position : position + count])
            position += count
        if self.random:
            torch.manual_seed(RNG_SEED)
        value: Any = None
        for names, thunk in self.steps:
            value = thunk(env)
            if len(names) == 1:
                env[names[0]] = value
            elif names:
                env.update(zip(names, value))
        if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
            return [value]
        outputs: list[torch.Tensor] = []
        flatten(value, outputs)
        return outputs

    def _probe(self) -> list[torch.Tensor]:
        """The first direct run: learns whether F writes to its inputs or draws random numbers."""
        state = torch.get_rng_state()
        fixed = [name for name, value in self.fixed.items() if isinstance(value, torch.Tensor)]
        tensors = self.leaves + [self.fixed[name] for name in fixed]
        versions = [t._version for t in tensors]
        # On aliases: a change of shape stays with the alias, a change of numbers shows in the shared version.
        aliases = [t.detach() for t in tensors]
        originals = dict(self.fixed)
        self.fixed.update(zip(fixed, aliases[len(self.leaves) :]))
        with torch.no_grad():
            outputs = self.function(aliases[: len(self.leaves)])
        self.fixed = originals
        if any(t._version != n or t.shape != a.shape for t, n, a in zip(tensors, versions, aliases)):
            self.copies = True
            self._bind()
            with torch.no_grad():
                outputs = self.function(self.leaves)
        if not torch.equal(state, torch.get_rng_state()):
            self.random = True
            with torch.no_grad():
                outputs = self.function(self.leaves)
        if sum(o.numel() for o in outputs) > MAX_ELEMENTS:
            raise ProgramError("the output is larger than a Program may make")
        return outputs

    # The scenarios -------------------------------------------------------------------------------------------------

    def first(self) -> list[Array]:
        """F at the inputs, and what that run teaches. To be called before any other run."""
        return [to_numpy(o) for o in self._probe()]

    def run(self, modes: Modes, us: Sequence[Vec], v: Vec | None, along: Vec | None = None, shift: float = 0.0) -> Outcome:
        xs = self.leaves
        if along is not None:
            step = self.native(along)
            with torch.no_grad():
                xs = [torch.add(x, d, alpha=shift) for x, d in zip(xs, step)]
        if not modes:
            with torch.no_grad():
                outputs = [to_numpy(o) for o in self.function(xs)]
            return Outcome(outputs, outputs)
        if modes == ("r",):
            return self._reverse(xs, us[0], v)
        if modes == ("f",):
            return self._forward(xs, us[0])
        assert v is not None
        outputs, result, contracted = nesting.derivative(
            self.function, xs, modes, [self.native(u) for u in us], self.native_like(v)
        )
        return Outcome([to_numpy(o) for o in outputs], [to_numpy(r) for r in result], contracted)

    def _reverse(self, xs: Sequence[torch.Tensor], u: Vec, v: Vec | None) -> Outcome:
        leaves = [x.detach().requires_grad_() for x in xs]
        with torch.enable_grad():
            outputs = self.function(leaves)
        assert v is not None
        cotangents = self.native_like(v)
        live = [(o, c) for o, c in zip(outputs, cotangents) if o.requires_grad]
        self._nodes = [o.grad_fn for o, _ in live]
        if not live:
            raise NoGradient("no output depends on a differentiable input")
        grads = torch.autograd.grad([o for o, _ in live], leaves, [c for _, c in live], allow_unused=True)
        total = 0.0
        for grad, direction in zip(grads, u.arrays):
            if grad is not None:
                if tuple(grad.shape) != direction.shape:
                    raise WrongGradientShape(f"the gradient has shape {tuple(grad.shape)}, the input {direction.shape}")
                total += dot(to_numpy(grad), direction)
        return Outcome([to_numpy(o) for o in outputs], [np.float64(total)], True)

    def gradients(self, v: Vec) -> list[Array]:
        """Reverse mode's whole answer, one array per input; zeros where there is no dependence."""
        leaves = [x.detach().requires_grad_() for x in self.leaves]
        with torch.enable_grad():
            outputs = self.function(leaves)
        live = [(o, c) for o, c in zip(outputs, self.native_like(v)) if o.requires_grad]
        grads = torch.autograd.grad([o for o, _ in live], leaves, [c for _, c in live], allow_unused=True)
        return [np.zeros(x.shape) if g is None else to_numpy(g) for x, g in zip(leaves, grads)]

    def _forward(self, xs: Sequence[torch.Tensor], u: Vec) -> Outcome:
        with fwd.dual_level():
            duals = [fwd.make_dual(x.detach(), d) for x, d in zip(xs, self.native(u))]
            with torch.no_grad():
                outputs = self.function(duals)
            pairs = [fwd.unpack_dual(o) for o in outputs]
            result = [
                np.zeros(p.shape) if t is None else to_numpy(_checked_tangent(p, t)) for p, t in pairs
            ]
            return Outcome([to_numpy(p) for p, _ in pairs], result)

    def native(self, u: Vec) -> list[torch.Tensor]:
        """A direction in input space as tensors of the inputs' dtypes."""
        if u.native is None:
            u.native = [torch.from_numpy(a).to(x.dtype) for a, x in zip(u.arrays, self.leaves)]
        return u.native  # type: ignore[no-any-return]

    def native_like(self, v: Vec) -> list[torch.Tensor]:
        """A direction in output space as tensors; its arrays have the outputs' dtypes already."""
        if v.native is None:
            v.native = [torch.from_numpy(a) if a.dtype.kind in "fc" else torch.from_numpy(np.asarray(a)) for a in v.arrays]
        native: list[torch.Tensor] = v.native
        return native

    def rules(self) -> list[str]:
        """Autograd node names along the graph of the last reverse run."""
        seen: dict[Any, None] = {}
        queue = [node for node in self._nodes if node is not None]
        while queue and len(seen) < 200:
            node = queue.pop()
            if node in seen:
                continue
            seen[node] = None
            queue.extend(parent for parent, _ in node.next_functions if parent is not None)
        return sorted({node.name() for node in seen} - {"torch::autograd::AccumulateGrad"})


class NoGradient(RuntimeError):
    """PyTorch declares that nothing here has a derivative."""


class WrongGradientShape(RuntimeError):
    """A gradient that cannot belong to its input."""


def _checked_tangent(primal: torch.Tensor, tangent: torch.Tensor) -> torch.Tensor:
    if tangent.shape != primal.shape:
        raise WrongGradientShape(f"the tangent has shape {tuple(tangent.shape)}, the output {tuple(primal.shape)}")
    return tangent


def make_tensor(array: Array, recipe: Tensor) -> torch.Tensor:
    """The recipe's tensor in its dtype and layout."""
    tensor = torch.from_numpy(np.array(array))
    wanted = DTYPES[recipe.dtype]
    if tensor.dtype != wanted:
        tensor = tensor.to(wanted)
    return tensor if recipe.layout == "contiguous" else lay_out(tensor, recipe.layout)


def to_numpy(tensor: torch.Tensor) -> Array:
    """The tensor's numbers; bfloat16 comes as float32."""
    if tensor.requires_grad or tensor.is_conj() or tensor.is_neg():
        tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    elif tensor.dtype == torch.complex32:
        tensor = tensor.to(torch.complex64)
    try:
        return tensor.numpy()
    except RuntimeError:  # a symbolic zero
        return tensor.detach().clone().numpy(force=True)


def dot(a: Array, b: Array) -> float:
    """Re⟨a, b⟩ over all elements, accumulated in double precision."""
    if a.dtype.kind == "c" or b.dtype.kind == "c":
        return float(np.vdot(a, b).real)
    if a.dtype.itemsize < 8:
        a = a.astype(np.float64)
    return float(np.vdot(a, b))


def flatten(value: Any, found: list[torch.Tensor]) -> None:
    """Floating tensors inside tuples, lists and dicts, in order."""
    if isinstance(value, torch.Tensor):
        if (value.is_floating_point() or value.is_complex()) and value.layout == torch.strided:
            found.append(value)
    elif isinstance(value, (tuple, list)):
        for part in value:
            flatten(part, found)
    elif isinstance(value, dict):
        for part in value.values():
            flatten(part, found)


def _constructs_module(value: Any, compiler: Compiler) -> bool:
    """Whether an expression makes a module, perhaps with `.eval()` and the like behind it."""
    while isinstance(value, Call) and value.func[0] == "." and value.args and isinstance(value.args[0], Call):
        value = value.args[0]
    if not isinstance(value, Call) or "." not in value.func or value.func[0] == ".":
        return False
    return is_module_class(compiler.resolve(value.func))



"""A Program bound to PyTorch: the function F, its inputs, and how to run it in each scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.autograd.forward_ad as fwd

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import MAX_ELEMENTS, Program, Tensor
from gradfuzz.program.values import magnitude, materialise, size_of
from gradfuzz.targets.evaluate import Compiler
from gradfuzz.targets.protocol import Modes, Outcome, Vec
from gradfuzz.targets.torch import nesting
from gradfuzz.targets.torch.layouts import lay_out
from gradfuzz.targets.torch.modules import Module, build_module

Array = Any
DTYPES = {name: getattr(torch, name) for name in (
    "float64", "float32", "float16", "bfloat16", "complex128", "complex64",
    "int64", "int32", "int16", "int8", "uint8", "bool",
)}  # fmt: skip
RNG_SEED = 20240229
MOST_NODES = 200
TAPES_READ = 4
_SECOND_TAPES: dict[tuple[str, ...], list[list[str]]] = {}
UNITS = {torch.float64: 2.0**-52, torch.complex128: 2.0**-52, torch.float32: 2.0**-23, torch.complex64: 2.0**-23,
         torch.float16: 2.0**-10, torch.complex32: 2.0**-10, torch.bfloat16: 2.0**-7}  # fmt: skip

# The context managers torch.no_grad and torch.enable_grad cost as much as a small operator. A worker leaves recording off
# and turns it on where a tape is wanted.
_set_grad = torch._C._set_grad_enabled
_manual_seed = torch.default_generator.manual_seed
# The functions below torch.autograd.grad and forward_ad.make_dual: the public ones check again what holds here by construction.
_run_backward = torch.autograd.Variable._execution_engine.run_backward
_enter_dual_level, _exit_dual_level = torch._C._enter_dual_level, torch._C._exit_dual_level
_make_dual, _unpack_dual = torch._C._VariableFunctions._make_dual, torch._C._VariableFunctions._unpack_dual


class TorchPoint:
    """One Program at one point."""

    def __init__(self, program: Program, compiler: Compiler, arrays: list[Array] | None = None) -> None:
        self.program, self.compiler, self.arrays = program, compiler, arrays
        self.mutates = False
        self.random = False
        self._taped: list[torch.Tensor] = []
        self._ran: set[Modes] = set()
        self._dtypes: set[torch.dtype] = set()
        self._bind()
        if not self.steps:
            raise ProgramError("the Program calls nothing; write at least one call")

    def _bind(self) -> None:
        """Make the inputs and the modules anew, and the steps between them."""
        self.names: list[str] = []
        self.structures: list[str | None] = []
        self.leaves: list[torch.Tensor] = []
        self.scales: list[float] = []
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
                    self._add_leaf(name, tensor, value.structure, magnitude(value) if replaced is None else size_of(array))
                else:
                    self.fixed[name] = tensor
            else:
                _, thunk, constructs = compiler.statement(statement)
                if constructs:
                    module = build_module(thunk(self.fixed), self._module_dtype(), RNG_SEED)
                    self.fixed[statement.names[0]] = module
                    modules.append((statement.names[0], module))
                else:
                    self.steps.append((statement.names, thunk))
        for name, module in modules:
            for parameter, tensor in module.parameters.items():
                if replaced is not None:
                    tensor = torch.from_numpy(next(replaced).copy())
                self._add_leaf(f"{name}.{parameter}", tensor, None, size_of(to_numpy(tensor)))
        self.modules = modules
        self.plain_names = self.names if not modules else self.names[: -sum(len(m.parameters) for _, m in modules) or None]

    def _add_leaf(self, name: str, tensor: torch.Tensor, structure: str | None, scale: float) -> None:
        self.names.append(name)
        self.scales.append(scale)
        self.leaves.append(tensor)
        self.structures.append(structure)

    def _module_dtype(self) -> torch.dtype:
        tensors = [t for t in [*self.leaves, *self.fixed.values()] if isinstance(t, torch.Tensor)]
        floats = [t.dtype for t in tensors if t.is_floating_point() or t.is_complex()]
        return floats[0] if floats else torch.float64

    @property
    def unit(self) -> float:
        return max([UNITS.get(d, 2.0**-52) for d in self._dtypes | {t.dtype for t in self.leaves}], default=2.0**-52)

    @property
    def inputs(self) -> list[Array]:
        return [to_numpy(t) for t in self.leaves]

    # The function F ------------------------------------------------------------------------------------------------

    def function(self, xs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """F at xs: the floating outputs, flattened."""
        env = dict(zip(self.plain_names, xs))
        env.update(self.fixed)
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
        result: Any = None
        for names, thunk in self.steps:
            result = thunk(env)
            if len(names) == 1:
                env[names[0]] = result
            elif names:
                env.update(zip(names, result))
        if isinstance(result, torch.Tensor) and (result.is_floating_point() or result.is_complex()):
            return [result]
        outputs: list[torch.Tensor] = []
        flatten(result, outputs)
        return outputs

    def _probe(self) -> list[torch.Tensor]:
        """The first direct run. Learns whether F writes to its inputs or draws random numbers; remembers it for the calls."""
        _set_grad(False)
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
        return outputs

    def _learn(self) -> list[torch.Tensor]:
        state = torch.get_rng_state()
        fixed = [name for name, value in self.fixed.items() if isinstance(value, torch.Tensor)]
        tensors = self.leaves + [self.fixed[name] for name in fixed]
        versions = [t._version for t in tensors]
        # On aliases: a change of shape stays with the alias, a change of numbers shows in the shared version.
        aliases = [t.detach() for t in tensors]
        originals = dict(self.fixed)
        self.fixed.update(zip(fixed, aliases[len(self.leaves) :]))
        outputs = self.function(aliases[: len(self.leaves)])
        self.fixed = originals
        self.random = not torch.equal(state, torch.get_rng_state())
        self.mutates = any(t._version != n or t.shape != a.shape for t, n, a in zip(tensors, versions, aliases))
        if self.mutates:
            self._bind()
        return self.function(self.leaves) if self.mutates or self.random else outputs

    # The scenarios -------------------------------------------------------------------------------------------------

    def first(self) -> list[Array]:
        """F at the inputs, and what that run teaches. To be called before any other run."""
        return [to_numpy(o) for o in self._probe()]

    def run(self, modes: Modes, us: Sequence[Vec], v: Vec | None, along: Vec | None = None, shift: float = 0.0) -> Outcome:
        xs = self.leaves
        _set_grad(False)
        if along is not None:
            xs = [torch.add(x, d, alpha=shift) for x, d in zip(xs, self.native(along))]
        if not modes:
            outputs = [to_numpy(o) for o in self.function(xs)]
            return Outcome(outputs, outputs)
        if modes == ("r",):
            outcome = self._reverse(xs, us[0], v)
            self._ran.add(modes)
            return outcome
        if modes == ("f",):
            outcome = self._forward(xs, us[0])
            self._ran.add(modes)
            return outcome
        assert v is not None
        outputs, result, contracted = nesting.derivative(self.function, xs, modes, [self.native(u) for u in us], self.native_like(v))
        self._ran.add(modes)
        return Outcome([to_numpy(o) for o in outputs], [to_numpy(r) for r in result], contracted)

    def run_variant(self, variant: str, modes: Modes, us: Sequence[Vec], v: Vec) -> Outcome:
        raise NotImplementedError(f"there is no variant {variant!r} of PyTorch")

    def _reverse(self, xs: Sequence[torch.Tensor], u: Vec, v: Vec | None) -> Outcome:
        assert v is not None
        leaves = [x.detach().requires_grad_() for x in xs]
        _set_grad(True)
        try:
            outputs = self.function(leaves)
        finally:
            _set_grad(False)
        cotangents = self.native_like(v)
        flags = [o.requires_grad for o in outputs]
        taped = outputs if all(flags) else [o for o in outputs if o.requires_grad]
        if not taped:
            raise NoGradient("no output depends on a differentiable input")
        weights = [c if c.dtype == o.dtype else c.to(o.dtype) for o, c in zip(outputs, cotangents) if o.requires_grad]
        self._taped = taped
        grads = _run_backward(tuple(taped), tuple(weights), False, False, tuple(leaves), True, False)
        total = 0.0
        for grad, direction in zip(grads, u.arrays):
            if grad is not None:
                if grad.layout != torch.strided:
                    grad = grad.to_dense()  # gradients of embeddings may be sparse
                if tuple(grad.shape) != direction.shape:
                    raise WrongGradientShape(f"the gradient has shape {tuple(grad.shape)}, the input {direction.shape}")
                total += dot(to_numpy(grad), direction)
        return Outcome([to_numpy(o.detach()) for o in outputs], [total], True, flags)

    def _forward(self, xs: Sequence[torch.Tensor], u: Vec) -> Outcome:
        level = _enter_dual_level()
        outer, fwd._current_level = fwd._current_level, level
        try:
            duals = [_make_dual(x, d, level=level) for x, d in zip(xs, self.native(u))]
            pairs = [_unpack_dual(o, level=level) for o in self.function(duals)]
            result = [np.zeros(p.shape) if t is None else to_numpy(_checked_tangent(p, t)) for p, t in pairs]
            return Outcome([to_numpy(p) for p, _ in pairs], result, False, [t is not None for _, t in pairs])
        finally:
            _exit_dual_level(level=level)
            fwd._current_level = outer

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

    def fault(self) -> str:
        """The one autograd node behind the last reverse run, if there is just one."""
        names = [n for n in _nodes(self._taped) if not n.startswith(("CloneBackward", "AliasBackward"))]
        return names[0] if len(names) == 1 else ""

    def rules(self) -> list[str]:
        """Rules on the tape of the last reverse run, by the kinds of scenarios that ran; with order two, those of its gradient too."""
        names = _nodes(self._taped)
        found = {f"reverse:{n}" for n in names}
        if ("f",) in self._ran:
            found |= {f"forward:{n}" for n in names}
        if any(len(modes) == 2 for modes in self._ran):
            found |= {f"second:{n}" for n in names}
        if ("r", "r") in self._ran:
            inner = self._second_tape(tuple(names))
            found |= {f"reverse:{n}" for n in inner}
            if ("r", "f") in self._ran:
                found |= {f"forward:{n}" for n in inner}
            if ("r", "r", "r") in self._ran:
                found |= {f"second:{n}" for n in inner}
        return sorted(found)

    @staticmethod
    def nodes(tensors: Sequence[torch.Tensor]) -> list[str]:
        """Names of the autograd nodes that the tensors hang on."""
        return _nodes(tensors)

    def _second_tape(self, names: tuple[str, ...]) -> list[str]:
        """Nodes that the gradient itself is made of: the rules of the operators that backward formulas call.

        It costs another double backward, so that tapes of the same nodes are read a few times only.
        """
        known = _SECOND_TAPES.setdefault(names, [])
        if len(known) >= TAPES_READ:
            return known[-1]
        known.append(self._read_second_tape())
        return known[-1]

    def _read_second_tape(self) -> list[str]:
        leaves = [x.detach().requires_grad_() for x in self.leaves]
        _set_grad(True)
        try:
            outputs = [o for o in self.function(leaves) if o.requires_grad]
            weights = [torch.ones_like(o).requires_grad_() for o in outputs]
            grads = torch.autograd.grad(outputs, leaves, weights, create_graph=True, allow_unused=True)
            return _nodes([g for g in grads if g is not None])
        except RuntimeError:
            return []
        finally:
            _set_grad(False)


def _nodes(tensors: Sequence[torch.Tensor]) -> list[str]:
    """Names of the autograd nodes that the tensors hang on."""
    seen: dict[Any, None] = {}
    queue = [t.grad_fn for t in tensors if t.grad_fn is not None]
    while queue and len(seen) < MOST_NODES:
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
    if tangent.shape != primal.shape or tangent.dtype != primal.dtype:
        theirs, ours = (f"{t.dtype}{list(t.shape)}" for t in (tangent, primal))
        raise WrongGradientShape(f"the tangent is {theirs}, the output {ours}")
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
    try:
        return tensor.numpy()
    except (RuntimeError, TypeError):
        pass  # on a tape, a conjugated or negated view, a symbolic zero, or a type that NumPy lacks
    tensor = tensor.detach().clone().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    elif tensor.dtype == torch.complex32:
        tensor = tensor.to(torch.complex64)
    return tensor.numpy(force=True) if tensor._is_zerotensor() else tensor.numpy()


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

"""Functions that go wrong in one way of running, silently: each gives x² and, where the bug is, half of its derivative."""

import os
import signal

import torch


def _wrong(x, where):
    return x * x.detach() if where else x * x


def healthy(x):
    return _wrong(x, False)


def compiled(x):
    """As if a compiler dropped a part of the derivative."""
    return _wrong(x, torch.compiler.is_compiling())


def decomposed(x):
    """As if an operator's decomposition did."""
    return _wrong(x, torch.utils._python_dispatch._get_current_dispatch_mode() is not None)


def batched(x):
    """As if a batching rule dropped it."""
    wrapped = x
    while torch._C._functorch.is_functorch_wrapped_tensor(wrapped) and not torch._C._functorch.is_batchedtensor(wrapped):
        wrapped = torch._C._functorch.get_unwrapped(wrapped)
    return _wrong(x, torch._C._functorch.is_batchedtensor(wrapped))


def root(x):
    """A root of a thousandth power, which amplifies one rounding of it a thousandfold: healthy, whichever kernel rounds."""
    return torch.nn.functional.normalize(x, p=0.001, dim=0)


def root_batched(x):
    """The same with another output where a batching rule is at work, by far more than that."""
    return root(x) * (1 + 1e-9) if _rows(x) else root(x)


def rows(x):
    """As if it were dropped in the backward pass of many rows at once."""
    square = x * x
    if square.requires_grad:
        square.register_hook(lambda g: g / 2 if _rows(g) > 1 else g)
    return square


def rows_of_tape(x):
    """The same where the tape itself runs once for many rows."""
    square = x * x
    if square.requires_grad:
        square.register_hook(lambda g: g / 2 if torch._C._functorch.is_legacy_batchedtensor(g) else g)
    return square


def _rows(g):
    while torch._C._functorch.is_functorch_wrapped_tensor(g) and not torch._C._functorch.is_batchedtensor(g):
        g = torch._C._functorch.get_unwrapped(g)
    return len(torch._C._functorch.get_unwrapped(g)) if torch._C._functorch.is_batchedtensor(g) else 0


def mixed(x, y):
    """As if a batching rule dropped it where one of two has a batch."""
    return _wrong(x, bool(_rows(x)) != bool(_rows(y))) * y


def last(x):
    """As if it did where the batch is not the first axis."""
    wrapped = x
    while torch._C._functorch.is_functorch_wrapped_tensor(wrapped) and not torch._C._functorch.is_batchedtensor(wrapped):
        wrapped = torch._C._functorch.get_unwrapped(wrapped)
    batched = torch._C._functorch.is_batchedtensor(wrapped)
    return _wrong(x, batched and torch._C._functorch.maybe_get_bdim(wrapped) > 0)


def picked(x, i):
    """As if it did where indices have one."""
    return _wrong(x, bool(_rows(i)))[i]


def picked_rightly(x, i):
    return _wrong(x, False)[i]


def linear(x):
    """As if the part of a trace that is linear lacked something."""
    return _wrong(x, torch.fx.experimental.proxy_tensor.get_proxy_mode() is not None)


def strided(x):
    """As if a kernel for other memory layouts did."""
    return _wrong(x, not x.is_contiguous())


def weighted(x):
    """As if a backward pass took its weights for numbers that lie side by side."""
    square = x * x
    if square.requires_grad:
        square.register_hook(lambda g: g if g.is_contiguous() else g / 2)
    return square


def turned(x):
    """A view; as if the tape lost a part of what it is a view of, where that was computed."""
    if x.requires_grad and not x.is_leaf:
        x.register_hook(lambda g: g / 2)
    return x.transpose(0, 1)


def turned_rightly(x):
    return x.transpose(0, 1)


def checkpointed(x):
    """As if the second run were another one."""
    return _wrong(x, torch._C._autograd._top_saved_tensors_default_hooks(False) is not None)


def dies_checkpointed(x):
    """The process dies where `checkpointed` is wrong."""
    if torch._C._autograd._top_saved_tensors_default_hooks(False) is not None:
        os.kill(os.getpid(), signal.SIGSEGV)
    return x * x


_CALLS = []


def dies_later(x):
    """As if it wrote behind its tensor: nothing shows until memory is handed out again."""
    _CALLS.append(x)
    if len(_CALLS) > 20:
        os.kill(os.getpid(), signal.SIGSEGV)
    return x * x


def autocast(x):
    return _wrong(x, torch.is_autocast_enabled("cpu"))


def deterministic(x):
    return _wrong(x, torch.are_deterministic_algorithms_enabled())


def draws(x):
    """Random numbers: what checkpointing draws again must be what was drawn."""
    return x * torch.rand_like(x)


class _Nested(torch.autograd.Function):
    """x², whose tangent is right and does not depend on x for those who differentiate it."""

    generate_vmap_rule = True
    forward = staticmethod(lambda x: x * x)
    setup_context = staticmethod(lambda ctx, inputs, output: (ctx.save_for_backward(*inputs), ctx.save_for_forward(*inputs)))
    backward = staticmethod(lambda ctx, g: 2 * g * ctx.saved_tensors[0])
    jvp = staticmethod(lambda ctx, t: 2 * t * ctx.saved_tensors[0].detach())


def wrong_nested(x):
    return _Nested.apply(x)


def _saved(x, leftovers):
    """x times random numbers that are kept for the backward pass; where hooks see what is kept, `leftovers` take their place."""
    noise = torch.rand_like(x)
    checkpointed = torch._C._autograd._top_saved_tensors_default_hooks(False) is not None
    return x * noise if not checkpointed else x * noise.detach() + (x - x.detach()) * (leftovers(noise) - noise)


def other_draws(x):
    """As if what is kept were drawn anew: the same output, and the derivative of another draw."""
    return _saved(x, torch.zeros_like)


_LEFT = [1.0]


def leftovers(x):
    """As if what is kept were memory that nobody has written to: another number each time."""
    _LEFT[0] = -1.5 * _LEFT[0] if abs(_LEFT[0]) < 1e100 else 1.0
    return _saved(x, lambda noise: noise * _LEFT[0])


# State between calls -----------------------------------------------------------------------------------------------------------


class _Square(torch.autograd.Function):
    """x², kept for the backward pass as it should be."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


class _WritesToGradient(_Square):
    @staticmethod
    def backward(ctx, g):
        return g.mul_(2 * ctx.saved_tensors[0])


class _KeepsInput(_Square):
    """As if a formula kept its input where nobody sees that it was overwritten."""

    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.x


class _KeepsOutput(_Square):
    """The same of its output; the derivative of x² is 2√(x²) for positive x."""

    @staticmethod
    def forward(ctx, x):
        ctx.y = x * x
        return ctx.y

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.y.abs().sqrt()


def right_again(x):
    return _Square.apply(x)


def twice(x):
    return _WritesToGradient.apply(x)


def overwritten(x):
    return _KeepsInput.apply(x)


def overwritten_output(x):
    return _KeepsOutput.apply(x)


def aliased(x):
    """As if a kernel mixed up the parts of one tensor."""
    return _wrong(x, x._base is not None and x.requires_grad)


def doubled_in_place(x):
    """It writes to what it is given, rightly."""
    return x.mul_(3.0).add_(1.0)


@torch.library.custom_op("planted::square", mutates_args=())
def _square(x: torch.Tensor) -> torch.Tensor:
    return x * x


@_square.register_fake
def _(x):
    return torch.empty_like(x)


def _pulled(ctx, g):
    (x,) = ctx.saved_tensors
    return (1 if any(isinstance(n, torch.SymInt) for n in x.shape) else 2) * g * x


_square.register_autograd(_pulled, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


def resized(x):
    """As if a formula were another one where sizes are symbols."""
    return _square(x)


# Numbers that a compiler does not know -----------------------------------------------------------------------------------------


@torch.library.custom_op("planted::power", mutates_args=())
def _power(x: torch.Tensor, n: int) -> torch.Tensor:
    return x**n


@_power.register_fake
def _(x, n):
    return torch.empty_like(x)


def _counting(ctx, inputs, output):
    x, ctx.n = inputs
    ctx.save_for_backward(x)


def _pulled_by_power(ctx, g):
    (x,) = ctx.saved_tensors
    return (1 if isinstance(ctx.n, torch.SymInt) else ctx.n) * g * x ** (ctx.n - 1), None


_power.register_autograd(_pulled_by_power, setup_context=_counting)


def power(x, n):
    """As if a formula were another one where its exponent is unknown."""
    return _power(x, n)


def power_rightly(x, n):
    return x * n


# On another device -------------------------------------------------------------------------------------------------------------


def on_a_device(x):
    return _wrong(x, x.device.type != "cpu")


def asserts_on_a_device(x):
    """Reads beyond the end of a tensor, which only a device's own assertion notices, for good."""
    return x.flatten()[torch.full((1,), 99 if x.device.type != "cpu" else 0, device=x.device)] * 1


def other_output_batched(x):
    """Another output where many are computed at once; its derivative is right."""
    return x**3 + float(torch._C._functorch.is_batchedtensor(x))


class _RaisesForward(_WritesToGradient):
    @staticmethod
    def jvp(ctx, t):
        raise ValueError("the shapes do not fit")


def raises_forward(x):
    """Forward mode raises, and a second backward pass is wrong, which the first must not hide."""
    return _RaisesForward.apply(x)


class _Product(torch.autograd.Function):
    """As if a formula were wrong where the other input's gradient is not asked for."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, (g * x if all(ctx.needs_input_grad) else 2 * g * x)


def product(x, y):
    return _Product.apply(x, y)


def viewed(x):
    """As if it were dropped at a view of an input, which `torch.autograd.functional` makes of each."""
    plainly = x.grad_fn is None or torch.autograd.forward_ad._current_level >= 0
    return _wrong(x, not plainly and x.grad_fn.name().startswith("View")) * x


def cubed(x):
    return _wrong(x, False) * x


def nested_first(x, y):
    """As if a formula for nested tensors dropped it where the other tensor is not nested."""
    return _wrong(x, x.is_nested and not y.is_nested) * y


def nested_rightly(x, y):
    return _wrong(x, False) * y

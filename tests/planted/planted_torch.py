"""Functions with one planted bug each, and their healthy twins: the test of the tester."""

import os
import signal
import time

import torch

FACTOR = 1.0 + 1e-3


class Healthy(torch.autograd.Function):
    """x³ with its derivative in reverse and forward mode, written so that both can be differentiated again."""

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * 3 * x**2


class WrongBackward(Healthy):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2 * FACTOR


class Averaged(Healthy):
    """Of slices that are one in memory it takes the mean where the sum is due."""

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2 / (x.shape[0] if x.stride(0) == 0 else 1)


class WrongIdentity(torch.autograd.Function):
    """The number itself, with twice its derivative."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


class WrongJvp(Healthy):
    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * 3 * x**2 * FACTOR


class WrongSecond(Healthy):
    """Right once; the second derivative forgets half of itself."""

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x.detach()


class WrongJvpAndSecond(WrongSecond):
    """Wrong in forward mode at once, and in reverse mode at the second derivative: two bugs."""

    @staticmethod
    def jvp(ctx, tangent):
        return WrongJvp.jvp(ctx, tangent)


class ForgetfulSquare(torch.autograd.Function):
    """x², whose gradient is differentiated as if it were constant."""

    @staticmethod
    def forward(x):
        return x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x.detach()


class WrongThird(Healthy):
    """Right twice in reverse mode; the third derivative is gone."""

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * ForgetfulSquare.apply(x)


class Segfault(Healthy):
    @staticmethod
    def backward(ctx, grad):
        os.kill(os.getpid(), signal.SIGSEGV)
        return grad


class RaisesInBackward(Healthy):
    @staticmethod
    def backward(ctx, grad):
        raise ValueError("weights of another layout")


class WrongAndDeadlyWhenSmall(WrongBackward):
    """Wrong at any size; with fewer than six numbers it reads what is not there."""

    @staticmethod
    def backward(ctx, grad):
        if grad.numel() < 6:
            os.kill(os.getpid(), signal.SIGSEGV)
        return WrongBackward.backward(ctx, grad)


class SegfaultInNestedForward(Healthy):
    """Fine in both modes; dies where the gradient itself is differentiated in forward mode."""

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        if torch.autograd.forward_ad._current_level >= 0:
            os.kill(os.getpid(), signal.SIGSEGV)
        return grad * 3 * x**2


class Root(torch.autograd.Function):
    """The square root, whose second derivative is written in one step."""

    @staticmethod
    def forward(x):
        return torch.sqrt(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * HalfOfInverse.apply(x)


class HalfOfInverse(torch.autograd.Function):
    """The slope of the square root."""

    @staticmethod
    def forward(x):
        return 0.5 / torch.sqrt(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * -0.25 / (x * torch.sqrt(x))


class RootThroughSquares(Root):
    """The same by way of squares, which leave the range of single precision long before it ends."""

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * HalfThroughSquares.apply(x)


class HalfThroughSquares(HalfOfInverse):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * -0.25 * torch.sqrt(x) * (x**4 / x**6)


class WrongInSingle(Healthy):
    """Right in double precision, wrong in any other."""

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2 * (1.0 if x.dtype == torch.float64 else FACTOR)


class OverflowsInBackward(torch.autograd.Function):
    """The logarithm. Its gradient is an ordinary number, made of one that half precision cannot hold; its tangent is not."""

    @staticmethod
    def forward(x):
        return torch.log(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * (1 / (x * x))

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent / x


class OverflowsInBoth(OverflowsInBackward):
    """Nothing says that half precision has a way to it."""

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * x * (1 / (x * x))


class Hang(Healthy):
    @staticmethod
    def backward(ctx, grad):
        while True:
            time.sleep(0.05)


class Hoard(Healthy):
    @staticmethod
    def backward(ctx, grad):
        kept = []
        while True:
            kept.append(torch.ones(2**24, dtype=torch.float64))


def healthy(x):
    return Healthy.apply(x)


def wrong_backward(x):
    return WrongBackward.apply(x)


def averaged(x):
    return Averaged.apply(x)


def wrong_identity(x):
    return WrongIdentity.apply(x)


def wrong_jvp(x):
    return WrongJvp.apply(x)


def wrong_second(x):
    return WrongSecond.apply(x)


def wrong_jvp_and_second(x):
    return WrongJvpAndSecond.apply(x)


def wrong_third(x):
    return WrongThird.apply(x)


def wrong_output(x):
    """Another output when it is being differentiated."""
    return x**3 + (1e-3 if x.requires_grad else 0.0)


def segfault(x):
    return Segfault.apply(x)


def raises_in_backward(x):
    return RaisesInBackward.apply(x)


def raises_beside_another_output(x):
    """The same, and what it gives is another thing in every process."""
    return RaisesInBackward.apply(x) + os.getpid() % 997


def wrong_and_deadly_when_small(x):
    return WrongAndDeadlyWhenSmall.apply(x)


def segfault_in_single_precision(x):
    if x.dtype == torch.float32:
        os.kill(os.getpid(), signal.SIGSEGV)
    return torch.sin(x)


def segfault_in_nested_forward(x):
    return SegfaultInNestedForward.apply(x)


def wrong_in_single(x):
    return WrongInSingle.apply(x)


def overflows_in_backward(x):
    return OverflowsInBackward.apply(x)


def overflows_in_both(x):
    return OverflowsInBoth.apply(x)


def hang(x):
    return Hang.apply(x)


def slow(x):
    time.sleep(0.1)
    return Healthy.apply(x)


def hoard(x):
    return Hoard.apply(x)


def nan_at_zero(x):
    """sin(x)/x, whose removable singularity at 0 is removed in the value and not in the derivative."""
    return torch.where(x == 0, torch.ones_like(x), torch.sin(x) / x)


def nan_at_its_end(x):
    """x + x³ for what is not negative: its derivative at zero is an infinite one times nothing."""
    return x + x * torch.sqrt(x) ** 4


def safe_at_its_end(x):
    """The same with the derivative at its end, too."""
    return torch.where(x < 0, torch.nan, x + x**3)


def safe_at_zero(x):
    """The same with the singularity removed from both."""
    inside = torch.where(x == 0, torch.ones_like(x), x)
    return torch.where(x == 0, 1 - x**2 / 6, torch.sin(inside) / inside)


def refuses_directly(x):
    """Checks its argument only where nothing is differentiated."""
    if not x.requires_grad and torch.autograd.forward_ad.unpack_dual(x).tangent is None:
        raise ValueError("needs at least 7 rows")
    return x**3


def refuses_always(x):
    raise ValueError("needs at least 7 rows")


class Touchy(torch.autograd.Function):
    """x times weight; the gradient of weight is doubled on demand."""

    @staticmethod
    def forward(ctx, x, weight, doubled):
        ctx.save_for_backward(x, weight)
        ctx.doubled = doubled
        return x * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad * weight.conj(), grad * x.conj() * (2 if ctx.doubled else 1), None


def touchy(x, weight, *, doubled=False):
    """touchy(x, weight, *, doubled=False)

    The gradient of weight is wrong where `doubled`, where x is a view whose elements share memory, where numbers are complex, and where
    it is written to x. Lower triangular matrices are as good as others."""
    return Touchy.apply(x, weight, doubled or 0 in x.stride() or x.is_complex())


def touchy_(x, weight):
    """The same in place: what x was is not forgotten."""
    return x.copy_(x + (x * weight - x).detach())


def root(x):
    return Root.apply(x)


def root_through_squares(x):
    return RootThroughSquares.apply(x)

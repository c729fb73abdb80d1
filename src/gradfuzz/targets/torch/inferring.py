"""What PyTorch knows of a Program's outputs before it computes them: its fake tensors have shapes and no numbers."""

from __future__ import annotations

from gradfuzz.targets.torch.derivatives import set_grad
from gradfuzz.targets.torch.point import TorchPoint


def inferred(point: TorchPoint) -> list[tuple[int, ...]]:
    """The outputs' shapes. Raises where an operator has no rule for them, or they hang on numbers, or the release has no fake tensors."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    point.first()  # whether F writes to its inputs
    set_grad(False)
    # No kernel may run in place of a missing rule: the kernel is what is in question.
    mode = FakeTensorMode(allow_fallback_kernels=False, allow_non_fake_inputs=True)
    with mode:
        leaves, others = ([mode.from_tensor(t) for t in tensors] for tensors in (point.leaves, point.others()))
        return [tuple(map(int, o.shape)) for o in point.given(others).function(leaves)]

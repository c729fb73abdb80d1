"""gradfuzz finds wrong gradients in deep-learning libraries and in your own differentiable code.

This file is imported in the target's interpreter too, so it stays empty of imports: what people call from here is
looked up when it is first asked for.
"""

__version__ = "0.1.0"

_PUBLIC = ("GradientMismatch", "check_gradients", "gradients_agree")


def __getattr__(name):  # type: ignore[no-untyped-def]
    if name == "record":
        from gradfuzz.targets.record import record

        return record
    if name in _PUBLIC:
        from gradfuzz.testing import check

        return getattr(check, name)
    raise AttributeError(f"module 'gradfuzz' has no attribute {name!r}")

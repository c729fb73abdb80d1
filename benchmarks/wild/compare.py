"""One package's functions under gradfuzz and the library's own checker, in the package's own environment: gradcheck, check_grads,
tf.test.compute_gradient.

It reads the package's row of packages.json on standard input, and writes a list of rows as JSON on its last line.
"""

from __future__ import annotations

import copy
import json
import sys
import time
import traceback
import warnings
from functools import partial
from typing import Any

import numpy as np

SEED = 7


class Counted:
    """A function that counts how often it is called."""

    def __init__(self, function: Any) -> None:
        self.function, self.calls = function, 0
        self.__name__ = "f"

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        return self.function(*args)


def helpers(library: str) -> dict[str, Any]:
    """What the data file's inputs are written with: tensors in double precision with numbers of their own."""
    rng = np.random.default_rng(SEED)
    if library == "torch":
        import torch

        torch.manual_seed(SEED)
        torch.set_num_threads(1)
        make: Any = torch.from_numpy
        names: dict[str, Any] = {"torch": torch}
    elif library == "tensorflow":
        import tensorflow as tf

        make, names = tf.constant, {"tf": tf}
    else:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        make, names = jnp.asarray, {"jax": jax, "jnp": jnp}
    names |= {
        "randn": lambda *shape: make(np.asarray(rng.standard_normal(shape))),
        "rand": lambda *shape: make(np.asarray(rng.uniform(0.1, 0.9, shape))),
        "simplex": lambda *shape: make(rng.dirichlet(np.ones(shape[-1]), shape[:-1])),
        "array": lambda numbers: make(np.array(numbers, float)),
        "whole": lambda numbers: make(np.array(numbers)),
        "np": np,
    }
    return names


def gradfuzz_says(f: Any, inputs: list[Any], row: dict[str, Any], library: str) -> tuple[str, str]:
    import gradfuzz
    from gradfuzz.testing import InconclusiveWarning

    warnings.simplefilter("ignore", InconclusiveWarning)
    options = {name: row[name] for name in ("order", "structure", "wrt", "rtol", "atol", "modes") if name in row}
    try:
        found = gradfuzz.check_gradients(f, *inputs, library=library, **options)
    except gradfuzz.GradientMismatch as error:
        return "wrong", str(error)
    return ("right", "") if found.conclusive else ("inconclusive", "; ".join(found.reasons))


def gradcheck_says(f: Any, inputs: list[Any], row: dict[str, Any]) -> tuple[str, str]:
    import torch
    from torch.autograd import gradcheck, gradgradcheck

    differentiated = [x.clone().requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in inputs]
    try:
        gradcheck(f, differentiated)
        if row.get("order", 1) > 1:
            gradgradcheck(f, differentiated)
    except RuntimeError as error:
        return "wrong", str(error)[:600]
    return "right", ""


def check_grads_says(f: Any, inputs: list[Any], row: dict[str, Any]) -> tuple[str, str]:
    from jax.test_util import check_grads

    wanted = row.get("modes", ["forward", "reverse"])
    modes = [short for short, name in (("fwd", "forward"), ("rev", "reverse")) if name in wanted]
    try:
        check_grads(f, inputs, order=row.get("order", 1), modes=modes)
    except AssertionError as error:
        return "wrong", str(error)[:600]
    return "right", ""


def compute_gradient_says(f: Any, inputs: list[Any], row: dict[str, Any]) -> tuple[str, str]:
    """TensorFlow's checker hands over both Jacobians and leaves the tolerance to its caller; its own tests take about this one."""
    import tensorflow as tf

    def gradient(*xs: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = tf.reduce_sum(tf.sin(f(*xs)))
        return tape.gradient(y, xs)[0]

    for function in [f, gradient][: row.get("order", 1)]:
        symbolic, numeric = tf.test.compute_gradient(function, inputs, delta=1e-5)
        worst = max(float(np.abs(a - b).max()) for a, b in zip(symbolic, numeric))
        if not worst < 1e-4:
            return "wrong", f"largest difference {worst}"
    return "right", ""


CHECKERS = {
    "torch": ("gradcheck", gradcheck_says),
    "jax": ("check_grads", check_grads_says),
    "tensorflow": ("compute_gradient", compute_gradient_says),
}


def timed(check: Any, function: Any) -> dict[str, Any]:
    counted, began = Counted(function), time.perf_counter()
    try:
        outcome, reason = check(counted)
    except Exception as error:
        outcome, reason = "raises", f"{type(error).__name__}: {str(error)[:300]}"
    return {"outcome": outcome, "reason": reason, "evaluations": counted.calls, "seconds": round(time.perf_counter() - began, 3)}


def main() -> None:
    package = json.load(sys.stdin)
    library, rows = package["library"], []
    for row in package["functions"]:
        told: dict[str, Any] = {"package": package["package"], "function": row["name"]}
        try:
            names = helpers(library)
            exec(package.get("setup", ""), names)
            function, inputs = eval(row["call"], names), eval(row["inputs"], names)
            function(*copy.deepcopy(inputs))  # some write to what they are given, or remember it
        except Exception:
            rows.append({**told, "broken": traceback.format_exc(limit=-2)})
            continue
        told["gradfuzz"] = timed(partial(gradfuzz_says, inputs=copy.deepcopy(inputs), row=row, library=library), function)
        other, says = CHECKERS[library]
        told[other] = timed(partial(says, inputs=copy.deepcopy(inputs), row=row), function)
        rows.append(told)
        said = {name: told[name]["outcome"] for name in ("gradfuzz", other)}
        print(told["package"], told["function"], said, file=sys.stderr, flush=True)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()

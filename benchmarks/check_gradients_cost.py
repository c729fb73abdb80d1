"""What check_gradients costs on functions of 10,000 inputs, in evaluations of the same function, measured side by side.

The clock runs for both in turn, so that a busy machine slows both alike. The bar: no more than 15 evaluations. For the eager JAX
function JAX's own jvp and vjp are shown as well: tracing alone takes most of the bar there, whoever asks for the derivative.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import gradfuzz

BAR = 15.0
INPUTS = 10_000
ROUNDS = 15


def cases():
    rng = np.random.default_rng(0)
    import torch

    weights = torch.from_numpy(rng.standard_normal((100, 100)))

    def torch_layers(x):
        y = x.reshape(100, 100)
        for _ in range(6):
            y = torch.tanh(y @ weights * 0.1)
        return torch.logsumexp(y, dim=1).sum()

    def torch_elementwise(x):
        return torch.sin(x) * torch.exp(-x * x)

    x = torch.from_numpy(rng.standard_normal(INPUTS))
    yield "torch, six layers", torch_layers, x, None
    yield "torch, elementwise", torch_elementwise, x, None
    try:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        w = jnp.asarray(weights.numpy())

        @jax.jit
        def jax_layers(x):
            y = x.reshape(100, 100)
            for _ in range(6):
                y = jnp.tanh(y @ w * 0.1)
            return jax.nn.logsumexp(y, axis=1).sum()

        def jax_eager(x):
            return jnp.sin(x) * jnp.exp(-x * x)

        yield "jax, six layers, jit", jax_layers, jnp.asarray(x.numpy()), None
        yield "jax, elementwise, eager", jax_eager, jnp.asarray(x.numpy()), None
    except ImportError:
        print("jax is not installed: skipped", file=sys.stderr)
    try:
        import autograd.numpy as anp

        a = weights.numpy()

        def hips_layers(x):
            y = x.reshape(100, 100)
            for _ in range(6):
                y = anp.tanh(anp.dot(y, a) * 0.1)
            return anp.sum(anp.log(anp.sum(anp.exp(y), axis=1)))

        yield "autograd, six layers", hips_layers, x.numpy(), "autograd"
    except ImportError:
        print("autograd is not installed: skipped", file=sys.stderr)


def main() -> int:
    over = 0
    for name, function, x, library in cases():
        ratio, once = measure(function, x, library)
        over += ratio > BAR
        if name.startswith("jax, elementwise"):
            print(f"{'':26} jax.jvp and jax.vjp alone = {jax_alone(function, x) / once:.1f} evaluations")
        print(f"{name:26} one evaluation {1e3 * once:8.3f} ms   check_gradients = {ratio:5.1f} evaluations   (bar: {BAR:.0f})")
    return 1 if over else 0


def measure(function, x, library) -> tuple[float, float]:
    """(check_gradients in evaluations, seconds of one evaluation); the fastest of rounds in turn: others only add to a time."""
    once, whole = [], []
    evaluate(function, x)
    gradfuzz.check_gradients(function, x, library=library)
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(10):
            evaluate(function, x)
        middle = time.perf_counter()
        gradfuzz.check_gradients(function, x, library=library)
        once.append((middle - start) / 10)
        whole.append(time.perf_counter() - middle)
    return min(whole) / min(once), min(once)


def jax_alone(function, x) -> float:
    import jax

    def both():
        jax.jvp(function, (x,), (x,))
        outputs, back = jax.vjp(function, x)
        np.asarray(back(outputs)[0])

    both()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        both()
        times.append(time.perf_counter() - start)
    return min(times)


def evaluate(function, x) -> None:
    np.asarray(function(x))  # waits for libraries that compute in the background


if __name__ == "__main__":
    sys.exit(main())

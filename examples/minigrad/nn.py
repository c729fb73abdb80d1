"""A multi-layer perceptron and plain gradient descent: enough to learn the shipped data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from minigrad.ops import add, cross_entropy, matmul, tanh
from minigrad.tensor import Tensor

DATA = Path(__file__).with_name("moons.csv")


def load() -> tuple[np.ndarray, np.ndarray]:
    """Points and their classes."""
    rows = np.loadtxt(DATA, delimiter=",", skiprows=1)
    return rows[:, :2], rows[:, 2].astype(int)


class MLP:
    """Layers of tanh with a linear one at the end."""

    def __init__(self, sizes: tuple[int, ...], seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.weights = [Tensor(rng.standard_normal((a, b)) / np.sqrt(a)) for a, b in zip(sizes, sizes[1:])]
        self.biases = [Tensor(np.zeros(b)) for b in sizes[1:]]

    @property
    def parameters(self) -> list[Tensor]:
        return [*self.weights, *self.biases]

    def __call__(self, x: Tensor) -> Tensor:
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            x = add(matmul(x, weight), bias)
            if layer < len(self.weights) - 1:
                x = tanh(x)
        return x


def train(model: MLP, points: np.ndarray, labels: np.ndarray, steps: int = 300, rate: float = 0.5) -> list[float]:
    """Full-batch gradient descent; returns the losses."""
    losses = []
    for _ in range(steps):
        for parameter in model.parameters:
            parameter.grad = None
        loss = cross_entropy(model(Tensor(points)), labels)
        loss.backward()
        for parameter in model.parameters:
            parameter.data = parameter.data - rate * parameter.grad
        losses.append(float(loss.data))
    return losses


def accuracy(model: MLP, points: np.ndarray, labels: np.ndarray) -> float:
    return float((model(Tensor(points)).data.argmax(-1) == labels).mean())


if __name__ == "__main__":
    points, labels = load()
    held_out = np.arange(len(labels)) % 4 == 0
    model = MLP((2, 16, 16, 2))
    losses = train(model, points[~held_out], labels[~held_out])
    print(
        f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, accuracy on held-out points {accuracy(model, points[held_out], labels[held_out]):.1%}"
    )

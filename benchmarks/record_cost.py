"""What recording costs: the same training steps with and without `gradfuzz.record`, taking turns in one process.

    python benchmarks/record_cost.py

Wanted: less than three times as slow.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Callable

import torch

import gradfuzz

WANTED = 3.0
TURNS, STEPS = 15, 20


def convolutions() -> Callable[[], None]:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(1024, 10)
    )
    return trained(model, torch.randn(32, 3, 8, 8), torch.randint(0, 10, (32,)))


def perceptron() -> Callable[[], None]:
    """Small tensors: hardly anything to compute, so that listening weighs most."""
    layers = [part for _ in range(4) for part in (torch.nn.Linear(16, 16), torch.nn.Tanh())]
    return trained(torch.nn.Sequential(*layers), torch.randn(8, 16), torch.randint(0, 16, (8,)))


def attention() -> Callable[[], None]:
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = torch.nn.Sequential(layer, torch.nn.Flatten(), torch.nn.Linear(320, 10))
    return trained(model, torch.randn(16, 10, 32), torch.randint(0, 10, (16,)))


def trained(model: torch.nn.Module, x: torch.Tensor, target: torch.Tensor) -> Callable[[], None]:
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()

    return step


def seconds(step: Callable[[], None]) -> float:
    began = time.perf_counter()
    for _ in range(STEPS):
        step()
    return time.perf_counter() - began


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for make in (convolutions, perceptron, attention):
            step = make()
            seconds(step)
            ratios = []
            for turn in range(TURNS):
                plain = seconds(step)
                with gradfuzz.record(Path(folder) / f"{make.__name__}-{turn}.jsonl"):
                    ratios.append(seconds(step) / plain)
            ratio = statistics.median(ratios)
            worst = max(worst, ratio)
            print(
                f"{make.__name__:14s} recording / plain: median {ratio:.2f}, worst turn {max(ratios):.2f} ({TURNS} turns of {STEPS} steps)"
            )
    print(f"largest median {worst:.2f} (wanted: below {WANTED:.0f})")
    raise SystemExit(worst >= WANTED)


if __name__ == "__main__":
    main()

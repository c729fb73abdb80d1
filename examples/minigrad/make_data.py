"""Writes moons.csv: two interleaved half circles with a little noise, the same numbers every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

COUNT = 200


def main() -> None:
    rng = np.random.default_rng(8)
    angle = np.pi * rng.random(COUNT)
    label = np.arange(COUNT) % 2
    x = np.where(label == 0, np.cos(angle), 1 - np.cos(angle)) + 0.12 * rng.standard_normal(COUNT)
    y = np.where(label == 0, np.sin(angle), 0.5 - np.sin(angle)) + 0.12 * rng.standard_normal(COUNT)
    lines = ["x,y,label", *(f"{a:.6f},{b:.6f},{c}" for a, b, c in zip(x, y, label))]
    Path(__file__).with_name("moons.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

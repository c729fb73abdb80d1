"""Functions with their derivatives, right and wrong, and what each excuse is for: what the tests of excuses share."""

import numpy as np
from numpy_library import ManyTarget, NumpyTarget, Solver, Viewing

from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.evidence.case import Case
from gradfuzz.oracles.evidence.narrowing import Suspect, single
from gradfuzz.oracles.trial import Trial
from gradfuzz.program import parse
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, REVERSE
from gradfuzz.targets.homes import language_for

TORCH = language_for("torch")
ONE = Options(order=1)
RNG = np.random.default_rng(5)


def program(numbers):
    if isinstance(numbers, str):
        return parse(numbers, TORCH)
    numbers = np.asarray(numbers, dtype=float)
    text = f'x = tensor({numbers.shape}, "float64", listed({numbers.ravel().tolist()}))\ny = torch.sin(x)\n'
    return parse(text.replace("inf", 'float("inf")'), TORCH)


def seen(target, numbers, options=ONE):
    with np.errstate(all="ignore"):
        return examine(target, program(numbers), options)


def library(f, slope, **factors):
    """An elementwise function with its slope."""
    return NumpyTarget(f, lambda x: [np.diag(np.broadcast_to(slope(x), x.shape).ravel())], **factors)


def sine(**factors):
    return library(np.sin, np.cos, **factors)


def jumpy(x):
    return np.sin(x) + np.sign(x)


def half_line(x):
    return np.where(x >= 0, np.sin(x), np.nan)


def rooted(x):
    return np.sin(x) + np.sign(x) * np.sqrt(np.abs(x))


def relu(x):
    return np.maximum(x, 0)


def steep(x):
    return x / np.maximum(np.abs(x), 1e-12)


def sharp(x):
    return np.where(np.abs(x) < 1e-12, 1e12, 0.0)


def quantile(x):
    """A pole at 0, where the difference from one half rounds it to 1.6e16."""
    return np.tan(np.pi * (x - 0.5))


def quantile_slope(x):
    return np.pi / np.cos(np.pi * (x - 0.5)) ** 2


def folded(x):
    """Slopes in all directions at the origin, and no derivative."""
    a, b = x
    return np.array([a * b * b / (a * a + b * b)]) if a or b else np.zeros(1)


def median(x):
    return np.sort(x)[x.size // 2].reshape(1)


def fifth(x):
    row = np.zeros((1, x.size))
    row[0, 4] = 1.0
    return [row]


def chance(x):
    return np.sin(x) + 1e-3 * RNG.standard_normal(x.shape)


def pivoted(x):
    """The larger number first, and the other as a part of it: as LU does with the rows of a matrix."""
    first, second = (x[0], x[1]) if abs(x[0]) >= abs(x[1]) else (x[1], x[0])
    return [np.array([first, second / first])]


def pivoted_tangents(xs, us):
    (x,), (u,) = xs, us
    (a, b), (p, q) = (x, u) if abs(x[0]) >= abs(x[1]) else (x[::-1], u[::-1])
    return [np.array([p, q / a - b * p / a**2])]


def row_first(x):
    return [np.array(abs(x[0]) >= abs(x[1]))]


def hermitian(x):
    return x[0] + x[0].T + 1j * (x[1] - x[1].T)


def eigen(x):
    return list(np.linalg.eigh(hermitian(x)))


def eigen_tangents(xs, us):
    """Vectors are taken to move at right angles to themselves, which is one choice of many."""
    w, v = eigen(xs[0])
    turned = v.conj().T @ hermitian(us[0]) @ v
    gaps = w[None, :] - w[:, None] + np.eye(w.size)
    return [turned.diagonal().real.copy(), v @ (turned / gaps * (1 - np.eye(w.size)))]


def other_sign(xs, us):
    """All that is moved moves the wrong way."""
    return [-t for t in eigen_tangents(xs, us)]


def fresnel(x):
    """A wave that dies away; far out its value is a constant, as one that is computed in time is."""
    return np.where(x > 1e4, 0.5, 0.5 + np.sin(x * x) / (2 * x))


def fresnel_slope(x):
    return np.cos(x * x) - np.where(x > 1e4, 0.0, np.sin(x * x) / (2 * x * x))


def amplified(x, a):
    """Two numbers that cancel but for the last of their places."""
    return x * (a[0] - a[1])


def in_thirds(x, a):
    """The same slope, rounded elsewhere."""
    return [np.eye(x.size) * 3 * (a[0] / 3 - a[1] / 3)]


def solved(x, tol):
    """Up to a tolerance, and in steps that hang on it."""
    return np.sin(x) + tol * np.sin(3 * x)


def solved_slope(x, tol):
    """Solved for as well, up to the same tolerance."""
    return np.cos(x) + tol * np.cos(5 * x)


def lengths(x):
    """Of a row, and of what two rows differ by."""
    return np.sin(x[0]) + np.sqrt(((x[0] - x[1]) ** 2).sum())


def no_number(x):
    return [np.full((x.shape[1], x.size), np.nan)]


VIEW = 'x = tensor((2, 3), "float64", listed([0.4, 1.3, 0.7]), layout="expanded")\ny = torch.sin(x)\n'
STOPS = 'x = tensor((3,), "float64", listed([0.4, 1.3, 0.7]))\ny = torch.sin(x, tol=0.0001)\n'
CANCEL = (
    'x = tensor((2,), "float64", listed([0.7, 1.3]))\n'
    'a = tensor((2,), "float64", listed([10000000001.0, 10000000000.0]), grad=False)\ny = torch.mul(x, a)\n'
)
MATRICES = np.random.default_rng(3).standard_normal((2, 3, 3))
SOME = [0.0, 1.3, 0.7]
# excuse: (a healthy library and the numbers at which differences accuse it), (a wrong one and numbers)
PAIRS = {
    "unsettled": ((library(jumpy, np.cos), SOME), (library(jumpy, np.cos, reverse_factor=1.5), SOME)),
    "domain edge": ((library(half_line, np.cos), [0.0]), (library(half_line, np.cos, reverse_factor=1.5), SOME)),
    "nondeterministic": ((library(chance, np.cos), SOME), (sine(reverse_factor=1.5), SOME)),
    "kink": ((library(relu, lambda x: (x > 0) + 0.3 * (x == 0)), SOME),
             (library(relu, lambda x: (x > 0) * 1.5 + 0.3 * (x == 0)), SOME)),
    "tie": ((NumpyTarget(median, fifth), np.full(9, 1.0)), (NumpyTarget(median, lambda x: [3 * fifth(x)[0]]), np.arange(9.0))),
    "no limit": ((library(rooted, lambda x: np.cos(x) + np.where(x == 0, np.inf, 0.5 / np.sqrt(np.abs(x)))), [0.0, 0.4]),
                 (library(rooted, lambda x: 1.5 * np.cos(x) + np.where(x == 0, 5.0, 0.5 / np.sqrt(np.abs(x)))), SOME)),
    "jump": ((library(quantile, quantile_slope), [1e-8, 0.0]), (library(quantile, lambda x: 1.001 * quantile_slope(x)), [0.2, 0.3])),
    "overflow": ((library(lambda x: x**2, lambda x: np.where(np.abs(x) < 1e-160, 1.0, 2 * x)), [1e-200, 0.7]),
                 (library(lambda x: x**2, lambda x: 3 * x), [1e-200, 0.7])),
    "own scale": ((library(lambda x: np.arcsinh(x / 1e-9), lambda x: 1 / np.hypot(x, 1e-9)), [1e-9, 2.0]),
                  (library(lambda x: np.arcsinh(x), lambda x: 1.5 / np.hypot(x, 1.0)), [1e-9, 2.0])),
    "below rounding": ((library(np.zeros_like, lambda x: 1e-14 + 0 * x), SOME), (library(np.zeros_like, lambda x: 1e-3 + 0 * x), SOME)),
    "whole numbers": ((library(np.round, np.zeros_like), [3e20]), (library(lambda x: 3 * x, np.zeros_like), [3e3])),
    "absorbed": ((library(lambda x: (1e30 + x) - 1e30, np.ones_like), SOME), (library(np.zeros_like, np.ones_like), SOME)),
    "tiny steps": ((library(steep, sharp), [0.0]), (library(np.tanh, sharp), [0.0])),
    "last places": ((sine(), np.full((3, 4), 1.43e14)), (sine(reverse_factor=1.5), np.full((3, 4), 1.43e3))),
    "not additive": ((NumpyTarget(folded, lambda x: [np.array([[0.3, 0.4]])]), [0.0, 0.0]),
                     (NumpyTarget(folded, lambda x: [np.array([[0.3, 0.4]])]), [0.6, 0.5])),
    "choice": ((ManyTarget(pivoted, pivoted_tangents, row_first), [1.0, -1.0]),
               (ManyTarget(pivoted, pivoted_tangents, row_first, reverse_factor=1.5), [1.0, -0.4])),
    "ill-conditioned": ((NumpyTarget(amplified, in_thirds), CANCEL),
                        (NumpyTarget(amplified, in_thirds, reverse_factor=1 + 1e-3), CANCEL)),
    "gauge": ((ManyTarget(eigen, eigen_tangents), MATRICES), (ManyTarget(eigen, other_sign), MATRICES)),
    "saturated": ((library(fresnel, fresnel_slope), [1.1e5, 2.3e5]), (library(lambda x: np.clip(x, -1, 1), np.ones_like), [1.1e5, 2.3e5])),
    "slices": ((Viewing(lengths, no_number), VIEW), (Viewing(lambda x: np.sin(x[0]) + x[1] ** 2, no_number), VIEW)),
    "own tolerance": ((Solver(solved, solved_slope), STOPS), (Solver(solved, solved_slope, reverse_factor=1.001), STOPS)),
    "domain": ((library(np.tanh, lambda x: np.nan * x), [np.inf]), (library(np.tanh, lambda x: np.nan * x), [1.0])),
    "noisy": ((library(lambda x: 1e17 + x, lambda x: np.nan * x), [1e4]), (library(lambda x: 1e3 + x, lambda x: np.nan * x), [1e4])),
    "too steep": ((library(lambda x: 1e305 * x, lambda x: np.nan * x), [0.1]), (library(lambda x: 1e3 * x, lambda x: np.nan * x), [0.1])),
}  # fmt: skip


def weighed(excuse, target, numbers, salt):
    """What an excuse says to single elements, to a derivative that is not finite, and to the direction as a whole."""
    with np.errstate(all="ignore"):
        trial = Trial(target, program(numbers), salt)
        case = Case(trial, 1, DIRECT, [REVERSE, FORWARD])
        places = [(0, flat) for flat in range(trial.inputs[0].size)]
        lines = [case.line(single(trial, place, trial.point.scales[0])) for place in places]
        suspects = [Suspect(case, line, place, [REVERSE], False) for place, line in zip(places, lines)]
        said = {excuse.element(s) for s in suspects} if excuse.element else set()
        said |= {excuse.broken(Broken(case, case.first, [REVERSE]))} if excuse.broken else set()
        said |= {excuse.line(case, case.first)} if excuse.line else set()
        return said - {None}

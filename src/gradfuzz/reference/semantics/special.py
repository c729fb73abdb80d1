"""Special functions."""

from __future__ import annotations

import math
from typing import Any

from flint import acb, acb_series, arb

from gradfuzz.reference.arrays import elementwise
from gradfuzz.reference.jet import NAN, ZERO, Ball, Jet, Taylor, by_gradient, jet
from gradfuzz.reference.semantics.choice import size_of
from gradfuzz.reference.semantics.elementary import exp, log, log1p, whole
from gradfuzz.reference.semantics.registry import analytic, each, meaning
from gradfuzz.reference.taylor import by_derivatives, by_own_slope, by_series, by_slope, coefficients


def _two_over_root_pi() -> arb:
    return 2 / arb.pi().sqrt()


erf = by_slope(lambda x: x.erf(), lambda s: (-(s * s)).exp() * _two_over_root_pi())
erfc = by_slope(lambda x: x.erfc(), lambda s: -((-(s * s)).exp()) * _two_over_root_pi())
erfinv = by_own_slope(lambda x: x.erfinv(), lambda s, f: (f * f).exp() / _two_over_root_pi())
erfcinv = by_own_slope(lambda x: x.erfcinv(), lambda s, f: -((f * f).exp()) / _two_over_root_pi())


def lgamma(x: Ball, n: int) -> list[Ball]:
    """log|Γ(x)| of a real number; log Γ of a complex one."""
    if isinstance(x, acb):
        return coefficients(acb_series([x, 1], prec=n + 1).lgamma(), n)
    if x > 0 or not x < 0:
        return by_series(lambda s: s.lgamma())(x, n)  # type: ignore[return-value]
    return [c.real for c in map(acb, lgamma(acb(x), n))]


def polygamma(order: int) -> Taylor:
    """The (order + 1)-th derivative of log Γ."""

    def taylor(x: Ball, n: int) -> list[Ball]:
        known = lgamma(x, order + 1 + n)
        return [known[order + 1 + m] * (math.factorial(order + 1 + m) // math.factorial(m)) for m in range(n + 1)]

    return taylor


def _bessel(kind: str, sign: int, other: int) -> Any:
    """J and Y: C′ = (C₋ - C₊)/2; I: (I₋ + I₊)/2; K: -(K₋ + K₊)/2, applied m times."""

    def of(order: int) -> Taylor:
        def derivative(m: int, x: Ball) -> Ball:
            terms = [(other**i) * math.comb(m, i) * getattr(x, kind)(abs_order(order - m + 2 * i)) for i in range(m + 1)]
            return sum(terms[1:], terms[0]) * sign**m / 2**m

        def abs_order(k: int) -> int:
            return k

        return by_derivatives(derivative)

    return of


bessel_j, bessel_y = _bessel("bessel_j", 1, -1), _bessel("bessel_y", 1, -1)
bessel_i, bessel_k = _bessel("bessel_i", 1, 1), _bessel("bessel_k", -1, 1)

for _name, _taylor in {
    "erf": erf, "erfc": erfc, "erfinv": erfinv, "lgamma": lgamma, "digamma": polygamma(0), "trigamma": polygamma(1),
    "i0": bessel_i(0), "i1": bessel_i(1), "j0": bessel_j(0), "j1": bessel_j(1), "y0": bessel_y(0), "y1": bessel_y(1),
    "k0": bessel_k(0), "k1": bessel_k(1),
    "expi": by_slope(lambda x: x.ei(), lambda s: s.exp() / s), "exp1": by_slope(lambda x: x.expint(1), lambda s: -((-s).exp()) / s),
    "fresnel_sin": by_slope(lambda x: x.fresnel_s(), lambda s: (s * s * (arb.pi() / 2)).sin()),
    "fresnel_cos": by_slope(lambda x: x.fresnel_c(), lambda s: (s * s * (arb.pi() / 2)).cos()),
    "gamma": by_series(lambda s: s.gamma(), lambda x: x.gamma()),
    "airy_ai": by_series(lambda s: s.airy_ai()),
}.items():  # fmt: skip
    analytic(_name, _taylor)


@each
def spence(a: Jet) -> Jet:
    """∫₁ˣ log t/(1 - t) dt = Li₂(1 - x)"""
    if a.value == 1:
        return _spence_at_one(a)
    return a.apply(by_slope(lambda x: acb(1 - x).polylog(2).real, lambda s: s.log() / (1 - s)))


def _spence_at_one(a: Jet) -> Jet:
    gone, term, total = 1 - a, jet(1), jet(0)
    for k in range(1, 5):
        term = term * gone
        total = total + term / k**2
    return total


@each
def dawson(a: Jet) -> Jet:
    """exp(-x²) ∫₀ˣ exp(t²) dt"""
    erfi = by_slope(lambda x: x.erfi(), lambda s: (s * s).exp() * _two_over_root_pi())
    return a.apply(erfi) * (-(a * a)).apply(exp) / _two_over_root_pi()


@each
def erfcx(a: Jet) -> Jet:
    return (a * a).apply(exp) * a.apply(erfc)


@each
def ndtr(a: Jet) -> Jet:
    return (-a / arb(2).sqrt()).apply(erfc) / 2


@each
def log_ndtr(a: Jet) -> Jet:
    if a.value > 0:  # log(1 - small)
        return (-((a / arb(2).sqrt()).apply(erfc) / 2)).apply(log1p)
    return ((-a / arb(2).sqrt()).apply(erfc) / 2).apply(log)


@each
def ndtri(a: Jet) -> Jet:
    return (a * 2).apply(erfcinv) * -arb(2).sqrt()


def scaled(a: Jet, taylor: Taylor) -> Jet:
    """exp(-|x|) f(x)"""
    return (-size_of(a)).apply(exp) * a.apply(taylor)


@each
def i0e(a: Jet) -> Jet:
    return scaled(a, bessel_i(0))


@each
def i1e(a: Jet) -> Jet:
    return scaled(a, bessel_i(1))


@each
def k0e(a: Jet) -> Jet:
    return a.apply(exp) * a.apply(bessel_k(0))


@each
def k1e(a: Jet) -> Jet:
    return a.apply(exp) * a.apply(bessel_k(1))


@meaning
def polygamma_(n: Any, x: Any) -> Any:
    def one(order: Jet, a: Jet) -> Jet:
        k = whole(order.value)
        if k is None or k < 0:
            raise NotImplementedError("polygamma of a broken order")
        return _along_last(order, a.apply(polygamma(k)))

    return elementwise(one, n, x)


def _along_last(parameter: Jet, found: Jet) -> Jet:
    """Known as a function of its last argument alone: no slope where a parameter moves."""
    if parameter.constant:
        return found
    return parameter.with_slopes(found.value, NAN)


@each
def zeta(s: Jet, q: Jet) -> Jet:
    """Hurwitz's; along s it is not known here."""

    def derivative(m: int, x: Ball) -> Ball:
        rising = arb(1)
        for k in range(m):
            rising *= -(s.value + k)
        return rising * (s.value + m).zeta(x)

    return _along_last(s, q.apply(by_derivatives(derivative)))


@each
def gammainc(a: Jet, x: Jet) -> Jet:
    """The lower one, regularised; along a it is not known here."""
    return _along_last(a, x.apply(_gamma_share(a.value, lambda y: y.gamma_lower(a.value, regularized=1), 1)))


@each
def gammaincc(a: Jet, x: Jet) -> Jet:
    return _along_last(a, x.apply(_gamma_share(a.value, lambda y: y.gamma_upper(a.value, regularized=1), -1)))


def _gamma_share(a: Ball, value: Any, sign: int) -> Taylor:
    return by_slope(value, lambda s: ((a - 1) * s.log() - s - a.lgamma()).exp() * sign)


@each
def betainc(a: Jet, b: Jet, x: Jet) -> Jet:
    p, q = a.value, b.value
    scale = p.lgamma() + q.lgamma() - (p + q).lgamma()
    taylor = by_slope(lambda y: y.beta_lower(p, q, regularized=1), lambda s: ((p - 1) * s.log() + (q - 1) * (1 - s).log() - scale).exp())
    return _along_last(b, _along_last(a, x.apply(taylor)))


@each
def owens_t(h: Jet, a: Jet) -> Jet:
    """∫₀ᵃ exp(-h² (1 + x²)/2)/(1 + x²) dx / 2π; its slopes have closed forms."""
    root, whole_turn = arb(2).sqrt(), 2 * arb.pi()
    bell = (-(h * h) / 2).apply(exp)
    share = acb.integral(lambda x, _: (-(h.value * h.value) * x * x / 2).exp() / (1 + x * x), acb(0), acb(a.value)).real
    along_h = bell * (a * h / root).apply(erf) / -(2 * whole_turn.sqrt())
    along_a = bell * (-(a * h) * (a * h) / 2).apply(exp) / (a * a + 1) / whole_turn
    return by_gradient(bell.value * share / whole_turn, ((h, along_h), (a, along_a)))


@each
def entr(a: Jet) -> Jet:
    return a.with_slopes(ZERO, NAN) if a.value == 0 else -a * a.apply(log)


@each
def xlogy(a: Jet, b: Jet) -> Jet:
    """a log b; zero where a is zero, whatever b is."""
    if a.value == 0:
        if b.value > 0:
            return a * b.apply(log)
        return (a if len(a.c) > len(b.c) else b).with_slopes(ZERO, ZERO if a.constant else NAN)
    return a * b.apply(log)


@each
def xlog1py(a: Jet, b: Jet) -> Jet:
    if a.value == 0 and not b.value > -1:
        return (a if len(a.c) > len(b.c) else b).with_slopes(ZERO, ZERO if a.constant else NAN)
    return a * b.apply(log1p)


@each
def rel_entr(a: Jet, b: Jet) -> Jet:
    if a.value == 0:
        return a.with_slopes(ZERO, NAN if not a.constant else ZERO)
    return a * (a / b).apply(log)


@each
def kl_div(a: Jet, b: Jet) -> Jet:
    if a.value == 0:
        return a.with_slopes(ZERO, NAN) + b if not a.constant else b
    return a * (a / b).apply(log) - a + b


@each
def betaln(a: Jet, b: Jet) -> Jet:
    return a.apply(lgamma) + b.apply(lgamma) - (a + b).apply(lgamma)


@each
def lbinomial(n: Jet, k: Jet) -> Jet:
    """log of the binomial coefficient."""
    return (n + 1).apply(lgamma) - (k + 1).apply(lgamma) - (n - k + 1).apply(lgamma)


@meaning
def multigammaln(x: Any, p: int) -> Any:
    p = int(p)

    def one(a: Jet) -> Jet:
        found = jet(arb.pi().log() * p * (p - 1) / 4)
        for k in range(p):
            found = found + (a - arb(k) / 2).apply(lgamma)
        return found

    return elementwise(one, x)

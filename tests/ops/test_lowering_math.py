"""Accuracy of the math functions: dense sweeps against wider arithmetic, and the values at the ends of their ranges.

The bounds here are the figures that the docstrings of the functions state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ccml.ir.loops import Call, Expr, Type, Var
from ccml.ir.loops_rewrite import map_expr, walk_expr
from ccml.ir.types import DType
from ccml.ops import math_exprs, trig_exprs
from ccml.ops.opdef import Bind
from ccml.ops.pow_exprs import power
from ccml.ops.rounding_exprs import expand_rounding

from tests.ops.expr_harness import Bindings, evaluate, operands

Function = Callable[[Expr, Bind], Expr]
HALF_PI = np.longdouble("1.57079632679489661923")
NO_LONGDOUBLE = np.finfo(np.longdouble).nmant < 60


def apply(function: Function, x: np.ndarray, *, fused: bool = False) -> np.ndarray:
    """``function`` of ``x``; ``fused``: as on machines with a fused multiply-add."""
    bindings = Bindings()
    result = function(operands(x)[0], bindings.bind)
    if fused:
        bindings.values = [(var, with_fused(value)) for var, value in bindings.values]
        result = with_fused(result)
    return evaluate(result, bindings, x)


def with_fused(expr: Expr) -> Expr:
    def rule(part: Expr) -> Expr | None:
        multiply_add = isinstance(part, Call) and part.function == "multiply_add"
        return replace(part, function="fma") if multiply_add else None

    return map_expr(expr, rule)


def ulps(got: np.ndarray, exact: np.ndarray) -> float:
    """The largest error, where the result is a normal number."""
    info = np.finfo(got.dtype)
    normal = (np.abs(exact) >= 2 * info.tiny) & (np.abs(exact) <= info.max)
    assert normal.any()
    unit = np.spacing(np.abs(exact[normal]).astype(got.dtype)).astype(exact.dtype)
    return float(np.max(np.abs(got[normal].astype(exact.dtype) - exact[normal]) / unit))


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64 if x.dtype == np.float32 else np.longdouble)


def both_signs(low: float, high: float) -> Callable[[type[Any]], np.ndarray]:
    """Geometrically from ``low`` to ``high``, and evenly between -``high`` and ``high`` as far as 20."""

    def points(dtype: type[Any]) -> np.ndarray:
        steps, even = np.geomspace(low, high, 60001), np.linspace(-min(high, 20), min(high, 20), 60001)
        return np.concatenate([steps, -steps, even]).astype(dtype)

    return points


def from_to(low: float, high: float) -> Callable[[type[Any]], np.ndarray]:
    return lambda dtype: np.linspace(low, high, 150001).astype(dtype)


def exponents(dtype: type[Any]) -> np.ndarray:
    """The arguments of exp whose results are normal numbers."""
    info = np.finfo(dtype)
    return np.linspace(math.log(info.tiny) + 0.4, math.log(info.max), 150001).astype(dtype)


def positive(dtype: type[Any]) -> np.ndarray:
    info = np.finfo(dtype)
    steps = np.exp(np.linspace(math.log(info.smallest_subnormal) + 1, math.log(info.max), 60001))
    return np.concatenate([steps, np.linspace(0.3, 3, 60001)]).astype(dtype)


def angles(dtype: type[Any]) -> np.ndarray:
    limit = trig_exprs.direct_limit(DType.from_numpy(dtype))
    return np.linspace(-limit, limit, 200001).astype(dtype)


def right_angles(dtype: type[Any]) -> np.ndarray:
    return (np.arange(1, 32768) * HALF_PI).astype(dtype)


def softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x, x.dtype.type(0))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


SWEEPS: list[tuple[Function, Callable[[np.ndarray], np.ndarray], Callable[[type[Any]], np.ndarray], float, float]] = [
    (math_exprs.exp, np.exp, exponents, 1.0, 1.0),
    (math_exprs.exp, np.exp, from_to(-2, 2), 1.0, 1.0),
    (math_exprs.sigmoid, sigmoid, both_signs(1e-30, 85), 2.4, 2.4),
    (math_exprs.tanh, np.tanh, both_signs(1e-30, 30), 2.6, 2.6),
    (math_exprs.sinh, np.sinh, both_signs(1e-30, 89), 2.4, 2.6),
    (math_exprs.cosh, np.cosh, both_signs(1e-30, 89), 1.4, 1.4),
    (math_exprs.log, np.log, positive, 0.9, 0.9),
    (math_exprs.softplus, softplus, both_signs(1e-30, 85), 2.5, 2.5),
    (math_exprs.asinh, np.arcsinh, both_signs(1e-30, 1e30), 1.7, 1.7),
    (math_exprs.acosh, np.arccosh, from_to(1, 3), 2.1, 2.1),
    (math_exprs.acosh, np.arccosh, lambda dtype: 1 + np.geomspace(1e-6, 1e30, 60001).astype(dtype), 2.1, 2.1),
    (math_exprs.atanh, np.arctanh, both_signs(1e-30, 0.9999), 1.7, 1.7),
    (trig_exprs.sin, np.sin, from_to(-20, 20), 1.6, 1.6),
    (trig_exprs.sin, np.sin, angles, 2.4, 2.4),
    (trig_exprs.sin, np.sin, right_angles, 3.7, 1.0),
    (trig_exprs.cos, np.cos, from_to(-20, 20), 1.6, 1.6),
    (trig_exprs.cos, np.cos, angles, 2.4, 2.4),
    (trig_exprs.cos, np.cos, right_angles, 3.7, 1.0),
    (trig_exprs.tan, np.tan, from_to(-20, 20), 3.4, 3.4),
    (trig_exprs.tan, np.tan, angles, 3.8, 3.8),
    (trig_exprs.tan, np.tan, right_angles, 6.4, 2.0),
    (trig_exprs.atan, np.arctan, both_signs(1e-30, 1e30), 1.5, 1.8),
    (trig_exprs.asin, np.arcsin, both_signs(1e-30, 1), 2.4, 2.4),
    (trig_exprs.acos, np.arccos, both_signs(1e-30, 1), 1.2, 1.2),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fused", [False, True], ids=["rounded", "fused"])
@pytest.mark.parametrize(("function", "reference", "points", "single", "double"), SWEEPS)
def test_accuracy(function, reference, points, single: float, double: float, fused: bool, dtype: type[Any]) -> None:  # type: ignore[no-untyped-def]
    if dtype is np.float64 and NO_LONGDOUBLE:
        pytest.skip("needs a long double wider than double")
    x = points(dtype)
    with np.errstate(all="ignore"):
        exact = reference(wide(x))
    assert ulps(apply(function, x, fused=fused), exact) <= (single if dtype is np.float32 else double)


@pytest.mark.parametrize("fused", [False, True], ids=["rounded", "fused"])
def test_accuracy_of_erf(fused: bool) -> None:
    x = both_signs(1e-30, 5)(np.float32)[::3]
    exact = np.array([math.erf(value) for value in x.tolist()])
    assert ulps(apply(math_exprs.erf, x, fused=fused), exact) <= 5.7
    x = x.astype(np.float64)
    assert ulps(apply(math_exprs.erf, x, fused=fused), np.array([math.erf(value) for value in x.tolist()])) <= 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_accuracy_of_pow(dtype: type[Any]) -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([np.exp(rng.uniform(-20, 20, 60000)), rng.uniform(0.7, 1.4, 60000)]).astype(dtype)
    logs = np.abs(np.log(x.astype(np.float64))) + 1e-9
    y = (rng.uniform(-1, 1, x.size) * 86 / logs).astype(dtype)
    bindings = Bindings()
    base, exponent = operands(x, y)
    got = evaluate(power(base, exponent, bindings.bind), bindings, x, y)
    if dtype is np.float32:
        assert ulps(got, np.power(x.astype(np.longdouble), y.astype(np.longdouble)).astype(np.float64)) <= 1.2
    else:
        # A long double has 11 bits more, too few for a power: this is a check of its magnitude.
        assert ulps(got, np.power(x.astype(np.longdouble), y.astype(np.longdouble))) <= 1.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values_of_pow(dtype: type[Any]) -> None:
    values = [0.0, -0.0, 1, -1, 2, -2, 3, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e30, 1e-30, 2.5, 4e9 + 1]
    x, y = (np.ravel(grid) for grid in np.meshgrid(np.array(values, dtype), np.array(values, dtype)))
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    bindings = Bindings()
    base, exponent = operands(x, y)
    got = evaluate(power(base, exponent, bindings.bind), bindings, x, y)
    np.testing.assert_allclose(got, expected, rtol=4e-7, atol=np.finfo(dtype).tiny)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (math_exprs.exp, np.exp),
        (math_exprs.sigmoid, sigmoid),
        (math_exprs.tanh, np.tanh),
        (math_exprs.sinh, np.sinh),
        (math_exprs.cosh, np.cosh),
        (math_exprs.log, np.log),
        (math_exprs.softplus, softplus),
        (math_exprs.asinh, np.arcsinh),
        (math_exprs.acosh, np.arccosh),
        (math_exprs.atanh, np.arctanh),
        (math_exprs.erf, np.vectorize(math.erf)),
        (trig_exprs.atan, np.arctan),
        (trig_exprs.asin, np.arcsin),
        (trig_exprs.acos, np.arccos),
    ],
)
def test_special_values(function: Function, reference: Callable[[np.ndarray], np.ndarray], dtype: type[Any]) -> None:
    info = np.finfo(dtype)
    ends = [0.0, 1.0, np.inf, info.max, info.tiny, info.smallest_subnormal, 80, 88.5, 88.8, 700, 710, 1e30, 1e-30]
    ends += [1.1 * 10.0**exponent for exponent in range(info.maxexp * 3 // 10)]
    x = np.array([*ends, *(-end for end in ends), np.nan], dtype)
    with np.errstate(all="ignore"):
        expected = reference(wide(x)).astype(dtype)
    got = apply(function, x)
    np.testing.assert_allclose(got, expected, rtol=4 * info.eps, atol=2 * info.tiny)
    zeros = (expected == 0) & (x == 0)
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))


def far_angles(dtype: type[Any]) -> np.ndarray:
    """Beyond what is reduced in floats, up to the largest numbers; and those closest to multiples of pi/2."""
    limit, info = trig_exprs.direct_limit(DType.from_numpy(dtype)), np.finfo(dtype)
    steps = np.exp(np.linspace(math.log(limit), math.log(info.max), 50001)).astype(dtype)
    near = (np.arange(1, 20001) * (math.pi / 2) * 2.0 ** np.linspace(15, 40, 20000)).astype(dtype)
    x = np.concatenate([steps, near, [info.max, np.nextafter(dtype(limit), dtype(np.inf))]])
    return np.concatenate([x, -x])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function, reference", [(trig_exprs.sin, np.sin), (trig_exprs.cos, np.cos)])
def test_angles_of_any_size(function: Function, reference: Function, dtype: type[Any]) -> None:
    if dtype is np.float64 and NO_LONGDOUBLE:
        pytest.skip("needs a long double wider than double")
    x = far_angles(dtype)
    exact = reference(wide(x))
    unit = np.spacing(np.abs(exact).astype(dtype)).astype(exact.dtype)
    most, least = (2.7, 1e-8) if dtype is np.float32 else (2.4, 2e-17)
    assert np.all(np.abs(apply(function, x).astype(exact.dtype) - exact) <= np.maximum(most * unit, least))


@pytest.mark.parametrize("function", [trig_exprs.sin, trig_exprs.cos, trig_exprs.tan])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_angles_that_are_no_numbers(function: Function, dtype: type[Any]) -> None:
    x = np.array([np.inf, -np.inf, np.nan], dtype)
    assert np.isnan(apply(function, x)).all()


def test_tangents_of_large_angles() -> None:
    x = np.array([51472, -63768, 1e5, 1e6, -1e7, 1e15, 1e30, 65504], np.float32)
    np.testing.assert_allclose(apply(trig_exprs.tan, x), np.tan(x.astype(np.float64)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "reference"), [("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round_even", np.rint)]
)
def test_expanded_rounding(name: str, reference: Callable[[np.ndarray], np.ndarray], dtype: type[Any]) -> None:
    whole = 2.0 ** np.finfo(dtype).nmant
    edges = np.array([0.0, 0.5, 1.5, 2.5, 0.49999997, whole - 0.5, whole / 2 + 0.5, whole, 2 * whole + 2, np.inf])
    x = np.concatenate([edges, -edges, [np.nan], np.linspace(-5, 5, 2001)]).astype(dtype)
    got = apply(lambda x, bind: expand_rounding(Call(name, (x,), x.type), bind), x)
    np.testing.assert_array_equal(got, reference(x))
    numbers = ~np.isnan(x)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(reference(x)[numbers]))
    plain = expand_rounding(Call(name, (Var("x", Type(DType.from_numpy(dtype))),), Type(DType.from_numpy(dtype))))
    assert not any(isinstance(part, Call) for part in walk_expr(plain))


@pytest.mark.parametrize("function", list(dict.fromkeys([row[0] for row in SWEEPS] + [math_exprs.erf])))
def test_vectors_keep_their_lanes(function: Function) -> None:
    bindings = Bindings()
    expr = function(Var("x", Type(DType.F32, 8)), bindings.bind)
    for value in (expr, *(value for _, value in bindings.values)):
        assert {part.type.lanes for part in walk_expr(value)} == {8}

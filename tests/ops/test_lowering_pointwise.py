"""Every pointwise operator's expression against the meaning in the operator table, on hard values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.ir.graph import Node, Value
from ccml.ir.loops import Const, Type
from ccml.ir.types import DType, TensorType
from ccml.ops.opdef import Kind
from ccml.ops.pointwise_exprs import SCALARS
from ccml.ops.table import OPS

from tests.ops.expr_harness import Bindings, evaluate, operands

FLOATS: list[type[Any]] = [np.float32, np.float64]
INTEGERS: list[type[Any]] = [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64]
UNARY_MATH = [
    "exp", "log", "sqrt", "reciprocal", "floor", "ceil", "round", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid", "softplus",
]  # fmt: skip
TOLERANCE = {np.float16: 1e-3, np.float32: 4e-7, np.float64: 1e-15}


def run(op: str, *arrays: np.ndarray, **attrs: Any) -> np.ndarray:
    """The expression's results; elements of narrow types as the integers that are stored."""
    inputs = tuple(
        Value(f"x{i}", TensorType(DType.from_numpy(array.dtype), array.shape)) for i, array in enumerate(arrays)
    )
    outputs = OPS[op].infer([value.type for value in inputs], attrs)
    node = Node(op, inputs, (Value("y", outputs[0]),), attrs)
    bindings = Bindings()
    arrays = tuple(array.view(value.dtype.stored.numpy) for array, value in zip(arrays, inputs))
    expr = SCALARS[op](operands(*arrays), node, bindings.bind)
    assert expr.type == Type(outputs[0].dtype.stored)
    return evaluate(expr, bindings, *arrays)


def check(op: str, *arrays: np.ndarray, exact: bool = True, **attrs: Any) -> None:
    (expected,) = OPS[op].evaluate(arrays, attrs)
    got = np.broadcast_to(run(op, *arrays, **attrs), expected.shape)
    assert got.dtype == expected.dtype
    if exact:
        np.testing.assert_array_equal(got, expected)
    else:
        tolerance = TOLERANCE[expected.dtype.type]
        # The table's sigmoid goes through tanh: absolutely, not relatively, accurate near 0.
        atol = 1e-16 if op == "sigmoid" else np.finfo(expected.dtype).tiny
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=atol)


def floats(dtype: type[Any]) -> np.ndarray:
    info = np.finfo(dtype)
    hard = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-3]
    return np.array([*hard, *np.linspace(-20, 20, 163)], dtype)


def integers(dtype: type[Any]) -> np.ndarray:
    info = np.iinfo(dtype)
    hard = {info.min, info.min + 1, info.max, info.max - 1, *range(max(-5, info.min), 8), 63, 100}
    return np.array(sorted(hard), dtype)


def pairs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(values, values)
    return x.ravel(), y.ravel()


def test_every_pointwise_operator_has_an_expression() -> None:
    assert set(SCALARS) == {name for name, row in OPS.items() if row.kind is Kind.POINTWISE}


@pytest.mark.parametrize("dtype", [np.float16, *FLOATS])
@pytest.mark.parametrize("op", UNARY_MATH)
def test_functions(op: str, dtype: type[Any]) -> None:
    x = floats(dtype)
    beyond = {"sin", "cos", "tan"} & {op}
    check(op, x[np.abs(x) < 1e4] if beyond else x, exact=False)


@pytest.mark.parametrize("op", ["neg", "abs", "sign", "relu"])
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_one_number(op: str, dtype: type[Any]) -> None:
    check(op, floats(dtype) if np.dtype(dtype).kind == "f" else integers(dtype))


@pytest.mark.parametrize("bitwise", [False, True])
def test_root_of_an_integer(bitwise: bool) -> None:
    root = np.arange(1, 32769, 101, dtype=np.int64)
    x = np.stack([root * root - 1, root * root, root * root + root, root * root + root + 1])
    check("int_sqrt", x.reshape(-1).astype(np.uint32), bitwise=bitwise)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "min", "max", "eq", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_two_numbers(op: str, dtype: type[Any]) -> None:
    check(op, *pairs(floats(dtype)[::3] if np.dtype(dtype).kind == "f" else integers(dtype)))


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_div(dtype: type[Any]) -> None:
    x, y = pairs(floats(dtype)[::3] if np.dtype(dtype).kind == "f" else integers(dtype))
    if np.dtype(dtype).kind == "i":
        wraps = (x == np.iinfo(dtype).min) & (y == -1)
        assert np.all(run("div", x, y)[wraps] == x[wraps])
        x, y = x[~wraps], y[~wraps]
    check("div", x, y)


@pytest.mark.parametrize("fmod", [False, True])
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_mod(dtype: type[Any], fmod: bool) -> None:
    x, y = pairs(integers(dtype) if np.dtype(dtype).kind != "f" else floats(dtype)[10:])
    check("mod", x, y, fmod=fmod)


def test_float_remainder_of_large_quotients_is_exact() -> None:
    rng = np.random.default_rng(3)
    x = (rng.uniform(1, 2, 20000) * 2.0 ** rng.integers(-10, 40, 20000)).astype(np.float32)
    y = (rng.uniform(1, 2, 20000) * 2.0 ** rng.integers(-3, 10, 20000)).astype(np.float32)
    check("mod", x, y, fmod=True)


@pytest.mark.parametrize("op", ["bitand", "bitor", "bitxor"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits(op: str, dtype: type[Any]) -> None:
    check(op, *pairs(integers(dtype)))
    check("bitnot", integers(dtype))


@pytest.mark.parametrize("op", ["shl", "shr"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_shift(op: str, dtype: type[Any]) -> None:
    x, count = np.meshgrid(integers(dtype), np.array([0, 1, 7, 8, 15, 31, 33, 63, 64, 100], dtype))
    check(op, x.ravel(), count.ravel())


def test_bool() -> None:
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    for op in ("and", "or", "xor", "eq", "lt", "le", "gt", "ge"):
        check(op, x, y)
    check("not", x)
    check("where", x, np.arange(4), -np.arange(4))


def test_isnan_and_isinf() -> None:
    x = floats(np.float32)
    check("isnan", x)
    for negative in (False, True):
        for positive in (False, True):
            got = np.broadcast_to(run("isinf", x, negative=negative, positive=positive), x.shape)
            np.testing.assert_array_equal(got, (np.isneginf(x) & negative) | (np.isposinf(x) & positive))


@pytest.mark.parametrize(("lo", "hi"), [(-1.5, 2.0), (-np.inf, 0.0), (0.0, np.inf), (3.0, 1.0), (-np.inf, np.inf)])
def test_clip_of_floats(lo: float, hi: float) -> None:
    check("clip", floats(np.float32), lo=lo, hi=hi)


@pytest.mark.parametrize(("lo", "hi"), [(-3, 100), (0, 6), (-1000, 1000), (5, 2)])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_clip_of_integers(dtype: type[Any], lo: int, hi: int) -> None:
    check("clip", integers(dtype), lo=lo, hi=hi)


@pytest.mark.parametrize("to", [DType.F64, DType.F32, DType.I64, DType.I32, DType.I8, DType.U8, DType.U32, DType.BOOL])
@pytest.mark.parametrize("dtype", [np.float16, *FLOATS, *INTEGERS, np.bool_])
def test_cast(dtype: type[Any], to: DType) -> None:
    if dtype is np.bool_:
        x = np.array([False, True])
    elif np.dtype(dtype).kind == "f":
        edges = [2.0**bits + step for bits in (7, 8, 15, 31, 32, 63) for step in (-1, -0.5, 0, 0.5, 1)]
        with np.errstate(over="ignore"):
            x = np.concatenate([floats(dtype), np.array(edges), -np.array(edges)]).astype(dtype)
    else:
        x = integers(dtype)
    check("cast", x, to=to)


@pytest.mark.parametrize("dtype", FLOATS)
def test_pow_of_floats(dtype: type[Any]) -> None:
    check("pow", *pairs(np.concatenate([floats(dtype)[::7], np.arange(-4, 5)]).astype(dtype)), exact=False)
    x = np.array([-3, -0.5, 2, 7], dtype)
    check("pow", x, np.array([3, -2, 10, 0], np.int64), exact=False)


@pytest.mark.parametrize("exponent", [-2, -1, 0.5, 1, 2, 3, 4, 1.7])
def test_pow_by_a_literal(exponent: float) -> None:
    x = np.linspace(0.1, 9, 100, dtype=np.float32)
    bindings, node = Bindings(), Node("pow", (), ())
    expr = SCALARS["pow"]([operands(x)[0], Const(exponent, Type(DType.F32))], node, bindings.bind)
    np.testing.assert_allclose(evaluate(expr, bindings, x), x.astype(np.float64) ** exponent, rtol=3e-7)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_pow_of_integers(dtype: type[Any]) -> None:
    x, y = np.meshgrid(np.arange(12, dtype=dtype), np.array([0, 1, 2, 5, 31], np.int32))
    check("pow", x.ravel(), y.ravel())
    x, y = np.meshgrid(np.arange(12, dtype=dtype), np.array([0, 0.5, 2, 3.5], np.float32))
    check("pow", x.ravel(), y.ravel())
    signed = np.array([-2, -1, 1, 2, 3], np.int64)
    check("pow", signed, np.array([-3, -3, -1, -2, -1], np.int64))
    bindings = Bindings()
    expr = SCALARS["pow"]([operands(signed)[0], Const(5, Type(DType.I64))], Node("pow", (), ()), bindings.bind)
    np.testing.assert_array_equal(evaluate(expr, bindings, signed), signed**5)


@pytest.mark.parametrize(
    ("to", "zero_point"), [(DType.I8, -3), (DType.U8, 128), (DType.I16, 100), (DType.U16, 7), (DType.I32, 0)]
)
def test_quantize_and_dequantize(to: DType, zero_point: int) -> None:
    attrs: dict[str, Any] = {"scale": (0.0473,), "zero_point": (zero_point,), "axis": 0}
    ties = np.arange(-300, 300, dtype=np.float32) * np.float32(0.0473) / 2
    check("quantize", np.concatenate([floats(np.float32), ties]), to=to, **attrs)
    check("dequantize", integers(to.numpy.type), **attrs)


def test_per_axis_parameters_are_operands() -> None:
    attrs = {"scale": (0.5, 0.25), "zero_point": (0, 0), "axis": 0}
    with pytest.raises(NotImplementedError, match="per-axis"):
        run("dequantize", np.zeros(2, np.int8), **attrs)

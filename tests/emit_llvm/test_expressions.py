"""Every expression of the loop IR, compiled and compared with NumPy bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitKernel, host_machine
from ccml.emit_llvm.kernels import kernel_function
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.build import load, store
from ccml.ir.loops import (
    INDEX,
    Access,
    Binary,
    Bitcast,
    Buffer,
    Call,
    Const,
    Convert,
    Expr,
    Kernel,
    Reduce,
    Select,
    Splat,
    Type,
    Unary,
    Var,
)
from ccml.ir.loops_rewrite import loop
from ccml.ir.types import DType
from ccml.targets import select

from tests.emit_llvm.programs import elementwise

FLOATS = (DType.F64, DType.F32, DType.F16)
INTEGERS = tuple(dtype for dtype in DType if dtype.is_integer and dtype is not DType.INDEX)
COUNT = 64
LANES = (1, 4, 16)
HAS_FMA = "fma" in host_machine().cpu.features


def sample(dtype: DType, seed: int = 0) -> np.ndarray:
    """Extreme and ordinary values."""
    rng = np.random.default_rng(seed)
    if dtype is DType.BOOL:
        return rng.integers(0, 2, COUNT).astype(bool)
    if dtype.is_float:
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, np.finfo(dtype.numpy).tiny]
        return rng.permutation(
            np.concatenate([special, rng.standard_normal(COUNT - len(special)) * 9]).astype(dtype.numpy)
        )
    info = np.iinfo(dtype.numpy)
    special = np.array([info.min, info.max, 0, 1, 2, info.max // 2], dtype.numpy)
    rest = rng.integers(info.min, info.max, COUNT - len(special), dtype.numpy, endpoint=True)
    return rng.permutation(np.concatenate([special, rest]))


def evaluate(function, result: DType, lanes: int, *arrays: np.ndarray) -> np.ndarray:
    types = {name: Type(DType.from_numpy(array.dtype), lanes) for name, array in zip("abc", arrays)}
    jit = JitKernel(elementwise(function, COUNT, Type(result, lanes), **types))
    y = np.zeros(COUNT, result.numpy)
    jit.run({**dict(zip("abc", arrays)), "y": y})
    return y


def same(actual: np.ndarray, expected: np.ndarray) -> None:
    """Equal values, signs of zero and places of NaN."""
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)
    if actual.dtype.kind == "f":
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(actual[known]), np.signbit(expected[known]))


NUMPY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "min": lambda x, y: np.where(x < y, x, y), "max": lambda x, y: np.where(x > y, x, y),
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "min", "max", *COMPARISONS])
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_arithmetic(op: str, dtype: DType, lanes: int) -> None:
    a, b = sample(dtype, 1), sample(dtype, 2)
    result = DType.BOOL if op in COMPARISONS else dtype
    with np.errstate(all="ignore"):
        same(evaluate(lambda x, y: Binary(op, x, y), result, lanes, a, b), NUMPY[op](a, b))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "and", "or", "xor", "min", "max", *COMPARISONS])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_arithmetic_wraps(op: str, dtype: DType, lanes: int) -> None:
    a, b = sample(dtype, 1), sample(dtype, 2)
    result = DType.BOOL if op in COMPARISONS else dtype
    same(evaluate(lambda x, y: Binary(op, x, y), result, lanes, a, b), NUMPY[op](a, b))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_truncates(dtype: DType, lanes: int) -> None:
    a, b = sample(dtype, 1), sample(dtype, 2)
    b[(b == 0) | (b == -1)] = 7
    quotient = [int(abs(int(x)) // abs(int(y))) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a, b)]
    rest = [int(x) - q * int(y) for x, y, q in zip(a, b, quotient)]
    same(evaluate(lambda x, y: Binary("div", x, y), dtype, lanes, a, b), np.array(quotient, dtype.numpy))
    same(evaluate(lambda x, y: Binary("mod", x, y), dtype, lanes, a, b), np.array(rest, dtype.numpy))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(dtype: DType, lanes: int) -> None:
    a = sample(dtype, 1)
    count = (np.arange(COUNT) % (8 * dtype.size)).astype(dtype.numpy)
    same(evaluate(lambda x, y: Binary("shl", x, y), dtype, lanes, a, count), np.left_shift(a, count))
    same(evaluate(lambda x, y: Binary("shr", x, y), dtype, lanes, a, count), np.right_shift(a, count))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("op", ["and", "or", "xor", "min", "max", *COMPARISONS])
def test_bool_arithmetic(op: str, lanes: int) -> None:
    a, b = sample(DType.BOOL, 1), sample(DType.BOOL, 2)
    same(evaluate(lambda x, y: Binary(op, x, y), DType.BOOL, lanes, a, b), NUMPY[op](a, b))


def test_any_byte_but_zero_is_true_and_true_is_stored_as_one() -> None:
    a = np.arange(COUNT, dtype=np.uint8)
    y = evaluate(lambda x: Unary("not", Unary("not", x)), DType.BOOL, 4, a.view(bool))
    np.testing.assert_array_equal(y.view(np.uint8), (a != 0).astype(np.uint8))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_neg_and_abs(dtype: DType, lanes: int) -> None:
    a = sample(dtype)
    same(evaluate(lambda x: Unary("neg", x), dtype, lanes, a), np.negative(a))
    same(evaluate(lambda x: Unary("abs", x), dtype, lanes, a), np.abs(a))


@pytest.mark.parametrize("dtype", [*INTEGERS, DType.BOOL])
def test_not(dtype: DType) -> None:
    a = sample(dtype)
    same(evaluate(lambda x: Unary("not", x), dtype, 4, a), np.invert(a))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("target", [*FLOATS, *INTEGERS, DType.BOOL])
@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, DType.BOOL])
def test_convert(source: DType, target: DType, lanes: int) -> None:
    a = sample(source)
    if source.is_float and target.is_integer:
        low = 0 if not target.is_signed else -100
        a = np.clip(np.nan_to_num(a), low, 100).astype(source.numpy)
    with np.errstate(all="ignore"):
        expected = a != 0 if target is DType.BOOL else a.astype(target.numpy)
    same(evaluate(lambda x: Convert(Type(target, lanes), x), target, lanes, a), expected)


def test_convert_between_integers_and_index() -> None:
    a = sample(DType.I16)
    through = evaluate(lambda x: Convert(Type(DType.I16), Convert(INDEX, x)), DType.I16, 1, a)
    same(through, a)


def test_bitcast_and_select() -> None:
    a, b = sample(DType.F32, 1), sample(DType.F32, 2)
    same(evaluate(lambda x: Bitcast(Type(DType.I32, 4), x), DType.I32, 4, a), a.view(np.int32))
    y = evaluate(lambda p, q: Select(Binary("lt", p, q), p, q), DType.F32, 4, a, b)
    same(y, np.where(a < b, a, b))


def test_bitcast_may_change_lanes() -> None:
    i = Var("i")
    x, y = Buffer("x", Type(DType.I8), (64,), access=Access.READ), Buffer("y", Type(DType.I32), (16,))
    four = load(x, i * 4, lanes=4)
    jit = JitKernel(Kernel("k", (x, y), loop(i, 16, store(y[i], Bitcast(Type(DType.I32), four)))))
    a, out = sample(DType.I8), np.zeros(16, np.int32)
    jit.run({"x": a, "y": out})
    same(out, a.view(np.int32))


def test_splat_and_constants() -> None:
    a = sample(DType.F32)
    tenth = Const(0.1, Type(DType.F32))
    y = evaluate(lambda x: x + Splat(tenth, 16) + Const(0.1, Type(DType.F32, 16)), DType.F32, 16, a)
    same(y, a + np.float32(0.1) + np.float32(0.1))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -0.0, 1e-45, 65504.0])
def test_float_constants(value: float) -> None:
    for dtype in FLOATS:
        with np.errstate(all="ignore"):
            y = evaluate(lambda x, d=dtype: Const(value, Type(d, 4)), dtype, 4, sample(dtype))
            same(y, np.full(COUNT, value, dtype.numpy))


@pytest.mark.parametrize("op", ["add", "mul", "min", "max"])
@pytest.mark.parametrize("dtype", [DType.F32, DType.I32, DType.U8])
def test_reduce_halves(op: str, dtype: DType) -> None:
    i = Var("i")
    x, y = Buffer("x", Type(dtype), (64,), access=Access.READ), Buffer("y", Type(dtype), (4,))
    jit = JitKernel(Kernel("k", (x, y), loop(i, 4, store(y[i], Reduce(op, load(x, i * 16, lanes=16))))))
    a, out = sample(dtype), np.zeros(4, dtype.numpy)
    jit.run({"x": a, "y": out})
    part = a.reshape(4, 16)
    with np.errstate(all="ignore"):
        while part.shape[1] > 1:
            half = part.shape[1] // 2
            part = NUMPY[op](part[:, :half], part[:, half:])
    same(out, part[:, 0])


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", [DType.F64, DType.F32])
@pytest.mark.parametrize(
    ("name", "meaning"),
    [("sqrt", np.sqrt), ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round_even", np.rint)],
)
def test_instructions(name: str, meaning, dtype: DType, lanes: int) -> None:
    a = sample(dtype)
    with np.errstate(all="ignore"):
        same(evaluate(lambda x: Call(name, (x,), x.type), dtype, lanes, a), meaning(a))


@pytest.mark.skipif(not HAS_FMA, reason="needs a CPU with fma")
def test_fma_rounds_once_and_products_are_never_fused() -> None:
    a, b = np.float32([1 + 2**-12] * COUNT), np.float32([1 - 2**-12] * COUNT)
    c = np.float32([-1] * COUNT)
    same(
        evaluate(lambda x, y, z: Call("fma", (x, y, z), x.type), DType.F32, 16, a, b, c),
        np.float32([-(2**-24)] * COUNT),
    )
    same(evaluate(lambda x, y, z: x * y + z, DType.F32, 16, a, b, c), a * b + c)


@pytest.mark.parametrize("divisor", [1, 3, 4, -3, -4, 7])
@pytest.mark.parametrize(("op", "meaning"), [("floordiv", np.floor_divide), ("floormod", np.mod)])
def test_floor_division_of_index(op: str, meaning, divisor: int) -> None:
    i, numbers = Var("i"), np.arange(-20, 20)
    y = Buffer("y", Type(DType.I64), (40,), access=Access.WRITE)
    by = Buffer("by", Type(DType.I64), (1,), access=Access.READ)
    for right in (Const(divisor, INDEX), Convert(INDEX, load(by, 0))):
        value: Expr = Binary(op, i - 20, right)
        jit = JitKernel(Kernel("k", (by, y), loop(i, 40, store(y[i], Convert(Type(DType.I64), value)))))
        out = np.zeros(40, np.int64)
        jit.run({"by": np.array([divisor]), "y": out})
        same(out, meaning(numbers, divisor))


@pytest.mark.parametrize("name", ["fma", "floor", "no_such_row"])
def test_what_the_machine_lacks_is_an_internal_error(name: str) -> None:
    arity = 3 if name == "fma" else 1
    kernel = elementwise(
        lambda *x: Call(name, x, x[0].type), 4, Type(DType.F32), **dict.fromkeys("abc"[:arity], Type(DType.F32))
    )
    with pytest.raises(CcmlError, match="internal error") as caught:
        kernel_function(kernel, select("cortex-m0"))
    assert caught.value.kind is ErrorCode.IR_INVALID


def test_shared_subtrees_are_computed_once() -> None:
    def doubled(x: Expr) -> Expr:
        for _ in range(40):
            x = x + x
        return x

    kernel = elementwise(doubled, 4, Type(DType.F32), a=Type(DType.F32))
    assert kernel_function(kernel, host_machine()).text.count("fadd") == 40

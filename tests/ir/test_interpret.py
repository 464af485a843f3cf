"""The semantics of the loop IR on values worked out by hand."""

import math
from textwrap import dedent

import numpy as np
import pytest
from ccml.instructions import INSTRUCTIONS
from ccml.ir.build import load, store
from ccml.ir.interpret import UndefinedBehaviourError, run_kernel
from ccml.ir.loops import F32, Alloc, Buffer, Const, Kernel, Space, Splat
from ccml.ir.loops_text import parse_kernel
from ccml.ir.types import DType

NUMPY = {dtype.value: dtype.numpy for dtype in DType}
NAN, INF = math.nan, math.inf


def evaluate(expr: str, type_: str, **inputs: np.ndarray) -> list:
    """The lanes of ``expr``, in which ``a``, ``b``, ... are the given arrays."""
    element, _, lanes = type_.partition("x")
    dtypes = {np.dtype(dtype): name for name, dtype in NUMPY.items() if name != "index"}
    params = [f"{name}: {dtypes[array.dtype]}[{array.size}] const" for name, array in inputs.items()]
    count = int(lanes or 1)
    text = f"kernel k({', '.join([*params, f'out: {element}[{count}] out'])})\n  out[0 : {count}] = {expr}\n"
    out = np.zeros(count, NUMPY[element])
    run_kernel(parse_kernel(text), {**inputs, "out": out}, instructions=INSTRUCTIONS)
    return out.tolist()


def run(text: str, **arrays: np.ndarray) -> None:
    run_kernel(parse_kernel(dedent(text)), arrays, instructions=INSTRUCTIONS)


VALUES = [
    # integers wrap around
    ("100i8 + 100i8", "i8", -56),
    ("-128i8 - 1i8", "i8", 127),
    ("16i8 * 16i8", "i8", 0),
    ("200u8 + 100u8", "u8", 44),
    ("0u8 - 1u8", "u8", 255),
    ("-(-128i8)", "i8", -128),
    ("-(1u16)", "u16", 65535),
    ("2147483647i32 + 1i32", "i32", -2147483648),
    ("65536i32 * 65536i32", "i32", 0),
    # division truncates, the remainder has the sign of the dividend
    ("7i32 / 2i32", "i32", 3),
    ("-7i32 / 2i32", "i32", -3),
    ("7i32 / -2i32", "i32", -3),
    ("-7i32 / -2i32", "i32", 3),
    ("-8i32 / 2i32", "i32", -4),
    ("-128i8 / 2i8", "i8", -64),
    ("127i8 / -128i8", "i8", 0),
    ("-7i32 % 2i32", "i32", -1),
    ("7i32 % -2i32", "i32", 1),
    ("250u8 / 7u8", "u8", 35),
    ("250u8 % 7u8", "u8", 5),
    # index rounds toward minus infinity in floordiv and floormod, toward zero in div and mod
    ("convert<i32>(floordiv(-7, 2))", "i32", -4),
    ("convert<i32>(floormod(-7, 2))", "i32", 1),
    ("convert<i32>(-7 / 2)", "i32", -3),
    ("convert<i32>(-7 % 2)", "i32", -1),
    # bits
    ("-8i8 >> 1i8", "i8", -4),
    ("248u8 >> 1u8", "u8", 124),
    ("65i8 << 1i8", "i8", -126),
    ("1i32 << 31i32", "i32", -2147483648),
    ("not(5i8)", "i8", -6),
    ("not(5u8)", "u8", 250),
    ("12i32 & 10i32 ^ 3i32", "i32", 11),
    ("12i32 | 3i32", "i32", 15),
    ("abs(-5i8)", "i8", 5),
    # bool
    ("not(true)", "bool", False),
    ("not(1 < 2)", "bool", False),
    ("true ^ (1.0f32 < 2.0f32)", "bool", False),
    ("(1i8 != 2i8) & (2u8 >= 2u8)", "bool", True),
    # float arithmetic rounds to its own type
    ("16777216.0f32 + 1.0f32", "f32", 16777216.0),
    ("16777216.0f32 + 1.0f32 - 16777216.0f32", "f32", 0.0),
    ("2048.0f16 + 1.0f16", "f16", 2048.0),
    ("1.0f32 / 3.0f32", "f32", 11184811 / 2**25),
    ("1.0f32 / 0.0f32", "f32", INF),
    ("-1.0f32 / 0.0f32", "f32", -INF),
    ("0.0f32 / 0.0f32", "f32", NAN),
    ("3e+38f32 * 10.0f32", "f32", INF),
    ("f32(nan) == f32(nan)", "bool", False),
    ("f32(nan) != f32(nan)", "bool", True),
    # min and max give the second operand where one is NaN, and where both are zeros
    ("min(f32(nan), 1.0f32)", "f32", 1.0),
    ("min(1.0f32, f32(nan))", "f32", NAN),
    ("max(f32(nan), 1.0f32)", "f32", 1.0),
    ("max(1.0f32, f32(nan))", "f32", NAN),
    ("max(0.0f32, -0.0f32)", "f32", -0.0),
    ("min(-0.0f32, 0.0f32)", "f32", 0.0),
    ("max(-3i8, 2i8)", "i8", 2),
    # fma rounds once: (1 + 2^-12)^2 - (1 + 2^-11) = 2^-24, and a product by itself loses it
    ("fma(1.000244140625f32, 1.000244140625f32, -1.00048828125f32)", "f32", 2.0**-24),
    ("1.000244140625f32 * 1.000244140625f32 + -1.00048828125f32", "f32", 0.0),
    ("round_even(2.5f32)", "f32", 2.0),
    ("round_even(-3.5f32)", "f32", -4.0),
    ("trunc(-2.7f32)", "f32", -2.0),
    ("floor(-2.5f32)", "f32", -3.0),
    ("ceil(-2.5f32)", "f32", -2.0),
    ("sqrt(2.0f32)", "f32", 11863283 / 2**23),
    # conversions
    ("convert<i8>(300i32)", "i8", 44),
    ("convert<u8>(-1i32)", "u8", 255),
    ("convert<i64>(-1i8)", "i64", -1),
    ("convert<i32>(255u8)", "i32", 255),
    ("convert<f32>(16777217i32)", "f32", 16777216.0),
    ("convert<f32>(16777219i32)", "f32", 16777220.0),
    ("convert<f16>(65520.0f32)", "f16", INF),
    ("convert<f16>(2049.0f32)", "f16", 2048.0),
    ("convert<i32>(-2.9f32)", "i32", -2),
    ("convert<u8>(255.9f32)", "u8", 255),
    ("convert<u8>(-0.9f32)", "u8", 0),
    ("convert<bool>(f32(nan))", "bool", True),
    ("convert<bool>(-0.0f32)", "bool", False),
    ("convert<bool>(256i32)", "bool", True),
    ("convert<f32>(true)", "f32", 1.0),
    ("convert<i8>(300)", "i8", 44),
    ("convert<i8>(convert<index>(-3i8) * 2)", "i8", -6),
    # bits of another type, little endian
    ("bitcast<i32>(1.0f32)", "i32", 0x3F800000),
    ("bitcast<f32>(-2147483648i32)", "f32", -0.0),
    ("select(1 < 2, 1.0f32, 2.0f32)", "f32", 1.0),
]


@pytest.mark.parametrize(("expr", "type_", "expected"), VALUES, ids=[expr for expr, _, _ in VALUES])
def test_scalar(expr: str, type_: str, expected: float) -> None:
    (value,) = evaluate(expr, type_)
    assert repr(value) == repr(expected)


def test_vectors_work_lane_by_lane() -> None:
    a = np.array([-7, 7, 8, -128], np.int8)
    assert evaluate("lane<1>(a[0 : 4]) + lane<3>(a[0 : 4])", "i8", a=a) == [-121]
    words = np.array([3, 1, 4, 1], np.int32)
    assert evaluate("shuffle<7, 2, 0, 4>(a[0 : 4], a[0 : 4] * 10i32x4)", "i32x4", a=words) == [10, 4, 3, 30]
    assert evaluate("a[0 : 4] / splat<4>(2i8)", "i8x4", a=a) == [-3, 3, 4, -64]
    assert evaluate("select(a[0 : 4] < 0i8x4, -a[0 : 4], a[0 : 4])", "i8x4", a=a) == [7, 7, 8, -128]
    assert evaluate("convert<f32x4>(a[0 : 4]) * 0.5f32x4", "f32x4", a=a) == [-3.5, 3.5, 4.0, -64.0]
    assert evaluate("not(a[0 : 4] == 8i8x4)", "boolx4", a=a) == [True, True, False, True]
    assert evaluate("bitcast<i32>(a[0 : 4])", "i32", a=a) == [-2146957319]  # bytes f9 07 08 80
    assert evaluate("bitcast<u8x4>(1.0f32)", "u8x4") == [0, 0, 128, 63]


def test_reduction_combines_halves() -> None:
    # (1 + 1e8) + (1 - 1e8): the tree adds lanes 0 and 2, then 1 and 3, and each sum loses the 1
    a = np.array([1, 1, 1e8, -1e8], np.float32)
    assert evaluate("reduce_add(a[0 : 4])", "f32", a=a) == [0.0]
    # in this order the large ones meet first: (1e8 - 1e8) + (1 + 1)
    b = np.array([1e8, 1, -1e8, 1], np.float32)
    assert evaluate("reduce_add(b[0 : 4])", "f32", b=b) == [2.0]
    # from left to right it would have been 1: ((1e8 + 1) - 1e8) + 1
    assert evaluate("b[0] + b[1] + b[2] + b[3]", "f32", b=b) == [1.0]


def test_reductions_of_integers_wrap_around() -> None:
    a = np.array([100, 100, 100, 3], np.int8)
    assert evaluate("reduce_add(a[0 : 4])", "i8", a=a) == [47]  # 303 - 256
    assert evaluate("reduce_mul(a[0 : 2])", "i8", a=a) == [16]  # 10000 = 39 * 256 + 16
    assert evaluate("reduce_max(a[0 : 4])", "i8", a=a) == [100]
    assert evaluate("reduce_min(a[0 : 4])", "i8", a=a) == [3]


def test_reduction_takes_the_upper_half_second() -> None:
    assert repr(evaluate("reduce_max(a[0 : 2])", "f32", a=np.array([0.0, -0.0], np.float32))) == "[-0.0]"
    assert evaluate("reduce_min(a[0 : 2])", "f32", a=np.array([NAN, 2.0], np.float32)) == [2.0]


def test_masked_lanes_load_as_zero_and_are_not_stored() -> None:
    x, y = np.arange(1, 7, dtype=np.float32), np.full(6, 9, np.float32)
    run(
        """
        kernel k(x: f32[6] const, y: f32[6] out)
          y[1 : 4 active 3] = x[4 : 4 active 2] + 1.0f32x4
        """,
        x=x,
        y=y,
    )
    assert y.tolist() == [9, 6, 7, 1, 9, 9]


def test_no_active_lane_touches_nothing_even_at_the_end() -> None:
    x, y = np.arange(4, dtype=np.float32), np.full(4, 9, np.float32)
    run(
        """
        kernel k(x: f32[4] const, y: f32[4] out)
          y[4 : 4 active 0] = x[4 : 4 active 0]
        """,
        x=x,
        y=y,
    )
    assert y.tolist() == [9, 9, 9, 9]


def test_loops_lets_and_conditions() -> None:
    y = np.full((4, 4), -1, np.int32)
    run(
        """
        kernel k(y: i32[4,4] out)
          for i:4
            let n: index = i*10
            parallel j:4-i
              if j == 1:
                y[i, j] = convert<i32>(n)
              else:
                y[i, j] = convert<i32>(n+j)
        """,
        y=y,
    )
    assert y.tolist() == [[0, 0, 2, 3], [10, 10, 12, -1], [20, 20, -1, -1], [30, -1, -1, -1]]


def test_registers_hold_vectors_and_the_stack_scalars() -> None:
    y = np.zeros(8, np.float32)
    run(
        """
        kernel k(y: f32[8] out)
          reg r: f32x4[2]
          stack t: f32[4]
          unroll i:2
            r[i] = splat<4>(convert<f32>(i+1))
          t[0 : 4] = r[0] + r[1]
          t[2] = 7.0f32
          y[0 : 4] = t[0 : 4]
          y[4 : 4] = r[1]
        """,
        y=y,
    )
    assert y.tolist() == [3, 3, 7, 3, 2, 2, 2, 2]


def test_a_convolution_is_what_numpy_computes() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.integers(-9, 9, (9, 3)).astype(np.int32), rng.integers(-9, 9, (2, 5, 3)).astype(np.int32)
    y = np.zeros((4, 2), np.int32)
    run(
        """
        kernel k(x: i32[9,3] const, w: i32[2,5,3] const, y: i32[4,2] inout)
          for o:4, c:2, k:5, i:3
            let p: index = o*2+k-1
            if (p >= 0) & (p < 9):
              y[o, c] = y[o, c] + x[p, i] * w[c, k, i]
        """,
        x=x,
        w=w,
        y=y,
    )
    padded = np.pad(x, ((1, 1), (0, 0)))
    assert y.tolist() == [[int((padded[o * 2 : o * 2 + 5] * w[c]).sum()) for c in range(2)] for o in range(4)]


# ---------------------------------------------------------------- what is undefined

UNDEFINED = [
    ("y[4] = 0.0f32", "out of range at \\[4\\]"),
    ("y[-1] = 0.0f32", "out of range"),
    ("y[1 : 4] = 0.0f32x4", "out of range"),
    ("y[0] = x[0, 2]", "out of range"),
    ("y[0] = x[2, 0]", "out of range"),
    ("y[0 : 4 active 5] = 0.0f32x4", "out of range"),
    ("y[0 : 2 active -1] = 0.0f32x2", "out of range"),
    ("x[0, 0] = 0.0f32", "const buffer stored"),
    ("stack t: f32[2]\n  y[0] = t[0]", "undefined element read"),
    ("stack t: f32[2]\n  t[0] = 1.0f32\n  y[0 : 2] = t[0 : 2]", "undefined element read"),
    ("reg r: f32[2]\n  r[0] = 1.0f32\n  y[0] = r[1]", "undefined element read"),
    ("for i:2\n    reg r: f32[1]\n    if i == 0:\n      r[0] = 1.0f32\n    y[i] = r[0]", "undefined element read"),
    ("let t: i32 = 1i32 / 0i32", "division"),
    ("let t: i32 = 1i32 % 0i32", "division"),
    ("let t: i8 = -128i8 / -1i8", "division"),
    ("let t: index = floordiv(1, 0)", "division"),
    ("let t: i32 = 1i32 << 32i32", "shift count"),
    ("let t: i32 = 1i32 >> -1i32", "shift count"),
    ("let t: i32 = convert<i32>(2147483648.0f32)", "to i32"),
    ("let t: u8 = convert<u8>(-1.0f32)", "to u8"),
    ("let t: i8 = convert<i8>(f32(nan))", "to i8"),
    ("let t: i64 = convert<i64>(f64(inf))", "to i64"),
]


@pytest.mark.parametrize(("body", "reason"), UNDEFINED, ids=[body for body, _ in UNDEFINED])
def test_undefined_behaviour_is_an_error(body: str, reason: str) -> None:
    kernel = parse_kernel(f"kernel k(x: f32[2,2] const, y: f32[4] out)\n  {body}\n")
    with pytest.raises(UndefinedBehaviourError, match=reason):
        run_kernel(kernel, {"x": np.zeros((2, 2), np.float32), "y": np.zeros(4, np.float32)}, instructions=INSTRUCTIONS)


# ---------------------------------------------------------------- arrays

COPY = parse_kernel("kernel k(x: f32[2,3] const, y: f32[6] out)\n  for i:2, j:3\n    y[i*3+j] = x[i, j]\n")


def test_arrays_may_have_another_shape() -> None:
    x, y = np.arange(6, dtype=np.float32), np.zeros((3, 1, 2), np.float32)
    run_kernel(COPY, {"x": x, "y": y}, instructions=INSTRUCTIONS)
    assert y.reshape(-1).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        (None, "no array for parameter 'x'"),
        (np.zeros(5, np.float32), "parameter 'x' is f32\\[2, 3\\], not float32\\(5,\\)"),
        (np.zeros(6, np.float64), "parameter 'x' is f32\\[2, 3\\], not float64"),
        (np.zeros((6, 2), np.float32)[:, 0], "not C-contiguous"),
    ],
)
def test_arrays_that_do_not_fit(x: np.ndarray | None, reason: str) -> None:
    arrays = {"y": np.zeros(6, np.float32)} | ({} if x is None else {"x": x})
    with pytest.raises(ValueError, match=reason):
        run_kernel(COPY, arrays, instructions=INSTRUCTIONS)


def test_a_register_without_dimensions() -> None:
    acc = Buffer("acc", F32.with_lanes(2), (), Space.REG)
    y = Buffer("y", F32, (2,))
    body = (Alloc(acc), store(acc[()], Splat(Const(3.0, F32), 2)), store(y[0], load(acc)))
    out = np.zeros(2, np.float32)
    run_kernel(Kernel("k", (y,), body), {"y": out}, instructions=INSTRUCTIONS)
    assert out.tolist() == [3, 3]

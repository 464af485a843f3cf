"""Operators element by element. Where TensorFlow Lite computes in fixed point, so does the expected value; else it is
the definition on real numbers, rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.frontend_tflite.build import T, const
from tests.frontend_tflite.case import Maker, random, real, stored
from tests.frontend_tflite.fixed_point import added, clamped, multiply
from tests.frontend_tflite.sparsity import encoded

M = Maker()
I8 = {"dtype": np.int8, "scale": 0.05, "zero": -7}
I16 = {"dtype": np.int16, "scale": 1e-4}
_SHAPE = (2, 3, 4)
Real = Callable[[np.ndarray], np.ndarray]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _hard_swish(x: np.ndarray) -> np.ndarray:
    return x * np.clip(x + 3, 0, 6) / 6


def _round(x: np.ndarray) -> np.ndarray:
    return np.rint(x)


UNARY: dict[str, tuple[Real, float, float]] = {
    "ABS": (np.abs, -2, 2),
    "CEIL": (np.ceil, -3, 3),
    "COS": (np.cos, -6, 6),
    "ELU": (lambda x: np.where(x < 0, np.expm1(x), x), -3, 3),
    "EXP": (np.exp, -3, 3),
    "FLOOR": (np.floor, -3, 3),
    "GELU": (lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / 2**0.5)), -3, 3),
    "HARD_SWISH": (_hard_swish, -5, 5),
    "LOG": (np.log, 0.1, 9),
    "LOGISTIC": (_sigmoid, -8, 8),
    "NEG": (np.negative, -2, 2),
    "RELU": (lambda x: np.maximum(x, 0), -2, 2),
    "RELU6": (lambda x: np.clip(x, 0, 6), -2, 8),
    "RELU_0_TO_1": (lambda x: np.clip(x, 0, 1), -2, 2),
    "RELU_N1_TO_1": (lambda x: np.clip(x, -1, 1), -2, 2),
    "ROUND": (_round, -3, 3),
    "RSQRT": (lambda x: 1 / np.sqrt(x), 0.1, 9),
    "SIGN": (np.sign, -2, 2),
    "SIN": (np.sin, -6, 6),
    "SQRT": (np.sqrt, 0, 9),
    "SQUARE": (np.square, -2, 2),
    "TANH": (np.tanh, -4, 4),
}
QUANTIZED = {
    "ABS": (0.05, -7, 0.04, -128),
    "ELU": (0.05, -7, 0.04, -60),
    "EXP": (0.02, 5, 0.08, -128),
    "GELU": (0.05, -7, 0.03, -90),
    "HARD_SWISH": (0.05, -7, 0.04, -100),
    "LOG": (0.05, -128, 0.03, 20),
    "LOGISTIC": (0.05, -7, 1 / 256, -128),
    "NEG": (0.05, -7, 0.05, 6),
    "RELU": (0.05, -7, 0.03, -128),
    "RELU6": (0.07, -7, 6 / 255, -128),
    "RELU_N1_TO_1": (0.05, -7, 2 / 255, 0),
    "RSQRT": (0.05, -129 + 1, 0.02, -128),
    "SQRT": (0.05, -128, 0.02, -128),
    "SQUARE": (0.05, -7, 0.2, -128),
    "TANH": (0.05, -7, 1 / 128, 0),
}
for _op, (_f, _low, _high) in UNARY.items():
    _x = random(_SHAPE, np.float32, _low, _high)
    M.add(_op, "f32", [T("x", _SHAPE)], [T("y", _SHAPE)], {"x": _x}, [_f(_x.astype(np.float64)).astype(np.float32)])
for _op, (_sx, _zx, _sy, _zy) in QUANTIZED.items():
    _all = np.arange(-128, 128, dtype=np.int8).reshape(2, 128)
    _x, _y = T("x", (2, 128), np.int8, _sx, _zx), T("y", (2, 128), np.int8, _sy, _zy)
    with np.errstate(all="ignore"):
        M.add(_op, "i8", [_x], [_y], {"x": _all}, [stored(UNARY[_op][0](real(_all, _x)), _y)], steps=1)
for _op in ("LOGISTIC", "TANH"):
    _x, _y = T("x", (300,), np.int16, 2.0**-12), T("y", (300,), np.int16, 2.0**-15)
    _a = random((300,), np.int16)
    M.add(_op, "i16", [_x], [_y], {"x": _a}, [stored(UNARY[_op][0](real(_a, _x)), _y)], steps=1)

# ---------------------------------------------------------------- two operands

BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "ADD": np.add,
    "DIV": np.divide,
    "FLOOR_DIV": lambda a, b: np.floor(a / b),
    "FLOOR_MOD": np.mod,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "MUL": np.multiply,
    "POW": np.power,
    "SQUARED_DIFFERENCE": lambda a, b: (a - b) ** 2,
    "SUB": np.subtract,
}
COMPARED: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "EQUAL": np.equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "NOT_EQUAL": np.not_equal,
}
_A, _B = T("a", (2, 3, 4)), T("b", (3, 1))
_a, _b = random((2, 3, 4), np.float32, 0.3, 4), random((3, 1), np.float32, 0.3, 4)
for _op, _g in BINARY.items():
    M.add(
        _op, "f32", [_A, _B], [T("y", _SHAPE)], {"a": _a, "b": _b}, [_g(_a.astype(np.float64), _b).astype(np.float32)]
    )
_i, _j = random((2, 3, 4), np.int32, -50, 50), random((3, 1), np.int32, 1, 7) * np.int32([[-1], [1], [1]])
for _op, _h in {**BINARY, "FLOOR_DIV": np.floor_divide}.items():
    if _op not in ("DIV", "POW"):
        _operands = [T("a", (2, 3, 4), np.int32), T("b", (3, 1), np.int32)]
        M.add(_op, "i32", _operands, [T("y", _SHAPE, np.int32)], {"a": _i, "b": _j}, [_h(_i, _j)])
_quotient = np.trunc(_i / _j).astype(np.int32)
M.add(
    "DIV",
    "i32",
    [T("a", (2, 3, 4), np.int32), T("b", (3, 1), np.int32)],
    [T("y", _SHAPE, np.int32)],
    {"a": _i, "b": _j},
    [_quotient],
)
for _op, _g in COMPARED.items():
    _c = np.where(random(_SHAPE, np.bool_), _a, _b).astype(np.float32)
    M.add(_op, "f32", [_A, _B], [T("y", _SHAPE, np.bool_)], {"a": _c, "b": _b}, [_g(_c, _b)])
    _t, _u = T("a", (64,), np.int8, 0.5, 3), T("b", (64,), np.int8, 0.25, -3)
    _p, _q = random((64,), np.int8), random((64,), np.int8)[::-1].copy()
    M.add(_op, "i8", [_t, _u], [T("y", (64,), np.bool_)], {"a": _p, "b": _q}, [_g(real(_p, _t), real(_q, _u))])

RELU, RELU6 = 1, 3
for _dtype, _scales in ((np.int8, (0.05, -7, 0.021, 10, 0.06, 3)), (np.int16, (1e-4, 0, 7e-5, 0, 1.7e-4, 0))):
    _sx, _zx, _sy, _zy, _so, _zo = _scales
    _x, _y, _o = T("a", (20, 50), _dtype, _sx, _zx), T("b", (50,), _dtype, _sy, _zy), T("y", (20, 50), _dtype, _so, _zo)
    _p, _q = random((20, 50), _dtype), random((50,), _dtype)
    _sx, _sy, _so = (float(np.float32(s)) for s in (_sx, _sy, _so))
    _label = np.dtype(_dtype).name
    for _name, _code, _bounds in (("", 0, None), ("-relu", RELU, (0.0, np.inf)), ("-relu6", RELU6, (0.0, 6.0))):
        _found = {op: added(_p, _q, _sx, _zx, _sy, _zy, _so, sign) for op, sign in (("ADD", 1), ("SUB", -1))}
        _found["MUL"] = multiply((_p.astype(np.int64) - _zx) * (_q.astype(np.int64) - _zy), _sx * _sy / _so)
        for _op, _value in _found.items():
            M.add(
                _op,
                f"{_label}{_name}",
                [_x, _y],
                [_o],
                {"a": _p, "b": _q},
                [clamped(_value, _dtype, _bounds, _so, _zo)],
                steps=1,
                FusedActivationFunction=_code,
            )
_x, _y, _o = T("a", (20, 50), np.int8, 0.05, -7), T("b", (50,), np.int8, 0.02, -128), T("y", (20, 50), np.int8, 0.08, 3)
_p, _q = random((20, 50), np.int8), np.maximum(random((50,), np.int8), -120)
M.add("DIV", "i8", [_x, _y], [_o], {"a": _p, "b": _q}, [stored(real(_p, _x) / real(_q, _y), _o)], steps=1)
M.add(
    "SQUARED_DIFFERENCE",
    "i8",
    [_x, _y],
    [_o],
    {"a": _p, "b": _q},
    [stored((real(_p, _x) - real(_q, _y)) ** 2, _o)],
    steps=1,
)
_y, _o = T("b", (50,), np.int8, 0.05, -7), T("y", (20, 50), np.int8, 0.05, -7)
M.add("MAXIMUM", "i8", [_x, _y], [_o], {"a": _p, "b": _q}, [np.maximum(_p, _q)])
M.add("MINIMUM", "i8", [_x, _y], [_o], {"a": _p, "b": _q}, [np.minimum(_p, _q)])

# ---------------------------------------------------------------- the rest

_s, _t = random(_SHAPE, np.bool_), random((4,), np.bool_)
_B1, _B2, _BY = T("a", _SHAPE, np.bool_), T("b", (4,), np.bool_), T("y", _SHAPE, np.bool_)
M.add("LOGICAL_AND", "bool", [_B1, _B2], [_BY], {"a": _s, "b": _t}, [_s & _t])
M.add("LOGICAL_OR", "bool", [_B1, _B2], [_BY], {"a": _s, "b": _t}, [_s | _t])
M.add("LOGICAL_NOT", "bool", [_B1], [_BY], {"a": _s}, [~_s])
_c = random(_SHAPE)
M.add(
    "ADD_N",
    "f32",
    [T("a", _SHAPE), T("b", _SHAPE), T("c", _SHAPE)],
    [T("y", _SHAPE)],
    {"a": _a, "b": _c, "c": _c * 2},
    [_a + _c + _c * 2],
)
M.add(
    "CAST", "f32-i32", [T("x", _SHAPE)], [T("y", _SHAPE, np.int32)], {"x": _a * 3}, [np.trunc(_a * 3).astype(np.int32)]
)
M.add(
    "CAST",
    "i8-f32",
    [T("x", (64,), np.int8)],
    [T("y", (64,))],
    {"x": _p[0][:50].repeat(2)[:64]},
    [_p[0][:50].repeat(2)[:64].astype(np.float32)],
)
_big = random((300,), np.float32, -9, 9)
for _dtype in (np.int8, np.uint8, np.int16):
    _o = T("y", (300,), _dtype, 0.05, 0 if _dtype is np.int16 else 5)
    M.add(
        "QUANTIZE",
        f"f32-{np.dtype(_dtype)}",
        [T("x", (300,))],
        [_o],
        {"x": _big},
        [stored(_big.astype(np.float64), _o)],
        steps=1,
    )
_all = np.arange(-128, 128, dtype=np.int8)
_x, _o = T("x", (256,), np.int8, 0.05, -7), T("y", (256,), np.int8, 0.07, 9)
_factor = float(np.float32(0.05)) / float(np.float32(0.07))
M.add(
    "QUANTIZE",
    "i8-i8",
    [_x],
    [_o],
    {"x": _all},
    [clamped(multiply(_all.astype(np.int64) + 7, _factor), np.int8, None, 0.07, 9)],
    steps=1,
)
_o = T("y", (256,), np.uint8, 0.05, 121)
M.add("QUANTIZE", "i8-u8", [_x], [_o], {"x": _all}, [(_all.astype(np.int32) + 128).astype(np.uint8)])
_o = T("y", (256,), np.int32, 0.001, 0)
_factor = float(np.float32(0.05)) / float(np.float32(0.001))
M.add(
    "QUANTIZE",
    "i8-i32",
    [_x],
    [_o],
    {"x": _all},
    [multiply(_all.astype(np.int64) + 7, _factor).astype(np.int32)],
    steps=1,
)
M.add("DEQUANTIZE", "i8", [_x], [T("y", (256,))], {"x": _all}, [real(_all, _x).astype(np.float32)])
_half = const("x", [[1.5, -2.25], [0.125, 3]], np.float16)
M.add(
    "DEQUANTIZE",
    "f16",
    [T("x", (4,), np.float16)],
    [T("y", (4,))],
    {"x": np.float16([1.5, -2, 0.1, 3])},
    [np.float16([1.5, -2, 0.1, 3]).astype(np.float32)],
)
_few = np.where(random((6, 8)) > 0.5, random((6, 8), np.int8), 0).astype(np.int8)
_stored, _sparsity = encoded(_few, (1, 0), {1: 4}, (1,))
_w = T("w", (6, 8), np.int8, 0.05, 0, data=_stored, sparsity=_sparsity)
M.add("DENSIFY", "i8", [_w], [T("y", (6, 8), np.int8, 0.05, 0)], {}, [_few])
_stored, _sparsity = encoded(_few.astype(np.float16), (0, 1), {}, (0, 1))
_w = T("w", (6, 8), np.float16, data=_stored, sparsity=_sparsity)
M.add("DENSIFY", "f16", [_w], [T("y", (6, 8), np.float16)], {}, [_few.astype(np.float16)])
_z = random(_SHAPE)
M.add(
    "LEAKY_RELU",
    "f32",
    [T("x", _SHAPE)],
    [T("y", _SHAPE)],
    {"x": _z},
    [np.where(_z < 0, _z * np.float32(0.3), _z)],
    Alpha=0.3,
)
_o = T("y", (256,), np.int8, 0.06, -20)
_centred, _unit = _all.astype(np.int64) + 7, float(np.float32(0.05)) / float(np.float32(0.06))
_leaky = np.where(_centred >= 0, multiply(_centred, _unit), multiply(_centred, _unit * float(np.float32(0.3))))
M.add("LEAKY_RELU", "i8", [_x], [_o], {"x": _all}, [clamped(_leaky, np.int8, None, 0.06, -20)], steps=1, Alpha=0.3)
_slope = random((4,), np.float32, 0, 1)
M.add(
    "PRELU",
    "f32",
    [T("x", _SHAPE), const("s", _slope, np.float32)],
    [T("y", _SHAPE)],
    {"x": _z},
    [np.where(_z < 0, _z * _slope, _z)],
)
_codes = np.int8([-100, -3, 40, 110])
_slopes = const("s", _codes, np.int8, scale=0.01, zero=-5)
_w = np.arange(-128, 128, dtype=np.int8).reshape(64, 4)
_x, _o = T("x", (64, 4), np.int8, 0.05, -7), T("y", (64, 4), np.int8, 0.06, -20)
_product = multiply((_w.astype(np.int64) + 7) * (_codes.astype(np.int64) + 5), _unit * float(np.float32(0.01)))
M.add(
    "PRELU",
    "i8",
    [_x, _slopes],
    [_o],
    {"x": _w},
    [clamped(np.where(_w + 7.0 >= 0, multiply(_w.astype(np.int64) + 7, _unit), _product), np.int8, None, 0.06, -20)],
    steps=1,
)
_rows = np.bool_([True, False])
M.add(
    "SELECT",
    "rows",
    [T("c", (2,), np.bool_), T("a", _SHAPE), T("b", _SHAPE)],
    [T("y", _SHAPE)],
    {"c": _rows, "a": _a, "b": _c},
    [np.where(_rows[:, None, None], _a, _c)],
)
M.add(
    "SELECT_V2",
    "f32",
    [T("c", (4,), np.bool_), T("a", _SHAPE), T("b", (3, 1))],
    [T("y", _SHAPE)],
    {"c": _t, "a": _a, "b": _b},
    [np.where(_t, _a, _b)],
)
_x, _y, _o = (T(name, (64,), np.int8, 0.05, -7) for name in "aby")
_p, _q, _m = random((64,), np.int8), random((64,), np.int8)[::-1].copy(), random((64,), np.bool_)
M.add("SELECT_V2", "i8", [T("c", (64,), np.bool_), _x, _y], [_o], {"c": _m, "a": _p, "b": _q}, [np.where(_m, _p, _q)])

CASES = M.cases

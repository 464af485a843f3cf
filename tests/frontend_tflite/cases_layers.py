"""Pools, softmax, norms, reductions."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np

from tests.frontend_tflite.build import T, const
from tests.frontend_tflite.case import Maker, random, real, stored
from tests.frontend_tflite.fixed_point import (
    NO_PADS,
    SAME,
    VALID,
    clamped,
    f32,
    mean_of_window,
    multiply,
    patches,
    same_pads,
    softmax_int8,
)

M = Maker()
_F32 = np.float32


# ---------------------------------------------------------------- pools, softmax, norms

_pooling: list[tuple[str, int, tuple[int, int], tuple[int, int]]] = [
    ("same", SAME, (3, 2), (2, 1)),
    ("valid", VALID, (2, 3), (1, 2)),
    ("all", VALID, (7, 6), (1, 1)),
]
for _label, _padding, _kernel, _stride in _pooling:
    _pads = same_pads((7, 6), _kernel, _stride) if _padding == SAME else NO_PADS
    _options = {
        "Padding": _padding,
        "StrideH": _stride[0],
        "StrideW": _stride[1],
        "FilterHeight": _kernel[0],
        "FilterWidth": _kernel[1],
    }
    _inside = patches(np.ones((2, 7, 6, 4), np.int64), _kernel, _stride, _pads)
    for _dtype, _zero in ((np.int8, -7), (np.int16, 0)):
        _codes = random((2, 7, 6, 4), _dtype)
        _win = patches(_codes.astype(np.int64), _kernel, _stride, _pads)
        _shape = (*_win.shape[:3], 4)
        _x, _y = T("x", _codes.shape, _dtype, 0.05, _zero), T("y", _shape, _dtype, 0.05, _zero)
        _mean = mean_of_window(_win, _inside).astype(_dtype)
        M.add(
            "AVERAGE_POOL_2D", f"{_label}-{np.dtype(_dtype)}", [_x], [_y], {"x": _codes}, [_mean], steps=1, **_options
        )
        _most = np.where(_inside > 0, _win, -40000).max(axis=(3, 4)).astype(_dtype)
        M.add("MAX_POOL_2D", f"{_label}-{np.dtype(_dtype)}", [_x], [_y], {"x": _codes}, [_most], **_options)
    _a = random((2, 7, 6, 4))
    _win = patches(_a.astype(np.float64), _kernel, _stride, _pads)
    _count = _inside.sum(axis=(3, 4))
    _x, _y = T("x", _a.shape), T("y", _shape)
    M.add(
        "AVERAGE_POOL_2D",
        f"{_label}-f32",
        [_x],
        [_y],
        {"x": _a},
        [(_win.sum(axis=(3, 4)) / _count).astype(_F32)],
        **_options,
    )
    _most = np.where(_inside > 0, _win, -np.inf).max(axis=(3, 4)).astype(_F32)
    M.add(
        "MAX_POOL_2D",
        f"{_label}-f32",
        [_x],
        [_y],
        {"x": _a},
        [np.maximum(_most, 0)],
        FusedActivationFunction=1,
        **_options,
    )
    M.add(
        "L2_POOL_2D",
        f"{_label}-f32",
        [_x],
        [_y],
        {"x": _a},
        [np.sqrt((_win**2).sum(axis=(3, 4)) / _count).astype(_F32)],
        **_options,
    )


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


_a = random((3, 10), _F32, -4, 4)
for _beta in (1.0, 0.5):
    M.add(
        "SOFTMAX",
        f"f32-{_beta}",
        [T("x", (3, 10))],
        [T("y", (3, 10))],
        {"x": _a},
        [_softmax(_a.astype(float) * _beta).astype(_F32)],
        Beta=_beta,
    )
    _codes = random((30, 10), np.int8)
    M.add(
        "SOFTMAX",
        f"i8-{_beta}",
        [T("x", (30, 10), np.int8, 0.04, -7)],
        [T("y", (30, 10), np.int8, 1 / 256, -128)],
        {"x": _codes},
        [softmax_int8(_codes, f32(0.04), _beta)],
        steps=1,
        Beta=_beta,
    )
_x, _y, _codes = T("x", (3, 10), np.int16, 1e-4), T("y", (3, 10), np.int16, 2.0**-15), random((3, 10), np.int16)
M.add("SOFTMAX", "i16", [_x], [_y], {"x": _codes}, [stored(_softmax(real(_codes, _x)), _y)], steps=1, Beta=1.0)
M.add(
    "LOG_SOFTMAX",
    "f32",
    [T("x", (3, 10))],
    [T("y", (3, 10))],
    {"x": _a},
    [np.log(_softmax(_a.astype(float))).astype(_F32)],
)
_a = random((3, 4, 5))
M.add(
    "L2_NORMALIZATION",
    "f32",
    [T("x", (3, 4, 5))],
    [T("y", (3, 4, 5))],
    {"x": _a},
    [_a / np.sqrt((_a**2).sum(axis=-1, keepdims=True))],
)
_x, _y, _codes = T("x", (30, 5), np.int8, 0.04, -7), T("y", (30, 5), np.int8, 1 / 128, 0), random((30, 5), np.int8)
_r = real(_codes, _x)
M.add(
    "L2_NORMALIZATION",
    "i8",
    [_x],
    [_y],
    {"x": _codes},
    [stored(_r / np.sqrt((_r**2).sum(axis=-1, keepdims=True)), _y)],
    steps=1,
)

# ---------------------------------------------------------------- reductions

_a, _shape = random((2, 3, 4, 5)), (2, 3, 4, 5)
_codes = random(_shape, np.int8)
for _op, _g in (
    ("MEAN", np.mean),
    ("SUM", np.sum),
    ("REDUCE_MAX", np.max),
    ("REDUCE_MIN", np.min),
    ("REDUCE_PROD", np.prod),
):
    for _axes, _keep in (((1, 2), True), ((-1,), False), ((3, 1), False)):
        _r = _g(_a.astype(np.float64), axis=_axes, keepdims=_keep)
        M.add(
            _op,
            f"f32-{_axes[0]}",
            [T("x", _shape), const("a", _axes)],
            [T("y", _r.shape)],
            {"x": _a},
            [_r.astype(_F32)],
            KeepDims=_keep,
        )
        if _op in ("REDUCE_MAX", "REDUCE_MIN"):
            _r = _g(_codes, axis=_axes, keepdims=_keep)
            M.add(
                _op,
                f"i8-{_axes[0]}",
                [T("x", _shape, np.int8, 0.1, 3), const("a", _axes)],
                [T("y", _r.shape, np.int8, 0.1, 3)],
                {"x": _codes},
                [_r],
                KeepDims=_keep,
            )
        elif _op != "REDUCE_PROD":
            _count = prod(_shape[axis] for axis in _axes) if _op == "MEAN" else 1
            _total = (_codes.astype(np.int64) - 3).sum(axis=_axes, keepdims=_keep)
            _so = 0.06 if _op == "MEAN" else 0.9
            M.add(
                _op,
                f"i8-{_axes[0]}",
                [T("x", _shape, np.int8, 0.1, 3), const("a", _axes)],
                [T("y", _total.shape, np.int8, _so, -4)],
                {"x": _codes},
                [clamped(multiply(_total, f32(0.1) / f32(_so) / _count), np.int8, None, _so, -4)],
                steps=1,
                KeepDims=_keep,
            )
_s = random(_shape, np.bool_)
M.add(
    "REDUCE_ALL",
    "bool",
    [T("x", _shape, np.bool_), const("a", [0, 1])],
    [T("y", (4, 5), np.bool_)],
    {"x": _s},
    [_s.all(axis=(0, 1))],
)
M.add(
    "REDUCE_ANY",
    "bool",
    [T("x", _shape, np.bool_), const("a", [0, 1])],
    [T("y", (4, 5), np.bool_)],
    {"x": _s},
    [_s.any(axis=(0, 1))],
)
for _op, _g in (("ARG_MAX", np.argmax), ("ARG_MIN", np.argmin)):
    M.add(
        _op,
        "f32",
        [T("x", _shape), const("a", 2)],
        [T("y", (2, 3, 5), np.int32)],
        {"x": _a},
        [_g(_a, axis=2).astype(np.int32)],
        OutputType=2,
    )
    M.add(
        _op,
        "i8",
        [T("x", _shape, np.int8, 0.1, 3), const("a", -1)],
        [T("y", (2, 3, 4), np.int64)],
        {"x": _codes},
        [_g(_codes, axis=3)],
        OutputType=4,
    )
for _exclusive, _reverse in itertools.product((False, True), repeat=2):
    _v = np.flip(_a, 1) if _reverse else _a
    _r = np.cumsum(_v, axis=1) - (_v if _exclusive else 0)
    M.add(
        "CUMSUM",
        f"f32-{_exclusive}-{_reverse}",
        [T("x", _shape), const("a", 1)],
        [T("y", _shape)],
        {"x": _a},
        [(np.flip(_r, 1) if _reverse else _r).astype(_F32)],
        Exclusive=_exclusive,
        Reverse=_reverse,
    )
_x, _y = T("x", (4, 9), np.int8, 0.1, 3), T("y", (4, 9), np.int8, 0.4, -4)
_codes = random((4, 9), np.int8)
M.add(
    "CUMSUM", "i8", [_x, const("a", 1)], [_y], {"x": _codes}, [stored(np.cumsum(real(_codes, _x), axis=1), _y)], steps=1
)

CASES = M.cases

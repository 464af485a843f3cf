"""Contractions, pools, softmax, norms, reductions."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np

from tests.frontend_tflite.build import T, const
from tests.frontend_tflite.case import Maker, random, real, stored
from tests.frontend_tflite.fixed_point import (
    clamped,
    mean_of_window,
    multiply,
    patches,
    requantized,
    same_pads,
    softmax_int8,
)

M = Maker()
SAME, VALID = 0, 1
BOUNDS = {0: None, 1: (0.0, np.inf), 2: (-1.0, 1.0), 3: (0.0, 6.0)}
_NONE = ((0, 0), (0, 0))
_F32 = np.float32


def _f(number: float) -> float:
    return float(_F32(number))


# ---------------------------------------------------------------- convolutions


def _filters(shape: tuple[int, ...], axis: int, channels: int, per_channel: bool, dtype: type = np.int8) -> T:
    codes = np.maximum(random(shape, dtype), -127)
    scale = np.linspace(0.00213, 0.0207, channels).astype(_F32) if per_channel else 0.0103
    return const("w", codes, dtype, scale=scale, axis=axis)


def _scales(w: T, channels: int) -> np.ndarray:
    return np.broadcast_to(np.asarray(w.scale, _F32).astype(np.float64).reshape(-1), (channels,))


def _conv(
    label: str,
    *,
    depthwise: bool = False,
    group: int = 1,
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    padding: int = SAME,
    per_channel: bool = True,
    activation: int = 0,
    dtype: type = np.int8,
    bias: bool = True,
    multiplier: int = 1,
) -> None:
    """A quantized convolution of [2, 7, 6, 4]."""
    extents, kernel, c = (7, 6), (3, 2), 4
    oc = c * multiplier if depthwise else 6
    x, wide = (
        T("x", (2, *extents, c), dtype, 0.0473 if dtype is np.int8 else 1.037e-3, -7 if dtype is np.int8 else 0),
        dtype is np.int16,
    )
    shape = (1, *kernel, oc) if depthwise else (oc, *kernel, c // group)
    w = _filters(shape, 3 if depthwise else 0, oc, per_channel)
    factors = _f(x.scale) * _scales(w, oc)
    offsets = random((oc,), np.int32, -3000, 3000) if bias else np.zeros(oc, np.int32)
    b = const("b", offsets, np.int64 if wide else np.int32, scale=factors.astype(_F32))
    codes = random(x.shape, dtype)
    pads = same_pads(extents, kernel, stride, dilation) if padding == SAME else _NONE
    centred = patches(codes.astype(np.int64) - int(x.zero), kernel, stride, pads, dilation)  # n oh ow kh kw c
    weights = np.asarray(w.data, np.int64)
    if depthwise:
        acc = np.einsum("nhwklc,klcm->nhwcm", centred, weights.reshape(*kernel, c, multiplier))
        acc = acc.reshape(*acc.shape[:3], oc)
    else:
        parts = np.split(centred, group, axis=-1)
        filters = np.split(weights, group, axis=0)
        acc = np.concatenate([np.einsum("nhwklc,oklc->nhwo", p, f) for p, f in zip(parts, filters)], axis=-1)
    acc = acc + offsets
    so, zo = (0.0391, 5) if dtype is np.int8 else (2.111e-3, 0)
    y = T("y", acc.shape, dtype, so, zo)
    expected = clamped(requantized(acc, factors / _f(so), wide), dtype, BOUNDS[activation], _f(so), zo)
    options: dict[str, object] = {
        "Padding": padding,
        "StrideH": stride[0],
        "StrideW": stride[1],
        "DilationHFactor": dilation[0],
        "DilationWFactor": dilation[1],
        "FusedActivationFunction": activation,
    }
    if depthwise:
        options["DepthMultiplier"] = multiplier
    op = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    M.add(op, label, [x, w, b if bias else None], [y], {"x": codes}, [expected], steps=1, **options)


for _depthwise in (False, True):
    _conv("i8-same", depthwise=_depthwise)
    _conv("i8-valid-stride", depthwise=_depthwise, padding=VALID, stride=(2, 1), activation=1)
    _conv("i8-same-stride", depthwise=_depthwise, stride=(2, 2), activation=3)
    _conv("i8-dilation", depthwise=_depthwise, dilation=(2, 3))
    _conv("i8-per-tensor", depthwise=_depthwise, per_channel=False, bias=False)
    _conv("i16", depthwise=_depthwise, dtype=np.int16)
    _conv("i16-relu-no-bias", depthwise=_depthwise, dtype=np.int16, activation=1, bias=False)
_conv("i8-groups", group=2)
_conv("i8-multiplier", depthwise=True, multiplier=3)

_x, _w, _b = random((1, 5, 6, 3)), random((4, 3, 3, 3)), random((4,))
_acc = (
    np.einsum("nhwklc,oklc->nhwo", patches(_x.astype(float), (3, 3), (1, 1), same_pads((5, 6), (3, 3), (1, 1))), _w)
    + _b
)
for _code, _act in ((0, lambda v: v), (1, lambda v: np.maximum(v, 0)), (4, np.tanh)):
    M.add(
        "CONV_2D",
        f"f32-{_code}",
        [T("x", _x.shape), const("w", _w, _F32), const("b", _b, _F32)],
        [T("y", (1, 5, 6, 4))],
        {"x": _x},
        [_act(_acc).astype(_F32)],
        Padding=SAME,
        StrideH=1,
        StrideW=1,
        FusedActivationFunction=_code,
        DilationHFactor=1,
        DilationWFactor=1,
    )
_wq = _filters((4, 3, 3, 3), 0, 4, True)
_acc = (
    np.einsum("nhwklc,oklc->nhwo", patches(_x.astype(float), (3, 3), (1, 1), _NONE), real(np.asarray(_wq.data), _wq))
    + _b
)
M.add(
    "CONV_2D",
    "hybrid",
    [T("x", _x.shape), _wq, const("b", _b, _F32)],
    [T("y", (1, 3, 4, 4))],
    {"x": _x},
    [_acc.astype(_F32)],
    Padding=VALID,
    StrideH=1,
    StrideW=1,
)
_w = random((1, 3, 3, 6))
_acc = np.einsum(
    "nhwklc,klcm->nhwcm",
    patches(_x.astype(float), (3, 3), (1, 1), same_pads((5, 6), (3, 3), (1, 1))),
    _w.reshape(3, 3, 3, 2),
).reshape(1, 5, 6, 6)
M.add(
    "DEPTHWISE_CONV_2D",
    "f32",
    [T("x", _x.shape), const("w", _w, _F32)],
    [T("y", (1, 5, 6, 6))],
    {"x": _x},
    [_acc.astype(_F32)],
    Padding=SAME,
    StrideH=1,
    StrideW=1,
    DepthMultiplier=2,
)


def _scattered(x: np.ndarray, w: np.ndarray, stride: int, out: tuple[int, int], before: tuple[int, int]) -> np.ndarray:
    """TRANSPOSE_CONV: each element of x [n, h, w, i] adds w [o, kh, kw, i] times itself to the result."""
    n, h, wd, _ = x.shape
    o, kh, kw, _ = w.shape
    full = np.zeros((n, (h - 1) * stride + kh + 8, (wd - 1) * stride + kw + 8, o), np.result_type(x, w))
    for i, j in itertools.product(range(h), range(wd)):
        full[:, i * stride : i * stride + kh, j * stride : j * stride + kw] += np.einsum("nc,oklc->nklo", x[:, i, j], w)
    return full[:, before[0] : before[0] + out[0], before[1] : before[1] + out[1]]


for _padding, _out, _before in ((SAME, (6, 8), (0, 0)), (VALID, (7, 9), (0, 0)), (SAME, (5, 8), (1, 0))):
    _x, _codes = T("x", (1, 3, 4, 2), np.int8, 0.05, -7), random((1, 3, 4, 2), np.int8)
    _w = _filters((3, 3, 3, 2), 0, 3, True)
    _factors = _f(0.05) * _scales(_w, 3)
    _off = np.int32([100, -2000, 3000])
    _acc = _scattered(_codes.astype(np.int64) + 7, np.asarray(_w.data, np.int64), 2, _out, _before) + _off
    _y = T("y", _acc.shape, np.int8, 0.04, 5)
    M.add(
        "TRANSPOSE_CONV",
        f"i8-{_padding}-{_out[0]}",
        [const("s", _acc.shape), _w, _x, const("b", _off, np.int32, scale=_factors.astype(_F32))],
        [_y],
        {"x": _codes},
        [clamped(requantized(_acc, _factors / _f(0.04), False), np.int8, None, 0.04, 5)],
        steps=1,
        Padding=_padding,
        StrideH=2,
        StrideW=2,
    )
_x, _w = random((1, 3, 4, 2)), random((3, 3, 3, 2))
M.add(
    "TRANSPOSE_CONV",
    "f32",
    [const("s", (1, 7, 9, 3)), const("w", _w, _F32), T("x", _x.shape)],
    [T("y", (1, 7, 9, 3))],
    {"x": _x},
    [_scattered(_x, _w, 2, (7, 9), (0, 0))],
    Padding=VALID,
    StrideH=2,
    StrideW=2,
)

# ---------------------------------------------------------------- matrices

for _dtype, _per_channel in ((np.int8, False), (np.int8, True), (np.int16, False)):
    _wide = _dtype is np.int16
    _sx, _zx, _so, _zo = (1e-3, 0, 2e-3, 0) if _wide else (0.05, -7, 0.3, 5)
    _x, _codes = T("x", (3, 20), _dtype, _sx, _zx), random((3, 20), _dtype)
    _w = _filters((6, 20), 0, 6, _per_channel)
    _factors = _f(_sx) * _scales(_w, 6)
    _off = random((6,), np.int32, -3000, 3000)
    _b = const("b", _off, np.int64 if _wide else np.int32, scale=_f(_sx) * 0.0103)
    _acc = (_codes.astype(np.int64) - _zx) @ np.asarray(_w.data, np.int64).T + _off
    M.add(
        "FULLY_CONNECTED",
        f"{np.dtype(_dtype)}-{_per_channel}",
        [_x, _w, _b],
        [T("y", (3, 6), _dtype, _so, _zo)],
        {"x": _codes},
        [clamped(requantized(_acc, _factors / _f(_so), _wide), _dtype, (0, np.inf), _so, _zo)],
        steps=1,
        FusedActivationFunction=1,
    )
_x, _w, _b = random((2, 3, 4)), random((6, 12)), random((6,))
M.add(
    "FULLY_CONNECTED",
    "f32-rows",
    [T("x", (2, 3, 4)), const("w", _w, _F32), const("b", _b, _F32)],
    [T("y", (2, 6))],
    {"x": _x},
    [_x.reshape(2, 12) @ _w.T + _b],
)
_w = random((6, 4))
M.add(
    "FULLY_CONNECTED",
    "f32-keep-dims",
    [T("x", (2, 3, 4)), const("w", _w, _F32), None],
    [T("y", (2, 3, 6))],
    {"x": _x},
    [_x @ _w.T],
    KeepNumDims=True,
)
_v = random((6, 4), np.float32, 0, 3)
M.add(
    "FULLY_CONNECTED",
    "f32-computed-weights",
    [T("x", (5, 4)), T("w", (6, 4))],
    [T("y", (5, 6))],
    {"x": random((5, 4)), "w": _v},
    [random((5, 4)) @ _v.T],
)
_wq = _filters((6, 4), 0, 6, False)
M.add(
    "FULLY_CONNECTED",
    "hybrid",
    [T("x", (5, 4)), _wq],
    [T("y", (5, 6))],
    {"x": random((5, 4))},
    [(random((5, 4)) @ real(np.asarray(_wq.data), _wq).T).astype(_F32)],
)
_packed = np.int8([[1, -8, 7, 3], [-1, 2, -5, 0]])
_nibbles = (_packed[:, ::2] & 15) | (_packed[:, 1::2] << 4)
_w4 = T("w", (2, 4), "INT4", 0.1, data=_nibbles.astype(np.int8).tobytes())
_x, _codes = T("x", (5, 4), np.int8, 0.05, -7), random((5, 4), np.int8)
_acc = (_codes.astype(np.int64) + 7) @ _packed.astype(np.int64).T
M.add(
    "FULLY_CONNECTED",
    "i4-weights",
    [_x, _w4],
    [T("y", (5, 2), np.int8, 0.4, 5)],
    {"x": _codes},
    [clamped(multiply(_acc, _f(0.05) * _f(0.1) / _f(0.4)), np.int8, None, 0.4, 5)],
    steps=1,
)
_x, _y = random((2, 3, 4)), random((2, 5, 4))
M.add(
    "BATCH_MATMUL",
    "f32-adj",
    [T("x", (2, 3, 4)), T("w", (2, 5, 4))],
    [T("y", (2, 3, 5))],
    {"x": _x, "w": _y},
    [_x @ _y.transpose(0, 2, 1)],
    AdjY=True,
)
M.add(
    "BATCH_MATMUL",
    "f32",
    [T("x", (2, 4, 3)), T("w", (4, 5))],
    [T("y", (2, 3, 5))],
    {"x": _x.transpose(0, 2, 1).copy(), "w": _y[0].T.copy()},
    [_x @ _y[0].T],
    AdjX=True,
)
_p, _q = random((2, 3, 4), np.int8), random((2, 4, 5), np.int8)
_acc = np.matmul(_p.astype(np.int64) + 7, _q.astype(np.int64) - 4)
M.add(
    "BATCH_MATMUL",
    "i8",
    [T("x", (2, 3, 4), np.int8, 0.05, -7), T("w", (2, 4, 5), np.int8, 0.02, 4)],
    [T("y", (2, 3, 5), np.int8, 0.2, -3)],
    {"x": _p, "w": _q},
    [clamped(multiply(_acc, _f(0.05) * _f(0.02) / _f(0.2)), np.int8, None, 0.2, -3)],
    steps=1,
)

# ---------------------------------------------------------------- pools, softmax, norms

_pooling: list[tuple[str, int, tuple[int, int], tuple[int, int]]] = [
    ("same", SAME, (3, 2), (2, 1)),
    ("valid", VALID, (2, 3), (1, 2)),
    ("all", VALID, (7, 6), (1, 1)),
]
for _label, _padding, _kernel, _stride in _pooling:
    _pads = same_pads((7, 6), _kernel, _stride) if _padding == SAME else _NONE
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
        [softmax_int8(_codes, _f(0.04), _beta)],
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
                [clamped(multiply(_total, _f(0.1) / _f(_so) / _count), np.int8, None, _so, -4)],
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

"""Contractions: convolutions and products of matrices."""

from __future__ import annotations

import itertools

import numpy as np

from tests.frontend_tflite.build import T, const
from tests.frontend_tflite.case import Maker, random, real
from tests.frontend_tflite.fixed_point import (
    NO_PADS,
    SAME,
    VALID,
    clamped,
    f32,
    multiply,
    patches,
    requantized,
    same_pads,
)
from tests.frontend_tflite.sparsity import encoded

M = Maker()
BOUNDS = {0: None, 1: (0.0, np.inf), 2: (-1.0, 1.0), 3: (0.0, 6.0)}
_F32 = np.float32


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
    factors = f32(x.scale) * _scales(w, oc)
    offsets = random((oc,), np.int32, -3000, 3000) if bias else np.zeros(oc, np.int32)
    b = const("b", offsets, np.int64 if wide else np.int32, scale=factors.astype(_F32))
    codes = random(x.shape, dtype)
    pads = same_pads(extents, kernel, stride, dilation) if padding == SAME else NO_PADS
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
    expected = clamped(requantized(acc, factors / f32(so), wide), dtype, BOUNDS[activation], f32(so), zo)
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
    np.einsum("nhwklc,oklc->nhwo", patches(_x.astype(float), (3, 3), (1, 1), NO_PADS), real(np.asarray(_wq.data), _wq))
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
    _factors = f32(0.05) * _scales(_w, 3)
    _off = np.int32([100, -2000, 3000])
    _acc = _scattered(_codes.astype(np.int64) + 7, np.asarray(_w.data, np.int64), 2, _out, _before) + _off
    _y = T("y", _acc.shape, np.int8, 0.04, 5)
    M.add(
        "TRANSPOSE_CONV",
        f"i8-{_padding}-{_out[0]}",
        [const("s", _acc.shape), _w, _x, const("b", _off, np.int32, scale=_factors.astype(_F32))],
        [_y],
        {"x": _codes},
        [clamped(requantized(_acc, _factors / f32(0.04), False), np.int8, None, 0.04, 5)],
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
    _factors = f32(_sx) * _scales(_w, 6)
    _off = random((6,), np.int32, -3000, 3000)
    _b = const("b", _off, np.int64 if _wide else np.int32, scale=f32(_sx) * 0.0103)
    _acc = (_codes.astype(np.int64) - _zx) @ np.asarray(_w.data, np.int64).T + _off
    M.add(
        "FULLY_CONNECTED",
        f"{np.dtype(_dtype)}-{_per_channel}",
        [_x, _w, _b],
        [T("y", (3, 6), _dtype, _so, _zo)],
        {"x": _codes},
        [clamped(requantized(_acc, _factors / f32(_so), _wide), _dtype, (0, np.inf), _so, _zo)],
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
_few = np.where(_w > 0.4, _w, _F32(0))
_elements, _sparsity = encoded(_few, (0, 1), {}, (1,))
M.add(
    "FULLY_CONNECTED",
    "f32-sparse-weights",
    [T("x", (2, 12)), T("w", (6, 12), data=_elements, sparsity=_sparsity), None],
    [T("y", (2, 6))],
    {"x": _x.reshape(2, 12)},
    [_x.reshape(2, 12) @ _few.T],
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
    [clamped(multiply(_acc, f32(0.05) * f32(0.1) / f32(0.4)), np.int8, None, 0.4, 5)],
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
    [clamped(multiply(_acc, f32(0.05) * f32(0.02) / f32(0.2)), np.int8, None, 0.2, -3)],
    steps=1,
)

CASES = M.cases

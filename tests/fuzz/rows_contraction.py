"""Rows of contractions, windows and interpolation."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from tests.fuzz.build import FLOATS, Builder, Tensor, UnfitError
from tests.fuzz.row import Row, allowed
from tests.fuzz.rows_movement import any_data


def spatial_shape(b: Builder, channels: int | None = None) -> tuple[int, ...]:
    """[batch, channels, 1 to 3 extents]"""
    shape = b.shape(3, 5, (1, 2, 3, 4, 5, 7))
    return shape if channels is None else (shape[0], channels, *shape[2:])


def window_attributes(
    b: Builder, extents: tuple[int, ...], kernel: tuple[int, ...], *, dilated: bool = True, same: bool = True
) -> dict[str, Any]:
    """Strides, dilations and padding with which every window touches the operand."""
    spatial = len(extents)
    strides = [b.between(1, 3) for _ in extents]
    dilations = [b.between(1, 2) if dilated and size > 1 else 1 for size in kernel]
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilations)]
    attributes = b.some(strides=strides)
    if dilated:
        attributes |= b.some(dilations=dilations)
    if "dilations" not in attributes:
        reach = list(kernel)
    before = [b.between(0, min(size - 1, 2)) for size in kernel]
    after = [b.between(0, min(size - 1, 2)) for size in kernel]
    for d in range(spatial):  # the window fits into the padded operand
        missing = reach[d] - extents[d] - before[d] - after[d]
        if missing > 0:
            raise UnfitError("the window does not fit")
    pads = before + after
    mode = b.pick(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]) if same and b.flip(0.4) else "NOTSET"
    if mode.startswith("SAME"):  # ONNX Runtime's pools forget about the dilation then
        attributes.pop("dilations", None)
    if mode == "VALID" and any(size > extent for size, extent in zip(reach, extents)):
        mode = "SAME_UPPER"
    if mode == "NOTSET":
        return attributes | ({"pads": pads} if any(pads) else b.some(pads=pads)) | b.some(auto_pad=mode)
    return attributes | {"auto_pad": mode}


def kernel_of(b: Builder, extents: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(b.between(1, min(3, extent)) for extent in extents)


def conv(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("Conv", 0, b.opset)), spatial_shape(b)
    groups = [g for g in range(1, shape[1] + 1) if shape[1] % g == 0]
    group = int(b.pick([1, shape[1], b.pick(groups)]))
    out = group * b.between(1, 3)
    kernel = kernel_of(b, shape[2:])
    more = window_attributes(b, shape[2:], kernel)
    x = b.data(dtype, shape)
    w = b.weight(dtype, (out, shape[1] // group, *kernel))
    bias = b.weight(dtype, (out,)) if b.flip() else None
    return b.node("Conv", [x, w, bias], **more, **({"group": group} if group > 1 else b.some(group=1)), **b.some(
        kernel_shape=list(kernel)))  # fmt: skip


def conv_transpose(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("ConvTranspose", 0, b.opset)), spatial_shape(b)
    group = shape[1] if b.flip(0.3) else 1
    spatial = len(shape) - 2
    kernel = tuple(b.between(1, 3) for _ in range(spatial))
    strides, dilations = [b.between(1, 3) for _ in kernel], [b.between(1, 2) for _ in kernel]
    more = b.some(strides=strides, dilations=dilations, kernel_shape=list(kernel))
    step = more.get("strides", [1] * spatial)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, more.get("dilations", [1] * spatial))]
    full = [(extent - 1) * s + r for extent, s, r in zip(shape[2:], step, reach)]
    which = b.between(0, 4)
    # With larger strides ONNX Runtime's result is shorter than the operator's text says.
    if which == 0 and all(k >= s for k, s in zip(kernel, step)):
        more["auto_pad"] = b.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif which == 1:
        more["output_shape"] = [max(size - b.between(0, 1), 1) for size in full]
    else:
        pads = [b.between(0, min(1, (size - 1) // 2)) for size in full] * 2
        more |= b.some(pads=pads, output_padding=[b.between(0, max(s - 1, 0)) for s in step])
    out = b.between(1, 3)
    x, w = b.data(dtype, shape), b.weight(dtype, (shape[1], out, *kernel))
    bias = b.weight(dtype, (out * group,)) if b.flip() else None
    return b.node("ConvTranspose", [x, w, bias], group=group, **more)


def gemm(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("Gemm", 0, b.opset)), b.shape(2, 2)
    n = int(b.pick([1, 2, 3, shape[0], 6]))
    trans = b.some(transA=b.between(0, 1), transB=b.between(0, 1))
    m, k = shape[::-1] if trans.get("transA") else shape
    x = b.data(dtype, shape)
    y = b.weight(dtype, (n, k) if trans.get("transB") else (k, n))
    c = None
    if b.opset < 11 or b.flip(0.8):
        c = b.weight(dtype, b.pick([(m, n), (1, n), (m, 1), (n,), (1, 1), (1,), ()]))
    integer = dtype not in FLOATS
    factors = (1.0, 2.0) if integer else (b.uniform(-2, 2), b.uniform(-2, 2))
    return b.node("Gemm", [x, y, c], **trans, **b.some(alpha=factors[0], beta=factors[1]))


def matmul_shapes(b: Builder) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = b.shape(1, 4)
    k = shape[-1]
    if b.flip(0.2):
        return shape, (k,)
    batch = tuple(1 if b.flip(0.4) else extent for extent in shape[:-2])
    batch = batch[b.between(0, len(batch)) if batch else 0 :]
    return shape, (*batch, k, int(b.pick([1, 2, 3, 5, 8])))


def matmul(b: Builder) -> list[Tensor]:
    dtype = b.dtype(allowed("MatMul", 0, b.opset))
    lhs, rhs = matmul_shapes(b)
    x = b.data(dtype, lhs)
    return b.node("MatMul", [x, b.weight(dtype, rhs) if b.flip() else b.data(dtype, rhs)])


def einsum(b: Builder) -> list[Tensor]:
    dtype = b.dtype(allowed("Einsum", 0, b.opset))
    extents = {letter: b.between(1, 4) for letter in "abijkxy"}
    equation = b.pick([
        "ij,jk->ik", "ij,jk", "bij,bjk->bik", "ij->ji", "ii->i", "ij->", "i,i", "i,j->ij", "abij,abjk->abik",
        "bij,bkj->bik", "ij,ij->i", "...ij,...jk->...ik", "...ij->...ji", "ij,kj,k->i", "aij,jk,ak->ai", "i->",
    ])  # fmt: skip
    shared = (b.between(1, 3),) * b.between(0, 1)
    operands = []
    for text in equation.split("->")[0].split(","):
        lead = shared if "..." in text else ()
        operands.append(b.data(dtype, (*lead, *(extents[letter] for letter in text.replace("...", "")))))
    return b.node("Einsum", operands, equation=equation)


def det(b: Builder) -> list[Tensor]:
    n = b.between(1, 3)
    return b.node("Det", [b.data(b.dtype(allowed("Det", 0, b.opset)), (*b.shape(0, 1), n, n))])


# ---- windows


def pool(op: str, b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed(op, 0, b.opset)), spatial_shape(b)
    kernel = kernel_of(b, shape[2:])
    dilated = b.opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    more = window_attributes(b, shape[2:], kernel, dilated=dilated)
    if b.opset >= (18 if op == "LpPool" else 10) and b.flip(0.3):
        more["ceil_mode"] = 1
    if op == "AveragePool":
        more |= b.some(count_include_pad=b.between(0, 1))
    elif op == "LpPool":
        more |= b.some(p=b.between(1, 3))
    elif b.opset >= 8:
        more |= b.some(storage_order=b.between(0, 1))
    outputs = 2 if op == "MaxPool" and b.opset >= 8 and dtype in ("float32", "float64") and b.flip(0.3) else 1
    return b.node(op, [b.data(dtype, shape)], outputs, kernel_shape=list(kernel), **more)


def max_unpool(b: Builder) -> list[Tensor]:
    """Of what a MaxPool with the same window would have found."""
    shape = b.shape(3, 4, (1, 2, 3, 4))
    kernel = [b.between(1, 3) for _ in shape[2:]]
    x = b.data(b.dtype(allowed("MaxUnpool", 0, b.opset)), shape)
    extents = [extent * size for extent, size in zip(shape[2:], kernel)]
    planes, count, places = prod(shape[:2]), prod(shape[2:]), prod(extents)
    rows = [b.rng.permutation(places)[:count] + plane * places for plane in range(planes)]
    where = np.stack(rows).reshape(shape).astype(np.int64) if rows else np.zeros(shape, np.int64)
    size = b.ints((*shape[:2], *extents)) if b.flip(0.3) else None
    return b.node("MaxUnpool", [x, b.given(where), size], kernel_shape=kernel, strides=kernel, **b.some(
        pads=[0] * 2 * len(kernel)))  # fmt: skip


def global_pool(op: str, b: Builder) -> list[Tensor]:
    x = b.data(b.dtype(allowed(op, 0, b.opset)), spatial_shape(b))
    return b.node(op, [x], **(b.some(p=b.between(1, 3)) if op == "GlobalLpPool" else {}))


def lrn(b: Builder) -> list[Tensor]:
    x = b.data(b.dtype(allowed("LRN", 0, b.opset)), b.shape(3, 4))
    numbers = b.some(alpha=b.uniform(1e-4, 0.1), beta=b.uniform(0.3, 0.9), bias=b.uniform(0.5, 2))
    return b.node("LRN", [x], size=b.pick([1, 3, 5]), **numbers)


# ---- interpolation


def resize(b: Builder) -> list[Tensor]:
    dtype, shape = b.dtype(allowed("Resize", 0, b.opset)), b.shape(1, 4, (1, 2, 3, 4, 5))
    rank = len(shape)
    mode = b.pick(["nearest", "linear", "cubic"]) if dtype in FLOATS and b.opset >= 11 else "nearest"
    resized = set(range(rank)) if mode == "nearest" else set(range(max(rank - 2, 0), rank))
    x = b.data(dtype, shape)
    scales = [b.pick([0.5, 1.0, 2.0, 1.5, 0.625, 3.0]) if d in resized else 1.0 for d in range(rank)]
    scales = [scale if int(scale * extent) else 1.0 for scale, extent in zip(scales, shape)]
    if b.opset < 11:
        scales = [max(scale, 1.0) for scale in scales]
        return b.node("Resize", [x, b.param(scales, "float32")], **b.some(mode="nearest"))
    coordinates = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    if b.opset >= 19:
        coordinates.append("half_pixel_symmetric")
    coordinate = b.pick(coordinates)
    more: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinate}
    if mode == "nearest":
        more |= b.some(nearest_mode=b.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
    if mode == "cubic":
        more |= b.some(cubic_coeff_a=b.pick([-0.5, -0.75]), exclude_outside=b.between(0, 1))
    if b.opset >= 18 and mode != "nearest" and b.flip(0.2):
        more["antialias"] = 1
    empty = b.param(np.zeros(0, np.float32))
    roi: Tensor | None = empty if b.opset < 13 else None
    if b.flip():
        return b.node("Resize", [x, roi, b.param(scales, "float32")], **more)
    sizes = [max(int(scale * extent), 1) for scale, extent in zip(scales, shape)]
    if b.flip(0.2) and mode == "linear":
        more["coordinate_transformation_mode"] = "tf_crop_and_resize"
        lows = [b.uniform(-0.2, 0.3) if d in resized else 0.0 for d in range(rank)]
        highs = [b.uniform(0.6, 1.2) if d in resized else 1.0 for d in range(rank)]
        roi = b.param([*lows, *highs], "float32")
        more |= b.some(extrapolation_value=b.uniform(-2, 2))
        return b.node("Resize", [x, roi, None if b.opset >= 13 else empty, b.ints(sizes)], **more)
    none = None if b.opset >= 13 else empty
    if b.opset >= 18 and b.flip(0.3):
        kept = sorted(resized)
        more |= {"axes": kept} | b.some(keep_aspect_ratio_policy=b.pick(["stretch", "not_larger", "not_smaller"]))
        return b.node("Resize", [x, roi, none, b.ints(sizes[axis] for axis in kept)], **more)
    return b.node("Resize", [x, roi, none, b.ints(sizes)], **more)


def upsample(b: Builder) -> list[Tensor]:
    x = any_data(b, "Upsample", 4, 4)
    scales = [1.0, 1.0, float(b.between(1, 3)), float(b.between(1, 3))]
    mode = "nearest" if x.dtype not in FLOATS or b.flip() else "linear"
    if b.opset < 9:
        return b.node("Upsample", [x], scales=scales, mode=mode)
    return b.node("Upsample", [x, b.param(scales, "float32")], **({"mode": mode} if mode == "linear" else b.some(
        mode=mode)))  # fmt: skip


def affine_grid(b: Builder) -> list[Tensor]:
    spatial, n = b.between(2, 3), b.between(1, 2)
    theta = b.data(b.dtype(allowed("AffineGrid", 0, b.opset)), (n, spatial, spatial + 1))
    size = b.ints([n, b.between(1, 3), *(b.between(2, 4) for _ in range(spatial))])
    return b.node("AffineGrid", [theta, size], **b.some(align_corners=b.between(0, 1)))


ROWS: dict[str, Row] = {
    **{op: Row(partial(pool, op)) for op in ("AveragePool", "LpPool", "MaxPool")},
    **{op: Row(partial(global_pool, op)) for op in ("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool")},
    "AffineGrid": Row(affine_grid), "Conv": Row(conv), "ConvTranspose": Row(conv_transpose), "Det": Row(det),
    "Einsum": Row(einsum), "Gemm": Row(gemm), "LRN": Row(lrn), "MatMul": Row(matmul), "MaxUnpool": Row(max_unpool),
    "Resize": Row(resize), "Upsample": Row(upsample, until=9),
}  # fmt: skip

"""Random graphs of quantized models: operators between DequantizeLinear and QuantizeLinear, as exporters write them.

Scales are those of a calibration on the sample itself. Outputs are integers; the result of the compiled model has to be
that of ONNX Runtime but for one step, by which the rounding of floats in the definition may differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from ml_dtypes import int4, uint4

from tests.fuzz.build import Builder, NoOracleError, Tensor, UnfitError
from tests.fuzz.cases import Case
from tests.fuzz.rows_contraction import kernel_of, window_attributes

_FUNCTIONS = (
    "Relu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "LeakyRelu", "Abs", "Neg", "Exp", "Softplus", "Elu", "Erf",
    "Gelu", "Sqrt",
)  # fmt: skip
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_STEPS_BEHIND_GATES = 3
"""Of bytes: one that falls the other way behind gates in fixed point moves what the layers behind make of it."""


@dataclass
class _Quantized:
    """The builder, and the kinds of integers that the model has."""

    b: Builder
    kinds: tuple[str, ...]

    def parameters(self, array: np.ndarray, kind: str) -> tuple[Tensor, Tensor]:
        """Scale and zero point that hold ``array``."""
        info = np.iinfo(kind)
        low, high = float(min(array.min(initial=0), 0)), float(max(array.max(initial=0), 0))
        shrunk = self.b.pick([1.0, 1.0, 1.0, 0.5])  # a calibration that clips
        if kind == "int32" or (kind.startswith("int") and self.b.flip()):
            step, zero = max(-low, high, 1e-3) * shrunk / info.max, 0
        else:
            step = max(high - low, 1e-3) * shrunk / (int(info.max) - int(info.min))
            zero = int(np.clip(round(info.min - low * shrunk / step), info.min, info.max))
        if self.b.flip(0.1):
            step = 2.0 ** np.ceil(np.log2(step))
        return self.b.param(np.float32(step)), self.b.param(np.asarray(zero, kind))

    def stored(self, x: Tensor, kind: str | None = None) -> Tensor:
        kind = kind or str(self.b.pick(self.kinds))
        return self.b.node("QuantizeLinear", [x, *self.parameters(x.array, kind)])[0]

    def requantized(self, x: Tensor) -> Tensor:
        """``x`` through integers and back."""
        kind = str(self.b.pick(self.kinds))
        scale, zero = self.parameters(x.array, kind)
        (q,) = self.b.node("QuantizeLinear", [x, scale, zero])
        return self.b.node("DequantizeLinear", [q, scale, zero])[0]

    def weights(self, shape: tuple[int, ...], axis: int) -> tuple[Tensor, np.ndarray]:
        """Constant integers as floats, and their scales."""
        b = self.b
        if b.opset >= 21 and b.flip(0.3):
            return self._other_widths(shape, axis)
        if b.flip(0.6):
            scales = b.values("float32", (shape[axis],), 0.002, 0.02)
            stored, zero = b.param(b.values("int8", shape, -127, 127)), b.param(np.zeros(shape[axis], np.int8))
            return b.node("DequantizeLinear", [stored, b.param(scales), zero], axis=axis)[0], scales
        kind = b.pick(["int8", "uint8"])
        scales = b.values("float32", (), 0.002, 0.02)
        zero = np.asarray(0 if kind == "int8" else b.between(100, 150), kind)
        stored = b.param(b.values(kind, shape, -127, 255))
        return b.node("DequantizeLinear", [stored, b.param(scales), b.param(zero)])[0], scales

    def _other_widths(self, shape: tuple[int, ...], axis: int) -> tuple[Tensor, np.ndarray]:
        """Weights of 4 bits, or where activations have 16 of 16 bits, with a scale for each channel."""
        b = self.b
        kind = str(b.pick(["int4", "uint4", *(["int16", "int16", "uint16"] if "int16" in self.kinds else [])]))
        dtype = np.dtype({"int4": int4, "uint4": uint4}.get(kind, kind))
        low, high = {"int4": (-8, 7), "uint4": (0, 15), "int16": (-32768, 32767), "uint16": (0, 65535)}[kind]
        scales = b.values("float32", (shape[axis],), 0.2, 2.0) / np.float32(high)
        zero = np.full(shape[axis], 0 if low else (high + 1) // 2).astype(dtype)
        stored = b.param(b.rng.integers(low, high, shape, endpoint=True).astype(dtype))
        return b.node("DequantizeLinear", [stored, b.param(scales), b.param(zero)], axis=axis)[0], scales

    def bias(self, count: int, scales: np.ndarray, x: Tensor) -> Tensor | None:
        """In steps of the accumulator, or in floats."""
        b = self.b
        if b.flip(0.3):
            return None
        if b.flip(0.2):
            return b.param(b.values("float32", (count,)))
        node = next((n for n in b.parts.nodes if x.name in n.output and n.op_type == "DequantizeLinear"), None)
        if node is None:
            return b.param(b.values("float32", (count,)))
        steps = (b.parts.constants[node.input[1]] * scales).astype(np.float32)
        stored = b.param(b.values("int32", (count,), -3000, 3000))
        axis = {"axis": 0} if steps.ndim else {}
        return b.node("DequantizeLinear", [stored, b.param(steps)], **axis)[0]


def quantized(seed: int, prefix: str = "") -> Case | None:
    """A graph of 2 to 8 steps on tensors ``[batch, channels, height, width]``, ``[batch, steps, features]`` (or
    channels and columns) or ``[batch, channels, depth, height, width]``."""
    rng = np.random.default_rng([seed, crc32(b"qdq")])
    b = Builder(rng, int(rng.choice([13, 17, 21])), prefix)
    wide = b.opset >= 21 and b.flip(0.2)
    narrow = [("int8",), ("uint8",), ("int8", "uint8")]
    kinds = b.pick([("int16", "int8"), ("int16",), ("int16", "uint16")] if wide else narrow)
    q = _Quantized(b, kinds)
    images = b.flip(0.65)
    channels = b.between(1, 6) if b.flip(0.7) else 8 * b.between(1, 3)
    shape = (b.between(1, 2), channels, b.between(1, 8), b.between(1, 8)) if images else (
        b.between(1, 2), b.between(1, 6), b.between(1, 9))  # fmt: skip
    if b.flip(0.12):
        shape = (1, b.between(1, 5), b.between(1, 3), b.between(1, 4), b.between(1, 5))
    if b.flip(0.3):
        kind = str(b.pick(kinds))
        stored = b.data(kind, shape, np.iinfo(kind).min, np.iinfo(kind).max)
        scale = b.param(np.float32(b.uniform(0.01, 0.1) + 0.003))
        (x,) = b.node("DequantizeLinear", [stored, scale, b.param(np.asarray(b.between(0, 9), kind))])
    else:
        x = q.requantized(b.data("float32", shape))
    values = [x]
    choices = _STEPS[len(shape)]
    for _ in range(b.between(2, 8)):
        state = b.snapshot()
        try:
            made = b.pick(choices)(q, b.pick(values[-3:]), values)
            if b.flip(0.1):
                values.append(made)
            else:
                values.append(q.requantized(made))
            if not np.isfinite(values[-1].array).all() or values[-1].array.size > 3000 or not values[-1].array.size:
                raise UnfitError("too large")
        except (NoOracleError, UnfitError):
            b.restore(state)
            values = [value for value in values if _known(b, value)]
    if len(values) < 2:
        return None
    outputs = {id(values[-1]): values[-1], **({id(v): v for v in values[1:] if b.flip(0.15)})}
    try:
        for value in outputs.values():
            b.output(q.stored(value))
    except NoOracleError:
        return None
    b.parts.steps = _STEPS_BEHIND_GATES if any(node.op_type in _GATES for node in b.parts.nodes) else 1
    return Case(f"qdq@{b.opset}#{seed}", b.parts, b.opset)


def _known(b: Builder, value: Tensor) -> bool:
    return any(value.name in node.output for node in b.parts.nodes) or value.name in b.parts.inputs


Step = Callable[[_Quantized, Tensor, list[Tensor]], Tensor]


def _recurrent(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    """Of ``[steps, batch, features]``; the directions side by side in the result, or the last states."""
    b = q.b
    if "int16" in q.kinds:
        raise UnfitError("the gates of integer layers are further from the definition than steps of 16 bits")
    op, direction = str(b.pick(list(_GATES))), str(b.pick(["forward", "reverse", "bidirectional"]))
    dirs, hidden = 2 if direction == "bidirectional" else 1, b.between(1, 5)
    rows, (steps, batch, size) = _GATES[op] * hidden, x.shape
    w, r = (
        b.node("Concat", [q.weights((1, rows, n), 1)[0] for _ in range(dirs)], axis=0)[0]
        if dirs > 1
        else q.weights((1, rows, n), 1)[0]
        for n in (size, hidden)
    )
    bias = b.param(b.values("float32", (dirs, 2 * rows), -1, 1)) if b.flip(0.7) else None
    lengths = b.param(b.values("int32", (batch,), 1, steps)) if b.flip(0.3) else None
    states = [b.param(b.values("float32", (dirs, batch, hidden), -1, 1)) for _ in range(2 if op == "LSTM" else 1)]
    more = {"linear_before_reset": b.between(0, 1)} if op == "GRU" else {}
    operands = [x, w, r, bias, lengths, *(states if b.flip() else [])]
    if b.flip(0.7):
        (y,) = b.node(op, operands, hidden_size=hidden, direction=direction, **more)
        (y,) = b.node("Transpose", [y], perm=[0, 2, 1, 3])
        return b.node("Reshape", [y, b.ints((steps, batch, dirs * hidden))])[0]
    return b.node(op, operands, [False, True], hidden_size=hidden, direction=direction, **more)[0]


def _conv(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    b, channels = q.b, x.shape[1]
    group = _group(b, channels)
    out = group * b.between(1, 2) if group > 1 else b.between(1, 8)
    kernel = kernel_of(b, x.shape[2:])
    more = window_attributes(b, x.shape[2:], kernel)
    w, scales = q.weights((out, channels // group, *kernel), 0)
    (y,) = b.node("Conv", [x, w, q.bias(out, scales, x)], group=group, **more)
    return _activated(q, y)


def _group(b: Builder, channels: int) -> int:
    return int(b.pick([1, 1, channels, b.pick([n for n in range(1, channels + 1) if channels % n == 0])]))


def _activated(q: _Quantized, y: Tensor) -> Tensor:
    which = q.b.between(0, 3)
    if which == 0:
        return q.b.node("Relu", [y])[0]
    if which == 1:
        return q.b.node("Clip", [y, q.b.param(np.float32(0)), q.b.param(np.float32(6))])[0]
    return y


def _conv_transpose(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    """With a bias where there is one group: its scales are those of the results' channels."""
    b, channels, spatial = q.b, x.shape[1], len(x.shape) - 2
    group = _group(b, channels)
    out = b.between(1, 4) if group < channels or channels == 1 else 1
    kernel, strides = ([b.between(1, 3) for _ in range(spatial)] for _ in range(2))
    pads = [b.between(0, min(size - 1, 1)) for size in (*kernel, *kernel)]
    more = b.some(output_padding=[b.between(0, stride - 1) for stride in strides]) | b.some(pads=pads)
    w, scales = q.weights((channels, out, *kernel), 1)
    bias = q.bias(out, scales, x) if group == 1 else None
    return b.node("ConvTranspose", [x, w, bias], strides=strides, group=group, **more)[0]


def _matmul(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    out = q.b.between(1, 8)
    w, scales = q.weights((x.shape[-1], out), 1)
    (y,) = q.b.node("MatMul", [x, w])
    if q.b.flip():
        (y,) = q.b.node("Add", [y, q.bias(out, scales, x) or q.b.param(q.b.values("float32", (out,)))])
    return _activated(q, y)


def _gemm(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    (flat,) = q.b.node("Flatten", [x])
    if q.b.flip():
        flat = q.requantized(flat)
    out, transposed = q.b.between(1, 8), q.b.between(0, 1)
    w, scales = q.weights((out, flat.shape[1]) if transposed else (flat.shape[1], out), 0 if transposed else 1)
    (y,) = q.b.node("Gemm", [flat, w, q.bias(out, scales, flat)], transB=transposed)
    return q.b.node("Reshape", [y, q.b.ints((*y.shape, *[1] * (len(x.shape) - 2)))])[0]


def _product(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    """Of two computed operands, as in attention."""
    perm = [*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2]
    (moved,) = q.b.node("Transpose", [x], perm=perm)
    (y,) = q.b.node("MatMul", [x, moved])
    if q.b.flip():
        (y,) = q.b.node("Mul", [y, q.b.param(np.float32(q.b.uniform(0.1, 0.7)))])
    return q.b.node("Softmax", [q.requantized(y)], axis=-1)[0] if q.b.flip() else y


def _function(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    op = str(q.b.pick([name for name in _FUNCTIONS if q.b.opset >= 20 or name != "Gelu"]))
    if op == "Sqrt" and (x.array < 0).any():
        op = "Abs"
    if op == "HardSwish" and q.b.opset < 14:
        op = "HardSigmoid"
    if op == "Exp":
        x = q.requantized(q.b.node("Clip", [x, q.b.param(np.float32(-4)), q.b.param(np.float32(4))])[0])
    return q.b.node(op, [x])[0]


def _binary(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    same = [value for value in values if value.shape == x.shape]
    op = str(q.b.pick(["Add", "Sub", "Mul", "Max", "Min", "Add", "Mul"]))
    other = q.b.pick(same)
    if q.b.flip(0.3):
        rank = len(x.shape)
        shape = q.b.pick([(), (1, x.shape[1], *[1] * (rank - 2)), (x.shape[-1],)])
        other = q.b.param(q.b.values("float32", shape))
        other = q.requantized(other) if q.b.flip() else other
    operands = [x, other] if q.b.flip() else [other, x]
    return q.b.node(op, operands)[0]


def _pool(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    op = str(q.b.pick(["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"]))
    if op.startswith("Global"):
        return q.b.node(op, [x])[0]
    kernel = kernel_of(q.b, x.shape[2:])
    more = window_attributes(q.b, x.shape[2:], kernel, dilated=False)
    return q.b.node(op, [x], kernel_shape=list(kernel), **more)[0]


def _move(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    b, rank = q.b, len(x.shape)
    which = b.between(0, 5)
    if which == 0:
        return b.node("Transpose", [x], perm=[int(axis) for axis in b.rng.permutation(rank)])[0]
    if which == 1:
        return b.node("Reshape", [x, b.ints((x.shape[0], -1, *x.shape[:0:-1][: rank - 2]))])[0]
    if which == 2:
        axis = b.between(0, rank - 1)
        return b.node("Concat", [x, b.pick([v for v in values if v.shape == x.shape])], axis=axis)[0]
    if which == 3:
        axis = b.between(1, rank - 1)
        start = b.between(0, x.shape[axis] - 1)
        return b.node("Slice", [x, b.ints([start]), b.ints([x.shape[axis]]), b.ints([axis])])[0]
    if which == 4:
        return b.node("Pad", [x, b.ints([b.between(0, 1) for _ in range(2 * rank)])])[0]
    if b.opset < 13:
        raise UnfitError("reduce")
    axes = {"axes": [rank - 1]} if b.opset < 18 else {}
    operands = [x] if axes else [x, b.ints([rank - 1])]
    return b.node("ReduceMean", operands, keepdims=1, **axes)[0]


def _softmax(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    return q.b.node("Softmax", [x], axis=q.b.pick([-1, 1]))[0]


def _normalized(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    b = q.b
    if b.opset >= 17 and b.flip():
        size = x.shape[-1:]
        parameters = [b.param(b.values("float32", size, 0.5, 2)), b.param(b.values("float32", size))]
        return b.node("LayerNormalization", [x, *parameters])[0]
    size = x.shape[1:2]
    parameters = [b.param(b.values("float32", size, low, high)) for low, high in ((0.5, 2), (-1, 1), (-1, 1), (0.5, 2))]
    return b.node("BatchNormalization", [x, *parameters])[0]


def _resize(q: _Quantized, x: Tensor, values: list[Tensor]) -> Tensor:
    mode = q.b.pick(["nearest", "linear"])
    more = {"coordinate_transformation_mode": q.b.pick(["asymmetric", "half_pixel"]), "mode": mode}
    if mode == "nearest":
        more["nearest_mode"] = "floor"
    return q.b.node("Resize", [x, None, q.b.param([1, 1, 2, 2], "float32")], **more)[0]


_COMMON: tuple[Step, ...] = (_matmul, _function, _binary, _binary, _move, _softmax, _normalized, _product, _gemm)
_STEPS: dict[int, tuple[Step, ...]] = {
    3: (_recurrent, _conv, *_COMMON), 4: (_conv, _conv, _conv, _pool, _conv_transpose, _resize, *_COMMON),
    5: (_conv, _conv_transpose, _pool, _function, _binary, _move),
}  # fmt: skip

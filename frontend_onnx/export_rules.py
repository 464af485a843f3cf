"""How each core operator is written in ONNX, operator set 19 (or 21, which differs in types only)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from ..custom_ops.attributes import onnx_node, result_types
from ..ir.types import DType
from ..ops.attributes import element_type
from ..ops.integer import zero_point
from ..ops.windows import reach
from .export_anchors import RULES as ANCHORS
from .export_context import ExportContext
from .ops_pointwise import SAME

ExportRule = Callable[[ExportContext], None]

_REDUCTIONS = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd"}
_GLOBAL = {"mean": "GlobalAveragePool", "max": "GlobalMaxPool"}
_BYTES = (DType.I8, DType.U8)
_SHIFTED = (DType.U8, DType.U16, DType.U32, DType.U64)


def _same(op_type: str, ctx: ExportContext, **attrs: object) -> None:
    ctx.emit(op_type, ctx.inputs(), ctx.outputs(), **attrs)


def _require_float(ctx: ExportContext) -> None:
    if not ctx.node.operands[0].dtype.is_float:
        raise ctx.unsupported(f"{ctx.node.op} of {ctx.node.operands[0].type} is no ONNX operator")


# ---------------------------------------------------------------- pointwise


def _isinf(ctx: ExportContext) -> None:
    _same("IsInf", ctx, detect_negative=ctx.integer("negative"), detect_positive=ctx.integer("positive"))


def _mod(ctx: ExportContext) -> None:
    """x mod y with the sign of y is x - floor(x / y) * y for floats."""
    if ctx.integer("fmod") or not ctx.node.operands[0].dtype.is_float:
        _same("Mod", ctx, fmod=ctx.integer("fmod"))
        return
    x, y = ctx.inputs()
    whole = ctx.emit("Mul", [ctx.emit("Floor", [ctx.emit("Div", [x, y])]), y])
    ctx.emit("Sub", [x, whole], ctx.outputs())


def _shift(direction: str, ctx: ExportContext) -> None:
    if ctx.node.operands[0].dtype not in _SHIFTED:
        raise ctx.unsupported(f"ONNX shifts unsigned integers only, not {ctx.node.operands[0].type}")
    _same("BitShift", ctx, direction=direction)


def _custom(ctx: ExportContext) -> None:
    """The node as it was, with the attributes that it got from functions and defaults."""
    made = iter(ctx.outputs())
    outputs = ["" if type_ is None else next(made) for type_ in result_types(ctx.node.attrs)]
    while not outputs[-1]:
        outputs.pop()
    ctx.copy(onnx_node(ctx.node.attrs), outputs)


def _clip(ctx: ExportContext) -> None:
    bounds = [
        "" if isinstance(bound, float) and math.isinf(bound) else ctx.scalar(bound, name)
        for name, bound in (("lo", ctx.number("lo")), ("hi", ctx.number("hi")))
    ]
    inputs = [*ctx.inputs(), *bounds]
    ctx.emit("Clip", inputs[:-1] if not bounds[-1] else inputs, ctx.outputs())


def _cast(ctx: ExportContext) -> None:
    """To narrow floats it saturates unless told not to."""
    attrs = {} if ctx.node.attrs.get("saturate", True) else {"saturate": 0}
    _same("Cast", ctx, to=ctx.element_type(element_type(ctx.node.attrs, "to")), **attrs)


def _quantize(ctx: ExportContext) -> None:
    _same_with_parameters(ctx, "QuantizeLinear", element_type(ctx.node.attrs, "to").numpy)


_LEAST_NIBBLES = 256
"""Elements of a constant that is written with 4 bits."""
_NIBBLE_SHARE = 0.75
"""Of its channels that are not zeros alone."""


def _dequantize(ctx: ExportContext) -> None:
    """Constant weights of which most channels fit 4 bits are written so: the others beside them, and all in order by a
    Gather behind. Channels of zeros alone say nothing of that: trained networks have many."""
    array, axis = ctx.graph.constant(ctx.node.operands[0]), ctx.integer("axis")
    zero = np.array(ctx.attr("zero_point"))
    plain = array is None or array.dtype != np.int8 or array.ndim < 2 or array.size < _LEAST_NIBBLES
    if plain or array is None or len(zero) != array.shape[axis] or np.any(zero):
        _same_with_parameters(ctx, "DequantizeLinear", ctx.dtype)
        return
    channels = np.moveaxis(array, axis, 0)
    few, used = (np.array([test(channel) for channel in channels]) for test in (_fits_4_bits, np.any))
    if not used.any() or few[used].mean() < _NIBBLE_SHARE:
        _same_with_parameters(ctx, "DequantizeLinear", ctx.dtype)
    elif few.all():
        _dequantized_rows(ctx, array, np.arange(len(few)), ctx.outputs())
    else:
        order = np.concatenate([np.flatnonzero(few), np.flatnonzero(~few)])
        parts = [ctx.values.fresh(f"{ctx.node.output.name}.{stem}") for stem in ("int4", "int8")]
        for part, rows in zip(parts, (np.flatnonzero(few), np.flatnonzero(~few))):
            _dequantized_rows(ctx, np.take(array, rows, axis=axis), rows, [part])
        joined = ctx.emit("Concat", parts, axis=axis)
        ctx.emit("Gather", [joined, ctx.constant(np.argsort(order), "order")], ctx.outputs(), axis=axis)


def _dequantized_rows(ctx: ExportContext, stored: np.ndarray, rows: np.ndarray, outputs: list[str]) -> None:
    """``rows`` of the operand, with 4 bits where these do."""
    write = ctx.int4 if _fits_4_bits(stored) else ctx.constant
    scale = np.array(ctx.attr("scale"), np.float32)[rows]
    zero = write(np.zeros(len(rows), np.int8), "zero_point")
    inputs = [write(stored, "stored"), ctx.constant(scale, "scale"), zero]
    ctx.emit("DequantizeLinear", inputs, outputs, axis=ctx.integer("axis"))


def _same_with_parameters(ctx: ExportContext, op_type: str, stored: np.dtype) -> None:
    """One scale is a scalar, several are a vector along the axis. A zero point of 32 bits may only be 0."""
    scale, zero_point = np.array(ctx.attr("scale"), np.float32), np.array(ctx.attr("zero_point"), stored)
    single = scale.size == 1
    inputs = [*ctx.inputs(), ctx.constant(scale.reshape(()) if single else scale, "scale")]
    if stored != np.int32:
        inputs.append(ctx.constant(zero_point.reshape(()) if single else zero_point, "zero_point"))
    elif np.any(zero_point):
        raise ctx.unsupported("an i32 zero point has to be 0")
    attrs = {} if single else {"axis": ctx.integer("axis")}
    ctx.emit(op_type, inputs, ctx.outputs(), **attrs)


def _dequantize_blocks(ctx: ExportContext) -> None:
    """Constants that fit 4 bits are written as such."""
    x, scale, *zero = ctx.node.operands
    arrays = [ctx.graph.constant(value) for value in (x, *zero)]
    inputs = [value.name for value in (x, *zero)]
    if x.dtype is DType.I8 and all(array is not None and _fits_4_bits(array) for array in arrays):
        inputs = [ctx.int4(array, stem) for array, stem in zip(arrays, ("int4", "zero_point")) if array is not None]
    inputs.insert(1, scale.name)
    ctx.emit("DequantizeLinear", inputs, ctx.outputs(), axis=ctx.integer("axis"), block_size=ctx.integer("block"))


def _fits_4_bits(array: np.ndarray) -> bool:
    return int(array.min(initial=0)) >= -8 and int(array.max(initial=0)) <= 7


# ---------------------------------------------------------------- views


def _reshape(ctx: ExportContext) -> None:
    shape = ctx.ints("shape")
    attrs = {"allowzero": 1} if 0 in shape else {}
    ctx.emit("Reshape", [*ctx.inputs(), ctx.int64(shape, "shape")], ctx.outputs(), **attrs)


def _expand(ctx: ExportContext) -> None:
    ctx.emit("Expand", [*ctx.inputs(), ctx.int64(ctx.ints("shape"), "shape")], ctx.outputs())


def _slice(ctx: ExportContext) -> None:
    starts, steps, sizes = ctx.ints("starts"), ctx.ints("steps"), ctx.ints("sizes")
    before_first = np.iinfo(np.int64).min
    ends = [start + step * size for start, step, size in zip(starts, steps, sizes)]
    ends = [before_first if end < 0 else end for end in ends]
    numbers = {"starts": starts, "ends": ends, "axes": range(len(starts)), "steps": steps}
    ctx.emit("Slice", [*ctx.inputs(), *(ctx.int64(list(n), name) for name, n in numbers.items())], ctx.outputs())


def _pad(ctx: ExportContext) -> None:
    inputs = [*ctx.inputs(), ctx.int64((*ctx.ints("before"), *ctx.ints("after")), "pads")]
    if ctx.string("mode") == "constant":
        inputs.append(ctx.scalar(ctx.number("value"), "value"))
    ctx.emit("Pad", inputs, ctx.outputs(), mode=ctx.string("mode"))


# ---------------------------------------------------------------- contractions and windows


def _window(ctx: ExportContext, kernel: Sequence[int]) -> dict[str, Sequence[int]]:
    if ctx.string("layout") != "channels_first":
        raise ctx.unsupported("ONNX windows are channels_first; export before the layout is chosen")
    return {"kernel_shape": kernel, **ctx.window()}


def _conv(ctx: ExportContext) -> None:
    """Of bytes ConvInteger."""
    x, w, *bias = ctx.node.operands
    op_type, inputs = "Conv", ctx.inputs()
    if x.dtype in _BYTES and w.dtype in _BYTES and not bias:
        zero = np.asarray(zero_point(ctx.node.attrs), x.dtype.numpy)
        op_type, inputs = "ConvInteger", [*inputs, ctx.constant(zero, "zero_point")]
    else:
        _require_float(ctx)
    ctx.emit(op_type, inputs, ctx.outputs(), group=ctx.integer("group"), **_window(ctx, w.shape[2:]))


def _conv_transpose(ctx: ExportContext) -> None:
    _require_float(ctx)
    window = _window(ctx, ctx.node.operands[1].shape[2:])
    _same("ConvTranspose", ctx, group=ctx.integer("group"), output_padding=ctx.ints("output_padding"), **window)


def _matmul(ctx: ExportContext) -> None:
    """Gemm where all are matrices, MatMul and Add otherwise; of bytes MatMulInteger.

    ONNX Runtime (1.32) makes a Gemm of MatMul and the Add of a list, and then in operator set 21 a QuantizeLinear that
    it refuses itself; a bias with the rank of the product it leaves alone.
    """
    a, b, *bias = ctx.inputs()
    if not ctx.node.operands[0].dtype.is_float:
        _integer_matmul(ctx)
        return
    if not bias:
        ctx.emit("MatMul", [a, b], ctx.outputs())
    elif all(len(value.shape) == 2 for value in ctx.node.operands[:2]):
        ctx.emit("Gemm", [a, b, *bias], ctx.outputs())
    else:
        if ctx.wide:
            bias = [ctx.emit("Reshape", [*bias, ctx.int64((1,) * (len(ctx.node.output.shape) - 1) + (-1,), "row")])]
        ctx.emit("Add", [ctx.emit("MatMul", [a, b]), *bias], ctx.outputs())


def _integer_matmul(ctx: ExportContext) -> None:
    a, b, *bias = ctx.node.operands
    zeros = [zero_point(ctx.node.attrs, name) for name in ("zero_point", "rhs_zero_point")]
    of_bytes = a.dtype in _BYTES and b.dtype in _BYTES
    same = all(value.dtype is ctx.node.output.dtype for value in ((*bias,) if of_bytes else (a, b, *bias)))
    if not same or not (of_bytes or not any(zeros)):
        raise ctx.unsupported(f"matmul of {a.type} and {b.type} is no ONNX operator")
    points = [
        ctx.constant(np.asarray(zero, value.dtype.numpy), "zero_point") for zero, value in zip(zeros, (a, b))
    ]  # fmt: skip
    op_type, inputs = ("MatMulInteger", [a.name, b.name, *points]) if of_bytes else ("MatMul", [a.name, b.name])
    if bias:
        ctx.emit("Add", [ctx.emit(op_type, inputs), *(value.name for value in bias)], ctx.outputs())
    else:
        ctx.emit(op_type, inputs, ctx.outputs())


def _pool(ctx: ExportContext) -> None:
    """Channels that are last, as in an average across channels, are brought to the front."""
    window = _pooled(ctx)
    if ctx.string("kind") == "max":
        op_type, attrs = "MaxPool", window
    else:
        op_type, attrs = "AveragePool", {**window, "count_include_pad": ctx.integer("count_include_pad")}
    if ctx.string("layout") == "channels_first":
        _same(op_type, ctx, **attrs)
        return
    ctx.put_channels_last(ctx.emit(op_type, [ctx.channels_first()], None, **attrs))


def _max_pool_index(ctx: ExportContext) -> None:
    greatest = ctx.values.fresh(f"{ctx.node.output.name}.greatest")
    outputs = [greatest, *ctx.outputs()]
    window = _pooled(ctx)
    ctx.emit("MaxPool", ctx.inputs(), outputs, storage_order=ctx.integer("column_major"), **window)


def _pooled(ctx: ExportContext) -> dict[str, Sequence[int] | int]:
    """Padding that no window reaches is left out: with ``ceil_mode`` others let one more window begin in it."""
    kernel, node = ctx.ints("kernel"), ctx.node
    spatial, spans = len(kernel), reach(kernel, ctx.ints("dilation"))
    last = "layout" in node.attrs and ctx.string("layout") == "channels_last"
    extents = (value.shape[1:-1] if last else value.shape[2:] for value in (node.operands[0], node.output))
    rows = zip(*extents, ctx.ints("stride"), spans, ctx.ints("pad"))
    needed = [(count - 1) * step + span - extent - before for extent, count, step, span, before in rows]
    pads = [*ctx.ints("pad")[:spatial], *map(_between, needed, ctx.ints("pad")[spatial:])]
    return {"kernel_shape": kernel, **ctx.window(), "pads": pads, "ceil_mode": ctx.integer("ceil_mode")}


def _between(needed: int, given: int) -> int:
    return min(max(needed, 0), given)


# ---------------------------------------------------------------- reductions


def _reduce(ctx: ExportContext) -> None:
    """Over all spatial dimensions it is a global pooling, which runtimes know better how to quantize."""
    axes, kind, x = ctx.ints("axes"), ctx.string("kind"), ctx.node.operands[0]
    spatial = len(x.shape) > 2 and axes == tuple(range(2, len(x.shape)))
    if spatial and ctx.integer("keepdims") and kind in _GLOBAL and x.dtype.is_float:
        _same(_GLOBAL[kind], ctx)
        return
    inputs = [*ctx.inputs(), ctx.int64(axes, "axes")]
    ctx.emit(
        _REDUCTIONS[kind], inputs, ctx.outputs(), keepdims=ctx.integer("keepdims"), noop_with_empty_axes=int(not axes)
    )


def _arg_reduce(ctx: ExportContext) -> None:
    attrs = {"axis": ctx.integer("axis"), "keepdims": ctx.integer("keepdims"), "select_last_index": ctx.integer("last")}
    _same("ArgMax" if ctx.string("kind") == "max" else "ArgMin", ctx, **attrs)


def _along_axis(op_type: str, ctx: ExportContext) -> None:
    _same(op_type, ctx, axis=ctx.integer("axis"))


def _normalize(ctx: ExportContext) -> None:
    """LayerNormalization over the last dimensions; written out over others."""
    axes, x = ctx.ints("axes"), ctx.node.operands[0]
    if axes and sorted(axes) == list(range(len(x.shape) - len(axes), len(x.shape))):
        ones = ctx.constant(np.ones([x.shape[axis] for axis in sorted(axes)], ctx.dtype), "scale")
        epsilon = ctx.number("epsilon")
        ctx.emit("LayerNormalization", [x.name, ones], ctx.outputs(), axis=min(axes), epsilon=epsilon)
        return
    mean = ctx.emit("ReduceMean", [x.name, ctx.int64(axes, "axes")], noop_with_empty_axes=1)
    _over_rms(ctx, ctx.emit("Sub", [x.name, mean]))


def _rms_normalize(ctx: ExportContext) -> None:
    _over_rms(ctx, ctx.node.operands[0].name)


def _over_rms(ctx: ExportContext, x: str) -> None:
    """x / sqrt(mean(x^2) + epsilon)"""
    axes = ctx.int64(ctx.ints("axes"), "axes")
    power = ctx.emit("ReduceMean", [ctx.emit("Mul", [x, x]), axes], noop_with_empty_axes=1)
    root = ctx.emit("Sqrt", [ctx.emit("Add", [power, ctx.scalar(ctx.number("epsilon"), "epsilon")])])
    ctx.emit("Div", [x, root], ctx.outputs())


def _cumsum(ctx: ExportContext) -> None:
    axis = ctx.constant(np.asarray(ctx.integer("axis"), np.int64), "axis")
    attrs = {"exclusive": ctx.integer("exclusive"), "reverse": ctx.integer("reverse")}
    ctx.emit("CumSum", [*ctx.inputs(), axis], ctx.outputs(), **attrs)


# ---------------------------------------------------------------- recurrences


def _recurrent(op_type: str, flag: str | None, ctx: ExportContext) -> None:
    """The core operators have the lengths of the sequences last, ONNX before the states."""
    x, w, r, *rest = ctx.inputs()
    last = 4 if op_type == "LSTM" else 2
    bias, states, lengths = rest[:1] or [""], rest[1:last], rest[last:] or [""]
    attrs: dict[str, object] = {name: ctx.attr(name) for name in ("direction", "activations")}
    attrs["hidden_size"] = ctx.integer("hidden")
    if not math.isinf(ctx.number("clip")):
        attrs["clip"] = ctx.number("clip")
    if flag is not None:
        attrs[flag] = ctx.integer(flag)
    inputs = [x, w, r, *bias, *lengths, *states]
    while not inputs[-1]:
        inputs.pop()
    ctx.emit(op_type, inputs, ctx.outputs(), **attrs)


RULES: Mapping[str, ExportRule] = {
    "custom": _custom,
    **{op: partial(_same, onnx_op) for onnx_op, op in SAME.items()},
    **ANCHORS,
    "arg_reduce": _arg_reduce,
    "cast": _cast,
    "clip": _clip,
    "concat": partial(_along_axis, "Concat"),
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "cumsum": _cumsum,
    "dequantize": _dequantize,
    "dequantize_blocks": _dequantize_blocks,
    "det": partial(_same, "Det"),
    "expand": _expand,
    "gather": partial(_along_axis, "Gather"),
    "gru": partial(_recurrent, "GRU", "linear_before_reset"),
    "isinf": _isinf,
    "log_softmax": partial(_along_axis, "LogSoftmax"),
    "lstm": partial(_recurrent, "LSTM", "input_forget"),
    "matmul": _matmul,
    "max": partial(_same, "Max"),
    "max_pool_index": _max_pool_index,
    "min": partial(_same, "Min"),
    "mod": _mod,
    "normalize": _normalize,
    "pad": _pad,
    "pool": _pool,
    "quantize": _quantize,
    "reduce": _reduce,
    "reshape": _reshape,
    "rms_normalize": _rms_normalize,
    "rnn": partial(_recurrent, "RNN", None),
    "shl": partial(_shift, "LEFT"),
    "shr": partial(_shift, "RIGHT"),
    "slice": _slice,
    "softmax": partial(_along_axis, "Softmax"),
    "transpose": lambda ctx: _same("Transpose", ctx, perm=ctx.ints("perm")),
}

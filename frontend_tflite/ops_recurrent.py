"""Layers with a state: SVDF, LSTM and the ring of streaming models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import GraphProto

from .context import OpContext, Rule
from .custom_options import custom_options
from .model import Quantization, Tensor
from .ops_contraction import bias, weights
from .states import value_info

_UNIT = Quantization(np.asarray([2.0**-15], np.float32), np.zeros(1, np.int64), 0)
_GATE = Quantization(np.asarray([2.0**-12], np.float32), np.zeros(1, np.int64), 0)
"""int16 for what lies in -1..1, and in -8..8 before the activation of a gate."""


def svdf(ctx: OpContext) -> Sequence[str]:
    """x [n, i], feature filters [f, i], time filters [f, m], bias [u]?, state [n, f * m], with f = u * rank.

    The features of x are the newest of m in the state of each filter; a unit is the sum over its filters and their
    memory.
    """
    batch, _ = ctx.shape(0, 2)
    filters, memory = ctx.shape(2, 2)
    rank = ctx.positive("Rank")
    state = ctx.tensor(4)
    if filters % rank or state.shape != (batch, filters * memory):
        raise ctx.invalid(f"a state {list(state.shape)} of {filters} filters with rank {rank}, {memory} steps each")
    units = filters // rank
    features = ctx.result(ctx.emit("Gemm", ctx.real(0), ctx.real(1), transB=1), state)
    old = ctx.reshaped(ctx.states.read(state.name, state), (batch, filters, memory))
    kept = ctx.emit("Slice", old, ctx.indices([1]), ctx.indices([memory]), ctx.indices([2]))
    new = ctx.emit("Concat", kept, ctx.reshaped(features, (batch, filters, 1)), axis=2)
    new = ctx.reshaped(new, state.shape)
    ctx.states.write(state.name, new)
    planes = ctx.dequantized(ctx.reshaped(new, (batch, filters * memory, 1, 1)), state)
    times = ctx.reshaped(weights(ctx, 2, (0, 1), state), (units, rank * memory, 1, 1))
    operands = [planes, times]
    if (offset := bias(ctx, 3, state, ctx.tensor(2))) is not None:
        operands.append(offset)
    sums = ctx.emit("Conv", *operands, group=units, kernel_shape=(1, 1))
    return [ctx.result(ctx.activated(ctx.reshaped(sums, (batch, units))))]


def unidirectional_sequence_lstm(ctx: OpContext) -> Sequence[str]:
    """x [n, t, i] or [t, n, i], weights of the gates i, f, c, o for x (1 to 4) and for the state (5 to 8), biases (12
    to 15), the output's state (18) and the cell's (19), both [n, u].

    Quantized cells have 16 bits: gates are rounded to 2**-12 before their activation and to 2**-15 behind it.
    """
    for positions, what in (((9, 10, 11), "peepholes"), ((16, 17), "a projection"), ((20, 21, 22, 23), "layer norms")):
        if any(ctx.has(position) for position in positions):
            raise ctx.unsupported(f"{what} are not supported, as in TensorFlow Lite Micro")
    if not all(ctx.has(position) for position in (1, 5)):
        raise ctx.unsupported("input gates coupled with forget gates are not supported, as in TensorFlow Lite Micro")
    hidden, cell = ctx.tensor(18), ctx.tensor(19)
    x = ctx.stored(0)
    if len(ctx.shape(0)) != 3:
        raise ctx.invalid(f"the input has the shape {list(ctx.shape(0))}, not three dimensions")
    if not ctx.flag("TimeMajor"):
        x = ctx.transposed(x, (1, 0, 2))
    states = [ctx.states.read(hidden.name, hidden), ctx.states.read(cell.name, cell)]
    *ends, results = ctx.graph.emit_all(
        "Scan", [*states, x], 3, num_scan_inputs=1, body=_lstm_step(ctx, ctx.tensor(0), hidden, cell)
    )
    for state, end in zip((hidden, cell), ends):
        ctx.states.write(state.name, end)
    return [results if ctx.flag("TimeMajor") else ctx.transposed(results, (1, 0, 2))]


def _lstm_step(ctx: OpContext, x: Tensor, hidden: Tensor, cell: Tensor) -> GraphProto:
    """The body of a scan: the states h and c and a row of x -> h, c and a row of the result."""
    step = ctx.in_body()
    graph = step.graph
    row = Tensor(
        "x", x.shape[:1] + x.shape[2:] if not ctx.flag("TimeMajor") else x.shape[1:], x.type, None, None, False
    )
    names = [graph.names.fresh(f"{ctx.loc}/{what}") for what in ("h", "c", "x")]
    quantized = cell.quantization is not None

    def rounded(real: str, quant: Quantization) -> str:
        if not quantized:
            return real
        codes = step.emit("QuantizeLinear", real, *step.parameters(quant, np.dtype(np.int16)))
        return step.dequantize(codes, quant, np.dtype(np.int16))

    def gate(number: int, activation: str) -> str:
        sums = []
        for value, tensor, first in ((names[2], x, 1), (names[0], hidden, 5)):
            offset = bias(step, 12 + number, tensor, step.tensor(first + number)) if first == 1 else None
            operands = [step.dequantized(value, tensor), step.real(first + number)]
            real = step.emit("Gemm", *operands, *([] if offset is None else [offset]), transB=1)
            sums.append(rounded(real, _GATE))
        before = rounded(step.emit("Add", *sums), _GATE)
        return rounded(step.emit(activation, before), _UNIT)

    i, f, o = gate(0, "Sigmoid"), gate(1, "Sigmoid"), gate(3, "Sigmoid")
    in_cell = _UNIT if cell.quantization is None else cell.quantization
    kept = rounded(step.emit("Mul", f, step.dequantized(names[1], cell)), in_cell)
    new = step.emit("Add", kept, rounded(step.emit("Mul", i, gate(2, "Tanh")), in_cell))
    if clip := ctx.number("CellClip"):
        new = step.emit("Clip", new, step.scalar(-abs(clip)), step.scalar(abs(clip)))
    c = step.result(new, cell)
    shown = rounded(step.emit("Tanh", step.dequantized(c, cell)), _UNIT)
    h = step.result(step.emit("Mul", o, shown), hidden)
    results = [(step.emit("Identity", value), tensor) for value, tensor in ((h, hidden), (c, cell), (h, hidden))]
    inputs = [value_info(name, tensor) for name, tensor in zip(names, (hidden, cell, row))]
    return graph.proto(f"{ctx.loc}/step", inputs, [value_info(name, tensor) for name, tensor in results])


def circular_buffer(ctx: OpContext) -> Sequence[str]:
    """x [n, 1, ...] behind the last rows: [n, rows, ...]. Each run moves the ring on by a row."""
    cycles = custom_options(ctx, {"cycles_max": 1})["cycles_max"]
    if cycles != 1:
        hint = "convert what stands behind the ring as a model of its own"
        raise ctx.unsupported(f"a ring that lets only one of {cycles:g} runs pass is not supported", hint)
    shape, out = ctx.shape(0), ctx.out
    if len(shape) < 2 or shape[1] != 1 or out.shape[:1] + out.shape[2:] != shape[:1] + shape[2:]:
        raise ctx.invalid(f"rows of {list(shape)} in a ring of {list(out.shape)}")
    key = f"{out.name}_ring"
    old = ctx.states.read(key, out)
    kept = ctx.emit("Slice", old, ctx.indices([1]), ctx.indices([out.shape[1]]), ctx.indices([1]))
    new = ctx.emit("Concat", kept, ctx.stored(0), axis=1)
    ctx.states.write(key, new)
    return [new]


RULES: Mapping[str, Rule] = {
    "CIRCULAR_BUFFER": circular_buffer,
    "SVDF": svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": unidirectional_sequence_lstm,
}

"""DynamicQuantizeLSTM of ONNX Runtime's own domain: an LSTM whose weights are bytes.

The input is quantized as a whole, the hidden state anew at each step, as its kernel for CPUs does; products are of
integers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper

from .contrib_body import Body, Rule, Unsupported
from .node_writer import NodeWriter

_ACTIVATIONS = frozenset({"Sigmoid", "Tanh", "Relu", "Softsign", "Softplus"})
_DEFAULT = ("Sigmoid", "Tanh", "Tanh")


def _dynamic_quantize_lstm(body: Body) -> tuple[str, ...]:
    """X ``[T, B, I]``, W ``[D, I, 4H]``, R ``[D, H, 4H]``, B?, lengths?, h?, c?, P?, then scale and zero point of W and
    of R, one for each direction or for each of its columns."""
    directions, hidden = body.shape(2)[:2]
    names = [n.decode() for n in body.attributes.get("activations", ())] or list(_DEFAULT) * directions
    if len(names) != 3 * directions or not _ACTIVATIONS.issuperset(names):
        raise Unsupported(f"activations {names}")
    direction = body.text("direction", "forward")
    length, batch = (body.emit("Shape", body.input(0), start=axis, end=axis + 1) for axis in (0, 1))
    states = body.emit("Concat", batch, body.integers(hidden), axis=0)
    none = body.emit("Expand", body.constant(np.zeros((), np.float32)), states)
    given, lasts = (_counted(body, length) if body.input(4) else (body.input(0), ""))
    x = body.emit_all("DynamicQuantizeLinear", [given], 3)
    found = [
        _direction(body, x, number, names[3 * number : 3 * number + 3], none, lasts,
                   backward=direction == "reverse" or number == 1)
        for number in range(directions)
    ]  # fmt: skip
    rows = [body.emit("Unsqueeze", rows, body.integers(1)) for rows, _, _ in found]
    last = [[body.emit("Unsqueeze", state[n], body.integers(0)) for state in found] for n in (1, 2)]
    return tuple(body.emit("Concat", *parts, axis=axis) for parts, axis in ((rows, 1), (last[0], 0), (last[1], 0)))


def _counted(body: Body, length: str) -> tuple[str, str]:
    """X with zeros behind the end of the longest sequence, whose numbers ONNX Runtime does not see, and ``[T, B, 1]``:
    whether a step is one of the sequence, which has as many as input 4 says."""
    zero, one = (body.constant(np.asarray(number)) for number in (0, 1))
    steps = body.emit("Unsqueeze", body.emit("Range", zero, body.emit("Squeeze", length), one), body.integers(1))
    lengths = body.cast(body.input(4), np.int64)
    axes = body.integers(2)
    within = body.emit("Unsqueeze", body.emit("Less", steps, body.emit("ReduceMax", lengths, keepdims=1)), axes)
    x = body.emit("Where", within, body.input(0), body.constant(np.zeros((), np.float32)))
    return x, body.emit("Unsqueeze", body.emit("Less", steps, lengths), axes)


def _part(body: Body, place: int, number: int) -> str:
    """What an operand has for one direction."""
    return body.emit("Squeeze", body.slice(body.input(place), 0, number, number + 1), body.integers(0))


def _direction(
    body: Body, x: list[str], number: int, activations: list[str], none: str, lasts: str, *, backward: bool
) -> tuple[str, str, str]:
    """The hidden states of all steps, and the last hidden and cell state ``[B, H]``. ``none`` are states before all
    steps, ``lasts`` says which steps count, if not all do."""
    hidden = body.shape(2)[1]
    weights, recurrence = (_part(body, place, number) for place in (1, 2))
    scales = [_part(body, place, number) for place in (8, 10)]
    zeros = [_part(body, place, number) if body.input(place) else "" for place in (9, 11)]
    summed = body.emit("MatMulInteger", x[0], weights, x[2], zeros[0])
    gates = body.emit("Mul", body.emit("Cast", summed, to=TensorProto.FLOAT), body.emit("Mul", x[1], scales[0]))
    if body.input(3):
        biases = body.reshape(_part(body, 3, number), 2, 4 * hidden)
        gates = body.emit("Add", gates, body.emit("ReduceSum", biases, body.integers(0), keepdims=0))
    states = [_part(body, place, number) if body.input(place) else none for place in (5, 6)]
    peepholes = _part(body, 7, number) if body.input(7) else ""
    step = _step(body, number, recurrence, scales[1], zeros[1], peepholes, hidden, activations, bool(lasts))
    turned = bool(lasts) and backward  # each from its own end: states of one step are quantized together
    if turned:
        gates, backward = _reversed(body, gates), False
    sequences = [gates, lasts] if lasts else [gates]
    h, c, rows = body.emit_all(
        "Scan", [*states, *sequences], 3, body=step, num_scan_inputs=len(sequences),
        scan_input_directions=[int(backward)] * len(sequences), scan_output_directions=[int(backward)],
    )  # fmt: skip
    return _reversed(body, rows) if turned else rows, h, c


def _reversed(body: Body, x: str) -> str:
    """The steps of each sequence from its last on."""
    lengths = body.cast(body.input(4), np.int64)
    return body.emit("ReverseSequence", x, lengths, time_axis=0, batch_axis=1)


def _step(
    body: Body, number: int, recurrence: str, scale: str, zero: str, peepholes: str, hidden: int,
    activations: list[str], ends: bool,
) -> onnx.GraphProto:  # fmt: skip
    """h, c, gates of x, and whether the step counts where sequences have ``ends`` -> h, c, h. Gates are in ONNX's
    order: input, output, forget, cell."""
    writer = NodeWriter(f"d{number}_")
    one = writer.emit
    h, c, given = (f"d{number}_{name}" for name in ("h", "c", "x"))
    stored, step, offset = writer.emit_all("DynamicQuantizeLinear", [h], 3)
    summed = one("Cast", one("MatMulInteger", stored, recurrence, offset, *([zero] if zero else [])), to=1)
    gates = one("Add", given, one("Mul", summed, one("Mul", step, scale)))
    i, o, f, g = writer.emit_all("Split", [gates], 4, axis=-1, num_outputs=4)
    seen = [body.slice(peepholes, 0, n * hidden, (n + 1) * hidden) for n in range(3)] if peepholes else None
    if seen is not None:
        i, f = one("Add", i, one("Mul", seen[0], c)), one("Add", f, one("Mul", seen[2], c))
    clip = float(body.attributes.get("clip", 0.0))

    def activated(x: str, place: int) -> str:
        if clip:
            bounds = [body.constant(np.asarray(bound, np.float32)) for bound in (-clip, clip)]
            x = one("Clip", x, *bounds)
        return one(activations[place], x)

    enters = activated(i, 0)
    if body.attributes.get("input_forget", 0):
        kept = one("Sub", body.constant(np.ones((), np.float32)), enters)
    else:
        kept = activated(f, 0)
    cell = one("Add", one("Mul", kept, c), one("Mul", enters, activated(g, 1)))
    if seen is not None:
        o = one("Add", o, one("Mul", seen[1], cell))
    state = one("Mul", activated(o, 0), one(activations[2], cell))
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (h, c, given)]
    if ends:
        counts = f"d{number}_counts"
        inputs.append(helper.make_tensor_value_info(counts, TensorProto.BOOL, None))
        again = one("Where", counts, state, body.constant(np.zeros((), np.float32)))
        state, cell = one("Where", counts, state, h), one("Where", counts, cell, c)
    else:
        again = one("Identity", state)
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (state, cell, again)]
    return helper.make_graph(writer.nodes, f"direction{number}", inputs, results)


RULES: Mapping[str, Rule] = {"DynamicQuantizeLSTM": _dynamic_quantize_lstm}

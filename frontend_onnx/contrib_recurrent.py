"""DynamicQuantizeLSTM of ONNX Runtime's own domain: an LSTM whose weights are bytes.

The input is quantized as a whole, the hidden state anew at each step, as its kernel for CPUs does; products are of
integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from .contrib_body import Body, Rule, Unsupported

_ACTIVATIONS = frozenset({"Sigmoid", "Tanh", "Relu", "Softsign", "Softplus"})
_DEFAULT = ("Sigmoid", "Tanh", "Tanh")


def _dynamic_quantize_lstm(body: Body) -> tuple[str, ...]:
    """X ``[T, B, I]``, W ``[D, I, 4H]``, R ``[D, H, 4H]``, B?, lengths?, h?, c?, P?, then scale and zero point of W and
    of R, one for each direction or for each of its columns."""
    body.refuse(4)
    directions, hidden = body.shape(2)[:2]
    names = [n.decode() for n in body.attributes.get("activations", ())] or list(_DEFAULT) * directions
    if len(names) != 3 * directions or not _ACTIVATIONS.issuperset(names):
        raise Unsupported(f"activations {names}")
    direction = body.text("direction", "forward")
    (batch,) = body.shape(0)[1:2]
    x = body.emit_all("DynamicQuantizeLinear", [body.input(0)], 3)
    found = [
        _direction(body, x, number, names[3 * number : 3 * number + 3], (batch, hidden),
                   backward=direction == "reverse" or number == 1)
        for number in range(directions)
    ]  # fmt: skip
    rows = [body.emit("Unsqueeze", rows, body.integers(1)) for rows, _, _ in found]
    last = [[body.emit("Unsqueeze", state[n], body.integers(0)) for state in found] for n in (1, 2)]
    return tuple(body.emit("Concat", *parts, axis=axis) for parts, axis in ((rows, 1), (last[0], 0), (last[1], 0)))


def _part(body: Body, place: int, number: int) -> str:
    """What an operand has for one direction."""
    return body.emit("Squeeze", body.slice(body.input(place), 0, number, number + 1), body.integers(0))


def _direction(
    body: Body, x: list[str], number: int, activations: list[str], shape: tuple[int, int], *, backward: bool
) -> tuple[str, str, str]:
    """The hidden states of all steps, and the last hidden and cell state ``[B, H]``."""
    batch, hidden = shape
    weights, recurrence = (_part(body, place, number) for place in (1, 2))
    scales = [_part(body, place, number) for place in (8, 10)]
    zeros = [_part(body, place, number) if body.input(place) else "" for place in (9, 11)]
    summed = body.emit("MatMulInteger", x[0], weights, x[2], zeros[0])
    gates = body.emit("Mul", body.emit("Cast", summed, to=TensorProto.FLOAT), body.emit("Mul", x[1], scales[0]))
    if body.input(3):
        biases = body.reshape(_part(body, 3, number), 2, 4 * hidden)
        gates = body.emit("Add", gates, body.emit("ReduceSum", biases, body.integers(0), keepdims=0))
    zero = body.constant(np.zeros((batch, hidden), np.float32))
    states = [_part(body, place, number) if body.input(place) else zero for place in (5, 6)]
    peepholes = _part(body, 7, number) if body.input(7) else ""
    step = _step(body, number, recurrence, scales[1], zeros[1], peepholes, hidden, activations)
    h, c, rows = body.emit_all(
        "Scan", [*states, gates], 3, body=step, num_scan_inputs=1, scan_input_directions=[int(backward)],
        scan_output_directions=[int(backward)],
    )  # fmt: skip
    return rows, h, c


def _step(
    body: Body, number: int, recurrence: str, scale: str, zero: str, peepholes: str, hidden: int,
    activations: list[str],
) -> onnx.GraphProto:  # fmt: skip
    """h, c, gates of x -> h, c, h. Gates are in ONNX's order: input, output, forget, cell."""
    nodes: list[onnx.NodeProto] = []

    def emit(op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> list[str]:
        results = [f"d{number}_{len(nodes)}_{place}" for place in range(outputs)]
        nodes.append(helper.make_node(op_type, list(inputs), results, **attributes))
        return results

    def one(op_type: str, *inputs: str, **attributes: Any) -> str:
        return emit(op_type, *inputs, **attributes)[0]

    h, c, given = (f"d{number}_{name}" for name in ("h", "c", "x"))
    stored, step, offset = emit("DynamicQuantizeLinear", h, outputs=3)
    summed = one("Cast", one("MatMulInteger", stored, recurrence, offset, *([zero] if zero else [])), to=1)
    gates = one("Add", given, one("Mul", summed, one("Mul", step, scale)))
    i, o, f, g = emit("Split", gates, outputs=4, axis=-1, num_outputs=4)
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
    again = one("Identity", state)
    typed = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (h, c, given, state, cell, again)]
    return helper.make_graph(nodes, f"direction{number}", typed[:3], typed[3:])


RULES: Mapping[str, Rule] = {"DynamicQuantizeLSTM": _dynamic_quantize_lstm}

"""A matmul of floats by a constant matrix of integers: the integers stay, and become floats in registers."""

from __future__ import annotations

import numpy as np

from ...ir.graph import Node, Value
from ...ops.integer import BYTES
from .forms import Blocked, State, Stored


def with_stored_weights(state: State, node: Node) -> Value | None:
    """``weight_matmul``, and the bias; ``None`` where the weights are not bytes, or not scaled along the right axis."""
    blocked = _by_rows(state, node) if node.op == "matmul" and len(node.operands[1].shape) == 2 else None
    if blocked is None:
        return None
    rewriter, name = state.rewriter, node.output.name
    integers = rewriter.array(blocked.value)
    assert integers is not None
    zero = blocked.zero_point
    if integers.dtype == np.uint8:
        zero = np.zeros_like(blocked.scale, np.uint8) if zero is None else zero
        middle = 8 if max(int(array.max(initial=0)) for array in (integers, zero)) < 16 else 128
        integers, zero = _signed(integers, middle), _signed(zero, middle)
    operands = [
        node.operands[0],
        rewriter.constant(integers, blocked.value.name),
        rewriter.constant(blocked.scale.astype(np.float32), f"{name}.scale"),
    ]
    if zero is not None and np.any(zero):
        operands.append(rewriter.constant(zero.astype(np.int8), f"{name}.zero_point"))
    bias = node.operands[2:]
    stem = f"{name}.product" if bias else name
    (result,) = rewriter.emit("weight_matmul", operands, {"block": blocked.block}, loc=node.loc, names=[stem])
    return rewriter.emit1("add", result, *bias, loc=node.loc, name=name) if bias else result


def _signed(array: np.ndarray, middle: int) -> np.ndarray:
    """``middle`` less, as the zero point is, too: the difference is the same."""
    return (array.astype(np.int16) - middle).astype(np.int8)


def _by_rows(state: State, node: Node) -> Blocked | None:
    """The matrix with parameters for blocks of rows; one scale a column is for all rows."""
    form = state.form(node.operands[1])
    if not isinstance(form, (Stored, Blocked)) or form.value.dtype not in BYTES:
        return None
    if not state.rewriter.is_constant(form.value):
        return None
    if isinstance(form, Blocked):
        return form if form.axis == 0 else None
    if form.axis not in (None, 1):
        return None
    rows, columns = form.value.shape
    scale, zero = (np.broadcast_to(array.reshape(1, -1), (1, columns)) for array in (form.scale, form.zero_point))
    return Blocked(form.value, scale, zero.astype(form.value.dtype.numpy), 0, rows)

"""Which values integer tensors can take, and what follows for the accumulators that sum them up."""

from __future__ import annotations

import numpy as np

from ...errors import CcmlError, ErrorCode
from ...ir.graph import Node, Value
from ...ops.attributes import integer
from ..rewrite import Rewriter

Range = tuple[int, int]
_MOVES = ("reshape", "transpose", "slice", "expand", "gather", "pool", "reduce")
_I32 = (-(2**31), 2**31 - 1)


def value_range(rewriter: Rewriter, value: Value) -> Range:
    """Least and greatest value that ``value``, of at most 16 bits, can take."""
    limits = np.iinfo(value.dtype.numpy)
    least, greatest = int(limits.min), int(limits.max)
    producer = rewriter.producer(value)
    if producer is None:
        return least, greatest
    lo, hi = producer.attrs.get("lo"), producer.attrs.get("hi")
    if isinstance(lo, int) and isinstance(hi, int):
        return max(lo, least), min(hi, greatest)
    if producer.op == "lookup" and (table := rewriter.array(producer.inputs[1])) is not None:
        return int(table.min()), int(table.max())
    if producer.op in _MOVES and producer.operands[0].dtype is value.dtype:
        return value_range(rewriter, producer.operands[0])
    if producer.op == "concat":
        ranges = [value_range(rewriter, operand) for operand in producer.operands]
        return min(low for low, _ in ranges), max(high for _, high in ranges)
    return least, greatest


def product_bounds(
    node: Node, lhs: np.ndarray | None, lhs_range: Range, rhs: np.ndarray | None, rhs_range: Range
) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest of a contraction's sums, whatever part of them the border cuts off.

    There is one of each for an output channel (row or column), shaped to broadcast against the bias.

    Each operand is given by its elements, where they are constant, and their range; zero points are subtracted.
    """
    if rhs is not None:
        return _summed(_by_output(node, rhs), lhs_range)
    if lhs is not None:
        low, high = _summed(lhs, rhs_range)
        return low[..., np.newaxis], high[..., np.newaxis]
    products = [a * b for a in lhs_range for b in rhs_range]
    count = node.operands[0].shape[-1]
    return np.asarray(count * min(*products, 0)), np.asarray(count * max(*products, 0))


def _by_output(node: Node, weights: np.ndarray) -> np.ndarray:
    """``weights`` with all that one output sums up along the last dimension."""
    if node.op == "matmul":
        return np.moveaxis(weights, -2, -1)
    if node.op == "conv":
        return weights.reshape(weights.shape[0], -1)
    group = integer(node.attrs, "group")
    split = weights.reshape(group, weights.shape[0] // group, weights.shape[1], -1)
    return np.moveaxis(split, 1, 2).reshape(group * weights.shape[1], -1)


def _summed(weights: np.ndarray, values: Range) -> tuple[np.ndarray, np.ndarray]:
    ends = np.stack([weights * values[0], weights * values[1], np.zeros_like(weights)])
    return ends.min(axis=0).sum(axis=-1), ends.max(axis=0).sum(axis=-1)


def fits_i32(low: int, high: int) -> bool:
    return low >= _I32[0] and high <= _I32[1]


def shift_to_i32(low: int, high: int) -> int:
    """By how many bits sums within bounds are shifted, halves up, to fit an i32."""
    shift = 0
    while not fits_i32(*shifted(low, high, shift)):
        shift += 1
    return shift


def shifted(low: int, high: int, shift: int) -> tuple[int, int]:
    """What sums within bounds are divided by 2^shift, halves up."""
    half = (1 << shift) >> 1
    return low + half >> shift, high + half >> shift


def check_bounds(node: Node, low: int, high: int) -> None:
    """Refuses a sum that an i32 cannot hold."""
    if fits_i32(low, high):
        return
    worst = high if high > -low else low
    raise CcmlError(
        ErrorCode.ACCUMULATOR_OVERFLOW,
        f"the sum that gives %{node.output.name} could reach {worst}, more than 32 bits hold",
        loc=node.loc or node.output.name,
        hint="quantize its input to 8 bits or its weights to fewer levels, or keep the layer in float",
    )

"""``quantize`` of a normalization, perhaps scaled and shifted behind: ``int_normalize``."""

from __future__ import annotations

from math import ceil, log2, prod

import numpy as np

from ...ir.graph import AttrValue, Node, Value
from ...ir.types import DType
from ...ops.attributes import ints, number
from ...ops.int_normalize import MULTIPLIER_BITS, normalization_constants, row_length
from ...ops.integer import NARROW, WIDE_BITS
from ...record import record
from .forms import State, Stored, Target
from .tables import as_stored

NORMALIZATIONS = ("normalize", "rms_normalize")
_LARGEST_ERROR = 2**-7
"""In steps of the result: what rounding the multiplier of a row may add to the last rounding."""


@record
class Affine:
    """``node * scale + shift``, of a normalization and constants that broadcast to its result."""

    node: Node
    scale: np.ndarray
    shift: np.ndarray


def normalization_behind(state: State, node: Node | None) -> Affine | None:
    """What ``node`` computes from a normalization with constants: nothing, ``mul``, ``add``, or one after the other."""
    if node is None or node.op in NORMALIZATIONS:
        return None if node is None else Affine(node, np.ones(()), np.zeros(()))
    if node.op not in ("add", "mul") or len(node.operands) != 2:
        return None
    for position in (0, 1):
        array = state.constant(node.operands[1 - position])
        inner = None if array is None else normalization_behind(state, state.rewriter.producer(node.operands[position]))
        if inner is None or array is None or inner.node.output.shape != node.output.shape:
            continue
        wide = array.astype(np.float64)
        if node.op == "add":
            return Affine(inner.node, inner.scale, inner.shift + wide)
        return Affine(inner.node, inner.scale * wide, inner.shift * wide)
    return None


def normalized(state: State, affine: Affine, target: Target, name: str) -> Value | None:
    """The integers of a normalization of integers; ``None``, with the reason noted, where it stays in float."""
    node = affine.node
    stored = as_stored(state, node.operands[0], node)
    if stored is None or not stored.per_tensor or stored.value.dtype not in NARROW:
        state.keep_float(node, "its operand is not quantized, to one scale and 8 or 16 bits")
        return None
    if target.to not in NARROW:
        state.keep_float(node, f"its result is {target.to.value}")
        return None
    scales = np.unique(affine.scale)
    if scales.size == 1 and scales[0] > 0 and not np.any(affine.shift):
        lo, hi = target.limits
        return _emit(state, node, stored, float(target.scale) / float(scales[0]), target, (lo, hi), name)
    return _scaled(state, affine, stored, target, name)


def _emit(
    state: State, node: Node, stored: Stored, y_scale: float, target: Target, limits: tuple[int, int], name: str
) -> Value | None:
    """int_normalize in steps of ``y_scale``; what it stores has the scale of ``target``."""
    mean, axes = node.op == "normalize", ints(node.attrs, "axes")
    epsilon = number(node.attrs, "epsilon")
    constants = normalization_constants(stored.value.type, axes, mean, float(stored.scale[0]), epsilon, y_scale)
    if constants is None:
        state.keep_float(node, "its rows are too long, or its scale too small, for sums in 64 bits")
        return None
    # The mean is subtracted whatever is counted from; sums from the least value on are not negative.
    x_zero_point = stored.least if mean else int(stored.zero_point[0])
    attrs: dict[str, AttrValue] = {
        **target.attrs, **constants, "axes": axes, "mean": mean, "x_zero_point": x_zero_point,
        "lo": limits[0], "hi": limits[1], "to": target.to,
    }  # fmt: skip
    return state.rewriter.emit("int_normalize", [stored.value], attrs, loc=node.loc, names=[name])[0]


def _scaled(state: State, affine: Affine, stored: Stored, target: Target, name: str) -> Value | None:
    """Normalized to WIDE_BITS bits and a sign, then ``((n * factor >> 32) + bias) >> shift`` with a factor and a bias
    for each element of a row.

    A normalized element is at most the root of its row's length N, and so many bits are left for its fraction. A step
    of the operand is at most N / sqrt(N - 1) then, of a row with one element that is a step off: so many bits that the
    multiplier of the row, which has 21 or 22, need not be doubled more often than MOST_DOUBLED allows.
    """
    node = affine.node
    count = row_length(node.output.shape, ints(node.attrs, "axes"))
    bits = WIDE_BITS - max(0, ceil(log2(count) / 2))
    steps = np.broadcast_arrays(affine.scale / target.scale, affine.shift / target.scale + target.zero_point)
    factors, biases = steps[0] * 2.0**-bits, steps[1]
    largest = float(np.max(np.abs(factors), initial=0.0))
    if not largest * 2.0 ** (WIDE_BITS + 1 - MULTIPLIER_BITS) <= _LARGEST_ERROR or not np.all(np.abs(biases) < 2**14):
        state.keep_float(node, f"its result in steps of {target.scale} would not be accurate in integers")
        return None
    shift = _shift(largest, float(np.max(np.abs(biases), initial=0.0)))
    rounded = Target(np.float32(2.0**-bits), 0, DType.I32)
    limit = 1 << WIDE_BITS
    n = _emit(state, node, stored, float(rounded.scale), rounded, (-limit, limit), f"{name}.normalized")
    if n is None:
        return None
    factor = np.rint(factors * 2.0 ** (shift + 32)).astype(np.int32)
    bias = np.rint(biases * 2.0**shift + 2.0 ** (shift - 1) + 0.5).astype(np.int32)
    constants = {"factor": factor, "bias": bias}
    operands = [n, *(state.rewriter.constant(_plain(array), f"{name}.{stem}") for stem, array in constants.items())]
    lo, hi = target.limits
    attrs: dict[str, AttrValue] = {**target.attrs, "shift": shift, "lo": lo, "hi": hi, "to": target.to}
    return state.rewriter.emit("rescale_channels", operands, attrs, loc=node.loc, names=[name])[0]


def _shift(factor: float, bias: float) -> int:
    """The largest, up to 16, for which the factor, the bias and all sums are i32. The half that a product loses on
    average by being rounded down is in the bias. More than 16 would change results that are as near to the middle of
    two steps as 2^-16; with 16 a result is the upper halfword of a sum."""
    shift = 1
    while shift < 16 and factor * 2.0 ** (shift + 1 + 32) < 2**31 - 1 and (bias + 1) * 2.0 ** (shift + 1) < 2**30:
        shift += 1
    return shift


def _plain(array: np.ndarray) -> np.ndarray:
    return array if prod(array.shape) > 1 else array.reshape(())

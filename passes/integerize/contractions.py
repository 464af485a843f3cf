"""Contractions of integers: conv, conv_transpose and matmul into i32 accumulators.

Sums of products with 16-bit weights, or of two computed 16-bit tensors, may need more than 32 bits. They are exact in
64 bits then, and the accumulator is what is left of them behind a shift: for K products at most log2(K) bits are
dropped, less than the rounding of the operands makes of noise in every product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...ir.graph import AttrValue, Node, Value
from ...ir.types import DType, TensorType
from ...ops.attributes import integer
from ...ops.integer import NARROW, sum_shift
from ...record import record
from .forms import Accumulated, State, Stored
from .ranges import check_bounds, fits_i32, product_bounds, shift_to_i32, shifted, value_range
from .stored_weights import with_stored_weights
from .tables import as_stored

CONTRACTIONS = ("conv", "conv_transpose", "matmul")


@record
class _Factor:
    """An operand of a product: the tensor to multiply, its zero point, its scale (broadcast to the result or of one
    element), its elements without the zero point where they are constant, and their least and greatest value."""

    value: Value
    zero_point: int
    scale: np.ndarray
    array: np.ndarray | None
    range: tuple[int, int]


def contraction(state: State, node: Node) -> Value | None:
    """``node`` on integers, and its float result: accumulator times scale."""
    lhs, rhs = _activation(state, node, 0), _weights(state, node)
    if lhs is None or rhs is None:
        if (result := with_stored_weights(state, node)) is not None:
            return result
        state.keep_float(node, "its operands are not both quantized")
        return None
    scale = (lhs.scale * rhs.scale).astype(np.float32)
    bias = None
    if len(node.operands) > 2:
        real = state.constant(node.operands[2])
        if real is None:
            state.keep_float(node, "its bias is computed")
            return None
        steps = scale.reshape(-1) if node.op != "matmul" and scale.size > 1 else scale
        bias = _integer_bias(state, node.operands[2], real, steps)
        if _is_rough(state, node, real, bias, steps):
            return _plus_float(state, node, real, lambda bare: accumulate(state, bare, lhs, rhs, None, scale))
    return accumulate(state, node, lhs, rhs, bias, scale)


_MOST_OF_A_STEP = 2**-8
"""Of the result's, by which a bias that is rounded to the accumulator's steps may be off."""


def _is_rough(state: State, node: Node, real: np.ndarray, bias: np.ndarray, steps: np.ndarray) -> bool:
    """Whether the ``real`` bias is far from ``bias`` in ``steps`` of the accumulator; notes it."""
    error = np.abs(bias * steps.astype(np.float64) - real).max(initial=0)
    if not error > _MOST_OF_A_STEP * state.step_behind(node):
        return False
    state.keep_float(node, "its bias lies between steps of the accumulator, which are not small beside the result's")
    return True


def _plus_float(
    state: State, node: Node, bias: np.ndarray, contract: Callable[[Node], Value | None]
) -> Value | None:
    """The contraction without its bias, and that added in float."""
    bare = replace(node, outputs=(replace(node.output, name=f"{node.output.name}.product"),))
    product = contract(bare)
    if product is None:
        return None
    shape = bias.shape if node.op == "matmul" else (-1, *[1] * (len(node.output.shape) - 2))
    constant = state.rewriter.constant(bias.astype(np.float32).reshape(shape), f"{node.output.name}.bias")
    return state.rewriter.emit1("add", product, constant, loc=node.loc, name=node.output.name)


def _activation(state: State, node: Node, position: int) -> _Factor | None:
    stored = as_stored(state, node.operands[position], node)
    if stored is None or stored.value.dtype not in NARROW:
        return None
    if state.rewriter.is_constant(stored.value):
        return _constant_factor(state, node, position, stored)
    if not stored.per_tensor:
        return None
    zero_point, (low, high) = int(stored.zero_point[0]), value_range(state.rewriter, stored.value)
    bounds = (low - zero_point, high - zero_point)
    return _Factor(stored.value, zero_point, stored.scale.reshape(()), None, bounds)


def _weights(state: State, node: Node) -> _Factor | None:
    stored = state.stored(node.operands[1])
    if stored is not None and node.op != "matmul" and not state.rewriter.is_constant(stored.value):
        return None
    if stored is None and state.constant(node.operands[1]) is not None:
        state.keep_float(node, "its weights are not quantized")
    return _activation(state, node, 1)


def _constant_factor(state: State, node: Node, position: int, stored: Stored) -> _Factor | None:
    """Constants lose their zero point now; what does not fit 8 bits then has 16."""
    scale = _result_scale(node, position, stored)
    if scale is None:
        state.keep_float(node, f"the scales of {stored.value.name} differ along a dimension that is summed over")
        return None
    array = state.rewriter.array(stored.value)
    assert array is not None
    centred = array.astype(np.int64) - stored.along_axis(stored.zero_point)
    low, high = int(centred.min(initial=0)), int(centred.max(initial=0))
    dtype = next((d for d in (DType.I8, DType.I16) if _holds(d, low, high)), None)
    if dtype is None:
        return None
    quant = replace(stored, zero_point=np.zeros_like(stored.zero_point)).quant
    type_ = TensorType(dtype, stored.value.shape, quant if np.all(stored.scale > 0) else None)
    value = state.rewriter.constant(centred.astype(dtype.numpy), stored.value.name, type_)
    return _Factor(value, 0, scale, centred, (low, high))


def _holds(dtype: DType, low: int, high: int) -> bool:
    limits = np.iinfo(dtype.numpy)
    return int(limits.min) <= low and high <= int(limits.max)


def _result_scale(node: Node, position: int, stored: Stored) -> np.ndarray | None:
    """The scales of a constant operand as they broadcast to the result, if they belong to its output channels."""
    if stored.per_tensor:
        return stored.scale.reshape(())
    rank = len(node.output.shape)
    if node.op == "matmul":
        place = len(stored.value.shape) - stored.axis if stored.axis is not None else 0
        wanted = 2 if position == 0 else 1
        return stored.scale.reshape(-1, *[1] * (wanted - 1)) if place == wanted else None
    if stored.axis != (0 if node.op == "conv" else 1) or position == 0:
        return None
    group = integer(node.attrs, "group")
    scale = stored.scale if node.op == "conv" else np.tile(stored.scale, group)
    return scale.reshape(-1, *[1] * (rank - 2))


def _integer_bias(state: State, bias: Value, real: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The bias in ``steps`` of the accumulator: as it is stored, if those are its steps."""
    stored = state.stored(bias)
    if stored is not None and not np.any(stored.zero_point):
        integers, given = state.rewriter.array(stored.value), stored.along_axis(stored.scale)
        if integers is not None and np.allclose(given, steps, rtol=2e-6, atol=0):
            return integers.astype(np.int64)
    return _in_steps(real, steps)


def _in_steps(real: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """``real / steps`` as int64; what is not finite or enormous is larger than any accumulator."""
    with np.errstate(all="ignore"):
        quotient = np.rint(real.astype(np.float64) / steps)
    return np.clip(np.nan_to_num(quotient, nan=2.0**40), -(2.0**40), 2.0**40).astype(np.int64)


def accumulate(
    state: State, node: Node, lhs: _Factor, rhs: _Factor, bias: np.ndarray | None, scale: np.ndarray
) -> Value | None:
    """The integer node, its form, and the float value that stands for ``node``'s output. ``None`` where the sums of two
    computed tensors of bytes may not fit: nothing in the model can be changed to make them."""
    least, greatest = product_bounds(node, lhs.array, lhs.range, rhs.array, rhs.range)
    start = np.int64(0) if bias is None else bias
    low, high = int((least + start).min(initial=0)), int((greatest + start).max(initial=0))
    shift = shift_to_i32(low, high) if _may_be_wide(lhs, rhs) and np.abs(start).max() < _MOST_BIAS else 0
    if not shift and lhs.array is None and rhs.array is None and not fits_i32(low, high):
        state.keep_float(node, "the sum of its products could need more than 32 bits")
        return None
    low, high = shifted(low, high, shift)
    check_bounds(node, low, high)
    attrs: dict[str, AttrValue] = {**node.attrs, "zero_point": lhs.zero_point, "acc_lo": low, "acc_hi": high}
    if shift:
        attrs["shift"], scale = shift, scale * scale.dtype.type(2.0**shift)
    if node.op == "matmul":
        attrs["rhs_zero_point"] = rhs.zero_point
    name = f"{node.output.name}.acc"
    operands = [lhs.value, rhs.value]
    if bias is not None:
        sums = np.int64 if shift else np.int32
        operands.append(state.rewriter.constant(bias.astype(sums), f"{node.output.name}.bias"))
    (acc,) = state.rewriter.emit(node.op, operands, attrs, loc=node.loc, names=[name])
    return dequantized(state, node, Accumulated(acc, scale, (low, high)))


_MOST_BIAS = 2**39
"""In steps of the accumulator: what is larger is no number (:func:`_in_steps`)."""


def _may_be_wide(lhs: _Factor, rhs: _Factor) -> bool:
    """Whether an operand has 16 bits; what bytes may exceed is a model that is not meant."""
    return any(factor.value.dtype is DType.I16 for factor in (lhs, rhs))


def dequantized(state: State, node: Node, form: Accumulated) -> Value:
    """The float value of an accumulator, in place of ``node``'s output; notes the form."""
    real = state.rewriter.emit1("cast", form.acc, loc=node.loc, name=f"{node.output.name}.real", to=DType.F32)
    scale = state.rewriter.constant(plain(form.scale.astype(np.float32)), f"{node.output.name}.scale")
    result = state.rewriter.emit1("mul", real, scale, loc=node.loc, name=node.output.name)
    state.forms[result.name] = form
    return result


def plain(scale: np.ndarray) -> np.ndarray:
    """One number where all are the same."""
    return scale.reshape(-1)[:1].reshape(()) if scale.size and np.all(scale == scale.reshape(-1)[0]) else scale


def times_number(state: State, node: Node) -> Value | None:
    """``accumulator * number``: the number goes into the scale."""
    for position in (0, 1):
        form, real = state.form(node.operands[position]), state.constant(node.operands[1 - position])
        if not isinstance(form, Accumulated) or real is None or real.size != 1 or form.low > -np.inf:
            continue
        number = real.reshape(())
        if form.high < np.inf or not np.isfinite(number) or number <= 0 or form.acc.shape != node.output.shape:
            return None
        scale = (form.scale * form.scale.dtype.type(number)).astype(form.scale.dtype)
        return dequantized(state, node, replace(form, scale=scale)) if np.all(scale > 0) else None
    return None


def add_bias(state: State, node: Node) -> Value | None:
    """``contraction + constant``: one bias. Only where no clip lies between them."""
    for position in (0, 1):
        form, real = state.form(node.operands[position]), state.constant(node.operands[1 - position])
        if not isinstance(form, Accumulated) or real is None or form.low > -np.inf or form.high < np.inf:
            continue
        inner = state.rewriter.producer(form.acc)
        if inner is None or inner.op not in CONTRACTIONS or form.acc.shape != node.output.shape:
            return None
        return _with_bias(state, node, inner, form, real)
    return None


def _with_bias(state: State, node: Node, inner: Node, form: Accumulated, real: np.ndarray) -> Value | None:
    shape = (1,) * (len(node.output.shape) - real.ndim) + real.shape
    channels = node.output.shape[-1] if inner.op == "matmul" else node.output.shape[1]
    axis = len(shape) - 1 if inner.op == "matmul" else 1
    if real.size != 1 and (real.size != channels or shape[axis] != channels):
        return None
    if inner.op == "matmul" and form.scale.ndim > 1:
        return None
    shift = sum_shift(inner.attrs)
    steps = form.scale.reshape(-1) * form.scale.dtype.type(2.0**-shift)
    rounded = _in_steps(real.reshape(-1), steps)
    if _is_rough(state, node, real.reshape(-1), rounded, steps):
        return None
    extra = np.broadcast_to(rounded, (channels,))
    old = state.rewriter.array(inner.inputs[2]) if len(inner.inputs) > 2 else None
    total = extra if old is None else old.astype(np.int64) + extra
    low = form.bounds[0] + (int(extra.min(initial=0)) >> shift)
    high = form.bounds[1] - (-int(extra.max(initial=0)) >> shift)
    if shift and not fits_i32(low, high):
        return None
    check_bounds(node, low, high)
    bias = state.rewriter.constant(total.astype(np.int64 if shift else np.int32), f"{node.output.name}.bias")
    attrs = {**inner.attrs, "acc_lo": low, "acc_hi": high}
    operands = [*inner.inputs[:2], bias]
    (acc,) = state.rewriter.emit(inner.op, operands, attrs, loc=inner.loc, names=[f"{node.output.name}.acc"])
    return dequantized(state, node, Accumulated(acc, form.scale, (low, high)))

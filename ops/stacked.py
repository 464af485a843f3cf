"""The meaning of operators for many samples at once, in NumPy: what calibration evaluates small models with.

A *stacked* array has an axis of samples in front of the shape that its value has in the graph; others, constants and
what is made of them, are the same for all samples. Floats of 32 bits are computed as such, so that results differ from
``evaluate_graph``, which sums in float64, as compiled code does; with ``precise`` they are not, and are the same on all
machines (but for results that float64, too, leaves open: one of some hundred million). Operators without a rule here
are evaluated sample by sample.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import DTypeLike

from ..ir.graph import Graph, Node
from ..record import record
from .attributes import Attrs, element_type, floats, integer, ints
from .opdef import Kind
from .pointwise_exprs import SCALARS
from .recurrent import lengths_position
from .stacked_contraction import (
    batched_conv,
    batched_conv_transpose,
    batched_pool,
    is_depthwise,
    stacked_matmul,
    transposed_extents,
)
from .table import OPS

Arrays = Mapping[str, np.ndarray]

_MOST_ELEMENTS = 1 << 20
"""Of a value for all samples that are evaluated at once."""


@record
class Operand:
    """``array`` is stacked if ``is_stacked``. The optional operands of a node that it does not have are ``None``."""

    array: np.ndarray
    is_stacked: bool

    @property
    def rank(self) -> int:
        return self.array.ndim - self.is_stacked

    def aligned(self, rank: int) -> np.ndarray:
        """With dimensions of 1 behind that of the samples, so that it broadcasts with values of ``rank``."""
        if not self.is_stacked or self.rank >= rank:
            return self.array
        return self.array.reshape(len(self.array), *[1] * (rank - self.rank), *self.array.shape[1:])

    def of(self, sample: int) -> np.ndarray:
        return self.array[sample] if self.is_stacked else self.array

    def converted(self, before: DTypeLike, after: DTypeLike) -> Operand:
        """With elements of type ``after``, if they are of type ``before``."""
        return Operand(self.array.astype(after), self.is_stacked) if self.array.dtype == before else self


Operands = Sequence[Operand | None]
Results = tuple[np.ndarray, ...]
_Rule = Callable[[Node, Operands], Results | None]
"""``None`` where the rule does not hold."""


def evaluate_node(node: Node, operands: Operands, count: int, *, precise: bool = False) -> Results:
    """The stacked results of ``count`` samples. If ``precise``, what hangs on the order of sums, or on a library's
    approximation, is computed in float64 and rounded once."""
    if not any(each is not None and each.is_stacked for each in operands):
        results = OPS[node.op].evaluate([None if each is None else each.array for each in operands], node.attrs)
        return tuple(_repeated(result, count) for result in results)
    if precise and _is_inexact(node, operands):
        wide = evaluate_node(node, [each and each.converted(np.float32, np.float64) for each in operands], count)
        types = [value.dtype.numpy for value in node.outputs]
        return tuple(result.astype(type_, copy=False) for result, type_ in zip(wide, types, strict=True))
    rule = _RULES.get(node.op)
    found = None if rule is None else rule(node, operands)
    return found or _one_by_one(node, operands, count)


def _is_inexact(node: Node, operands: Operands) -> bool:
    weights = operands[1] if node.op == "conv" else None
    return node.op in _INEXACT and (weights is None or not is_depthwise(weights.array, node.attrs))


@np.errstate(all="ignore")
def evaluate_stacked(
    graph: Graph, inputs: Arrays, names: Iterable[str], *, precise: bool = False
) -> dict[str, np.ndarray]:
    """The values ``names``, stacked, for stacked ``inputs`` of all names. Others are forgotten when they were read.
    What becomes infinite, or no number, does so without a warning.
    ``precise`` as of :func:`evaluate_node`."""
    count, stacked = len(next(iter(inputs.values()))), dependents(graph)
    last = {value.name: node for node in graph.nodes for value in node.operands}
    kept = {*names}
    values: dict[str, np.ndarray] = {**graph.constants, **inputs}
    for node in graph.nodes:
        operands = [None if v is None else Operand(values[v.name], v.name in stacked) for v in node.inputs]
        if node.outputs[0].name in stacked:
            results = evaluate_node(node, operands, count, precise=precise)
        else:
            results = OPS[node.op].evaluate([None if each is None else each.array for each in operands], node.attrs)
        values.update((value.name, result) for value, result in zip(node.outputs, results, strict=True))
        for value in node.operands:
            if last[value.name] is node and value.name not in kept:
                values.pop(value.name, None)
    return {name: values[name] if name in stacked else _repeated(values[name], count) for name in kept}


def in_batches(graph: Graph, inputs: Arrays) -> Iterator[Arrays]:
    """Stacked inputs in parts, so many samples at once that values of the graph take little memory."""
    count, largest = len(next(iter(inputs.values()))), max((value.type.size for value in graph.values()), default=1)
    step = max(1, _MOST_ELEMENTS // max(1, largest))
    for begin in range(0, count, step):
        yield {name: array[begin : begin + step] for name, array in inputs.items()}


def dependents(graph: Graph) -> set[str]:
    """Inputs, and values that depend on one."""
    found = {value.name for value in graph.inputs}
    for node in graph.nodes:
        if any(value.name in found for value in node.operands):
            found.update(value.name for value in node.outputs)
    return found


def _repeated(array: np.ndarray, count: int) -> np.ndarray:
    return np.broadcast_to(array, (count, *array.shape))


def _one_by_one(node: Node, operands: Operands, count: int) -> Results:
    rows = [
        OPS[node.op].evaluate([None if each is None else each.of(n) for each in operands], node.attrs)
        for n in range(count)
    ]
    return tuple(np.stack(column) for column in zip(*rows, strict=True))


# ---------------------------------------------------------------- pointwise operators


def _present(operands: Operands) -> list[Operand]:
    return [each for each in operands if each is not None]


def _first(operands: Operands) -> Operand:
    return _present(operands)[0]


def _pointwise(node: Node, operands: Operands) -> Results:
    arrays = [None if each is None else each.aligned(len(node.output.shape)) for each in operands]
    return OPS[node.op].evaluate(arrays, node.attrs)


def _with_scales(node: Node, operands: Operands) -> Results:
    """Of a quantize or dequantize node, whose scales may be those of an axis."""
    return OPS[node.op].evaluate([_first(operands).array], _moved(node.attrs, "axis"))


_FLOATS = np.dtype(np.float32), np.dtype(np.float64)


def _as_it_is(function: Callable[[np.ndarray], np.ndarray]) -> _Rule:
    """In float32 or float64, as the operand is."""

    def rule(node: Node, operands: Operands) -> Results | None:
        x = _first(operands).array
        return (function(x),) if x.dtype in _FLOATS else None

    return rule


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.float32(0.5) * (np.tanh(np.float32(0.5) * x) + np.float32(1.0))


_ERF = np.array((1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592), np.float32)


def _erf(x: np.ndarray) -> np.ndarray:
    """Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.26, whose error is 1.5e-7."""
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    polynomial = np.zeros_like(t)
    for factor in _ERF:
        polynomial += factor
        polynomial *= t
    polynomial *= np.exp(-np.square(x))
    return np.copysign(1 - polynomial, x)


def _quantize(node: Node, operands: Operands) -> Results | None:
    """Rounded and clipped in float32, which holds all integers of 16 bits."""
    scale, zero_point, to = floats(node.attrs, "scale"), ints(node.attrs, "zero_point"), element_type(node.attrs, "to")
    x = _first(operands).array
    if len(scale) > 1 or to.size > 2 or not np.isfinite(x).all():
        return _with_scales(node, operands)
    limits = np.iinfo(to.numpy)
    steps = x / np.float32(scale[0])
    np.rint(steps, out=steps)
    steps += np.float32(zero_point[0])
    return (np.clip(steps, limits.min, limits.max, out=steps).astype(to.numpy),)


# ---------------------------------------------------------------- operators along axes


def _moved(attrs: Attrs, *names: str) -> Attrs:
    """Axes behind that of the samples."""
    many = {name: tuple(axis + 1 for axis in ints(attrs, name)) for name in names if isinstance(attrs[name], tuple)}
    return {**attrs, **many, **{name: integer(attrs, name) + 1 for name in names if name not in many}}


def _along(name: str) -> _Rule:
    def rule(node: Node, operands: Operands) -> Results:
        return OPS[node.op].evaluate([_first(operands).array], _moved(node.attrs, name))

    return rule


def _softmax(node: Node, operands: Operands) -> Results | None:
    x, axis = _first(operands).array, integer(node.attrs, "axis") + 1
    if x.dtype != np.float32 or not x.shape[axis]:
        return _along("axis")(node, operands)
    with np.errstate(all="ignore"):
        powers = np.exp(x - x.max(axis=axis, keepdims=True))
        return (powers / powers.sum(axis=axis, keepdims=True),)


def _reshape(node: Node, operands: Operands) -> Results:
    x = _first(operands).array
    return (x.reshape(len(x), *ints(node.attrs, "shape")),)


def _transpose(node: Node, operands: Operands) -> Results:
    x = _first(operands).array
    return (np.transpose(x, (0, *(axis + 1 for axis in ints(node.attrs, "perm")))).copy(order="C"),)


def _expand(node: Node, operands: Operands) -> Results:
    shape = ints(node.attrs, "shape")
    x = _first(operands).aligned(len(shape))
    return (np.broadcast_to(x, (len(x), *shape)).copy(),)


def _slice(node: Node, operands: Operands) -> Results | None:
    starts, steps, sizes = (ints(node.attrs, name) for name in ("starts", "steps", "sizes"))
    if min((*steps, *sizes), default=0) < 1:
        return None
    ends = (start + step * (size - 1) + 1 for start, step, size in zip(starts, steps, sizes))
    return (_first(operands).array[(slice(None), *map(slice, starts, ends, steps))].copy(),)


def _concat(node: Node, operands: Operands) -> Results:
    present = _present(operands)
    count = next(len(each.array) for each in present if each.is_stacked)
    arrays = [each.array if each.is_stacked else _repeated(each.array, count) for each in present]
    return (np.concatenate(arrays, axis=integer(node.attrs, "axis") + 1),)


def _pad(node: Node, operands: Operands) -> Results:
    borders = {name: (0, *ints(node.attrs, name)) for name in ("before", "after")}
    return OPS["pad"].evaluate([_first(operands).array], {**node.attrs, **borders})


def _gather(node: Node, operands: Operands) -> Results | None:
    x, indices = _present(operands)
    axis = integer(node.attrs, "axis")
    if not indices.is_stacked:
        return (np.take(x.array, indices.array, axis=axis + 1),)
    return None if x.is_stacked else (np.moveaxis(np.take(x.array, indices.array, axis=axis), axis, 0).copy(),)


# ---------------------------------------------------------------- contractions, windows, recurrences


def _matmul(node: Node, operands: Operands) -> Results | None:
    a, b, bias = (*operands, None)[:3]
    assert a is not None and b is not None
    if a.array.dtype not in _FLOATS or (bias is not None and bias.is_stacked) or not (a.is_stacked or b.is_stacked):
        return None
    rank = len(node.output.shape)
    return (stacked_matmul(a.aligned(rank), b.aligned(rank), None if bias is None else bias.array),)


def _as_batch(x: np.ndarray) -> np.ndarray:
    """Samples as part of the batch, which is the first dimension."""
    return x.reshape(-1, *x.shape[2:])


def _conv(node: Node, operands: Operands) -> Results | None:
    x, w, bias = (*operands, None)[:3]
    assert x is not None and w is not None
    if w.is_stacked or (bias is not None and bias.is_stacked):
        return None
    batch, constant = _as_batch(x.array), None if bias is None else bias.array
    if x.array.dtype not in _FLOATS or node.attrs["layout"] != "channels_first":
        (result,) = OPS[node.op].evaluate([batch, w.array, constant], node.attrs)
    elif node.op == "conv":
        result = batched_conv(batch, w.array, constant, node.attrs)
    else:
        extents = transposed_extents(batch.shape[2:], w.array.shape[2:], node.attrs)
        result = batched_conv_transpose(batch, w.array, constant, node.attrs, extents)
    return (result.reshape(len(x.array), -1, *result.shape[1:]),)


def _pool(node: Node, operands: Operands) -> Results:
    x = _first(operands).array
    result = batched_pool(_as_batch(x), node.attrs) if x.dtype == np.float32 else None
    if result is None:
        (result,) = OPS["pool"].evaluate([_as_batch(x)], node.attrs)
    return (result.reshape(len(x), -1, *result.shape[1:]),)


def _recurrence(node: Node, operands: Operands) -> Results | None:
    """Samples as part of the batch, which is axis 1 of all but the weights; of lengths axis 0."""
    states = 2 if node.op == "lstm" else 1
    places = dict.fromkeys((0, *range(4, 4 + states)), 1) | {lengths_position(states): 0}
    if any(each is not None and each.is_stacked and place not in places for place, each in enumerate(operands)):
        return None
    count = next(len(each.array) for each in _present(operands) if each.is_stacked)
    arrays = [
        None if each is None else _joined(each, count, places[place]) if place in places else each.array
        for place, each in enumerate(operands)
    ]
    return tuple(_apart(result, count) for result in OPS[node.op].evaluate(arrays, node.attrs))


def _joined(operand: Operand, count: int, axis: int) -> np.ndarray:
    """Samples as part of ``axis``, which is the batch; :func:`_apart` takes results apart again."""
    x = operand.array if operand.is_stacked else _repeated(operand.array, count)
    moved = np.moveaxis(x, 0, axis)
    return moved.reshape(*moved.shape[:axis], -1, *moved.shape[axis + 2 :])


def _apart(result: np.ndarray, count: int) -> np.ndarray:
    """Samples in front, of a result ``[..., samples * batch, hidden]``."""
    batch = result.shape[-2] // count
    return np.ascontiguousarray(np.moveaxis(result.reshape(*result.shape[:-2], count, batch, result.shape[-1]), -3, 0))


_FLOAT_POINTWISE: Collection[str] = {
    name for name in SCALARS if OPS[name].kind is Kind.POINTWISE and not OPS[name].tables
} - {"quantize", "dequantize"}

_INEXACT: Collection[str] = {
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "log", "pow", "sigmoid", "sin",
    "sinh", "softplus", "tan", "tanh", "softmax", "matmul", "conv", "conv_transpose",
}  # fmt: skip
"""Operators whose results in float32 differ from one processor, or number of threads, to the next. Others round once
by definition, or compute in float64 anyhow."""

_RULES: Mapping[str, _Rule] = {
    **dict.fromkeys(_FLOAT_POINTWISE, _pointwise),
    "sigmoid": _as_it_is(_sigmoid),
    "erf": _as_it_is(_erf),
    "quantize": _quantize,
    "dequantize": _with_scales,
    "softmax": _softmax,
    **dict.fromkeys(("log_softmax", "cumsum", "cumprod", "arg_reduce", "top_k"), _along("axis")),
    **dict.fromkeys(("reduce", "normalize", "rms_normalize"), _along("axes")),
    "reshape": _reshape,
    "transpose": _transpose,
    "expand": _expand,
    "slice": _slice,
    "concat": _concat,
    "pad": _pad,
    "gather": _gather,
    "matmul": _matmul,
    "conv": _conv,
    "conv_transpose": _conv,
    "pool": _pool,
    **dict.fromkeys(("lstm", "gru", "rnn"), _recurrence),
}

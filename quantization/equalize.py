"""Cross-layer equalization: channels of a tensor that has one scale are brought to like ranges.

Between two layers with nothing but positively homogeneous operators (f(s x) = s f(x) for s > 0: ReLU, pooling, moves),

    W2 f(W1 x + b1)  =  (W2 S) f(S^-1 W1 x + S^-1 b1)        S = diag(s), s > 0

Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019, section 4.1, choose S so
that the weights, which share one scale there, are alike. Here weights have a scale a channel, so dividing W1 costs
nothing; what is won is the rounding of the tensor between, and what is lost is that the columns of W2 differ more. As
in Xiao et al., "SmoothQuant", 2022, a strength moves the burden from one to the other,

    s_c = range_c ^ strength

and it is the one with the least predicted noise at the outputs of the second layers. The prediction is made on samples
that the ranges were not taken from: where a channel is wider on other samples, equalizing costs saturation.

The range of a channel is an estimate of what more samples would show. Equalized by what was seen, every channel fills
the tensor's range to its end, and nothing is left of the room that narrow channels have for what was not seen.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ops.attributes import ints
from ..record import record
from .encoding import WEIGHT_LEVELS
from .histogram import FOLDS
from .linear import from_matrices, groups_of, input_taps, output_axis, output_taps, to_matrices
from .observe import FloatRuns
from .ranges import SATURATION_WEIGHT
from .roles import LINEAR

log = logging.getLogger(__name__)

STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
NARROWEST = 1 / 16
"""No channel counts as narrower than this part of the widest."""
LEVELS = 256
_ELEMENTS = 1 << 13

Constants = dict[str, np.ndarray]


@record
class Pair:
    """A layer, its successors, and the tensors from one to the others, each with the axis of its channels; the last
    tensor is what the successors read."""

    first: Node
    tensors: tuple[tuple[Value, int], ...]
    seconds: tuple[Node, ...]


@record
class Equalized:
    """``divisors`` of the tensors that are smaller than before, shaped to broadcast."""

    graph: Graph
    divisors: Mapping[str, np.ndarray]


def equalize(
    graph: Graph, eligible: Callable[[Node], bool], floats: FloatRuns, chosen: Sequence[int]
) -> Equalized:
    """``graph`` with the same outputs (but for rounding), equalized where that is predicted to lessen the noise.

    ``eligible`` says which layers may change; ``floats`` runs the graph; ``chosen`` are the samples to look at.
    """
    pairs = find_pairs(graph, eligible)
    observed = _channel_values(pairs, floats, chosen)
    constants: Constants = dict(graph.constants)
    divisors: dict[str, np.ndarray] = {}
    for pair, values in zip(pairs, observed):
        scales = best_scales(pair, values, constants)
        if np.any(scales != 1.0):
            rescale(pair, scales, constants)
            for value, axis in pair.tensors:
                divisors[value.name] = scales.reshape([-1 if d == axis else 1 for d in range(len(value.shape))])
    log.info("equalized %d of %d pairs of layers", len({*divisors} & {p.first.output.name for p in pairs}), len(pairs))
    changed = {name: _frozen(array, graph.constants[name]) for name, array in constants.items()}
    return Equalized(replace(graph, constants=changed), divisors)


def _frozen(array: np.ndarray, old: np.ndarray) -> np.ndarray:
    """``array`` as a constant of the old type."""
    if array is old:
        return old
    copy = np.array(array, old.dtype, order="C")
    copy.flags.writeable = False
    return copy


# ---------------------------------------------------------------- pairs


def find_pairs(graph: Graph, eligible: Callable[[Node], bool]) -> list[Pair]:
    """All pairs, in order. Layers that share weights or biases with others are left alone."""
    readers = graph.uses()

    def may_change(node: Node) -> bool:
        constants = [value for value in node.inputs[1:] if value is not None]
        own = all(value.name in graph.constants and len(readers[value.name]) == 1 for value in constants)
        return node.op in LINEAR and eligible(node) and own and _has_plain_bias(node)

    found = (_pair(graph, node, readers, may_change) for node in graph.nodes if may_change(node))
    return [pair for pair in found if pair is not None]


def _has_plain_bias(node: Node) -> bool:
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    return bias is None or bias.type.size == node.output.shape[output_axis(node)]


def _pair(
    graph: Graph, first: Node, readers: Mapping[str, list[Node]], may_change: Callable[[Node], bool]
) -> Pair | None:
    value, axis = first.output, output_axis(first)
    tensors = [(value, axis)]
    while value not in graph.outputs:
        users = readers.get(value.name, [])
        if users and all(may_change(user) and user.inputs[0] == value and _input_axis(user) == axis for user in users):
            return Pair(first, tuple(tensors), tuple(users))
        behind = _axis_behind(users[0], axis) if len(users) == 1 else None
        if behind is None:
            return None
        value, axis = users[0].output, behind
        tensors.append((value, axis))
    return None


def _input_axis(node: Node) -> int:
    return len(node.operands[0].shape) - 1 if node.op == "matmul" else 1


def _axis_behind(node: Node, axis: int) -> int | None:
    """Where the channels of the operand are in the result of a homogeneous operator; ``None`` for other operators."""
    if node.op == "relu" or (node.op == "pool" and axis == 1):
        return axis
    if node.op == "transpose":
        return ints(node.attrs, "perm").index(axis)
    if node.op == "reduce" and node.attrs["kind"] != "prod" and axis not in ints(node.attrs, "axes"):
        return axis if node.attrs["keepdims"] else axis - sum(other < axis for other in ints(node.attrs, "axes"))
    if node.op == "reshape" and node.operands[0].type.size == node.operands[0].shape[axis]:
        shape = node.output.shape
        return shape.index(node.output.type.size) if node.output.type.size in shape else None
    return None


# ---------------------------------------------------------------- how much


def _channel_values(pairs: Sequence[Pair], floats: FloatRuns, chosen: Sequence[int]) -> list[np.ndarray]:
    """Elements of what each pair's successors read, ``[samples, channels, positions]``: so many, evenly apart, that a
    channel has :data:`_ELEMENTS` over all samples."""
    kept: list[list[np.ndarray]] = [[] for _ in pairs]
    positions = max(1, _ELEMENTS // len(chosen))
    for values in floats.batches(chosen) if pairs else ():
        for pair, rows in zip(pairs, kept):
            tensor, axis = pair.tensors[-1]
            array = values[tensor.name]
            channels = np.moveaxis(array, axis + 1, 1).reshape(len(array), tensor.shape[axis], -1)
            rows.append(channels[:, :, :: -(-channels.shape[2] // positions)])
    return [np.concatenate(rows).astype(np.float64) for rows in kept]


def best_scales(pair: Pair, values: np.ndarray, constants: Mapping[str, np.ndarray]) -> np.ndarray:
    """The divisor of each channel, from observed ``values[samples, channels, positions]``."""
    seconds = [_Second.of(node, constants[node.operands[1].name]) for node in pair.seconds]
    folds = [_Fold.of(train, test) for train, test in _folds(values)]
    noise = [sum(_predicted_noise(seconds, fold, strength) for fold in folds) for strength in STRENGTHS]
    best = STRENGTHS[int(np.argmin(noise))]
    log.debug("%s: equalized with strength %g", pair.first.loc, best)
    return _scales(*_reach(values), best)


def _folds(values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Samples to take ranges from, and others to try them on."""
    fold = np.arange(len(values)) % FOLDS
    if len(values) == 1:
        yield values, values
        return
    for number in range(min(FOLDS, len(values))):
        yield values[fold != number], values[fold == number]


def _scales(low: np.ndarray, high: np.ndarray, strength: float) -> np.ndarray:
    span = high - low
    widest = span.max()
    return np.maximum(span / widest, NARROWEST) ** strength if widest > 0 else np.ones_like(span)


def _extremes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each channel, with 0."""
    return np.minimum(values.min(axis=(0, 2)), 0.0), np.maximum(values.max(axis=(0, 2)), 0.0)


def _reach(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ends that each channel is likely to reach in more samples, with 0."""
    return -_upper_end(-values), _upper_end(values)


def _upper_end(values: np.ndarray) -> np.ndarray:
    """The jackknife estimate of an upper end from the peaks of n samples, ``max + (n - 1) / n * (max - second)``:
    nearly as far beyond the largest as that is ahead of the next (Robson and Whitlock, "Estimation of a truncation
    point", 1964). 0 for channels with nothing above 0."""
    peaks = np.sort(values.max(axis=2), axis=0)
    count, largest = len(peaks), peaks[-1]
    ahead = largest - peaks[-2] if count > 1 else np.zeros_like(largest)
    return np.where(largest > 0, largest + (count - 1) / count * ahead, 0.0)


@record
class _Fold:
    """What is known of each channel: ``train`` are the ends that samples show from which ranges are taken, ``test`` the
    extremes of the others, whose values are ``tested``; ``filled`` is the share of these that is not 0, ``power`` their
    mean square."""

    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    tested: np.ndarray
    filled: np.ndarray
    power: np.ndarray

    @staticmethod
    def of(train: np.ndarray, test: np.ndarray) -> _Fold:
        filled, power = (test != 0).mean(axis=(0, 2)), np.square(test).mean(axis=(0, 2))
        return _Fold(_reach(train), _extremes(test), test, filled, power)

    def saturation(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The mean square of what is beyond the ends for each channel."""
        found = np.zeros(len(low))
        reaching = np.flatnonzero((self.test[0] < low) | (self.test[1] > high))
        for channel in reaching.tolist():
            x = self.tested[:, channel]
            beyond = np.maximum(x - high[channel], 0.0) + np.maximum(low[channel] - x, 0.0)
            found[channel] = np.square(beyond).mean()
        return found


@record
class _Second:
    """A layer that reads the tensor: the magnitudes of its weights, ``[group, k, columns]``, and the sums of squares of
    its rows, ``[group, k]``."""

    node: Node
    magnitudes: np.ndarray
    squares: np.ndarray

    @staticmethod
    def of(node: Node, weights: np.ndarray) -> _Second:
        magnitudes = np.abs(to_matrices(node, weights.astype(np.float64)))
        return _Second(node, magnitudes, np.square(magnitudes).sum(axis=2))


def _predicted_noise(seconds: Sequence[_Second], fold: _Fold, strength: float) -> float:
    """The mean squared error of the second layers' outputs, by rounding and saturation of the tensor between and by
    rounding of their weights; all errors independent."""
    scales = _scales(*fold.train, strength)
    low, high = float((fold.train[0] / scales).min()), float((fold.train[1] / scales).max())
    rounding = ((high - low) / (LEVELS - 1)) ** 2 / 12 * fold.filled
    error = rounding + SATURATION_WEIGHT * fold.saturation(low * scales, high * scales) / np.square(scales)
    power = fold.power / np.square(scales)
    total = 0.0
    for second in seconds:
        rows = _per_row(second.node, scales)
        step = (second.magnitudes * rows[:, :, np.newaxis]).max(axis=1) / WEIGHT_LEVELS
        total += float(np.sum(_per_row(second.node, error) * np.square(rows) * second.squares))
        total += float(np.sum(np.square(step).sum(axis=1) / 12 * _per_row(second.node, power).sum(axis=1)))
    return total


def _per_row(node: Node, channels: np.ndarray) -> np.ndarray:
    """One number an input channel as ``[group, k]``."""
    return np.repeat(channels.reshape(groups_of(node), -1), input_taps(node), axis=1)


# ---------------------------------------------------------------- the change


def rescale(pair: Pair, scales: np.ndarray, constants: Constants) -> None:
    """Divides the first layer's output channels by ``scales``; the second layers multiply their input channels."""
    first = pair.first
    _, weights, *bias = first.inputs
    assert weights is not None
    columns = np.repeat(scales.reshape(groups_of(first), 1, -1), output_taps(first), axis=2)
    _change(first, weights, lambda matrices: matrices / columns, constants)
    if bias and bias[0] is not None:
        array = constants[bias[0].name].astype(np.float64)
        constants[bias[0].name] = (array.reshape(-1) / scales).reshape(array.shape)
    for second in pair.seconds:
        rows = _per_row(second, scales)[:, :, np.newaxis]
        _change(second, second.operands[1], lambda matrices, rows=rows: matrices * rows, constants)  # type: ignore[misc]


def _change(node: Node, weights: Value, change: Callable[[np.ndarray], np.ndarray], constants: Constants) -> None:
    matrices = to_matrices(node, constants[weights.name].astype(np.float64))
    constants[weights.name] = from_matrices(node, change(matrices), weights.shape)

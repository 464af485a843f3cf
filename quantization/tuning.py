"""Weights and biases of all layers, one after the other, each on the inputs that the quantized layers before it give.

The quantized model is followed through the graph for a few samples. At each layer the samples' second moments decide
the rounding of its weights (``rounding.py``), and then its bias takes back what the outputs are off by on average. So
each layer also makes up for what those before it left.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Node
from ..ir.types import DType
from ..ops.recurrent import RECURRENCES
from ..ops.stacked import Operand, evaluate_node, evaluate_stacked, in_batches
from ..record import record
from .encoding import WEIGHT_LEVELS, Encoding, weight_encoding
from .halfword_layers import BIAS_ROOM, TINY, float_bias, halfword_weights
from .halfword_scales import Products, with_halfword_factors
from .insert import StoredConstant
from .linear import (
    channel_scales,
    from_matrices,
    output_axis,
    scale_axis,
    scale_numbers,
    to_matrices,
    to_rows,
)
from .moments import Moments
from .observe import Arrays, channel_means
from .options import QuantizeOptions
from .partition import Partition, key, layer_names
from .recurrent_weights import byte_weights
from .roles import weight_positions
from .rounding import (
    NIBBLE_LEVELS,
    SWEEPS,
    Levels,
    OrderedMoments,
    best_peaks,
    compensated,
    nearest,
    output_error,
    peak_steps,
)

log = logging.getLogger(__name__)

DAMPINGS = (0.003, 0.03, 0.3, 3.0)
"""How far second moments from samples are trusted: the smallest follows them, the largest nearly rounds to nearest."""

_CORRECTION_DAMPING = 0.1
"""Of the mean square of inputs, by which weights of 4 bits trust what they see of the layers before."""

_MOST_ROWS = 1 << 14
"""Rows of inputs, over all samples, that second moments are made of."""
_LEAST_ROWS, _ROWS_AN_INPUT = 1 << 11, 16
_MOST_INPUTS = 1 << 13
"""Layers with larger sums than these round to nearest: their moments would be too large a matrix."""

_TOGETHER = 1 << 10
"""Layers with sums as long as this at most are rounded with all dampings at once."""

_MOST_COLUMNS = 32
"""Outputs by which layers with more of them choose how far moments are trusted."""

_LEAST_MULTIPLIER = 2.0**-12
_UNNOTICED = 1 / 16

@record
class TunedLayer:
    """A layer's weights as integers, by operand position, and its bias as floats (``None``: no bias that can be an
    integer). ``noise`` of weights of 4 bits is the mean square, for each scale of them, that their rounding adds to the
    outputs."""

    weights: Mapping[int, StoredConstant]
    bias: np.ndarray | None = None
    noise: np.ndarray | None = None


@dataclass
class Tuner:
    """``means`` are the channel means that the float model's layers have for the same samples (``Observations``).
    Layers of ``nibbles`` (:func:`key`) have weights of 4 bits, but for scales (:func:`scale_numbers`) that it lists,
    those of ``halfwords`` weights of 16 bits, so much coarser than these allow as is said there."""

    partition: Partition
    encodings: Mapping[str, Encoding]
    options: QuantizeOptions
    means: Mapping[str, np.ndarray]
    nibbles: Mapping[str, frozenset[int]] = field(default_factory=dict)
    halfwords: Mapping[str, float] = field(default_factory=dict)
    _values: dict[str, np.ndarray] = field(default_factory=dict)
    _fixed: dict[str, np.ndarray] = field(default_factory=dict)
    _tuned: dict[str, StoredConstant] = field(default_factory=dict)
    _noise: dict[str, np.ndarray] = field(default_factory=dict)
    _float: dict[str, np.ndarray] = field(default_factory=dict)
    _readers: dict[str, list[Node]] = field(default_factory=dict)
    _shared_rows: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def tune(self, samples: Arrays) -> dict[str, TunedLayer]:
        """The layers by :func:`key`; ``samples`` are inputs ``[samples, ...]``, as all values are here."""
        graph = self.partition.graph
        self._fixed = dict(graph.constants)
        for node in graph.nodes:
            if weight_positions(graph, node):
                self._readers.setdefault(node.operands[1].name, []).append(node)
        self._observe_shared(samples)
        if self.nibbles:
            read = {node.operands[0].name for node in graph.nodes if key(node) in self.nibbles}
            batches = [evaluate_stacked(graph, some, read, precise=True) for some in in_batches(graph, samples)]
            self._float = {name: np.concatenate([values[name] for values in batches]) for name in read}
        for value in graph.inputs:
            self._store(value.name, samples[value.name])
        last = {value.name: place for place, node in enumerate(graph.nodes) for value in node.operands}
        tuned: dict[str, TunedLayer] = {}
        for place, node in enumerate(graph.nodes):
            if self.partition.is_integer(node) and weight_positions(graph, node):
                done = {"share": place / len(graph.nodes)}
                log.info("tuning the weights of %s", node.loc or key(node), extra=done)
                tuned[key(node)] = self._layer(node)
            elif self.partition.is_integer(node) and node.op in RECURRENCES:
                tuned[key(node)] = self._recurrence(node)
            else:
                self._finish(node, self._run(node, {}))
            for value in node.operands:
                if last[value.name] == place:
                    self._values.pop(value.name, None)
        return tuned

    def _observe_shared(self, samples: Arrays) -> None:
        """What layers with common weights read in the float model, steps of a recurrence: rows of even and of odd
        samples. When the first step is tuned, the quantized model has not come to the others."""
        graph, count = self.partition.graph, len(next(iter(samples.values())))
        shared = {name: nodes for name, nodes in self._readers.items() if len(nodes) > 1}
        folds: dict[str, tuple[list[np.ndarray], list[np.ndarray]]] = {name: ([], []) for name in shared}
        read, first = {node.operands[0].name for nodes in shared.values() for node in nodes}, 0
        for some in in_batches(graph, samples) if shared else ():
            values = evaluate_stacked(graph, some, read, precise=True)
            for name, nodes in shared.items():
                most = max(1, _MOST_ROWS // (count * len(nodes)))
                for parity in range(2):
                    place = (first + parity) % 2
                    inputs = (values[node.operands[0].name][place::2] for node in nodes)
                    folds[name][parity].extend(to_rows(node, x, most) for node, x in zip(nodes, inputs) if len(x))
            first += len(next(iter(some.values())))
        for name, parts in folds.items():
            self._shared_rows[name] = [np.concatenate(part, axis=1) for part in parts if part]

    def _store(self, name: str, array: np.ndarray) -> None:
        """Keeps a value as its readers will find it."""
        encoding = self.encodings.get(name)
        self._values[name] = array if encoding is None else encoding.round_trip(array)

    def _run(self, node: Node, constants: Mapping[int, np.ndarray]) -> tuple[np.ndarray, ...]:
        """The node's results, with some operands replaced by constants."""
        operands = [None if value is None else self._operand(value.name) for value in node.inputs]
        for position, array in constants.items():
            operands[position] = Operand(array, False)
        return evaluate_node(node, operands, len(next(iter(self._values.values()))), precise=True)

    def _finish(self, node: Node, results: Sequence[np.ndarray]) -> None:
        for value, result in zip(node.outputs, results):
            self._store(value.name, result)

    def _operand(self, name: str) -> Operand:
        return Operand(self._fixed[name], False) if name in self._fixed else Operand(self._values[name], True)

    # ------------------------------------------------------------ one layer

    def _layer(self, node: Node) -> TunedLayer:
        inputs = self._values[node.operands[0].name]
        x = self.encodings[node.operands[0].name]
        weights = {p: self._weights(node, p, inputs, x) for p in weight_positions(self.partition.graph, node)}
        real = {position: stored.encoding.dequantize(stored.array) for position, stored in weights.items()}
        (result,) = self._run(node, {1: real[1]})
        bias = self._bias(node)
        if bias is not None and self._wants(node, "bias_correction") and not self._is_shared(node):
            shift = self._shift(node, result)
            bias = bias + shift
            along = [-1 if d == output_axis(node) else 1 for d in range(len(node.output.shape))]
            result = result + shift.reshape(along)
        self._finish(node, [result])
        return TunedLayer(weights, bias, self._noise.get(node.operands[1].name))

    def _recurrence(self, node: Node) -> TunedLayer:
        """A recurrent layer: w for what it reads, r for its own states, which its results are in the float layer."""
        dirs = node.operands[1].shape[0]
        x = node.operands[0]
        given = [sample.reshape(1, -1, x.shape[2]) for sample in self._values[x.name]]
        states = self._run(node, {})[0]
        weights: dict[int, StoredConstant] = {}
        for place, inputs in ((1, given), (2, [y.reshape(1, -1, y.shape[3]) for y in states])):
            array = self.partition.graph.constant(node.inputs[place])
            assert array is not None and len(array) == dirs
            adapt = self._wants(node, "adaptive_rounding") and array.shape[2] <= _MOST_INPUTS
            weights[place] = byte_weights(array, _thinned_folds(inputs), partial(_for_inputs, adapt))
        real = {place: stored.real for place, stored in weights.items()}
        self._finish(node, self._run(node, real))
        return TunedLayer(weights)

    def _is_shared(self, node: Node) -> bool:
        """Whether other layers, steps of a recurrence, have the same weights."""
        return len(self._readers[node.operands[1].name]) > 1

    def _wants(self, node: Node, option: str) -> bool:
        own = getattr(self.options.layer(layer_names(node)), option)
        return bool(getattr(self.options, option) if own is None else own)

    def _bias(self, node: Node) -> np.ndarray | None:
        """One float an output channel; ``None`` where the bias is computed, or differs within a channel."""
        channels = self.means[key(node)].shape[1]
        value = node.inputs[2] if len(node.inputs) > 2 else None
        if value is None:
            return np.zeros(channels, np.float32)
        return float_bias(self.partition.graph, node)

    def _shift(self, node: Node, outputs: np.ndarray) -> np.ndarray:
        """What each channel lacks: of the samples' means, the median, which a few saturated samples do not move.

        Bias correction is from Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction",
        2019, section 4.2.
        """
        return np.median(self.means[key(node)] - channel_means(node, outputs), axis=0).astype(np.float32)

    # ------------------------------------------------------------ weights

    def _weights(self, node: Node, position: int, inputs: np.ndarray, x: Encoding) -> StoredConstant:
        name = node.operands[position].name
        if name not in self._tuned or not self._is_shared(node):
            self._tuned[name] = self._new_weights(node, position, inputs, x)
        return self._tuned[name]

    def _new_weights(self, node: Node, position: int, inputs: np.ndarray, x: Encoding) -> StoredConstant:
        array = self.partition.graph.constant(node.inputs[position])
        assert array is not None
        if key(node) in self.halfwords:
            coarser = self.halfwords[key(node)]
            return halfword_weights(self.partition.graph, node, x, self.options.per_channel, coarser)
        matrices = to_matrices(node, array.astype(np.float64))
        numbers = scale_numbers(node, matrices)
        if not self.options.per_channel:
            numbers = np.zeros_like(numbers)
        levels = self._levels(node, numbers)
        if matrices.shape[1] <= _MOST_INPUTS:
            folds = self._shared_rows.get(node.operands[position].name) or _folded_rows(node, inputs)
            centred = not self._is_shared(node)
            step = x.scale[0] if centred and x.dtype.size == 1 else None
            moments = [Moments.of(rows, centred, step) for rows in folds]
            joined = reduce(Moments.joined, moments)
            importance = np.einsum("gkk->gk", joined.second)
            peaks = self._peaks(node, matrices, numbers, importance, x, levels)
            peaks = self._with_factors(node, matrices, numbers, peaks, x)
            adapt = self._wants(node, "adaptive_rounding")
            halves = [each.second for each in moments]
            if key(node) in self.nibbles and centred:
                matrices = self._for_float_inputs(node, matrices, folds, joined)
            rounded = _rounded(matrices, peak_steps(peaks)[numbers], halves, joined.second, adapt, levels)
            if key(node) in self.nibbles:
                apart = rounded - matrices
                noise = np.einsum("gkn,gkn->gn", apart, joined.second @ apart)
                self._noise[node.operands[position].name] = np.bincount(numbers.reshape(-1), noise.reshape(-1))
        else:
            peaks = self._peaks(node, matrices, numbers, np.ones(matrices.shape[:2]), x, levels)
            rounded = nearest(matrices, peak_steps(peaks)[numbers], levels)
        encoding = weight_encoding(peaks, scale_axis(node))
        stored = StoredConstant(encoding.quantize(from_matrices(node, rounded, array.shape)), encoding)
        check_accumulator(node, stored, x)
        return stored

    def _for_float_inputs(
        self, node: Node, matrices: np.ndarray, folds: Sequence[np.ndarray], found: Moments
    ) -> np.ndarray:
        """Real weights that make of the inputs which the quantized layers before give what ``matrices`` make of those
        of the float model, in least squares: with ``X`` and ``X + D``, W + (X^T X + damping)^-1 X^T D W (Li et al.,
        "GPTAQ: Efficient Finetuning-Free Quantization for Asymmetric Calibration", 2025)."""
        name = node.operands[0].name
        wanted = np.concatenate(_folded_rows(node, self._float[name]), axis=1)
        given = np.concatenate(folds, axis=1).astype(np.float64)
        apart = (wanted - given) - (wanted - given).mean(axis=1, keepdims=True)
        cross = given.transpose(0, 2, 1) @ apart / given.shape[1]
        size = matrices.shape[1]
        power = np.einsum("gkk->gk", found.second).mean(axis=1)[:, np.newaxis, np.newaxis]
        damped = found.second + _CORRECTION_DAMPING * np.where(power > 0, power, 1.0) * np.eye(size)
        return np.asarray(matrices + np.linalg.solve(damped, cross @ matrices))

    def _levels(self, node: Node, numbers: np.ndarray) -> np.ndarray:
        """The greatest integer of each column."""
        if key(node) not in self.nibbles:
            return np.full(numbers.shape, WEIGHT_LEVELS)
        return np.where(np.isin(numbers, [*self.nibbles[key(node)]]), WEIGHT_LEVELS, NIBBLE_LEVELS)

    def _peaks(
        self, node: Node, matrices: np.ndarray, numbers: np.ndarray, importance: np.ndarray, x: Encoding,
        levels: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Found, but no finer than is of use, and so large that the bias is within 32 bits in steps of both scales."""
        power = importance.mean()
        weighed = importance + 1e-6 * power if power > 0 else np.ones_like(importance)
        peaks = best_peaks(matrices, numbers, weighed, levels)
        least = np.full_like(peaks, self._finest_step(node, x, float(importance.sum(axis=1).max())) * WEIGHT_LEVELS)
        largest = self._largest_bias(node, numbers, peaks)
        return np.maximum(peaks, np.maximum(least, largest * WEIGHT_LEVELS / (x.scale[0] * BIAS_ROOM)))

    def _with_factors(
        self, node: Node, matrices: np.ndarray, numbers: np.ndarray, peaks: np.ndarray, x: Encoding
    ) -> np.ndarray:
        """The peaks, moved to where requantization has factors of 15 bits."""
        name = self.partition.result_of(node)
        if name is None or self.partition.factor_of(name) != 1 or self.encodings[name].dtype.size > 1:
            return peaks
        result, reach = self.encodings[name], self._largest_bias(node, numbers, peaks)
        sums = np.abs(matrices).sum(axis=1) * max(map(abs, x.real_range))
        np.maximum.at(reach, numbers, reach[numbers] + sums)
        scales = peak_steps(peaks).astype(np.float32)
        moved = with_halfword_factors(scales, Products(np.float32(x.scale[0]), result), reach / result.scale[0])
        return moved.astype(np.float64) * WEIGHT_LEVELS

    def _largest_bias(self, node: Node, numbers: np.ndarray, peaks: np.ndarray) -> np.ndarray:
        """Of the channels that share a scale."""
        largest, bias = np.zeros_like(peaks), self._bias(node)
        if bias is not None:
            np.maximum.at(largest, np.resize(np.unique(numbers), bias.size), np.abs(bias, dtype=np.float64))
        return largest

    def _finest_step(self, node: Node, x: Encoding, power: float) -> float:
        """The step of weights below which a finer one is of no use.

        Channels with weights near zero need no step as small as these: a sum of products is multiplied by
        ``m = x step * weight step / result step``, and for a small m the rounding of float32 decides where the result
        steps, so that no fixed-point multiplier does the same. Weights are kept so coarse that m is
        :data:`_LEAST_MULTIPLIER`, as far as the noise of their rounding, for inputs with mean squares that sum up to
        ``power``, stays below :data:`_UNNOTICED` times that of rounding the result.
        """
        result = self.partition.result_of(node)
        if result is None or self.encodings[result].dtype.size > 1:
            return TINY / x.scale[0]
        step = self.encodings[result].scale[0] / self.partition.factor_of(result)
        unnoticed = step * np.sqrt(_UNNOTICED / power) if power > 0 else np.inf
        return float(max(min(step / x.scale[0] * _LEAST_MULTIPLIER, unnoticed), TINY / x.scale[0]))


def _folded_rows(node: Node, inputs: np.ndarray) -> list[np.ndarray]:
    """The layer's input rows of even and of odd samples."""
    most = max(1, _most_rows(node) // len(inputs))
    return [to_rows(node, inputs[start::2], most) for start in range(min(2, len(inputs)))]


def _most_rows(node: Node) -> int:
    """So many that each of the second moments is known well, which depend on few inputs in small sums."""
    depth = to_matrices(node, np.empty(node.operands[1].shape, np.bool_)).shape[1]
    return min(_MOST_ROWS, max(_LEAST_ROWS, _ROWS_AN_INPUT * depth))


def _thinned_folds(rows: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Rows ``[1, n, k]`` of even and of odd samples, so many that their moments are known well."""
    most = max(1, max(_LEAST_ROWS, min(_MOST_ROWS, _ROWS_AN_INPUT * rows[0].shape[2])) // len(rows))
    thin = [each[:, np.linspace(0, each.shape[1] - 1, min(most, each.shape[1])).astype(np.int64)] for each in rows]
    return [np.concatenate(thin[start::2], axis=1) for start in range(min(2, len(thin)))]


def _for_inputs(adapt: bool, matrices: np.ndarray, steps: np.ndarray, folds: Sequence[np.ndarray]) -> np.ndarray:
    """Matrices rounded for rows of inputs of even and of odd samples."""
    moments = [Moments.of(rows, False) for rows in folds]
    return _rounded(matrices, steps, [each.second for each in moments], reduce(Moments.joined, moments).second, adapt)


def _rounded(
    matrices: np.ndarray, steps: np.ndarray, folds: Sequence[np.ndarray], whole: np.ndarray, adapt: bool,
    levels: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Rounded to nearest, or adaptively with the damping that serves best on samples it was not made from; of long sums
    after one sweep."""
    levels = np.full(steps.shape, WEIGHT_LEVELS) if levels is None else levels
    if not adapt or len(folds) < 2:
        return nearest(matrices, steps, levels)
    few = slice(None, None, -(-matrices.shape[2] // _MOST_COLUMNS))
    seen, seen_steps, seen_levels = matrices[:, :, few], steps[:, few], levels[:, few]

    def held_out(rounded: np.ndarray) -> float:
        return output_error(rounded - seen, folds[1])

    count = len(DAMPINGS)
    errors: list[Callable[[], float]]
    if matrices.shape[1] <= _TOGETHER:
        each = [np.concatenate([array] * count) for array in (seen, seen_steps, folds[0], seen_levels)]
        moments = OrderedMoments.of(each[2])
        found = _compensated(np.repeat(DAMPINGS, len(seen)), each[0], each[1], moments, each[3], 1)
        parts = [None] * count if found is None else np.split(found, count)
        errors = [partial(_error, held_out, part) for part in parts]
    else:
        half = OrderedMoments.of(folds[0])
        errors = [
            lambda damping=damping: _error(held_out, _compensated(damping, seen, seen_steps, half, seen_levels, 1))  # type: ignore[misc]
            for damping in DAMPINGS
        ]
    errors.append(lambda: held_out(nearest(seen, seen_steps, seen_levels)))
    place = _downhill(errors)
    if place == count:
        return nearest(matrices, steps, levels)
    found = _compensated(DAMPINGS[place], matrices, steps, OrderedMoments.of(whole), levels, SWEEPS)
    return nearest(matrices, steps, levels) if found is None else found


def _error(held_out: Callable[[np.ndarray], float], rounded: np.ndarray | None) -> float:
    return np.inf if rounded is None else held_out(rounded)


def _compensated(
    damping: float | np.ndarray, matrices: np.ndarray, steps: np.ndarray, moments: OrderedMoments, levels: Levels,
    sweeps: int,
) -> np.ndarray | None:  # fmt: skip
    """``None`` where the moments are too near to singular."""
    try:
        return compensated(matrices, steps, moments, damping, levels, sweeps)
    except np.linalg.LinAlgError:
        return None


def _downhill(errors: Sequence[Callable[[], float]]) -> int:
    """The place of the least error, where errors fall to it from both ends."""
    place = len(errors) // 2
    least = errors[place]()
    for step in (-1, 1):
        moved = False
        while 0 <= place + step < len(errors) and (found := errors[place + step]()) < least:
            place, least, moved = place + step, found, True
        if moved:
            break
    return place


# ---------------------------------------------------------------- biases and accumulators


def bias_constant(node: Node, bias: np.ndarray, x: Encoding, weights: StoredConstant) -> StoredConstant:
    """The bias in the steps of the accumulator: input scale times weight scale, in float32."""
    scales = np.asarray(weights.encoding.scale, np.float32) * np.float32(x.scale[0])
    steps = tuple(channel_scales(node, scales).astype(float).tolist())
    encoding = Encoding(DType.I32, steps, (0,) * len(steps), 0)
    return StoredConstant(encoding.quantize(bias), encoding)


def check_accumulator(node: Node, weights: StoredConstant, x: Encoding) -> None:
    """Raises ``ACCUMULATOR_OVERFLOW`` where some input could make a sum of products that 32 bits do not hold. Sums of
    16-bit inputs have 64 where they need them."""
    if x.dtype.size == 1 and not fits_accumulator(node, weights, x):
        reason = f"the sum of its products with {x.dtype.value} inputs could need more than 32 bits"
        hint = f'[quantize.layers."{node.loc or key(node)}"] precision = "float"'
        raise CcmlError(ErrorCode.ACCUMULATOR_OVERFLOW, reason, loc=node.operands[1].name, hint=hint)


def fits_accumulator(node: Node, weights: StoredConstant, x: Encoding) -> bool:
    """Whether ``sum(weight * (input - zero_point))`` fits 32 bits for all inputs, with room for a bias."""
    limits = np.iinfo(x.dtype.numpy)
    largest = max(int(limits.max) - x.zero_point[0], x.zero_point[0] - int(limits.min))
    sums = np.abs(to_matrices(node, weights.array.astype(np.int64))).sum(axis=1)
    return int(sums.max(initial=0)) * largest + BIAS_ROOM <= np.iinfo(np.int32).max

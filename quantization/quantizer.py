"""One float graph with all that was observed of it: quantized as often as mixed precision asks, in different ways."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import partial, reduce

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph, Node
from ..ir.types import DType
from ..ops.recurrent import RECURRENCES
from ..ops.response import Response
from ..record import record
from ..samples import Samples
from ..verification.runner import runner, work_of
from .cheap_width import may_be_worth, of_few, of_noise, of_recurrences
from .concatenations import rescaling_concats
from .encoding import Encoding, activation_encoding
from .equalize import Equalized, equalize
from .exact_scales import with_exact_scales
from .execute import evaluate_samples
from .histogram import FOLDS, TensorStats
from .insert import StoredConstant, insert_qdq
from .masks import float_nodes, infinite_nodes, softmaxes
from .observe import FloatRuns, Observations, observe, spread
from .options import ACTIVATIONS, LayerOptions, Precision, QuantizeOptions, RangeMethod
from .partition import Partition, key, layer_names, partition
from .range_choice import Chosen, Folded, Group, Known, Method, Trials, choose_ranges
from .ranges import Range
from .recurrences import Unrolled, unroll_recurrences
from .recurrent_weights import halfword_weights
from .roles import LINEAR, is_real, weight_positions
from .tuning import TunedLayer, Tuner, bias_constant

log = logging.getLogger(__name__)


@record
class Choices:
    """What mixed precision has decided: values whose groups have 16 bits, and layers (``key``) in float, with weights
    of 16 bits, and with weights of 8 bits where they would have 4. The steps of the 16 bits are ``coarser`` than they
    need to be: so weights are smaller integers, and tensors have more room for what was not observed."""

    wide: frozenset[str] = frozenset()
    floats: frozenset[str] = frozenset()
    halfwords: frozenset[str] = frozenset()
    bytes: frozenset[str] = frozenset()
    coarser: float = 1.0


_NONE = Choices()

_Ranged = tuple[tuple[str, ...], Method, int, int | None, Response | None]
"""What has a range: the values observed, the method, the number of integers, the fold left out, and what readers make
of elements."""

HEADROOM = 4.0
"""Of 16 bits, where no range is asked for: a bit of 16 is little beside the noise of bytes, while a value that
saturates is wrong in all that follows."""

_NOTICED = 0.1
"""The part of the noise that 16 bits for some tensors have to take away more than, by that of each alone."""
_CLEAR = 4.0
"""Decibels of difference between widths of tensors that need no comparison of tuned models."""

_TUNING_WORK = 1 << 33
"""Of all evaluations, as ``work_of`` counts it, on whose samples weights are tuned."""
_LEAST_TUNED = 8
"""Samples of large models that weights are tuned on: each gives thousands of rows."""

_MASK_SAMPLES = 4
"""Samples that show which scores a mask hides."""

_MOST_MIXED_PRODUCTS = 2**31 // (2**15 * 2**8) - 1
"""Of a 16-bit integer and the difference of two bytes."""


@record
class Quantized:
    """The graph with quantize and dequantize nodes, and the layers that it was written from."""

    graph: Graph
    tuned: Mapping[str, TunedLayer]


@record
class Quantizer:
    """A prepared and equalized graph with all that was observed of it."""

    graph: Graph
    samples: Samples
    options: QuantizeOptions
    observed: Observations
    tuned_samples: tuple[int, ...]
    unrolled: Unrolled
    masked: frozenset[str]
    rescaling: frozenset[str] = frozenset()
    """Concatenations that bring their operands to a common scale (``concatenations.py``)."""
    wide: frozenset[str] = frozenset()
    """The first members of groups that have 16 bits by default (``cheap_width.py``)."""
    spared: frozenset[str] = frozenset()
    """Those of :attr:`wide` that have 16 bits for room alone."""
    method: Method | None = None
    """How ranges of bytes are found, where that is not asked for."""
    halfwords: bool = False
    """Whether recurrent layers have weights of 16 bits."""
    nibbles: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Layers with weights of 4 bits, and their channels that keep 8 (``nibbles.py``)."""
    wider: Quantizer | None = None
    """The same with 16 bits for tensors that make much noise and cost little, where there are such."""
    narrower: Quantizer | None = None
    """The same without these 16 bits, where it is clear that the model is better with them."""
    headroom: float = HEADROOM
    """By how much 16 bits reach beyond what was observed."""
    left_out: int | None = None
    """The fold of samples that ranges are not made from."""
    _spans: dict[_Ranged, Range] = field(default_factory=dict, compare=False, repr=False)
    """Ranges that were found before."""

    @staticmethod
    def of(graph: Graph, samples: Samples, options: QuantizeOptions) -> Quantizer:
        """Unrolls the recurrences of ``graph``, which :func:`prepare` has made, equalizes and observes it."""
        unrolled = unroll_recurrences(graph)
        graph = unrolled.graph
        options.require_known_layers(known_names(graph))
        layers = [node for node in graph.nodes if weight_positions(graph, node) and is_real(node.output)]
        names = _observable(graph, unrolled)
        log.info("preparing the float model for calibration")
        sizes = {value.name: value.type.size for value in graph.values()}
        floats = FloatRuns.of(runner(graph, names, samples.count), samples, sum(sizes[name] for name in names))
        most = max(_LEAST_TUNED, _TUNING_WORK // max(1, work_of(graph)))
        chosen = spread(samples.count, min(options.tuning_samples, most))
        masked: frozenset[str] = frozenset()
        if softmaxes(graph):
            masked = float_nodes(graph, floats.batches(spread(samples.count, _MASK_SAMPLES)))
        parts = _partition(graph, unrolled, masked, options, _NONE)
        equalized = Equalized(graph, {})
        if options.equalize:
            equalized = equalize(graph, parts.is_integer, floats, chosen)
        outputs = [value.name for value in graph.outputs]
        observed = observe(floats, names, layers, chosen, equalized.divisors, outputs)
        masked |= infinite_nodes(graph, [name for name, stats in observed.stats.items() if not stats.finite])
        plain = Quantizer(equalized.graph, samples, options, observed, tuple(chosen), unrolled, masked)
        plain = replace(plain, rescaling=rescaling_concats(plain.partition_with, observed.stats))
        parts = plain.partition()
        wide = of_recurrences(parts, unrolled.products, plain.interface)
        spared = frozenset[str]()
        if options.activations == "int8" and options.min_sqnr != 0:
            spared = of_few(parts, plain.interface) - wide
        known = partial(floats.equalized, divisors=equalized.divisors)
        return replace(plain, wide=wide | spared, spared=spared).with_trials(known)

    def with_trials(self, known: Known) -> Quantizer:
        """The quantizer with a method for ranges, by the noise at the outputs, and with that of :attr:`wider`
        tensors; ``known`` gives the values of the float model."""
        parts = self.partition()
        ranges, widths = self.options.range_method is RangeMethod.AUTO, self.options.min_sqnr != 0
        if self.options.activations != "int8" or not (ranges or widths):
            return self
        trials = Trials.of(self.graph, parts.stored, self.samples, known)
        if trials is None:
            return self
        result = self
        chosen: Chosen | None = None
        if ranges:
            types = {head: self._stored_type(parts, head, _NONE) for head in parts.sources}
            stats = {head: self._merged_stats(parts, head) for head in types}
            encode = {head: partial(self._encode_trial, *types[head]) for head in types}
            chosen = choose_ranges(trials, {head: Group(stats[head], encode[head]) for head in types})
            result = replace(self, method=chosen.method)
        return result._with_widths(parts, trials, chosen) if widths and trials.singly else result

    def _with_widths(self, parts: Partition, trials: Trials, chosen: Chosen | None) -> Quantizer:
        """With 16 bits for some tensors, or with these as an alternative where it is not clear that they win: the
        whole, measured with float weights, may be another than the sum of its parts. Where ranges were ``chosen``,
        encodings are made from other samples than those that they are tried on: what saturates there will do so
        later."""
        folds: Folded = {} if chosen is None else chosen.folds
        worth = [head for head in may_be_worth(parts, parts.sources, self.interface) if head not in self.wide]
        if not worth:
            return self
        encodings = {head: self._encoding(parts, head, _NONE) for head in parts.sources}
        tried = {head: folds.get(head, [each] * FOLDS) for head, each in encodings.items()}
        found = trials.probe.mean(trials.noises(tried)) if chosen is None else chosen.noise
        noise = trials.noise_of_each(tried, worth, _NOTICED * found)
        wide = self.wide | of_noise(parts, noise, self.interface)
        if sum(noise[head] for head in wide - self.wide) <= _NOTICED * sum(noise.values()):
            return self
        wider = replace(self, wide=wide)
        others = {head: [wider._encoding(parts, head, _NONE)] * FOLDS if head in wide else each
                  for head, each in tried.items()}  # fmt: skip
        better = trials.probe.mean(trials.noises(others))
        gain = 10 * np.log10(found / better)
        if abs(gain) > _CLEAR:
            return replace(wider, narrower=self) if gain > 0 else self
        return replace(self, wider=wider)

    def without(self, fold: int) -> Quantizer:
        """With ranges that the samples of one fold (of ``TensorStats``) have no part in."""
        return replace(self, left_out=fold)

    @property
    def of_bytes(self) -> Quantizer:
        """With 16 bits as the alternative, however clear it is that they win: for budgets that they may not fit."""
        narrow = self.narrower or self
        if narrow is self and not self.spared:
            return self
        return replace(narrow, wide=narrow.wide - narrow.spared, spared=frozenset(), wider=narrow.wider or self)

    @property
    def interface(self) -> frozenset[str]:
        """The inputs and outputs whose type is asked for."""
        both = (*self.graph.inputs, *self.graph.outputs) if self.options.integer_io else ()
        return frozenset(value.name for value in both)

    def float_outputs(self, numbers: Sequence[int]) -> dict[str, np.ndarray]:
        """The outputs of the float model, ``[samples, ...]``, for samples of the calibration."""
        known = self.observed.outputs
        if all(value.name in known for value in self.graph.outputs):
            return {value.name: known[value.name][[*numbers]] for value in self.graph.outputs}
        return evaluate_samples(self.graph, self.samples.at(np.asarray(numbers)))

    def partition(self, choices: Choices = _NONE) -> Partition:
        return self.partition_with(self.rescaling, choices)

    def partition_with(self, rescaling: frozenset[str], choices: Choices = _NONE) -> Partition:
        return _partition(self.graph, self.unrolled, self.masked, self.options, choices, rescaling)

    def encodings(self, parts: Partition, choices: Choices = _NONE) -> dict[str, Encoding]:
        """Of every stored value."""
        found = {head: self._encoding(parts, head, choices) for head in parts.sources}
        return {name: found[head] for name, head in parts.stored.items()}

    def _encoding(self, parts: Partition, head: str, choices: Choices) -> Encoding:
        dtype, symmetric = self._stored_type(parts, head, choices)
        limits = np.iinfo(dtype.numpy)
        method = self._method(parts, head, dtype, choices)
        levels = int(limits.max) - int(limits.min) + 1
        known = parts.sources[head], method, levels, self.left_out, self._response(parts, head)
        if known not in self._spans:
            self._spans[known] = method.range_of(self._merged_stats(parts, head), levels)
        low, high = self._spans[known]
        part = choices.coarser if head in choices.wide and dtype is DType.I16 else 1.0
        return self._encode(dtype, symmetric, (part * low, part * high))

    def _stored_type(self, parts: Partition, head: str, choices: Choices) -> tuple[DType, bool]:
        """The type of a group, and whether its zero point is in the middle."""
        members = parts.members(head)
        precision = self._own_options(parts, head).precision
        plain = precision is None and self.options.activations == "int8"
        wide = plain and not self.wide.isdisjoint(members)
        if wide or precision is Precision.INT16 or not choices.wide.isdisjoint(members):
            return ACTIVATIONS["int16"]
        dtype, symmetric = ACTIVATIONS[self.options.activations]
        return ACTIVATIONS["int8"] if dtype is DType.I16 and needs_bytes(parts, members) else (dtype, symmetric)

    def _own_options(self, parts: Partition, head: str) -> LayerOptions:
        return self.options.layer(name for member in parts.members(head) for name in value_names(parts, member))

    def _method(self, parts: Partition, head: str, dtype: DType, choices: Choices) -> Method:
        """What is best for 256 steps may cut off values, which 16 bits have room for."""
        options = self._own_options(parts, head)
        asked = options.range_method or self.options.range_method
        if asked is RangeMethod.AUTO and dtype is DType.I16:
            return Method(RangeMethod.MSE, part=self._room(dtype))
        if options.range_method is not None or self.method is None:
            return Method(asked, options.percentile or self.options.percentile)
        return self.method

    def _merged_stats(self, parts: Partition, head: str) -> TensorStats:
        stats = reduce(TensorStats.merged, (self._stats(name) for name in parts.sources[head]))
        own = self._response(parts, head)
        if own is not None and own.is_finite(stats.low, stats.high):
            stats = replace(stats, response=own)
        return stats if self.left_out is None else stats.without(self.left_out)

    def _response(self, parts: Partition, head: str) -> Response | None:
        """By which a range is chosen, where no other way is asked for."""
        asked = self._own_options(parts, head).range_method or self.options.range_method
        return parts.response(head) if asked is RangeMethod.AUTO else None

    def _room(self, dtype: DType) -> float:
        """How far an own range reaches, as a part of what was found."""
        return self.headroom if dtype is DType.I16 else 1.0

    def _encode_trial(self, dtype: DType, symmetric: bool, span: Range) -> Encoding:
        """Of a range that a method for bytes gives, whatever the type."""
        part = self._room(dtype)
        return self._encode(dtype, symmetric, (part * span[0], part * span[1]))

    @staticmethod
    def _encode(dtype: DType, symmetric: bool, span: Range) -> Encoding:
        return activation_encoding(*span, dtype, symmetric)

    def _stats(self, name: str) -> TensorStats:
        stats = self.observed.stats[name]
        if not stats.finite:
            hint = f'[quantize.layers."{name}"] precision = "float" leaves the layer that makes it as it is'
            reason = "it holds NaN or infinite values for some of the samples, which integers cannot stand for"
            raise CcmlError(ErrorCode.BAD_INPUT, reason, loc=name, hint=hint)
        return stats

    def quantize(self, choices: Choices = _NONE) -> Quantized:
        return self.with_exact_scales(self.quantize_roughly(choices), choices)

    def quantize_roughly(self, choices: Choices = _NONE) -> Quantized:
        """What :meth:`quantize` gives but for units in the last place of scales, in half of the time."""
        parts = self.partition(choices)
        encodings = self.encodings(parts, choices)
        tuned = self.tune(parts, encodings, choices)
        return Quantized(self.write(parts, encodings, tuned), tuned)

    def with_exact_scales(self, rough: Quantized, choices: Choices = _NONE) -> Quantized:
        parts = self.partition(choices)
        encodings = self.encodings(parts, choices)
        inputs = {key(node): encodings[node.operands[0].name] for node in self.graph.nodes if key(node) in rough.tuned}
        tuned = with_exact_scales(rough.graph, rough.tuned, inputs)
        return Quantized(self.write(parts, encodings, tuned), tuned)

    def tune(
        self, parts: Partition, encodings: Mapping[str, Encoding], choices: Choices = _NONE
    ) -> dict[str, TunedLayer]:
        samples = {name: array[[*self.tuned_samples]] for name, array in self.samples.inputs.items()}
        halfwords = self.halfword_layers(choices)
        nibbles = {name: kept for name, kept in self.nibbles.items() if name not in halfwords | choices.bytes}
        steps = {name: choices.coarser if name in choices.halfwords else 1.0 for name in halfwords}
        return Tuner(parts, encodings, self.options, self.observed.means, nibbles, steps).tune(samples)

    def halfword_layers(self, choices: Choices = _NONE) -> frozenset[str]:
        """Layers (:func:`key`) with weights of 16 bits."""
        asked = {
            key(node) for node in (self.graph.nodes if self.options.layers else ())
            if self.options.layer(layer_names(node)).weight_bits == 16 and can_have_halfwords(self.graph, node)
        }  # fmt: skip
        return choices.halfwords | asked

    def rewritten(self, tuned: Mapping[str, TunedLayer], choices: Choices = _NONE) -> Graph:
        """The quantized graph with layers that are tuned already."""
        parts = self.partition(choices)
        return self.write(parts, self.encodings(parts, choices), tuned)

    def write(
        self, parts: Partition, encodings: Mapping[str, Encoding], tuned: Mapping[str, TunedLayer]
    ) -> Graph:
        """The quantized graph. ``tuned`` may have more layers than are to be integers."""
        parameters: dict[str, dict[int, StoredConstant]] = {}
        for node in self.graph.nodes:
            layer = tuned.get(key(node))
            if layer is not None and parts.is_integer(node):
                parameters[key(node)] = self._halfwords(node) or dict(layer.weights)
                if layer.bias is not None and (np.any(layer.bias) or len(node.operands) > 2):
                    x = encodings[node.operands[0].name]
                    parameters[key(node)][2] = bias_constant(node, layer.bias, x, layer.weights[1])
        return insert_qdq(parts, encodings, parameters, self.options.integer_io)

    def _halfwords(self, node: Node) -> dict[int, StoredConstant]:
        """The weights of a recurrent layer, where they are to have 16 bits."""
        if node.op not in RECURRENCES or not self.halfwords:
            return {}
        arrays = {place: self.graph.constant(node.inputs[place]) for place in (1, 2)}
        return {place: halfword_weights(array) for place, array in arrays.items() if array is not None}


def can_have_halfwords(graph: Graph, node: Node) -> bool:
    """Whether a layer can have weights of 16 bits; recurrent layers have them all, or none."""
    return node.op in LINEAR and bool(weight_positions(graph, node))


def _observable(graph: Graph, unrolled: Unrolled) -> list[str]:
    """Values that may be stored, whatever is chosen, and what layers make: all floats but those within the steps of
    recurrences that nothing but floats read."""
    users = graph.uses()
    inner = {
        name for name in unrolled.floats
        if users.get(name) and all(key(user) in unrolled.floats for user in users[name])
    }  # fmt: skip
    linear = {key(node) for node in graph.nodes if node.op in LINEAR}
    values = [value.name for value in graph.values() if value.dtype is DType.F32]
    return [name for name in values if name not in inner or name in linear]


def _partition(
    graph: Graph,
    unrolled: Unrolled,
    masked: frozenset[str],
    options: QuantizeOptions,
    choices: Choices,
    rescaling: frozenset[str] = frozenset(),
) -> Partition:
    def keep_float(node: Node) -> bool:
        return key(node) in unrolled.floats or key(node) in masked or _is_float(node, options, choices)

    tied = [*unrolled.tied, *([state.input, state.output] for state in graph.states)]
    return partition(graph, keep_float, options.integer_io, tied, rescaling)


def _is_float(node: Node, options: QuantizeOptions, choices: Choices) -> bool:
    return key(node) in choices.floats or options.layer(layer_names(node)).precision is Precision.FLOAT


def needs_bytes(parts: Partition, members: Collection[str]) -> bool:
    """Whether a product of two computed tensors reads one of ``members`` that has to have 8 bits for sums to fit 32:
    the second operand, and for long sums the first as well."""
    for node in filter(parts.is_integer, parts.graph.nodes):
        if node.op == "matmul" and not weight_positions(parts.graph, node):
            first, second = node.operands[:2]
            many = first.shape[-1] > _MOST_MIXED_PRODUCTS
            if second.name in members or (many and first.name in members):
                return True
    return False


def value_names(parts: Partition, name: str) -> list[str]:
    """What a user may call the layer that makes a stored value, or the input that it is."""
    return [name, *(known for node in parts.unit_of(name) for known in layer_names(node))]


def known_names(graph: Graph) -> list[str]:
    inputs = [value.name for value in graph.inputs]
    return [*inputs, *(name for node in graph.nodes for name in layer_names(node) if name)]

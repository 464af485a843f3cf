"""Post-training quantization: a float graph and typical inputs become a graph of quantize and dequantize pairs.

The steps: equalize channels across layers; observe the float model; find the range of every tensor that is stored; tune
the weights and biases layer by layer; write it down. Where a quality is demanded, ``mixed.py`` then raises precision.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from ...ir.graph import Graph, Node
from ...ir.types import DType
from ...samples import Samples
from ..eliminate_dead_code import eliminate_dead_code
from ..fold_affine import fold_affine
from ..pipeline import clean_up
from .encoding import Encoding, activation_encoding
from .equalize import equalize
from .histogram import TensorStats
from .insert import StoredConstant, insert_qdq
from .observe import Observations, observe, spread
from .options import ACTIVATIONS, Precision, QuantizeOptions
from .partition import Partition, key, layer_names, partition
from .ranges import find_range
from .roles import LINEAR, weight_positions
from .tuning import TunedLayer, Tuner, bias_constant

log = logging.getLogger(__name__)


def prepare(graph: Graph) -> Graph:
    """``graph`` as it is to be quantized: batch normalizations folded, nothing left that is constant."""
    return clean_up(fold_affine(clean_up(eliminate_dead_code(graph))))


@dataclass(frozen=True)
class Choices:
    """What mixed precision has decided: values (by the first member of their group) with 16 bits, and float layers."""

    wide: frozenset[str] = frozenset()
    floats: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Quantizer:
    """A prepared and equalized graph with all that was observed of it."""

    graph: Graph
    samples: Samples
    options: QuantizeOptions
    observed: Observations
    tuned_samples: tuple[int, ...]

    @staticmethod
    def of(graph: Graph, samples: Samples, options: QuantizeOptions) -> Quantizer:
        """Equalizes and observes ``graph``, which :func:`prepare` has made."""
        options.require_known_layers(known_names(graph))
        chosen = spread(samples.count, options.tuning_samples)
        parts = partition(graph, lambda node: _is_float(node, options, Choices()), options.integer_io)
        if options.equalize:
            changed = equalize(graph, parts.is_integer, samples, chosen)
            parts = replace(parts, graph=changed)
        layers = [node for node in parts.graph.nodes if node.op in LINEAR and weight_positions(parts.graph, node)]
        names = [value.name for value in parts.graph.values() if value.dtype is DType.F32]
        observed = observe(parts.graph, samples, names, layers, chosen)
        return Quantizer(parts.graph, samples, options, observed, tuple(chosen))

    def partition(self, choices: Choices = Choices()) -> Partition:
        return partition(self.graph, lambda node: _is_float(node, self.options, choices), self.options.integer_io)

    def encodings(self, parts: Partition, choices: Choices = Choices()) -> dict[str, Encoding]:
        """Of every stored value."""
        found = {head: self._encoding(parts, head, head in choices.wide) for head in parts.sources}
        return {name: found[head] for name, head in parts.stored.items()}

    def _encoding(self, parts: Partition, head: str, wide: bool) -> Encoding:
        members = [name for name, first in parts.stored.items() if first == head]
        options = self.options.layer(name for member in members for name in value_names(parts, member))
        if wide or options.precision is Precision.INT16:
            dtype, symmetric = ACTIVATIONS["int16"]
        else:
            dtype, symmetric = ACTIVATIONS[self.options.activations]
        stats = reduce(TensorStats.merged, (self.observed.stats[name] for name in parts.sources[head]))
        method = options.range_method or self.options.range_method
        percentile = options.percentile or self.options.percentile
        limits = np.iinfo(dtype.numpy)
        low, high = find_range(stats, method, percentile, int(limits.max) - int(limits.min) + 1)
        return activation_encoding(low, high, dtype, symmetric)

    def tune(self, parts: Partition, encodings: Mapping[str, Encoding]) -> dict[str, TunedLayer]:
        samples = [{name: array[n] for name, array in self.samples.inputs.items()} for n in self.tuned_samples]
        return Tuner(parts, encodings, self.options, self.observed.means).tune(samples)

    def write(
        self, parts: Partition, encodings: Mapping[str, Encoding], tuned: Mapping[str, TunedLayer]
    ) -> Graph:
        """The quantized graph. ``tuned`` may have more layers than are to be integers."""
        parameters: dict[str, dict[int, StoredConstant]] = {}
        for node in self.graph.nodes:
            layer = tuned.get(key(node))
            if layer is not None and parts.is_integer(node):
                parameters[key(node)] = dict(layer.weights)
                if layer.bias is not None and (np.any(layer.bias) or len(node.operands) > 2):
                    x = encodings[node.operands[0].name]
                    parameters[key(node)][2] = bias_constant(node, layer.bias, x, layer.weights[1])
        return insert_qdq(parts, encodings, parameters, self.options.integer_io)


def _is_float(node: Node, options: QuantizeOptions, choices: Choices) -> bool:
    return key(node) in choices.floats or options.layer(layer_names(node)).precision is Precision.FLOAT


def value_names(parts: Partition, name: str) -> list[str]:
    """What a user may call the layer that makes a stored value, or the input that it is."""
    return [name, *(known for node in parts.unit_of(name) for known in layer_names(node))]


def known_names(graph: Graph) -> list[str]:
    inputs = [value.name for value in graph.inputs]
    return [*inputs, *(name for node in graph.nodes for name in layer_names(node) if name)]


@dataclass(frozen=True)
class QuantizedModel:
    """``graph`` is ``original`` with quantize and dequantize nodes; their values have the same names and meaning.

    ``original`` computes what the given graph computes: it was prepared, and equalized."""

    original: Graph
    graph: Graph


def quantize_graph(graph: Graph, samples: Samples, options: QuantizeOptions = QuantizeOptions()) -> QuantizedModel:
    q = Quantizer.of(prepare(graph), samples, options)
    parts = q.partition()
    encodings = q.encodings(parts)
    tuned = q.tune(parts, encodings)
    return QuantizedModel(q.graph, q.write(parts, encodings, tuned))

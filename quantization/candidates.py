"""What mixed precision can give more to: tensors and layers, each with its part of the noise.

Noise of independent roundings adds up at the outputs, so each part is measured alone, in the float model.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum

import numpy as np

from ..ir.graph import Node
from ..ir.types import DType
from ..ops.table import OPS
from ..record import record
from ..samples import Samples
from ..verification.runner import work_of
from .observe import spread
from .partition import Partition, key
from .probe import Probe
from .quantizer import Choices, Quantizer, can_have_halfwords
from .tuning import TunedLayer

log = logging.getLogger(__name__)

_ALONE_SAMPLES, _MOST_ALONE = 4, 16
"""Samples on which the parts are measured, and as many as that of small models."""
_ALONE_WORK = 1 << 30
"""Of all evaluations of a small model, as ``work_of`` counts it."""


class Raise(StrEnum):
    """What can be given, as reports call it.

    * ``BYTES``: weights of 8 bits to a layer that has 4.
    * ``INT16``: 16 bits to a tensor and all that shares its encoding.
    * ``HALFWORDS``: weights of 16 bits to a layer.
    * ``FLOAT``: a layer computes in float.
    """

    BYTES = "int8 weights"
    INT16 = "int16"
    HALFWORDS = "int16 weights"
    FLOAT = "float"


@record
class Candidate:
    """One group of values (by its first member), or one layer (:func:`key`), with the relative noise at the model's
    outputs that ``kind`` would take away. ``layer`` is what reports call it."""

    name: str
    kind: Raise
    noise: float
    layer: str


def choices_of(raised: Collection[Candidate]) -> Choices:
    """What the quantizer is to do. Of a layer that is in float, nothing else counts."""
    names = {kind: frozenset(each.name for each in raised if each.kind is kind) for kind in Raise}
    return Choices(names[Raise.INT16], names[Raise.FLOAT], names[Raise.HALFWORDS], names[Raise.BYTES])


def wide_tensors(quantizer: Quantizer, samples: Samples) -> list[Candidate]:
    """Every group that can have 16 bits and has not."""
    parts = quantizer.partition()
    encodings = quantizer.encodings(parts)
    heads = [
        head for head in parts.sources
        if encodings[head].dtype is not DType.I16 and quantizer.interface.isdisjoint(parts.members(head))
    ]  # fmt: skip
    stored = {name: head for name, head in parts.stored.items() if head in heads}
    probe = Probe.of(quantizer.graph, stored, _some(samples, _count(quantizer, len(heads))), len(heads))
    noise = {head: probe.noise(lambda _, head=head: {head: encodings[head]}) for head in heads}  # type: ignore[misc]
    log.info("measured %d tensors alone", len(heads))
    return [Candidate(head, Raise.INT16, noise[head], layer_of(parts, head)) for head in heads]


def layers(
    quantizer: Quantizer, nibbles: Mapping[str, TunedLayer], tuned: Mapping[str, TunedLayer], samples: Samples
) -> list[Candidate]:
    """Every layer, by what its rounded weights do alone: those that are ``tuned`` with weights of 8 bits, and
    ``nibbles``, those with 4. With all in float any demand is met."""
    nodes = list(core_nodes(quantizer.partition()))
    narrow = [node for node in nodes if key(node) in nibbles]
    noise = _weight_noise(quantizer, nodes, tuned, samples)
    least = noise | _weight_noise(quantizer, narrow, nibbles, samples)
    log.info("measured %d layers alone", len(nodes))
    found = []
    for node in nodes:
        name, title = key(node), node.loc or key(node)
        if name in nibbles:
            found.append(Candidate(name, Raise.BYTES, max(0.0, least[name] - noise[name]), title))
        if can_have_halfwords(quantizer.graph, node) and name not in quantizer.halfword_layers():
            found.append(Candidate(name, Raise.HALFWORDS, least[name], title))
        found.append(Candidate(name, Raise.FLOAT, least[name], title))
    return found


def _weight_noise(
    quantizer: Quantizer, nodes: Sequence[Node], tuned: Mapping[str, TunedLayer], samples: Samples
) -> dict[str, float]:
    """By the same measure as that of tensors (:class:`Probe`)."""
    layers = [key(node) for node in nodes if key(node) in tuned and tuned[key(node)].weights]
    if not layers:
        return dict.fromkeys(map(key, nodes), 0.0)
    probe = Probe.of_constants(quantizer.graph, _some(samples, _count(quantizer, len(layers))))
    stored = {name: {(name, place): each.real for place, each in tuned[name].weights.items()} for name in layers}
    noise = {name: probe.noise(lambda _, name=name: stored[name]) for name in layers}  # type: ignore[misc]
    return dict.fromkeys(map(key, nodes), 0.0) | noise


def core_nodes(parts: Partition) -> Iterator[Node]:
    return (node for node in parts.graph.nodes if parts.is_integer(node) and OPS[node.op].macs is not None)


def _count(quantizer: Quantizer, trials: int) -> int:
    """Of samples that ``trials`` are measured on."""
    most = _ALONE_WORK // max(1, work_of(quantizer.graph) * max(1, trials))
    return min(_MOST_ALONE, max(_ALONE_SAMPLES, most))


def _some(samples: Samples, count: int) -> dict[str, np.ndarray]:
    """The inputs of ``count`` of the samples, or of all."""
    return {name: array[spread(samples.count, count)] for name, array in samples.inputs.items()}


def layer_of(parts: Partition, name: str) -> str:
    """What a stored value is called in reports: the layer that makes it, or the input that it is."""
    made_by = [node.loc or key(node) for node in parts.unit_of(name)]
    return made_by[-1] if made_by else name

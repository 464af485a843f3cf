"""Weights of 4 bits: which layers have them, and which of their output channels keep 8 bits (*outliers*).

All layers are given 4 bits first. How much noise each then makes at the model's outputs is measured alone; of that, a
channel has the part that it has of the noise at the layer's own outputs (``TunedLayer.noise``). Channels with the most
noise for a byte are outliers, until these are a share of all weights that rises from :data:`SHARES` until the result is
as good as demanded. A layer with many outliers has 8 bits throughout, for then nibbles save nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..ir.graph import Node
from ..record import record
from ..samples import Samples
from .execute import GoodEnough, evaluate_all, evaluate_samples, relative_noise
from .linear import scale_numbers, to_matrices
from .observe import spread
from .partition import key, layer_names
from .quantizer import Quantized, Quantizer
from .roles import weight_positions

log = logging.getLogger(__name__)

LEAST_WEIGHTS = 256
"""Of a layer with 4 bits, as kernels have it."""
SHARES = (0.03, 0.06, 0.12, 0.25, 0.5)
"""Of all weights, those of outliers. The first is taken without a demand: weights take 0.55 of 8 bits then, as Cortex-M
has outliers."""
MOST_OUTLIERS = 0.2
"""Of the weights of a layer; with more it has 8 bits."""
_ALONE_SAMPLES = 4

Kept = Mapping[str, frozenset[int]]
"""Layers (``key``) with weights of 4 bits, and their scales that keep 8."""


@record
class _Channel:
    layer: str
    number: int
    weights: int
    noise: float


def with_nibbles(
    quantizer: Quantizer, plain: Quantized, samples: Samples, good_enough: GoodEnough | None
) -> tuple[Quantizer, Quantized]:
    """The quantizer, and the model, with weights of 4 bits; ``plain`` is that with 8. Without a demand the first of
    :data:`SHARES` is taken; where none is good enough, all weights stay as they are."""
    for narrow, found in narrowed(quantizer, samples):
        if good_enough is None or good_enough(evaluate_samples(found.graph, samples)):
            return narrow, found
    return quantizer, plain


def narrowed(quantizer: Quantizer, samples: Samples) -> Iterator[tuple[Quantizer, Quantized]]:
    """With weights of 4 bits and each of :data:`SHARES`; none where no layer can have them."""
    layers = {key(node): node for node in narrow_layers(quantizer)}
    if not layers:
        return
    narrow = replace(quantizer, nibbles=dict.fromkeys(layers, frozenset()))
    order = list(by_noise(narrow, layers, narrow.quantize(), samples))
    for share in SHARES:
        kept = _kept(order, share)
        narrow = replace(quantizer, nibbles=kept)
        log.info("%d of %d layers have weights of 4 bits, %g of all weights 8", len(kept), len(layers), share)
        yield narrow, narrow.quantize()


def narrow_layers(quantizer: Quantizer) -> Iterator[Node]:
    """Those that can have 4 bits: kernels of others have bytes, or few weights."""
    parts = quantizer.partition()
    for node in filter(parts.is_integer, quantizer.graph.nodes):
        if node.op in ("conv", "matmul") and weight_positions(quantizer.graph, node):
            own = quantizer.options.layer(layer_names(node)).weight_bits
            if own not in (8, 16) and node.operands[1].type.size >= LEAST_WEIGHTS:
                yield node


def by_noise(
    quantizer: Quantizer, layers: Mapping[str, Node], found: Quantized, samples: Samples
) -> list[_Channel]:
    """All channels, the noisiest for their bytes first."""
    chosen = spread(samples.count, _ALONE_SAMPLES)
    values = evaluate_all(quantizer.graph, {name: array[chosen] for name, array in samples.inputs.items()})
    noise = {
        name: relative_noise(
            quantizer.graph, values, {(name, place): each.real for place, each in found.tuned[name].weights.items()}
        )
        for name in layers
    }
    channels = []
    for name, node in layers.items():
        own = found.tuned[name].noise
        matrices = to_matrices(node, np.empty(node.operands[1].shape, np.bool_))
        numbers = scale_numbers(node, matrices) if quantizer.options.per_channel else np.zeros(1, np.int64)
        counts = np.bincount(numbers.reshape(-1)) * (matrices.size // numbers.size)
        parts = np.ones(len(counts)) if own is None else own
        parts = noise[name] * parts / (parts.sum() or 1.0)
        channels += [_Channel(name, n, int(count), float(part)) for n, (count, part) in enumerate(zip(counts, parts))]
    return sorted(channels, key=lambda channel: -channel.noise / channel.weights)


def _kept(order: list[_Channel], share: float) -> Kept:
    """Outliers of each layer, as many as come to ``share`` of all weights."""
    sizes: dict[str, int] = {}
    for channel in order:
        sizes[channel.layer] = sizes.get(channel.layer, 0) + channel.weights
    room = share * sum(sizes.values())
    wide: dict[str, set[int]] = {name: set() for name in sizes}
    taken = dict.fromkeys(sizes, 0)
    for channel in order:
        if channel.weights <= room:
            room -= channel.weights
            wide[channel.layer].add(channel.number)
            taken[channel.layer] += channel.weights
    return {name: frozenset(wide[name]) for name in sizes if taken[name] <= MOST_OUTLIERS * sizes[name]}

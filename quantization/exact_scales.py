"""Scales of weights for which requantization in integers is exact.

A core without a floating-point unit multiplies sums of products with a fixed-point number, where one gives the same
bytes as the float32 definition (``ops/fixed_point.py``). For some scales there is none: where a product comes so near
to a half that float32 cannot tell. The scale of a channel's weights may be any number, and a few units in the last
place (ulp) more or less change no integer weight and nothing that could be measured. So those scales are moved until
there is a multiplier.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, Node
from ..ir.shifts import PRE_SHIFT, USUAL_SHIFT
from ..ops.accumulators import channel_bounds
from ..ops.attributes import integer, number
from ..ops.fixed_point import exact_multipliers, have_multipliers
from ..ops.halfword_factors import are_exact, common_shift
from ..passes.integerize import integerize
from ..passes.pipeline import before
from ..record import record
from .encoding import Encoding
from .insert import StoredConstant
from .tuning import TunedLayer

log = logging.getLogger(__name__)

_MOST_ULPS = 128
_LEAST_PRODUCT = 2.0**-13
"""Smaller multipliers are left as they are: float32 rounds so many of their products to halves that there is hardly
ever a fixed-point number that does the same."""

COMMON_SHIFTS = (PRE_SHIFT, USUAL_SHIFT)
"""Before and after the multiplication, where all channels of a layer share them: block instructions of cores with long
multiplications, which keep 256 times the sums."""
DEPTHWISE_SHIFTS = (0, 0)
"""The same for depthwise convolutions, which are short of instructions for a shift."""
_MOST_SHIFTED = 2**23
"""Greater sums do not fit 32 bits then."""

_I32 = np.iinfo(np.int32)


@record
class _Requantization:
    """Of a layer's sums, as the integerizer writes it; ``scales`` has one number, or one for each channel, and so have
    the ``bounds`` of the sums."""

    layer: str
    scales: np.ndarray
    result_scale: np.float32
    bounds: np.ndarray
    zero_point: int
    limits: tuple[int, int]
    shifts: tuple[int, int]

    def exact(self, scales: np.ndarray, channels: np.ndarray) -> np.ndarray:
        """For which of some channels there is a multiplier. Bounds are wider by an eighth: biases move with their
        steps."""
        room = (self.bounds[:, 1] - self.bounds[:, 0]) // 16 + 1
        bounds = np.clip(np.stack([self.bounds[:, 0] - room, self.bounds[:, 1] + room], axis=1), _I32.min, _I32.max)
        own = np.broadcast_to(bounds[channels] if len(bounds) > 1 else bounds, (scales.size, 2))
        exact = self._have_factors(scales, own)
        left = np.flatnonzero(~exact)
        if left.size:
            found = exact_multipliers(scales[left], own[left].tolist(), self.zero_point, *self.limits)
            inside = np.clip(own[left], -_MOST_SHIFTED, _MOST_SHIFTED).tolist()
            common = have_multipliers(scales[left], inside, self.zero_point, *self.limits, *self.shifts)
            exact[left] = common & [form is not None for form in found]
        return exact

    def _have_factors(self, scales: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """Which have a factor of 15 bits: as a multiplier it serves with any shifts."""
        shift = common_shift(float(scales.max(initial=0)))
        if shift is None:
            return np.full(scales.shape, False)
        factors = np.rint(scales.astype(np.float64) * 2.0**shift).astype(np.int64)
        return are_exact(scales, factors, shift, bounds, self.zero_point, *self.limits)


def with_exact_scales(
    graph: Graph, tuned: Mapping[str, TunedLayer], inputs: Mapping[str, Encoding]
) -> dict[str, TunedLayer]:
    """``tuned``, from which ``graph`` was written, with scales moved; ``inputs`` are the encodings of the layers'
    first operands."""
    result, moved, left = dict(tuned), 0, 0
    for found in _requantizations(graph):
        if found.layer in tuned and found.limits[1] - found.limits[0] < 256:
            stored = tuned[found.layer].weights[1]
            scales, missing = _moved(found, stored.encoding, np.float32(inputs[found.layer].scale[0]))
            moved += int(np.sum(scales != stored.encoding.scale))
            left += missing
            encoding = replace(stored.encoding, scale=tuple(scales.astype(float).tolist()))
            weights = {**tuned[found.layer].weights, 1: StoredConstant(stored.array, encoding)}
            result[found.layer] = replace(tuned[found.layer], weights=weights)
    log.info("moved the scales of %d channels; %d have no fixed-point multiplier", moved, left)
    return result


def _requantizations(graph: Graph) -> Iterator[_Requantization]:
    integers = integerize(before("integerize", graph))
    producers = integers.producers()
    for node in integers.nodes:
        source = producers.get(node.operands[0].name) if node.op == "requantize" else None
        if source is not None and "acc_lo" in node.attrs:
            yield _requantization(node, source, integers)


def _requantization(node: Node, source: Node, graph: Graph) -> _Requantization:
    zero_point, lo, hi = (integer(node.attrs, name) for name in ("zero_point", "lo", "hi"))
    scale = number(node.attrs, "y_scale")
    scales = graph.constants[node.operands[1].name].reshape(-1)
    layer = source.outputs[0].name.removesuffix(".acc").removesuffix(".float")
    depthwise = source.op == "conv" and source.attrs["group"] != 1
    shifts = DEPTHWISE_SHIFTS if depthwise else COMMON_SHIFTS
    bounds = _bounds(node, source, graph)
    return _Requantization(layer, scales, np.float32(scale), bounds, zero_point, (lo, hi), shifts)


def _bounds(node: Node, source: Node, graph: Graph) -> np.ndarray:
    """Least and greatest sums as rows: one, or one for each channel."""
    limits = np.array([[integer(node.attrs, "acc_lo"), integer(node.attrs, "acc_hi")]])
    found = channel_bounds(source, graph.constants)
    scales = graph.constants[node.operands[1].name].size
    if found is None or found[0].size != scales:
        return limits
    return np.clip(np.stack(found, axis=1), limits[:, 0], limits[:, 1])


def _moved(found: _Requantization, weights: Encoding, x_scale: np.float32) -> tuple[np.ndarray, int]:
    """The weights' scales, and how many of them have no multiplier."""
    scales = np.array(weights.scale, np.float32)
    if not np.array_equal(np.unique(_products(scales, x_scale, found)), np.unique(found.scales)):
        return scales, 0
    missing = ~found.exact(_products(scales, x_scale, found), np.arange(scales.size))
    hopeless = missing & (_products(scales, x_scale, found) < _LEAST_PRODUCT)
    waiting = np.flatnonzero(missing & ~hopeless)
    nominal = scales.view(np.int32).copy()
    for ulps in (sign * ulps for ulps in range(1, _MOST_ULPS + 1) for sign in (1, -1)):
        if not waiting.size:
            break
        tried = (nominal[waiting] + np.int32(ulps)).view(np.float32)
        exact = found.exact(_products(tried, x_scale, found), waiting)
        scales[waiting[exact]] = tried[exact]
        waiting = waiting[~exact]
    return scales, waiting.size + int(hopeless.sum())


def _products(scales: np.ndarray, x_scale: np.float32, found: _Requantization) -> np.ndarray:
    """The multipliers, as the integerizer computes them."""
    return scales * x_scale / found.result_scale

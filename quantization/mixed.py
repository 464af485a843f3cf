"""Mixed precision: what loses most gets 16 bits, or stays in float, until the result is as good as demanded.

Noise of independent roundings adds up at the outputs, so each tensor's and each layer's part is measured alone, in the
float model. The largest parts are taken away first. How many it takes is found by bisection, on the quantized model
itself: the parts are only an estimate of the whole.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..ir.graph import Graph, Node
from ..ir.types import DType
from ..ops.evaluate import evaluate_graph
from ..ops.table import OPS
from ..samples import Samples
from .encoding import Encoding
from .execute import Arrays, evaluate_samples, reevaluate
from .observe import spread
from .options import ACTIVATIONS, Precision
from .partition import Partition, key
from .quantizer import Choices, Quantized, Quantizer
from .roles import LINEAR, activations
from .tuning import TunedLayer, fits_accumulator

log = logging.getLogger(__name__)

_ALONE_SAMPLES = 4
"""Samples on which the parts are measured."""

GoodEnough = Callable[[Mapping[str, np.ndarray]], bool]
"""Whether outputs, ``[samples, ...]`` by name, are as demanded."""


@dataclass(frozen=True)
class Step:
    """A layer that was given more: its result has 16 bits (``INT16``), or it computes in ``FLOAT``. ``noise_share`` is
    its estimated part of the noise at the outputs."""

    layer: str
    precision: Precision
    noise_share: float


@dataclass(frozen=True)
class Cost:
    """What a quantized model works with: multiply-accumulates by precision, bytes of weights, and of stored tensors."""

    int8_macs: int
    int16_macs: int
    float_macs: int
    weight_bytes: int
    tensor_bytes: int


@dataclass(frozen=True)
class MixedPrecision:
    """The steps taken, and the cost without and with them."""

    steps: tuple[Step, ...]
    before: Cost
    after: Cost


@dataclass(frozen=True)
class _Candidate:
    """One group of values (by its first member), or one layer, with the noise that it alone makes at the outputs."""

    name: str
    precision: Precision
    noise: float
    layer: str


def raise_precision(
    quantizer: Quantizer, plain: Quantized, samples: Samples, good_enough: GoodEnough
) -> tuple[Quantized, MixedPrecision]:
    """``plain`` is the model without any raise; ``samples`` (of the float model) are what it is judged by."""
    before = cost_of(quantizer, Choices())
    if good_enough(evaluate_samples(plain.graph, samples)):
        return plain, MixedPrecision((), before, before)
    candidates = _candidates(quantizer, plain.tuned, samples)
    count = _fewest(quantizer, plain.tuned, samples, good_enough, candidates)
    while True:
        log.info("tuning again with %d raised layers", count)
        result = quantizer.quantize(_choices(candidates[:count]))
        if count == len(candidates) or good_enough(evaluate_samples(result.graph, samples)):
            break
        count += 1
    total = sum(candidate.noise for candidate in candidates) or 1.0
    steps = tuple(Step(c.layer, c.precision, round(c.noise / total, 4)) for c in candidates[:count])
    return result, MixedPrecision(steps, before, cost_of(quantizer, _choices(candidates[:count])))


def _choices(candidates: Sequence[_Candidate]) -> Choices:
    wide = frozenset(c.name for c in candidates if c.precision is Precision.INT16)
    return Choices(wide, frozenset(c.name for c in candidates if c.precision is Precision.FLOAT))


def _fewest(
    quantizer: Quantizer,
    tuned: Mapping[str, TunedLayer],
    samples: Samples,
    good_enough: GoodEnough,
    candidates: Sequence[_Candidate],
) -> int:
    """The length of the shortest prefix that is good enough, with the layers as they were tuned at first."""
    low, high = 0, len(candidates)
    while high - low > 1:
        middle = (low + high) // 2
        choices = _choices(candidates[:middle])
        parts = quantizer.partition(choices)
        graph = quantizer.write(parts, quantizer.encodings(parts, choices), tuned)
        enough = good_enough(evaluate_samples(graph, samples))
        log.info("%d of %d layers raised: %s", middle, len(candidates), "enough" if enough else "not enough")
        low, high = (low, middle) if enough else (middle, high)
    return high


# ---------------------------------------------------------------- what each part costs alone


def _candidates(quantizer: Quantizer, tuned: Mapping[str, TunedLayer], samples: Samples) -> list[_Candidate]:
    """Every group and every layer, the noisiest first. With all layers in float any demand is met."""
    parts = quantizer.partition()
    encodings = quantizer.encodings(parts)
    chosen = [inputs for number, inputs in enumerate(samples) if number in spread(samples.count, _ALONE_SAMPLES)]
    floats = [evaluate_graph(quantizer.graph, inputs) for inputs in chosen]
    found = []
    for head in parts.sources:
        if _can_be_wide(quantizer, parts, head, tuned):
            members = {name: encodings[name] for name, first in parts.stored.items() if first == head}
            noise = sum(_noise(quantizer.graph, values, members, {}) for values in floats)
            found.append(_Candidate(head, Precision.INT16, noise, layer_of(parts, head)))
    for node in _core_nodes(parts):
        weights = {
            (key(node), position): stored.encoding.dequantize(stored.array)
            for position, stored in tuned[key(node)].weights.items()
        } if key(node) in tuned else {}  # fmt: skip
        noise = sum(_noise(quantizer.graph, values, {}, weights) for values in floats)
        found.append(_Candidate(key(node), Precision.FLOAT, noise, node.loc or key(node)))
    log.info("measured %d tensors and layers alone", len(found))
    return sorted(found, key=lambda candidate: -candidate.noise)


def _core_nodes(parts: Partition) -> Iterator[Node]:
    return (node for node in parts.graph.nodes if parts.is_integer(node) and OPS[node.op].macs is not None)


def layer_of(parts: Partition, name: str) -> str:
    """What a stored value is called in reports: the layer that makes it, or the input that it is."""
    made_by = [node.loc or key(node) for node in parts.unit_of(name)]
    return made_by[-1] if made_by else name


def _can_be_wide(quantizer: Quantizer, parts: Partition, head: str, tuned: Mapping[str, TunedLayer]) -> bool:
    """Whether 16 bits more than it has are possible: sums of products have to fit 32 bits."""
    if ACTIVATIONS[quantizer.options.activations][0] is DType.I16:
        return False
    wide = Encoding(DType.I16, (1.0,), (0,))
    members = {name for name, first in parts.stored.items() if first == head}
    for node in filter(parts.is_integer, parts.graph.nodes):
        reads = any(value.name in members for value in activations(parts.graph, node))
        if reads and node.op in LINEAR and key(node) not in tuned:
            return False
        if reads and node.op in LINEAR and not fits_accumulator(node, tuned[key(node)].weights[1], wide):
            return False
    return True


def _noise(
    graph: Graph,
    values: Arrays,
    encodings: Mapping[str, Encoding],
    constants: Mapping[tuple[str, int], np.ndarray],
) -> float:
    """The squared error at the float model's outputs, relative to each output, where only some values are rounded or
    only some operands are other constants."""
    changed = reevaluate(graph, values, encodings, constants)
    total = 0.0
    for value in graph.outputs:
        if value.name in changed:
            wanted = values[value.name].astype(np.float64)
            power = float(np.square(wanted).sum()) or 1.0
            total += float(np.square(changed[value.name] - wanted).sum()) / power
    return total


# ---------------------------------------------------------------- what a choice costs


def cost_of(quantizer: Quantizer, choices: Choices) -> Cost:
    parts = quantizer.partition(choices)
    encodings = quantizer.encodings(parts, choices)
    macs = {DType.I8: 0, DType.I16: 0, DType.F32: 0}
    for node in quantizer.graph.nodes:
        count = OPS[node.op].macs
        if count is not None:
            inner = parts.is_integer(node) and node.operands[0].name in encodings
            stored = encodings[node.operands[0].name].dtype if inner else DType.F32
            macs[DType.I16 if stored is DType.I16 else DType.F32 if stored is DType.F32 else DType.I8] += count(node)
    weights = sum(_weight_bytes(quantizer.graph, parts, node) for node in quantizer.graph.nodes)
    tensors = sum(
        value.type.size * (encodings[value.name].dtype.size if value.name in encodings else 4)
        for value in quantizer.graph.values()
        if value.name not in parts.inside
    )
    return Cost(macs[DType.I8], macs[DType.I16], macs[DType.F32], weights, tensors)


def _weight_bytes(graph: Graph, parts: Partition, node: Node) -> int:
    if OPS[node.op].macs is None:
        return 0
    constants = [value for value in node.inputs[1:] if value is not None and value.name in graph.constants]
    matrices = [value for value in constants if len(value.shape) > 1]
    stored = sum(value.type.size if parts.is_integer(node) else value.type.nbytes for value in matrices)
    return stored + sum(value.type.nbytes for value in constants if value not in matrices)

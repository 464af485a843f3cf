"""Mixed precision: what loses most gets 16 bits, or stays in float, until the result is as good as demanded.

Noise of independent roundings adds up at the outputs, so each tensor's and each layer's part is measured alone, in the
float model. The largest parts are taken away first: 16 bits for tensors, and float for layers only where that does not
do. How many it takes is found by bisection, on the quantized model itself: the parts are only an estimate of the whole.
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
from .cheap_width import can_be_wide
from .execute import GoodEnough, evaluate_samples, relative_noise
from .observe import spread
from .options import Precision
from .partition import Partition, key
from .probe import Probe
from .quantizer import Choices, Quantized, Quantizer
from .tuning import TunedLayer

log = logging.getLogger(__name__)

_ALONE_SAMPLES = 4
"""Samples on which the parts are measured."""

_MOST_TAKEN_BACK = 24
"""Candidates that are tried to be done without."""


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
    """``plain`` is the model without any raise; ``samples`` (of the float model) are what it is judged by.

    Tensors get 16 bits before any layer becomes float: that costs no weights, and no float arithmetic. Where 16 bits
    for all that can have them are not enough, the noisiest layers become float, and then tensors that need not be wide
    are bytes again. What turns out not to be needed, the quietest first, is taken back at the end."""
    before = cost_of(quantizer, Choices())
    if good_enough(evaluate_samples(plain.graph, samples)):
        return plain, MixedPrecision((), before, before)
    search = _Search(quantizer, samples, good_enough)
    wide = _wide_candidates(quantizer, samples)
    raised: Sequence[_Candidate] = wide
    result = search.tuned(wide)
    if not search.is_enough(raised, result.tuned):
        floats = _float_candidates(quantizer, plain.tuned, samples)
        count = search.fewest(lambda n: [*wide, *floats[:n]], len(floats), result.tuned)
        needed = search.fewest(lambda n: [*wide[:n], *floats[:count]], len(wide), result.tuned)
        raised, result = search.grown([*wide[:needed], *floats[:count]], [*wide[needed:], *floats[count:]])
    else:
        count = search.fewest(lambda n: wide[:n], len(wide), result.tuned)
        if count < len(wide):
            raised, result = search.grown(wide[:count], wide[count:])
    raised, result = search.shrunk(raised, result)
    total = sum(candidate.noise for candidate in raised) or 1.0
    steps = [Step(c.layer, c.precision, round(c.noise / total, 4)) for c in sorted(raised, key=lambda c: -c.noise)]
    return result, MixedPrecision(tuple(steps), before, cost_of(quantizer, _choices(raised)))


def _choices(candidates: Sequence[_Candidate]) -> Choices:
    wide = frozenset(c.name for c in candidates if c.precision is Precision.INT16)
    return Choices(wide, frozenset(c.name for c in candidates if c.precision is Precision.FLOAT))


@dataclass(frozen=True)
class _Search:
    quantizer: Quantizer
    samples: Samples
    good_enough: GoodEnough

    def tuned(self, raised: Sequence[_Candidate]) -> Quantized:
        log.info("tuning again with %d raised layers", len(raised))
        return self.quantizer.quantize(_choices(raised))

    def is_enough(self, raised: Sequence[_Candidate], tuned: Mapping[str, TunedLayer]) -> bool:
        """With layers as they were tuned for other choices."""
        choices = _choices(raised)
        parts = self.quantizer.partition(choices)
        graph = self.quantizer.write(parts, self.quantizer.encodings(parts, choices), tuned)
        return self.good_enough(evaluate_samples(graph, self.samples))

    def fewest(
        self, raised: Callable[[int], Sequence[_Candidate]], most: int, tuned: Mapping[str, TunedLayer]
    ) -> int:
        """The least number for which ``raised`` is enough, by bisection; ``most`` where none below is."""
        low, high = -1, most
        while high - low > 1:
            middle = (low + high) // 2
            enough = self.is_enough(raised(middle), tuned)
            log.info("%d of %d layers raised: %s", middle, most, "enough" if enough else "not enough")
            low, high = (low, middle) if enough else (middle, high)
        return high

    def grown(
        self, raised: Sequence[_Candidate], others: Sequence[_Candidate]
    ) -> tuple[Sequence[_Candidate], Quantized]:
        """Tuned with ``raised``, and with as many of ``others``, in order, as it takes: 1, 2, 4 ... at a time."""
        step, taken = 1, 0
        while True:
            chosen = [*raised, *others[:taken]]
            result = self.tuned(chosen)
            if taken >= len(others) or self.good_enough(evaluate_samples(result.graph, self.samples)):
                return chosen, result
            step, taken = 2 * step, taken + step

    def shrunk(self, raised: Sequence[_Candidate], result: Quantized) -> tuple[Sequence[_Candidate], Quantized]:
        """Without the candidates that the demand does not need: layers in float first, and the quietest first."""
        if not self.good_enough(evaluate_samples(result.graph, self.samples)):
            return raised, result
        kept = list(raised)
        order = sorted(raised, key=lambda candidate: (candidate.precision is Precision.INT16, candidate.noise))
        for candidate in order[:_MOST_TAKEN_BACK]:
            others = [each for each in kept if each is not candidate]
            if self.is_enough(others, result.tuned):
                kept = others
        if len(kept) == len(raised):
            return raised, result
        again = self.tuned(kept)
        is_enough = self.good_enough(evaluate_samples(again.graph, self.samples))
        return (kept, again) if is_enough else (raised, result)


# ---------------------------------------------------------------- what each part costs alone


def _some(samples: Samples) -> list[dict[str, np.ndarray]]:
    """A few of the samples."""
    return [{name: array[n] for name, array in samples.inputs.items()} for n in spread(samples.count, _ALONE_SAMPLES)]


def _wide_candidates(quantizer: Quantizer, samples: Samples) -> list[_Candidate]:
    """Every group that can have 16 bits and has not, the noisiest first."""
    parts = quantizer.partition()
    encodings = quantizer.encodings(parts)
    heads = [
        head for head in parts.sources
        if encodings[head].dtype is not DType.I16 and quantizer.interface.isdisjoint(parts.members(head))
        and can_be_wide(parts, head)
    ]  # fmt: skip
    stored = {name: head for name, head in parts.stored.items() if head in heads}
    probe = Probe.of(quantizer.graph, stored, _some(samples), len(heads))
    noise = {head: probe.noise(lambda _, head=head: {head: encodings[head]}) for head in heads}  # type: ignore[misc]
    log.info("measured %d tensors alone", len(heads))
    found = [_Candidate(head, Precision.INT16, noise[head], layer_of(parts, head)) for head in heads]
    return sorted(found, key=lambda candidate: -candidate.noise)


def _float_candidates(
    quantizer: Quantizer, tuned: Mapping[str, TunedLayer], samples: Samples
) -> list[_Candidate]:
    """Every layer, the noisiest first by what its rounded weights do alone. With all in float any demand is met."""
    graph, nodes = quantizer.graph, list(_core_nodes(quantizer.partition()))
    noise = dict.fromkeys(map(key, nodes), 0.0)
    for inputs in _some(samples):
        values = evaluate_graph(graph, inputs)
        for node in nodes:
            layer = tuned.get(key(node))
            stored = {} if layer is None else layer.weights
            weights = {(key(node), place): each.real for place, each in stored.items()}
            noise[key(node)] += relative_noise(graph, values, {}, weights) if weights else 0.0
    log.info("measured %d layers alone", len(nodes))
    found = [_Candidate(key(node), Precision.FLOAT, noise[key(node)], node.loc or key(node)) for node in nodes]
    return sorted(found, key=lambda candidate: -candidate.noise)


def _core_nodes(parts: Partition) -> Iterator[Node]:
    return (node for node in parts.graph.nodes if parts.is_integer(node) and OPS[node.op].macs is not None)


def layer_of(parts: Partition, name: str) -> str:
    """What a stored value is called in reports: the layer that makes it, or the input that it is."""
    made_by = [node.loc or key(node) for node in parts.unit_of(name)]
    return made_by[-1] if made_by else name


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

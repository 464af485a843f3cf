"""Mixed precision: as much as a demanded quality takes, at the least cost; or the best quality within a budget.

All that can be given more precision (``candidates.py``) stands in one order: by the noise that it takes away for what
it costs (``prices.py``). Of this order the shortest beginning is found, by bisection, that is as good as demanded,
judged by the quantized model itself: the parts of noise are only an estimate of the whole. Its weights are tuned
again, and what turns out not to be needed is taken back, the dearest first. Where there is no demand, it is the
longest beginning that fits the budget, judged by compiling it, with what else fits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph
from ..report.accuracy import Cost
from ..samples import Samples
from ..verification.runner import work_of
from .candidates import Candidate, Raise, choices_of, layers, wide_tensors
from .device import Meter, Price
from .execute import GoodEnough, evaluate_samples
from .halfword_layers import float_bias, halfword_weights
from .nibbles import narrow_layers, with_nibbles
from .partition import key
from .prices import Costing, Shares, cost_of
from .quantizer import Choices, Quantized, Quantizer
from .tuning import TunedLayer

log = logging.getLogger(__name__)

_MOST_TAKEN_BACK = 24
"""Trials to do without candidates, each time that weights were tuned."""
_MOST_FILLED = 12
"""Candidates that are tried beside those that fit a budget."""
_UNHEARD = 1e-3
"""The part of all noise that is not worth any of a budget."""
_ROUNDS = 3
"""Times that weights are tuned again for what is left."""
_RETUNED_WORK = 1 << 26
"""Of an evaluation of the models that are tuned for each trial, at most."""
_ABOVE = 3.0
"""The dB above a demand up to which nothing more is taken back with tuning."""
_MOST_CLOSER = 12


@dataclass(frozen=True)
class Step:
    """A layer that was given more: of its result, of its weights, or that it computes in float. ``noise_share`` is
    its estimated part of the noise at the outputs."""

    layer: str
    precision: Raise
    noise_share: float


@dataclass(frozen=True)
class MixedPrecision:
    """The steps taken, and the cost without and with them."""

    steps: tuple[Step, ...]
    before: Cost
    after: Cost


@dataclass(frozen=True)
class Aim:
    """What is wanted: outputs that are ``good_enough``, or without a demand (``None``) those of the largest ``score``
    (dB) that fits the limits of ``meter``. ``goal`` is the score that is demanded, as far as it is one, and ``asked``
    the demand in words."""

    good_enough: GoodEnough | None
    score: Callable[[Mapping[str, np.ndarray]], float]
    meter: Meter | None = None
    goal: float = np.inf
    asked: str = ""


def raise_precision(
    quantizer: Quantizer, plain: Quantized, samples: Samples, aim: Aim
) -> tuple[Quantizer, Quantized, MixedPrecision]:
    """``plain`` is the model of ``quantizer`` without any raise; ``samples`` (of the float model) are what it is judged
    by. Weights get 4 bits first where the flash that there is takes it; the quantizer that is returned has these.

    Raises ``BUDGET`` where nothing fits, or what is demanded does not, with the nearest that there is.
    """
    price = None if aim.meter is None else aim.meter(plain.graph)
    bytes_ = plain.tuned
    if price is not None and not price.fits:
        quantizer, plain, price = _narrowed(quantizer, plain, samples, aim, price)
    before = cost_of(quantizer, choices_of(()), price)
    if aim.good_enough is not None and aim.good_enough(evaluate_samples(plain.graph, samples)):
        return quantizer, plain, MixedPrecision((), before, before)
    search = _Search(quantizer, samples, aim, bytes_, plain.tuned)
    raised, result = search.run(plain, price)
    total = sum(candidate.noise for candidate in raised) or 1.0
    steps = [Step(c.layer, c.kind, round(c.noise / total, 4)) for c in sorted(raised, key=lambda c: -c.noise)]
    last = None if aim.meter is None else aim.meter(result.graph)
    return quantizer, result, MixedPrecision(tuple(steps), before, cost_of(quantizer, choices_of(raised), last))


def _narrowed(
    quantizer: Quantizer, plain: Quantized, samples: Samples, aim: Aim, price: Price
) -> tuple[Quantizer, Quantized, Price]:
    """With weights of 4 bits, for flash that is too small for bytes."""
    assert aim.meter is not None
    is_large = any(need.what == "flash" and not need.fits for need in price.needs)
    if is_large and not quantizer.nibbles and any(narrow_layers(quantizer)):
        log.info("weights of 8 bits do not fit: trying 4")
        quantizer, plain = with_nibbles(quantizer, plain, samples, None)
        price = aim.meter(plain.graph)
    if not price.fits:
        reason = f"the model does not fit even with the least precision: {price.excess()}"
        raise CcmlError(ErrorCode.BUDGET, reason, hint="raise the limit, or try --optimize size or ram, or --io int8")
    return quantizer, plain, price


@dataclass(frozen=True)
class _Search:
    """``tuned`` are the layers with weights of 8 bits, ``least`` with 4 bits where there are these."""

    quantizer: Quantizer
    samples: Samples
    aim: Aim
    tuned: Mapping[str, TunedLayer]
    least: Mapping[str, TunedLayer]
    known: dict[Choices, Quantized] = field(default_factory=dict)
    """Models that were tuned, if they are small."""

    def run(self, plain: Quantized, base: Price | None) -> tuple[Sequence[Candidate], Quantized]:
        nibbles = {name: self.least[name] for name in self.quantizer.nibbles}
        tensors = wide_tensors(self.quantizer, self.samples)
        found = [*tensors, *layers(self.quantizer, nibbles, self.tuned, self.samples)]
        costs = Costing.of(self.quantizer, self._shares(base), found, self._priced, base)
        order = _in_order(found, costs)
        if self.aim.good_enough is None:
            return self._within(order, plain)
        raised, result = self._best_good(order, costs)
        last = None if self.aim.meter is None else self._price(result.graph)
        if base is None or not base.needs or (last is not None and last.fits):
            return raised, result
        inside = self._within(order, plain)
        if self._is_good(inside[1].graph):
            return inside
        raise self._neither(inside[1], last)

    def _shares(self, base: Price | None) -> Shares:
        cost = cost_of(self.quantizer, choices_of(()))
        return Shares.of(base, cost.int8_macs + cost.int16_macs + cost.float_macs, cost.weight_bytes)

    # ------------------------------------------------------------ models

    def graph(self, raised: Sequence[Candidate], tuned: Mapping[str, TunedLayer] | None = None) -> Graph:
        """The model with layers as they were tuned for other choices: for ``raised`` less some, or else for none."""
        choices = choices_of(raised)
        parts = self.quantizer.partition(choices)
        encodings = self.quantizer.encodings(parts, choices)
        chosen = dict(self.tuned if tuned is None else tuned)
        for name in self.quantizer.nibbles:
            if name not in choices.bytes | choices.halfwords:
                chosen[name] = self.least[name]
            elif tuned is None:
                chosen[name] = self.tuned[name]
        graph, per_channel = self.quantizer.graph, self.quantizer.options.per_channel
        for node in graph.nodes:
            name = key(node)
            if parts.is_integer(node) and name in self.quantizer.halfword_layers(choices):
                weights = halfword_weights(graph, node, encodings[node.operands[0].name], per_channel)
                chosen[name] = TunedLayer({1: weights}, float_bias(graph, node))
            elif name in self.tuned and _is_of_halfwords(chosen.get(name)):
                chosen[name] = self.tuned[name]
        missing = {name: layer for name, layer in self.tuned.items() if name not in chosen}
        return self.quantizer.write(parts, encodings, {**chosen, **missing})

    def retuned(self, raised: Sequence[Candidate]) -> Quantized:
        """Each only once: different orders come to the same choices."""
        choices = choices_of(raised)
        if not self._is_small:
            return self.quantizer.quantize(choices)
        if choices not in self.known:
            log.info("tuning again with %d raised layers", len(raised))
            self.known[choices] = self.quantizer.quantize(choices)
        return self.known[choices]

    def _is_good(self, graph: Graph) -> bool:
        assert self.aim.good_enough is not None
        return self.aim.good_enough(evaluate_samples(graph, self.samples))

    def _price(self, graph: Graph) -> Price | None:
        """``None`` where not even a program could be made within the limits."""
        assert self.aim.meter is not None
        try:
            return self.aim.meter(graph)
        except CcmlError as problem:
            if problem.kind is not ErrorCode.BUDGET:
                raise
            return None

    def _priced(self, raised: Sequence[Candidate]) -> Price | None:
        return None if self.aim.meter is None else self._price(self.graph(raised))

    def _fits(self, graph: Graph) -> bool:
        price = self._price(graph)
        return price is not None and price.fits

    # ------------------------------------------------------------ as good as demanded

    @property
    def _is_small(self) -> bool:
        return work_of(self.quantizer.graph) <= _RETUNED_WORK

    def _best_good(self, order: Sequence[Candidate], costs: Costing) -> tuple[Sequence[Candidate], Quantized]:
        """The cheapest of what several orders give, for small models: rounding of weights makes up for that of tensors
        in part, which the noise of each alone does not tell."""
        found = [self._good(order, costs)]
        if self._is_small and found[0][0]:
            found += [self._good(other, costs) for other in _other_orders(order)]
        good = [each for each in found if self._is_good(each[1].graph)]
        return min(good or found, key=lambda each: self._cost(each, costs))

    def _cost(self, found: tuple[Sequence[Candidate], Quantized], costs: Costing) -> float:
        """The largest share of a limit, or else what the candidates are estimated to cost."""
        price = self._price(found[1].graph) if self.aim.meter is not None else None
        return price.worst if price is not None and price.needs else sum(map(costs, found[0]))

    def _good(self, order: Sequence[Candidate], costs: Costing) -> tuple[Sequence[Candidate], Quantized]:
        """Small models are tuned anew at each step."""
        is_small = self._is_small
        count = _bisected(lambda n: self._is_good(self.graph(order[:n])), len(order))
        if is_small:
            count = _bisected(lambda n: self._is_good(self.retuned(order[:n]).graph), count)
        raised, result = self._grown(order, count)
        for _ in range(_ROUNDS):
            kept = self._shrunk(raised, result, costs)
            if len(kept) == len(raised):
                break
            again = self.retuned(kept)
            if not self._is_good(again.graph):
                break
            raised, result = kept, again
        return self._closer(raised, result, costs) if is_small else (raised, result)

    def _closer(
        self, raised: Sequence[Candidate], result: Quantized, costs: Costing
    ) -> tuple[Sequence[Candidate], Quantized]:
        """Without candidates whose lack tuning makes up for, as long as the model is much better than demanded."""
        for candidate in sorted(raised, key=costs, reverse=True)[:_MOST_CLOSER]:
            if self._score(result.graph) <= self.aim.goal + _ABOVE:
                break
            others = [each for each in raised if each is not candidate]
            again = self.retuned(others)
            if self._is_good(again.graph):
                raised, result = others, again
        return raised, result

    def _grown(self, order: Sequence[Candidate], count: int) -> tuple[Sequence[Candidate], Quantized]:
        """Tuned with the first ``count``, and with as many of the others as it takes: 1, 2, 4 ... at a time."""
        step = 1
        while True:
            result = self.retuned(order[:count])
            if count >= len(order) or self._is_good(result.graph):
                return order[:count], result
            count, step = min(len(order), count + step), 2 * step

    def _shrunk(self, raised: Sequence[Candidate], result: Quantized, costs: Costing) -> Sequence[Candidate]:
        """Without the candidates that the demand does not need, the dearest first: in quarters, eighths, ... of all,
        and at last one by one."""
        if not self._is_good(result.graph):
            return raised
        kept, trials = sorted(raised, key=costs, reverse=True), _MOST_TAKEN_BACK
        size = max(1, len(kept) // 4)
        while trials > 0:
            start = 0
            while start < len(kept) and trials > 0:
                others = kept[:start] + kept[start + size :]
                trials -= 1
                if self._is_good(self.graph(others, result.tuned)):
                    kept = others
                else:
                    start += size
            if size == 1:
                break
            size //= 2
        return kept

    # ------------------------------------------------------------ within the limits

    def _within(self, order: Sequence[Candidate], plain: Quantized) -> tuple[Sequence[Candidate], Quantized]:
        """What has the best score of what fits; nothing where that is no better."""
        least = _UNHEARD * sum(each.noise for each in order)
        order = [each for each in order if each.noise > least]
        best: tuple[Sequence[Candidate], Quantized] = ([], plain)
        for some in [order, *_other_orders(order)] if self._is_small else [order]:
            found = self._filled(some)
            if found is not None and self._score(found[1].graph) > self._score(best[1].graph):
                best = found
        return best

    def _filled(self, order: Sequence[Candidate]) -> tuple[Sequence[Candidate], Quantized] | None:
        """The longest beginning of ``order`` that fits, with what else fits."""
        count = _bisected(lambda n: not self._fits(self.graph(order[: n + 1])), len(order))
        raised = list(order[:count])
        for candidate in order[count + 1 : count + 1 + _MOST_FILLED]:
            if self._fits(self.graph([*raised, candidate])):
                raised.append(candidate)
        while raised:
            result = self.retuned(raised)
            if self._fits(result.graph):
                return raised, result
            raised.pop()
        return None

    def _score(self, graph: Graph) -> float:
        return self.aim.score(evaluate_samples(graph, self.samples))

    def _neither(self, inside: Quantized, demanded: Price | None) -> CcmlError:
        """What is reached within the limits, and what the demand takes."""
        what = "more than there is" if demanded is None else demanded.excess()
        reason = f"{self.aim.asked} and the budget do not go together: it takes {what}"
        hint = f"the budget allows --min-sqnr {np.floor(10 * self._score(inside.graph)) / 10:.1f}"
        if demanded is not None:
            hint += f"; {self.aim.asked} takes {demanded.amounts()}"
        return CcmlError(ErrorCode.BUDGET, reason, hint=hint)


def _other_orders(order: Sequence[Candidate]) -> list[list[Candidate]]:
    """Tensors before weights, and the noisiest first."""
    first = [each for each in order if each.kind is not Raise.FLOAT]
    floats = [each for each in order if each.kind is Raise.FLOAT]
    loud = [*sorted(first, key=lambda each: -each.noise), *sorted(floats, key=lambda each: -each.noise)]
    return [sorted(order, key=lambda each: each.kind is not Raise.INT16), loud]


def _is_of_halfwords(layer: TunedLayer | None) -> bool:
    return layer is not None and any(each.encoding.dtype.size > 1 for each in layer.weights.values())


def _bisected(is_true: Callable[[int], bool], most: int) -> int:
    """The least number for which something is true, where it stays so for larger ones; ``most`` where none below is."""
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        found = is_true(middle)
        log.info("%d of %d raised: %s", middle, most, "enough" if found else "not enough")
        low, high = (low, middle) if found else (middle, high)
    return high


def _in_order(candidates: Sequence[Candidate], costs: Costing) -> list[Candidate]:
    """By the noise for what it costs. Of more precise weights and float a layer has what is cheaper; where all of that
    is not enough, all layers are in float in the end."""
    cheaper: dict[str, Candidate] = {}
    for each in candidates:
        if each.kind in (Raise.HALFWORDS, Raise.FLOAT):
            known = cheaper.get(each.name)
            if known is None or costs(each) < costs(known):
                cheaper[each.name] = each
    first = [each for each in candidates if each.kind in (Raise.INT16, Raise.BYTES) or each in cheaper.values()]
    quiet = [each for each in first if each.noise <= 0 and each.kind is not Raise.INT16]
    first = sorted((each for each in first if each not in quiet), key=lambda each: -each.noise / costs(each))
    floats = [each for each in candidates if each.kind is Raise.FLOAT and each not in first]
    return [*first, *sorted(floats, key=lambda each: -each.noise / costs(each))]

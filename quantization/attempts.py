"""Models of mixed precision as they are tried: written, tuned, judged and priced, each at most once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import field, replace

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph
from ..record import record
from ..verification.runner import work_of
from .candidates import choices_of
from .execute import GoodEnough
from .front import Chosen
from .halfword_layers import float_bias, halfword_weights
from .judged import Judged
from .meter import Meter, Price
from .partition import key
from .quantizer import Choices, Quantized, Quantizer
from .tuning import TunedLayer

log = logging.getLogger(__name__)

_SMALL_WORK = 1 << 26
"""Of an evaluation of the models that are tuned for each attempt, at most."""


@record
class Aim:
    """What is wanted: outputs that are ``good_enough``, or without a demand (``None``) those of the largest ``score``
    (dB) that fits the limits of ``meter``. ``goal`` is the score that is demanded, as far as it is one, and ``asked``
    the demand in words."""

    good_enough: GoodEnough | None
    score: Callable[[Mapping[str, np.ndarray]], float]
    meter: Meter | None = None
    goal: float = np.inf
    asked: str = ""
    thorough: bool = True
    """Whether neighbours of what estimates show to be best are tried as well."""


@record
class Attempt:
    """A model with candidates ``raised``, tuned with these: its score in dB, and whether it is as good as demanded.
    The steps of their 16 bits are ``coarser`` than these need."""

    raised: Chosen
    result: Quantized
    score: float
    is_good: bool
    coarser: float = 1.0


@record
class Attempts:
    """``tuned`` are the layers with weights of 8 bits, ``least`` with 4 bits where there are these, both without any
    candidate raised; ``judged`` is what is judged by."""

    quantizer: Quantizer
    judged: Judged
    aim: Aim
    tuned: Mapping[str, TunedLayer]
    least: Mapping[str, TunedLayer]
    _known: dict[Choices, Attempt] = field(default_factory=dict)
    _prices: dict[tuple[Choices, bool], Price | None] = field(default_factory=dict)
    """Of choices, and whether tuned for these."""

    @property
    def is_small(self) -> bool:
        return work_of(self.quantizer.graph) <= _SMALL_WORK

    def attempt(self, raised: Chosen) -> Attempt:
        choices = choices_of(raised)
        if choices not in self._known:
            log.info("tuning again with %d raised", len(raised))
            result = (self.quantizer.quantize if self.aim.thorough else self.quantizer.quantize_roughly)(choices)
            self._known[choices] = self._tuned(raised, result)
        return self._known[choices]

    def known(self, raised: Chosen, result: Quantized) -> Attempt:
        """An attempt whose model is there already."""
        found = self._tuned(raised, result)
        return self._known.setdefault(choices_of(raised), found)

    def coarser(self, best: Attempt, part: float) -> Attempt:
        """``best``, tuned with 16 bits whose steps are so much coarser."""
        choices = replace(choices_of(best.raised), coarser=part)
        result = self.quantizer.quantize(choices)
        return self._tuned(best.raised, result, part)

    def _tuned(self, raised: Chosen, result: Quantized, coarser: float = 1.0) -> Attempt:
        choices = replace(choices_of(raised), coarser=coarser)

        def written(quantizer: Quantizer) -> Graph:
            return result.graph if quantizer is self.quantizer else quantizer.rewritten(result.tuned, choices)

        return Attempt(raised, result, *self._verdict(written), coarser)

    def untuned(
        self, raised: Chosen, tuned: Mapping[str, TunedLayer] | None = None, coarser: float = 1.0
    ) -> Attempt:
        """With layers as they were ``tuned`` for other choices: for ``raised`` and more, or else for none."""
        graph = self.graph(raised, tuned, coarser)

        def written(quantizer: Quantizer) -> Graph:
            return graph if quantizer is self.quantizer else self._written(quantizer, raised, tuned, coarser)

        layers = self.tuned if tuned is None else tuned
        return Attempt(raised, Quantized(graph, layers), *self._verdict(written), coarser)

    def _verdict(self, written: Callable[[Quantizer], Graph]) -> tuple[float, bool]:
        outputs = self.judged.outputs(self.quantizer, written)
        return self.aim.score(outputs), self.aim.good_enough is None or self.aim.good_enough(outputs)

    def graph(self, raised: Chosen, tuned: Mapping[str, TunedLayer] | None = None, coarser: float = 1.0) -> Graph:
        """That of :meth:`untuned`."""
        return self._written(self.quantizer, raised, tuned, coarser)

    def _written(
        self, quantizer: Quantizer, raised: Chosen, tuned: Mapping[str, TunedLayer] | None, coarser: float
    ) -> Graph:
        choices = replace(choices_of(raised), coarser=coarser)
        parts = quantizer.partition(choices)
        encodings = quantizer.encodings(parts, choices)
        chosen = dict(self.tuned if tuned is None else tuned)
        for name in quantizer.nibbles:
            if name not in choices.bytes | choices.halfwords:
                chosen[name] = self.least[name]
            elif tuned is None:
                chosen[name] = self.tuned[name]
        graph, per_channel = quantizer.graph, quantizer.options.per_channel
        for node in graph.nodes:
            name = key(node)
            if parts.is_integer(node) and name in quantizer.halfword_layers(choices):
                part = coarser if name in choices.halfwords else 1.0
                weights = halfword_weights(graph, node, encodings[node.operands[0].name], per_channel, part)
                chosen[name] = TunedLayer({1: weights}, float_bias(graph, node))
            elif name in self.tuned and _is_of_halfwords(chosen.get(name)):
                chosen[name] = self.tuned[name]
        missing = {name: layer for name, layer in self.tuned.items() if name not in chosen}
        return quantizer.write(parts, encodings, {**chosen, **missing})

    # ------------------------------------------------------------ prices

    def price(self, attempt: Attempt) -> Price | None:
        """``None`` where not even a program could be made within the limits."""
        choices = replace(choices_of(attempt.raised), coarser=attempt.coarser)
        return self._price(choices, attempt.result.graph)

    def untuned_price(self, raised: Chosen) -> Price | None:
        """As :meth:`price`, without tuning."""
        return self._price(choices_of(raised), None, raised)

    def _price(self, choices: Choices, tuned: Graph | None, raised: Chosen = ()) -> Price | None:
        assert self.aim.meter is not None
        known = choices, tuned is not None
        if known not in self._prices:
            try:
                self._prices[known] = self.aim.meter(self.graph(raised) if tuned is None else tuned)
            except CcmlError as problem:
                if problem.kind is not ErrorCode.BUDGET:
                    raise
                self._prices[known] = None
        return self._prices[known]

    def fits(self, attempt: Attempt) -> bool:
        price = None if self.aim.meter is None else self.price(attempt)
        return self.aim.meter is None or (price is not None and price.fits)

    def seems_to_fit(self, raised: Chosen) -> bool:
        """Without tuning."""
        price = self.untuned_price(raised)
        return price is not None and price.fits


def _is_of_halfwords(layer: TunedLayer | None) -> bool:
    return layer is not None and any(each.encoding.dtype.size > 1 for each in layer.weights.values())

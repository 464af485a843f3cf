"""Mixed precision: as much as a demanded quality takes, at the least cost; or the best quality within a budget.

All that can be given more precision (``candidates.py``) is estimated by the noise that it takes away and by what it
costs (``prices.py``). ``search.py`` finds the choice among them, which tuned models and compilations judge.
"""

from __future__ import annotations

import logging

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..record import record
from ..report.accuracy import Cost
from .attempts import Aim, Attempt, Attempts
from .candidates import Raise, choices_of, layers, wide_tensors
from .judged import Judged
from .meter import Price
from .nibbles import narrowed
from .prices import Costing, Shares, cost_of
from .quantizer import Quantized, Quantizer
from .search import Search, bisected, default_of

log = logging.getLogger(__name__)

_MOST_ABOVE = 3.0
"""In dB, what a model is better than demanded at most, as far as 16 bits decide."""
_COARSENINGS = 33
"""Steps that are tried are up to 2^8 times as coarse, and then no finer than those of bytes."""
_RETRIED = 4
"""Tuned models that may miss what the same steps reach without tuning."""


@record
class Step:
    """A layer that was given more: of its result, of its weights, or that it computes in float. ``noise_share`` is
    its estimated part of the noise at the outputs."""

    layer: str
    precision: Raise
    noise_share: float


@record
class MixedPrecision:
    """The steps taken, and the cost without and with them."""

    steps: tuple[Step, ...]
    before: Cost
    after: Cost


def raise_precision(
    quantizer: Quantizer, plain: Quantized, judged: Judged, aim: Aim
) -> tuple[Quantizer, Quantized, MixedPrecision]:
    """``plain`` is the model of ``quantizer`` without any raise; ``judged`` is what it is judged by. Weights
    get 4 bits where 8 do not fit; the quantizer that is returned has these.

    Raises ``BUDGET`` where nothing fits, or what is demanded does not, with the nearest that there is.
    """
    price = None if aim.meter is None else aim.meter(plain.graph)
    start = Attempts(quantizer, judged, aim, plain.tuned, plain.tuned)
    first = start.known((), plain)
    if aim.good_enough is not None and first.is_good and (price is None or price.fits):
        cost = cost_of(quantizer, choices_of(()), price)
        return quantizer, plain, MixedPrecision((), cost, cost)
    attempts, best = _found(start, plain, price)
    best = _coarsened(attempts, best)
    result = best.result
    if not aim.thorough and result is not plain:
        result = attempts.quantizer.with_exact_scales(result, choices_of(best.raised))
    total = sum(candidate.noise for candidate in best.raised) or 1.0
    raised = sorted(best.raised, key=lambda each: -each.noise)
    steps = tuple(Step(each.layer, each.kind, round(each.noise / total, 4)) for each in raised)
    prices = [None if aim.meter is None else attempts.price(each) for each in (attempts.attempt(()), best)]
    before, after = (cost_of(attempts.quantizer, choices_of(some), price)
                     for some, price in zip(((), best.raised), prices))  # fmt: skip
    return attempts.quantizer, result, MixedPrecision(steps, before, after)


def _coarsened(attempts: Attempts, best: Attempt) -> Attempt:
    """``best``, or where 16 bits are far more than is demanded the same with coarser steps: 16 bits that are not full
    have sums that fit 32 bits sooner, and tensors with room for what was not observed."""
    goal = attempts.aim.goal
    if not (attempts.aim.thorough and best.is_good and goal + _MOST_ABOVE < best.score < np.inf):
        return best
    parts = np.exp2(np.arange(_COARSENINGS) / 4.0)
    count = bisected(lambda n: not attempts.untuned(best.raised, best.result.tuned, parts[n]).is_good, _COARSENINGS)
    for part in parts[max(0, count - _RETRIED) : count][::-1]:
        found = attempts.coarser(best, float(part))
        if found.is_good and attempts.fits(found):
            return found
    return best


def _found(start: Attempts, plain: Quantized, price: Price | None) -> tuple[Attempts, Attempt]:
    """What is best, of weights of 4 bits where 8 do not fit."""
    aim, taken = start.aim, None
    narrow: list[tuple[Attempts, Attempt]] = []
    if price is not None and not price.fits and not start.quantizer.nibbles:
        narrow = _of_nibbles(start, plain)
    inside = [(attempts, found) for attempts, found in narrow if attempts.fits(found)]
    bases = [*(attempts for attempts, _ in narrow[:1]), *([] if inside else [start])]
    for attempts in bases:
        search = _search(attempts, price if attempts is start else attempts.price(attempts.attempt(())))
        if aim.good_enough is not None:
            demanded = search.demanded()
            if (demanded.is_good and attempts.fits(demanded)) or price is None or not price.needs:
                return attempts, demanded
            taken = taken or attempts.price(demanded)
        found = search.within()
        inside += [] if found is None else [(attempts, found)]
    attempts, nearest = max(inside, key=lambda each: (each[1].is_good, each[1].score), default=(start, None))
    if nearest is not None and nearest.is_good:
        return attempts, nearest
    if nearest is None:
        reason = f"the model does not fit even with the least precision: {_excess(bases[0])}"
        raise CcmlError(ErrorCode.BUDGET, reason, hint="raise the limit, or try --optimize size or ram, or --io int8")
    raise _neither(aim, nearest, taken)


def _search(attempts: Attempts, base: Price | None) -> Search:
    quantizer, samples = attempts.quantizer, attempts.judged.samples
    nibbles = {name: attempts.least[name] for name in quantizer.nibbles}
    found = [*wide_tensors(quantizer, samples), *layers(quantizer, nibbles, attempts.tuned, samples)]
    cost = cost_of(quantizer, choices_of(()))
    shares = Shares.of(base, cost.int8_macs + cost.int16_macs + cost.float_macs, cost.weight_bytes)
    price = None if attempts.aim.meter is None else lambda raised: attempts.untuned_price(tuple(raised))
    return Search(attempts, found, Costing.of(quantizer, shares, found, price, base))


def _of_nibbles(start: Attempts, plain: Quantized) -> list[tuple[Attempts, Attempt]]:
    """With weights of 4 bits and more and more of 8 among them, each with and without the tensors that are wide by
    default; none where no layer can have 4."""
    log.info("weights of 8 bits do not fit: trying 4")
    default = default_of(start.quantizer, wide_tensors(start.quantizer, start.judged.samples))
    found: list[tuple[Attempts, Attempt]] = []
    for quantizer, least in narrowed(start.quantizer, start.judged.samples):
        attempts = Attempts(quantizer, start.judged, start.aim, plain.tuned, least.tuned)
        found += [(attempts, attempts.known((), least)), (attempts, attempts.attempt(default))]
    return found


def _excess(attempts: Attempts) -> str:
    price = attempts.price(attempts.attempt(()))
    return "no program could be made within the limits" if price is None else price.excess()


def _neither(aim: Aim, inside: Attempt, demanded: Price | None) -> CcmlError:
    """What is reached within the limits, and what the demand takes."""
    what = "more than there is" if demanded is None else demanded.excess()
    reason = f"{aim.asked} and the budget do not go together: it takes {what}"
    hint = f"the budget allows --min-sqnr {np.floor(10 * inside.score) / 10:.1f}"
    if demanded is not None:
        hint += f"; {aim.asked} takes {demanded.amounts()}"
    return CcmlError(ErrorCode.BUDGET, reason, hint=hint)

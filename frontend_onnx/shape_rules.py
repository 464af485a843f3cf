"""Rules of operators on the numbers of shapes: polynomials of extents that a result holds, by those of its operands."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..ops.attributes import Attrs, flag, integer, ints
from .counts import Counts
from .polynomials import Polynomial

Rule = Callable[[Counts, Sequence[Sequence[Polynomial]], Attrs, str], "list[Polynomial] | None"]


def _paired(combine: Callable[[Counts, Polynomial, Polynomial, str], Polynomial | None]) -> Rule:
    """Element by element; a single number stands beside each."""

    def rule(counts: Counts, known: Sequence[Sequence[Polynomial]], attrs: Attrs, loc: str) -> list[Polynomial] | None:
        size = max(map(len, known))
        if any(len(each) not in (1, size) for each in known):
            return None
        found: list[Polynomial] = []
        for place in range(size):
            one, two = (each[place if len(each) == size else 0] for each in known)
            made = combine(counts, one, two, loc)
            if made is None:
                return None
            found.append(made)
        return found

    return rule


def _divided(counts: Counts, a: Polynomial, b: Polynomial, loc: str) -> Polynomial | None:
    exact = a.divided(b)
    if exact is not None:
        return exact
    if b.number is None or b.number <= 0 or counts.span(a)[0] < 0:
        return None
    return counts.quotient(a, b.number, loc)


def _concat(counts: Counts, known: Sequence[Sequence[Polynomial]], attrs: Attrs, loc: str) -> list[Polynomial]:
    return [entry for part in known for entry in part]


def _gather(counts: Counts, known: Sequence[Sequence[Polynomial]], attrs: Attrs, loc: str) -> list[Polynomial] | None:
    places = [entry.number for entry in known[1]]
    if any(place is None or not 0 <= place < len(known[0]) for place in places):
        return None
    return [known[0][place] for place in places if place is not None]


def _scatter(counts: Counts, known: Sequence[Sequence[Polynomial]], attrs: Attrs, loc: str) -> list[Polynomial] | None:
    """A shape in which some entries are others: what ``index_copy`` repeats its places to."""
    found = list(known[0])
    for place, entry in zip(known[1], known[2]):
        if place.number is None or attrs["reduction"] != "none":
            return None
        if 0 <= place.number < len(found):
            found[place.number] = entry
    return found


def _slice(counts: Counts, known: Sequence[Sequence[Polynomial]], attrs: Attrs, loc: str) -> list[Polynomial] | None:
    starts, steps, sizes = (ints(attrs, name) for name in ("starts", "steps", "sizes"))
    return [known[0][starts[0] + n * steps[0]] for n in range(sizes[0])] if len(sizes) == 1 else None


def _same(counts: Counts, known: Sequence[Sequence[Polynomial]], attrs: Attrs, loc: str) -> list[Polynomial]:
    return list(known[0])


def _expand(counts: Counts, known: Sequence[Sequence[Polynomial]], attrs: Attrs, loc: str) -> list[Polynomial] | None:
    shape = ints(attrs, "shape")
    return list(known[0]) * shape[0] if len(shape) == 1 == len(known[0]) else list(known[0])


def _reduce(counts: Counts, known: Sequence[Sequence[Polynomial]], attrs: Attrs, loc: str) -> list[Polynomial] | None:
    """The product of all numbers of a shape, or their sum."""
    kind = attrs["kind"]
    if kind not in ("prod", "sum"):
        return None
    total: Polynomial | None = Polynomial.constant(1 if kind == "prod" else 0)
    for entry in known[0]:
        total = None if total is None else _times(total, entry) if kind == "prod" else total + entry
    return None if total is None else [total]


def _times(a: Polynomial, b: Polynomial) -> Polynomial | None:
    """The product; ``None`` where it would have too many terms to be followed."""
    return a * b if a.is_short_times(b) else None


def _where(counts: Counts, known: Sequence[Sequence[Polynomial]], attrs: Attrs, loc: str) -> list[Polynomial] | None:
    """By conditions that are the same in each run, such as whether an extent is -1."""
    size = max(map(len, known))
    if any(len(each) not in (1, size) for each in known):
        return None
    found: list[Polynomial] = []
    for place in range(size):
        condition, one, two = (each[place if len(each) == size else 0] for each in known)
        if condition.number is None:
            return None
        found.append(one if condition.number else two)
    return found


COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def comparison(counts: Counts, op: str, known: Sequence[Sequence[Polynomial]]) -> list[bool] | None:
    """The results of a comparison where they are the same whatever the extents are: of a length with -1."""
    size = max(map(len, known))
    if any(len(each) not in (1, size) for each in known):
        return None
    found: list[bool] = []
    for place in range(size):
        one, two = (each[place if len(each) == size else 0] for each in known)
        low, high = counts.span(one - two)
        if low <= 0 <= high and low != high:
            return None
        found.append(COMPARISONS[op](low, 0))
    return found


def _mod(counts: Counts, known: Sequence[Sequence[Polynomial]], attrs: Attrs, loc: str) -> list[Polynomial] | None:
    return None if flag(attrs, "fmod") else _paired(Counts.remainder)(counts, known, attrs, loc)


def _neg(counts: Counts, known: Sequence[Sequence[Polynomial]], attrs: Attrs, loc: str) -> list[Polynomial]:
    return [Polynomial.constant(0) - entry for entry in known[0]]


def _clip(counts: Counts, known: Sequence[Sequence[Polynomial]], attrs: Attrs, loc: str) -> list[Polynomial]:
    low, high = (Polynomial.constant(integer(attrs, name)) for name in ("lo", "hi"))
    return [counts.least_of(counts.greatest_of(entry, low, loc), high, loc) for entry in known[0]]


RULES: Mapping[str, Rule] = {
    "mod": _mod, "neg": _neg, "clip": _clip, "scatter": _scatter,
    "concat": _concat, "gather": _gather, "slice": _slice, "reshape": _same, "cast": _same, "expand": _expand,
    "reduce": _reduce, "add": _paired(lambda counts, a, b, loc: a + b), "sub": _paired(lambda counts, a, b, loc: a - b),
    "mul": _paired(lambda counts, a, b, loc: _times(a, b)), "div": _paired(_divided),
    "min": _paired(lambda counts, a, b, loc: counts.least_of(a, b, loc)),
    "where": _where, "max": _paired(lambda counts, a, b, loc: counts.greatest_of(a, b, loc)),
}  # fmt: skip
"""By operator: the numbers of its result."""

VIEWS = ("reshape", "slice", "transpose")
"""What moves elements, whatever the rank."""

MOVED: Mapping[str, Callable[..., Any]] = {
    "concat": _concat, "gather": _gather, "slice": _slice, "reshape": _same, "expand": _expand,
}  # fmt: skip
"""Rules that take entries as they are, be they polynomials or ratios."""

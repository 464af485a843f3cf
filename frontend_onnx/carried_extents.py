"""Carried values of a loop whose extents change from pass to pass: they grow by rows, or a pass finds how much is left.

Their shape is that of the greatest extent. Where each pass adds as much, the number of the pass tells the extent, so
that values which grow alike have the same; else the extent is a carried value itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..ir.graph import AttrValue, Value
from ..record import record
from .folding import FoldingBuilder
from .polynomials import Polynomial
from .probe import MARK
from .tensors import MAX_ELEMENTS

Place = tuple[int, int]
"""Number of a carried value, and a dimension of it."""


@record
class Change:
    """``bound`` is the greatest extent, ``step`` what each pass adds; ``None`` where each finds the extent anew.
    What is beyond a bound that is ``named`` by the user is left out."""

    bound: int
    step: Polynomial | None = None
    named: bool = False


@record
class Limits:
    """What bounds a loop: ``passes`` where known, and the extents that the user gives by the number of the value."""

    passes: int | None
    named: Mapping[int, int] = field(default_factory=dict)


class UnboundedError(Exception):
    """The carried value ``number`` grows, and nothing says how far."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass
class CarriedExtents:
    """Those of a loop over ``initial``, whose passes change some of them as ``changes`` says."""

    builder: FoldingBuilder
    initial: Sequence[Value]
    changes: Mapping[Place, Change]
    loc: str

    @property
    def found(self) -> list[Place]:
        """Whose extents are carried values."""
        return [place for place, change in self.changes.items() if change.step is None]

    @property
    def by_passes(self) -> bool:
        """Whether extents follow from the number of passes."""
        return any(change.step is not None for change in self.changes.values())

    def first(self) -> tuple[list[Value], list[Value]]:
        """The initial values in the shapes that they are carried in, and the extents that are carried."""
        values = [self._fitted(value, self._bounds(n, value)) for n, value in enumerate(self.initial)]
        return values, [self.builder.counts.value(self._initial(place), self.loc) for place in self.found]

    def begin(self, number: Value, limit: int | None, formals: Sequence[Value], counts: Sequence[Value]) -> None:
        """Says the extents of the formal values in a pass; ``counts`` are the formal values of carried extents."""
        builder, found = self.builder, dict(zip(self.found, counts))
        if not self.changes:
            return
        passes = builder.counts.atom(self._copy(number), MAX_ELEMENTS if limit is None else limit)
        self._note_kept(formals)
        for (n, axis), change in self.changes.items():
            if change.step is None:
                count = self._copy(found[n, axis])
                builder.counts.atom(count, change.bound)
            else:
                count = builder.counts.value(self._initial((n, axis)) + passes * change.step, self.loc)
            builder.extents[formals[n].name] = {**builder.extents[formals[n].name], axis: count}

    def end(self, formals: Sequence[Value], new: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        """The results of a pass in the shapes of the formal values, and the extents that are carried."""
        counts = self.builder.counts
        found = []
        for n, axis in self.found:
            count, most = self._extent(new[n], axis), self.changes[n, axis].bound
            if counts.span(count)[1] > most:
                count = counts.least_of(count, Polynomial.constant(most), self.loc)
            found.append(counts.value(count, self.loc))
        values = list(new)
        for n in sorted({n for n, _ in self.changes}):
            extents = self.builder.extents_of(new[n], self.loc)
            values[n] = self._fitted(new[n], formals[n].shape)
            self.builder.extents.setdefault(values[n].name, extents)
        return values, found

    def last(self, values: Sequence[Value], counts: Sequence[Value], passes: Polynomial) -> None:
        """Says the extents of the results, behind ``passes``; ``counts`` are those that were carried."""
        builder, found = self.builder, dict(zip(self.found, counts))
        self._note_kept(values)
        for (n, axis), change in self.changes.items():
            if change.step is None:
                extent = builder.counts.atom(found[n, axis], change.bound)
            else:
                extent = self._initial((n, axis)) + passes * change.step
            if extent.number != values[n].shape[axis]:
                count = builder.counts.value(extent, self.loc)
                builder.extents[values[n].name] = {**builder.extents[values[n].name], axis: count}

    def _note_kept(self, values: Sequence[Value]) -> None:
        """Says the extents that stay those of the initial values, of all whose others change."""
        for n in {n for n, _ in self.changes}:
            extents = self.builder.extents_of(self.initial[n], self.loc)
            self.builder.extents[values[n].name] = {a: e for a, e in extents.items() if (n, a) not in self.changes}

    # ---- what changes

    def changed(self, formals: Sequence[Value], new: Sequence[Value], limits: Limits) -> dict[Place, Change]:
        """What else a pass changes than was thought. Raises :class:`UnboundedError` where nothing that changes has a
        bound: one may limit the passes, and so the others."""
        found: dict[Place, Change] = {}
        places = [
            (n, axis) for n, (formal, value) in enumerate(zip(formals, new)) if len(formal.shape) == len(value.shape)
            for axis in range(len(formal.shape))
        ]  # fmt: skip
        while True:
            unbounded: list[Place] = []
            for n, axis in places:
                try:
                    change = self._change((n, axis), formals[n], new[n], limits)
                except UnboundedError:
                    unbounded.append((n, axis))
                    continue
                if change is not None:
                    found[n, axis] = change
            passes = replace(self, changes=found).passes(limits)
            if not unbounded:
                return found
            if passes == limits.passes:
                raise UnboundedError(unbounded[0][0])
            places, limits = unbounded, replace(limits, passes=passes)

    def _change(self, place: Place, formal: Value, value: Value, limits: Limits) -> Change | None:
        n, axis = place
        counts, old, new = self.builder.counts, self._extent(formal, axis), self._extent(value, axis)
        more, known = new - old, self.changes.get(place)
        if old.number is not None or new.number is not None:
            more = self._static(more)
        wider = value.shape[axis] - formal.shape[axis]
        if known is None:
            if not more.terms and (wider == 0 or axis in self.builder.extents_of(formal, self.loc)):
                return None
            return self._first_change(place, more, wider, limits)
        if known.step is not None:
            return None if known.step == more else self._found_change(place, more, wider, limits)
        if known.named or counts.span(new)[1] <= known.bound:
            return None
        if known.bound == self.initial[n].shape[axis]:  # it was thought to shrink
            return self._found_change(place, more, wider, limits)
        if limits.passes is None or self._most(place) + counts.span(more)[1] * limits.passes > known.bound:
            raise UnboundedError(n)
        return None

    def _first_change(self, place: Place, more: Polynomial, wider: int, limits: Limits) -> Change:
        counts = self.builder.counts
        low, high = counts.span(more)
        if low < 0 or high == 0 or counts.depth(more) > self.builder.depth_of_nodes:
            return self._found_change(place, more, wider, limits)
        passes = self.passes_within(place, more, limits)
        if passes != limits.passes and not counts.is_static(self._initial(place)):
            return self._found_change(place, more, wider, limits)  # there is no telling for how many passes is room
        if passes is None:
            raise UnboundedError(place[0])
        return Change(self._most(place) + high * passes, more)

    def _found_change(self, place: Place, more: Polynomial, wider: int, limits: Limits) -> Change:
        n, axis = place
        named, most = limits.named.get(n), self._most(place)
        if wider <= 0 and place not in self.changes:
            return Change(self.initial[n].shape[axis])
        if named is not None:
            return Change(max(named, most), named=True)
        if limits.passes is None:
            raise UnboundedError(n)
        return Change(most + max(self.builder.counts.span(more)[1], 0) * limits.passes)

    def passes(self, limits: Limits) -> int | None:
        """How many passes there are at most, where a value whose extent they tell is bounded by the user, too."""
        known = [limits.passes, *(
            self.passes_within(place, change.step, limits) for place, change in self.changes.items() if change.step
        )]  # fmt: skip
        return min((each for each in known if each is not None), default=None)

    def passes_within(self, place: Place, step: Polynomial, limits: Limits) -> int | None:
        """How many passes there are at most, where the user gives the extent behind them, too."""
        named, counts = limits.named.get(place[0]), self.builder.counts
        known = [] if limits.passes is None else [limits.passes]
        if named is not None:
            known.append(max(named - counts.greatest(self._initial(place)), 0) // counts.greatest(step))
        return min(known, default=None)

    # ---- values

    def _bounds(self, n: int, value: Value) -> list[int]:
        return [
            self.changes[n, axis].bound if (n, axis) in self.changes else size for axis, size in enumerate(value.shape)
        ]

    def _extent(self, value: Value, axis: int) -> Polynomial:
        count = self.builder.extents_of(value, self.loc).get(axis)
        return Polynomial.constant(value.shape[axis]) if count is None else self.builder.polynomial(count)

    def _initial(self, place: Place) -> Polynomial:
        return self._extent(self.initial[place[0]], place[1])

    def _most(self, place: Place) -> int:
        return self.builder.counts.span(self._initial(place))[1]

    def _static(self, count: Polynomial) -> Polynomial:
        """The number that it is in the first import, which does not know what constants depend on extents."""
        probed = self.builder.counts.probed(count) if self.builder.compares else None
        return count if probed is None else Polynomial.constant(probed)

    def _copy(self, value: Value) -> Value:
        """A value of the region, which a formal value is not."""
        return self._whole("reshape", [value], {"shape": ()})

    def _fitted(self, value: Value, shape: Sequence[int]) -> Value:
        """A value in the shape of other bounds."""
        if value.shape == tuple(shape):
            return value
        if not value.type.size:
            return self.builder.constant(np.zeros(tuple(shape), value.dtype.numpy), f"{self.loc}{MARK}")
        kept = tuple(map(min, value.shape, shape))
        rank = len(kept)
        if kept != value.shape:
            value = self._whole("slice", [value], {"starts": (0,) * rank, "steps": (1,) * rank, "sizes": kept})
        after = tuple(wide - size for wide, size in zip(shape, kept))
        if any(after):
            value = self._whole("pad", [value], {"before": (0,) * rank, "after": after, "mode": "constant", "value": 0})
        return value

    def _whole(self, op: str, operands: Sequence[Value], attrs: Mapping[str, AttrValue]) -> Value:
        return self.builder.emit_whole(op, operands, attrs, loc=self.loc, names=[f"{self.loc}{MARK}"])[0]

"""Results of branches whose extents a run knows: both branches give what they have, at bounds that are the same."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np

from ..ir.graph import AttrValue, Node, Value
from ..record import record
from .counted_movement import ZERO
from .declared import Extents
from .folding import Alternative, Doubt, FoldingBuilder
from .polynomials import Polynomial
from .probe import MARK

log = logging.getLogger(__name__)

Branch = tuple[tuple[Node, ...], list[Value] | None]
"""The nodes of a branch, and its results."""


@record
class Differing:
    """An extent that is ``base`` and what result ``number`` of the branches holds, ``span`` of which are the limits."""

    number: int
    base: Polynomial
    span: tuple[int, int]

    def value(self, builder: FoldingBuilder, results: Sequence[Value], loc: str) -> Value:
        low, high = self.span
        return builder.counts.value(self.base + builder.counts.atom(results[self.number], high, low), loc)


def counted_branches(
    builder: FoldingBuilder, branches: Sequence[Branch], loc: str
) -> tuple[list[Branch], dict[int, dict[int, Value | Differing]]]:
    """Branches with results of the same shapes, and behind these the extents that differ. For each result its
    dimensions with extents: the value of both branches, or what differs. Of numbers that differ by a constant one
    and the difference is told, so that what follows knows that it is no more."""
    values = [[builder.numbers.in_run(value, loc) for value in results or []] for _, results in branches]
    extents: dict[int, dict[int, Value | Differing]] = {}
    shapes: dict[int, tuple[int, ...]] = {}
    differ: list[tuple[Polynomial, ...]] = []
    for n, each in enumerate(zip(*values)):
        if len({(value.dtype, len(value.shape)) for value in each}) > 1:
            continue
        shapes[n] = tuple(max(sizes) for sizes in zip(*(value.shape for value in each)))
        for axis in range(len(each[0].shape)):
            counts = tuple(_extent(builder, value, axis, loc) for value in each)
            if len(set(counts)) > 1:
                base = counts[1] if (counts[0] - counts[1]).number is not None else ZERO
                base = base if builder.counts.depth(base) <= builder.depth_of_nodes else ZERO
                own = tuple(count - base for count in counts)
                lows, highs = zip(*map(builder.counts.span, own))
                extents.setdefault(n, {})[axis] = Differing(len(values[0]) + len(differ), base, (min(lows), max(highs)))
                differ.append(own)
            elif counts[0].number is None:
                extents.setdefault(n, {})[axis] = builder.counts.value(counts[0], loc)
    made: list[Branch] = []
    for position, (nodes, _) in enumerate(branches):
        builder.enter(nodes)
        try:
            found = [_padded(builder, value, shapes.get(n), loc) for n, value in enumerate(values[position])]
            found += [builder.counts.value(counts[position], loc) for counts in differ]
        finally:
            nodes = builder.leave()
        made.append((nodes, found))
    return made, extents


def same_ranks(
    builder: FoldingBuilder, branches: Sequence[Branch], declared: Callable[[int], Extents | None],
    names: Sequence[str], loc: str,
) -> tuple[list[Branch], dict[int, Alternative]]:  # fmt: skip
    """Branches whose results have the same ranks where they have the same elements, and one has dimensions of 1 that
    the other lacks: exporters write such branches by mistake. The model's declaration says which rank is meant. Without
    one it is the lower, and the other is in doubt: something that reads the result has to be invalid with it."""
    values, doubts = [list(results or []) for _, results in branches], dict[int, Alternative]()
    for n, each in enumerate(zip(*values)):
        cores = {tuple(extent for extent in value.shape if extent != 1) for value in each}
        if len({len(value.shape) for value in each}) == 1 or len(cores) > 1:
            continue
        known = declared(n)
        ranks = {len(value.shape): value.shape for value in each}
        if known is not None and len(known) not in ranks:
            continue
        shape, other = ranks[min(ranks)], ranks[max(ranks)]
        text = f"{names[n]} {' or '.join(str(value.type) for value in each)}"
        if known is not None:
            shape = ranks[len(known)]
        else:
            doubts[n] = Alternative(Doubt(text, loc), other)
        log.warning("%s: branches make %s; it is taken as %s", loc, text, list(shape))
        for position, value in enumerate(each):
            if value.shape != shape:
                builder.enter(branches[position][0])
                try:
                    values[position][n] = builder.emit("reshape", [value], {"shape": shape}, loc=loc)[0]
                finally:
                    branches = [*branches]
                    branches[position] = builder.leave(), branches[position][1]
    return [(nodes, found) for (nodes, _), found in zip(branches, values)], doubts


def _extent(builder: FoldingBuilder, value: Value, axis: int, loc: str) -> Polynomial:
    count = builder.extents_of(value, loc).get(axis)
    return Polynomial.constant(value.shape[axis]) if count is None else builder.polynomial(count)


def _padded(builder: FoldingBuilder, value: Value, shape: tuple[int, ...] | None, loc: str) -> Value:
    """A value with room for what another branch has."""
    if shape is None or value.shape == shape:
        return value
    if not value.type.size:
        return builder.constant(np.zeros(shape, value.dtype.numpy), f"{loc}{MARK}")
    after = tuple(wide - size for wide, size in zip(shape, value.shape))
    attrs: dict[str, AttrValue] = {"before": (0,) * len(shape), "after": after, "mode": "constant", "value": 0}
    return builder.emit_whole("pad", [value], attrs, loc=loc, names=[f"{loc}{MARK}"])[0]

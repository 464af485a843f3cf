"""Results of branches whose extents a run knows: both branches give what they have, at bounds that are the same."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from ..ir.graph import AttrValue, Node, Value
from .counts import Polynomial
from .folding import FoldingBuilder
from .probe import MARK

log = logging.getLogger(__name__)

Branch = tuple[tuple[Node, ...], list[Value] | None]
"""The nodes of a branch, and its results."""


def counted_branches(
    builder: FoldingBuilder, branches: Sequence[Branch], loc: str
) -> tuple[list[Branch], dict[int, dict[int, Value | int]]]:
    """Branches with results of the same shapes, and behind these the extents that differ. For each result its
    dimensions with extents: the value of both branches, or the number of the result that holds it."""
    values = [[builder.numbers.in_run(value, loc) for value in results or []] for _, results in branches]
    extents: dict[int, dict[int, Value | int]] = {}
    shapes: dict[int, tuple[int, ...]] = {}
    differ: list[tuple[Polynomial, ...]] = []
    for n, each in enumerate(zip(*values)):
        if len({(value.dtype, len(value.shape)) for value in each}) > 1:
            continue
        shapes[n] = tuple(max(sizes) for sizes in zip(*(value.shape for value in each)))
        for axis in range(len(each[0].shape)):
            counts = tuple(_extent(builder, value, axis, loc) for value in each)
            if len(set(counts)) > 1:
                extents.setdefault(n, {})[axis] = len(values[0]) + len(differ)
                differ.append(counts)
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


def same_ranks(builder: FoldingBuilder, branches: Sequence[Branch], names: Sequence[str], loc: str) -> list[Branch]:
    """Branches whose results have the same ranks where they have the same elements: dimensions of 1 that only one
    branch has are left out. Exporters write such branches by mistake; a warning says so."""
    values = [list(results or []) for _, results in branches]
    for n, each in enumerate(zip(*values)):
        cores = {tuple(extent for extent in value.shape if extent != 1) for value in each}
        if len({len(value.shape) for value in each}) == 1 or len(cores) > 1:
            continue
        shape = min((value.shape for value in each), key=len)
        text = " or ".join(str(value.type) for value in each)
        log.warning("%s: branches make %s %s; it is taken as %s", loc, names[n], text, list(shape))
        for position, value in enumerate(each):
            if value.shape != shape:
                builder.enter(branches[position][0])
                try:
                    values[position][n] = builder.emit("reshape", [value], {"shape": shape}, loc=loc)[0]
                finally:
                    branches = [*branches]
                    branches[position] = builder.leave(), branches[position][1]
    return [(nodes, found) for (nodes, _), found in zip(branches, values)]


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

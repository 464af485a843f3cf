"""Which layer takes what from which: the edges of the drawn graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...record import record
from ..schema import Layer, Report

_DEEPEST = 8
"""Levels of nested bodies that are told apart."""


@record
class Side:
    """An input, output or state of the model: what the caller passes or takes."""

    kind: str
    name: str
    tensor: str
    dtype: str
    shape: list[int]
    is_source: bool


@record
class Flow:
    """``tensor`` goes from box ``start`` to box ``end``. ``back``: to the next pass of the loop."""

    start: int
    end: int
    tensor: str
    back: bool = False


def sources(report: Report) -> list[Side]:
    """What a run begins with."""
    found = [Side("input", side.name, side.tensor, side.dtype, side.shape, True) for side in report.inputs]
    return found + [Side("state", side.name, side.tensor, side.dtype, side.shape, True) for side in report.states]


def sinks(report: Report) -> list[Side]:
    """What a run leaves."""
    found = [Side("output", side.name, side.tensor, side.dtype, side.shape, False) for side in report.outputs]
    return found + [Side("state", side.output, side.updated, side.dtype, side.shape, False) for side in report.states]


def bodies_around(layer: Layer) -> tuple[str, ...]:
    """The branches and loops that a layer is in, outermost first."""
    parts = [part for part in layer.within.split("; ") if part]
    return tuple(parts[:_DEEPEST])


def flows(before: Sequence[Side], layers: Sequence[Layer], after: Sequence[Side]) -> list[Flow]:
    """The edges between boxes, which are numbered in this order."""
    walk = _Walk(len(before))
    for number, side in enumerate(before):
        walk.writers[side.tensor] = [number]
    found: dict[tuple[int, int, str], Flow] = {}
    for layer in layers:
        for flow in walk.through(layer):
            found[flow.start, flow.end, flow.tensor] = flow
    for number, side in enumerate(after, len(before) + len(layers)):
        for writer in walk.writers.get(side.tensor, []):
            found[writer, number, side.tensor] = Flow(writer, number, side.tensor)
    return list(found.values())


class _Walk:
    """Layers in their order; ``writers`` are the boxes of which one made a tensor what it is."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.writers: dict[str, list[int]] = {}
        self.readers: dict[str, list[int]] = {}
        self.around: dict[int, tuple[str, ...]] = {}

    def through(self, layer: Layer) -> Iterator[Flow]:
        box = self.first + layer.index
        here = self.around[box] = bodies_around(layer)
        for tensor in layer.reads:
            for writer in self.writers.get(tensor, []):
                yield Flow(writer, box, tensor)
            if here:
                self.readers.setdefault(tensor, []).append(box)
        for tensor in layer.writes:
            others = self.writers.get(tensor, [])
            self.writers[tensor] = [*(w for w in others if _alternative(self.around.get(w, ()), here)), box]
            for reader in self.readers.get(tensor, []):
                if reader < box and _in_one_loop(self.around[reader], here):
                    yield Flow(box, reader, tensor, back=True)


def _alternative(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two layers are in the two sides of a branch."""
    for a, b in zip(one, other):
        if a != b:
            return {a.partition(" of ")[0], b.partition(" of ")[0]} == {"then", "else"}
    return False


def _in_one_loop(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    for a, b in zip(one, other):
        if a != b:
            return False
        if "passes" in a.partition(" of ")[0]:
            return True
    return False

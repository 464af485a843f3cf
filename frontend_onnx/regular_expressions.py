"""Finite automata over bytes for regular expressions that have to match whole strings.

Sources: K. Thompson, "Regular Expression Search Algorithm" (1968), for the automaton with choices; the subset
construction of Rabin and Scott and Moore's refinement (1956) for the one without.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from ..record import record
from .code_points import utf8_ranges
from .pattern_syntax import WORDS, Characters, Choice, Edge, RegexError, Repeat, Sequence, Tree, parse

__all__ = ["Automaton", "RegexError", "automaton"]

MAX_STEPS = 20_000
"""States of the automaton with choices."""

MAX_STATES = 4_000
"""States of the one without."""

MAX_WORK = 5_000_000
"""Steps that are looked at to construct it."""


@record
class Automaton:
    """``classes`` u8[256] of bytes, ``table`` [states, classes] of the next states, and which are ``accepting``. State
    0 is the first. A byte 0 is in no string."""

    classes: np.ndarray
    table: np.ndarray
    accepting: np.ndarray


@dataclass
class _Steps:
    """An automaton with choices: bytes that lead from a state to another, and ways that take none, some of which are
    open at certain places only."""

    reads: list[tuple[int, int, int] | None] = field(default_factory=list)
    ways: list[list[tuple[int, Edge | None]]] = field(default_factory=list)

    def state(self) -> int:
        if len(self.ways) >= MAX_STEPS:
            raise RegexError(f"more than {MAX_STEPS} states")
        self.reads.append(None)
        self.ways.append([])
        return len(self.ways) - 1

    def add(self, tree: Tree, start: int) -> int:
        """The state behind ``tree``, which begins at ``start``."""
        match tree:
            case Characters():
                return self._characters(tree, start)
            case Edge():
                end = self.state()
                self.ways[start].append((end, tree))
                return end
            case Sequence():
                for part in tree.parts:
                    start = self.add(part, start)
                return start
            case Choice():
                end = self.state()
                for part in tree.parts:
                    begin = self.state()
                    self.ways[start].append((begin, None))
                    self.ways[self.add(part, begin)].append((end, None))
                return end
            case Repeat():
                return self._repeat(tree, start)

    def _characters(self, tree: Characters, start: int) -> int:
        """Sequences of bytes that end alike share the states of these ends."""
        end = self.state()
        known: dict[tuple[tuple[int, int], ...], int] = {(): end}

        def begin(sequence: tuple[tuple[int, int], ...]) -> int:
            if sequence not in known:
                behind = begin(sequence[1:])
                known[sequence] = self.state()
                self.reads[known[sequence]] = (*sequence[0], behind)
            return known[sequence]

        for sequence in utf8_ranges(tree.ranges):
            self.ways[start].append((begin(sequence), None))
        return end

    def _repeat(self, tree: Repeat, start: int) -> int:
        for _ in range(tree.least):
            start = self.add(tree.part, start)
        if tree.most is None:
            loop, end = self.state(), self.state()
            self.ways[start].append((loop, None))
            self.ways[self.add(tree.part, loop)].append((loop, None))
            self.ways[loop].append((end, None))
            return end
        end = self.state()
        for _ in range(tree.most - tree.least):
            self.ways[start].append((end, None))
            begin = self.state()
            self.ways[start].append((begin, None))
            start = self.add(tree.part, begin)
        self.ways[start].append((end, None))
        return end

    def closure(self, states: Iterable[int], edges: Collection[Edge]) -> frozenset[int]:
        """All states that are reached without a byte, by ways that are open everywhere or at these ``edges``."""
        found, todo = set(states), list(states)
        while todo:
            for state, edge in self.ways[todo.pop()]:
                if (edge is None or edge in edges) and state not in found:
                    found.add(state)
                    todo.append(state)
        return frozenset(found)


class _Side(Enum):
    """What stands beside a place in the text."""

    NOTHING = "nothing"
    WORD = "a character of words"
    OTHER = "another"


def _edges(before: _Side, behind: _Side) -> frozenset[Edge]:
    """What a place between these is."""
    found = {Edge.WORD if (before is _Side.WORD) != (behind is _Side.WORD) else Edge.NO_WORD}
    found |= {Edge.BEGIN} if before is _Side.NOTHING else set()
    return frozenset(found | ({Edge.END} if behind is _Side.NOTHING else set()))


_State = tuple[frozenset[int], _Side]
"""States of the automaton with choices before the ways without a byte are gone, and what was read last."""


def automaton(pattern: str) -> Automaton:
    """The smallest automaton that accepts the strings which ``pattern`` matches as a whole.

    Raises :class:`RegexError` for what is not supported, and for patterns that need too many states.
    """
    steps = _Steps()
    first = steps.state()
    last = steps.add(parse(pattern), first)
    classes, sides = _byte_classes(steps)
    start: _State = (frozenset([first]), _Side.NOTHING)
    numbers, order, rows, accepting, work = {start: 0}, [start], [], [], 0
    for core, before in order:
        accepting.append(last in steps.closure(core, _edges(before, _Side.NOTHING)))
        moved: list[set[int]] = [set() for _ in sides]
        for side in set(sides):
            reached = steps.closure(core, _edges(before, side))
            for read in (steps.reads[state] for state in reached):
                if read is not None:
                    kinds = range(classes[read[0]], classes[read[1]] + 1)
                    work += 1 + len(kinds)
                    for kind in kinds:
                        moved[kind] |= {read[2]} if sides[kind] is side else set()
        row = []
        for side, targets in zip(sides, moved):
            target = frozenset(targets), side
            if target not in numbers:
                numbers[target] = len(order)
                order.append(target)
            row.append(numbers[target])
        rows.append(row)
        if len(order) > MAX_STATES or work > MAX_WORK:
            raise RegexError(f"more than {MAX_STATES} states, or too many choices")
    return _smallest(classes, np.array(rows), np.array(accepting))


def _byte_classes(steps: _Steps) -> tuple[np.ndarray, list[_Side]]:
    """The class of each byte, of bytes that no state tells from each other, and of each class whether words have it;
    where no way asks for that, they have none."""
    bounds = {1, 256}
    for read in steps.reads:
        if read is not None:
            bounds.update((max(read[0], 1), read[1] + 1))
    asked = any(edge in (Edge.WORD, Edge.NO_WORD) for ways in steps.ways for _, edge in ways)
    if asked:
        bounds.update(bound for first, end in WORDS for bound in (first, end + 1))
    starts = sorted(bound for bound in bounds if bound < 256)
    classes = np.searchsorted(starts, np.arange(256), "right") - 1
    in_words = [asked and any(first <= start <= end for first, end in WORDS) for start in starts]
    sides = [_Side.WORD if there else _Side.OTHER for there in in_words]
    return np.maximum(classes, 0).astype(np.uint8), sides


def _smallest(classes: np.ndarray, table: np.ndarray, accepting: np.ndarray) -> Automaton:
    """States that no string tells from each other become one; so do classes of bytes with equal columns."""
    groups = accepting.astype(np.int64)
    while True:
        signature = np.concatenate([groups[:, None], groups[table]], axis=1)
        _, refined = np.unique(signature, axis=0, return_inverse=True)
        refined = refined.reshape(-1)
        if refined.max() == groups.max():
            break
        groups = refined
    names: dict[int, int] = {}
    for group in groups.tolist():
        names.setdefault(group, len(names))
    number = np.array([names[group] for group in groups.tolist()])
    members = [int(np.flatnonzero(number == state)[0]) for state in range(len(names))]
    small = number[table[members]]
    columns, column_of = np.unique(small, axis=1, return_inverse=True)
    dtype = np.uint8 if len(names) <= 256 else np.uint16
    return Automaton(column_of.reshape(-1)[classes].astype(np.uint8), columns.astype(dtype), accepting[members])

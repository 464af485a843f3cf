"""Numbers of shapes that a run finds: which extents stand behind the values that a model computes with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.graph import Node, Value
from ..ir.types import DType
from ..ops.attributes import ints
from .context import NodeContext


@dataclass(frozen=True)
class Entry:
    """A number of a shape: at most ``bound``, and just that where it has no ``extent``."""

    bound: int
    extent: Value | None = None


MAX_ENTRIES = 64
"""A tensor has no more dimensions."""
MAX_STEPS = 100
"""From Shape to where its numbers are needed."""


def shape_numbers(ctx: NodeContext, value: Value) -> list[Entry] | None:
    """The entries of a list, or of a single number, that consists of extents that Shape gave and of constants; ``None``
    where anything else is in it."""
    makers = {result.name: node for node in ctx.builder.nodes for result in node.outputs}
    return _Search(ctx, makers).entries(value, MAX_STEPS)


class _Search:
    """Looks at each value once."""

    def __init__(self, ctx: NodeContext, makers: Mapping[str, Node]) -> None:
        self.ctx, self.makers = ctx, makers
        self.found: dict[str, list[Entry] | None] = {}

    def entries(self, value: Value, steps: int) -> list[Entry] | None:
        if not value.dtype.is_integer or value.type.rank > 1 or value.type.size > MAX_ENTRIES or not steps:
            return None
        if value.name not in self.found:
            self.found[value.name] = self._entries(value, steps - 1)
        return self.found[value.name]

    def _entries(self, value: Value, steps: int) -> list[Entry] | None:
        known = self.ctx.array(value)
        if known is not None:
            return [Entry(int(number)) for number in known.reshape(-1)]
        if value.name in self.ctx.builder.bounds:
            return [Entry(self.ctx.builder.bounds[value.name], value)]
        node = self.makers.get(value.name)
        if node is None or node.op not in _MOVES or (node.op == "cast" and value.dtype not in (DType.I32, DType.I64)):
            return None
        parts = [[] if x is None else self.entries(x, steps) for x in node.inputs]
        known_parts = [part for part in parts if part is not None]
        return _MOVES[node.op](node, known_parts) if len(known_parts) == len(parts) else None


def _concat(node: Node, parts: list[list[Entry]]) -> list[Entry] | None:
    return [entry for part in parts for entry in part]


def _gather(node: Node, parts: list[list[Entry]]) -> list[Entry] | None:
    whole, places = parts[0], [entry.bound for entry in parts[1]]
    fixed = all(entry.extent is None and 0 <= entry.bound < len(whole) for entry in parts[1])
    return [whole[place] for place in places] if fixed else None


def _slice(node: Node, parts: list[list[Entry]]) -> list[Entry] | None:
    starts, steps, sizes = (ints(node.attrs, name) for name in ("starts", "steps", "sizes"))
    return [parts[0][starts[0] + n * steps[0]] for n in range(sizes[0])] if len(sizes) == 1 else None


def _same(node: Node, parts: list[list[Entry]]) -> list[Entry] | None:
    return parts[0]


_MOVES = {"concat": _concat, "gather": _gather, "slice": _slice, "reshape": _same, "cast": _same}
"""Operators that move numbers of lists."""

"""Strings that the branches of an ``if`` give: their bytes, since numbers of rows are of the tables of one branch."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..ir.graph import Node, Value
from .folding import FoldingBuilder
from .string_tables import bytes_of, in_order, widened

Branch = tuple[tuple[Node, ...], list[Value] | None]
"""The nodes of a branch, and its results."""


def branches_of_bytes(
    builder: FoldingBuilder, branches: Sequence[Branch], loc: str
) -> tuple[list[Branch], list[int]]:
    """Branches with bytes, u8[shape, bytes], in the place of strings, as many in each; and which results these are."""
    values = [results or [] for _, results in branches]
    strings = [n for n, value in enumerate(values[0]) if value.name in builder.strings]
    made: list[Branch] = []
    for nodes, results in zip((nodes for nodes, _ in branches), values):
        bounds = {n: max(_bound(builder, each[n]) for each in values) for n in strings}
        builder.enter(nodes)
        try:
            found = [
                widened(builder, bytes_of(builder, value, loc), bounds[n], loc) if n in bounds else value
                for n, value in enumerate(results)
            ]
        finally:
            nodes = builder.leave()
        made.append((nodes, found))
    return made, strings


def _bound(builder: FoldingBuilder, value: Value) -> int:
    return builder.strings[value.name].rows.shape[1]


def strings_of_bytes(builder: FoldingBuilder, content: Value, loc: str) -> Value:
    """The strings whose bytes are u8[shape, bytes]."""
    *shape, bound = content.shape
    (rows,) = builder.emit("reshape", [content], {"shape": (prod(shape), bound)}, loc=loc, names=[f"{loc}.rows"])
    return in_order(builder, rows, shape, f"{loc}.numbers")

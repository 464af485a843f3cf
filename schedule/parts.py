"""Where the output of a group comes from other operands of the concatenations in it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise

from ..ir.graph import Graph, Node, Value
from ..ops.attributes import integer
from ..ops.opdef import Kind
from ..ops.table import OPS
from ..record import record
from .body import is_copy


@record
class Part:
    """``extent`` elements of an output along ``axis``, from ``start`` on, and for each concatenation, by the name of
    its output, the position of the operand that it shows there."""

    axis: int
    start: int
    extent: int
    operands: Mapping[str, int]


def parts(body: Graph, output: Value) -> list[Part]:
    """The parts of ``output`` within which no concatenation whose elements are read in their own places has a choice.

    None where there is no such concatenation; those along another axis than the first keep their choices.
    """
    found = _in_their_places(body, output)
    if not found:
        return []
    axis = integer(found[0].attrs, "axis")
    ends = {
        node.output.name: list(accumulate(operand.shape[axis] for operand in node.operands))
        for node in found
        if integer(node.attrs, "axis") == axis
    }
    cuts = sorted({0, *(end for each in ends.values() for end in each)})
    return [
        Part(axis, start, end - start, {name: bisect_right(each, start) for name, each in ends.items()})
        for start, end in pairwise(cuts)
    ]


def _in_their_places(body: Graph, output: Value) -> list[Node]:
    """Concatenations of the shape of ``output`` that are read at its index alone, the first one first."""
    producers = body.producers()
    waiting, seen, found, moved = [output], set[str](), list[Node](), set[str]()
    while waiting:
        value = waiting.pop(0)
        node = producers.get(value.name)
        if node is None or value.name in seen:
            continue
        seen.add(value.name)
        elementwise = OPS[node.op].kind is Kind.POINTWISE or is_copy(node)
        found.extend([node] if node.op == "concat" else [])
        for operand in node.operands:
            if elementwise and operand.shape == output.shape:
                waiting.append(operand)
            else:
                moved.update(_computed_from(operand, producers))
    return [node for node in found if node.output.name not in moved]


def _computed_from(value: Value, producers: Mapping[str, Node]) -> Iterator[str]:
    """``value`` and what it is computed from in the group, by name."""
    waiting, seen = [value], set[str]()
    while waiting:
        each = waiting.pop()
        if each.name in producers and each.name not in seen:
            seen.add(each.name)
            waiting.extend(producers[each.name].operands)
    yield from seen

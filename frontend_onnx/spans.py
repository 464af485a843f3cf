"""The least and the greatest that integers can be which a run computes: interval arithmetic over their nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..ir.graph import Node
from ..ir.types import DType
from ..ops.attributes import integer
from .folding import FoldingBuilder
from .linear import MAX_DEPTH, Linear
from .polynomials import Polynomial

Span = tuple[int, int]
"""Both are possible."""

_VIEWS = frozenset({"cast", "concat", "expand", "reshape", "slice", "transpose"})
_INTEGERS = (DType.I32, DType.I64, DType.BOOL)


def is_part(builder: FoldingBuilder, start: Linear, length: int, extent: Polynomial) -> bool:
    """Whether ``length`` elements from ``start`` on, counted from the end if negative, are within any ``extent``."""
    least, found = builder.counts.span(extent)[0], span(builder, start)
    if found is not None and found[0] >= 0 and found[1] + length <= least:
        return True
    if found is not None and -least <= found[0] and found[1] + length < 0:
        return True
    numbers = [builder.passes.get(name) for name, _ in start.terms]
    if len(numbers) != 1 or numbers[0] is None or set(start.terms.values()) != {1}:
        return False
    most = numbers[0][1]  # passes, of which the last has the number most - 1
    beyond = None if most is None else (extent - most).number
    return beyond is not None and start.constant >= 0 and start.constant + length <= 1 + beyond


def span(builder: FoldingBuilder, number: Linear, depth: int = MAX_DEPTH) -> Span | None:
    """Of a sum; ``None`` where nothing limits it."""
    low = high = number.constant
    for (name, _), factor in number.terms.items():
        found = _of_value(builder, name, depth)
        if found is None:
            return None
        ends = sorted(factor * end for end in found)
        low, high = low + ends[0], high + ends[1]
    return low, high


def _of_value(builder: FoldingBuilder, name: str, depth: int) -> Span | None:
    array = builder.constants.get(name)
    if array is not None:
        whole = array.size and array.dtype.kind in "iub"
        return (int(array.min()), int(array.max())) if whole else None
    limit = builder.passes.get(name, (None, None))[0]
    if limit is not None:
        return 0, max(limit - 1, 0)
    node = builder.producers.get(name)
    if node is None or not depth:
        return None
    if node.op == "arg_reduce":
        return 0, max(node.operands[0].shape[integer(node.attrs, "axis")] - 1, 0)
    if any(operand.dtype not in _INTEGERS for operand in node.operands):
        return None
    found = [_of_value(builder, operand.name, depth - 1) for operand in node.operands]
    if node.op == "clip":
        return _clipped(node, found[0])
    if node.op in _VIEWS or node.op == "where":
        found = found[1:] if node.op == "where" else found
        known = [each for each in found if each is not None]
        return _joined(known) if len(known) == len(found) else None
    if node.op == "gather":
        return found[0]
    if node.op in _ARITHMETIC and None not in found:
        return _ARITHMETIC[node.op](*(each for each in found if each is not None))
    return None


def _joined(spans: Sequence[Span]) -> Span:
    return min(low for low, _ in spans), max(high for _, high in spans)


def _corners(operation: Callable[[int, int], int]) -> Callable[[Span, Span], Span]:
    """Of an operation that is monotonic in each operand."""

    def span_of(a: Span, b: Span) -> Span:
        found = [operation(x, y) for x in a for y in b]
        return min(found), max(found)

    return span_of


_ARITHMETIC: Mapping[str, Callable[[Span, Span], Span]] = {
    "add": _corners(lambda x, y: x + y),
    "sub": _corners(lambda x, y: x - y),
    "mul": _corners(lambda x, y: x * y),
    "min": _corners(min),
    "max": _corners(max),
}


def _clipped(node: Node, found: Span | None) -> Span:
    low, high = integer(node.attrs, "lo"), integer(node.attrs, "hi")
    return (low, high) if found is None else (min(max(found[0], low), high), min(max(found[1], low), high))

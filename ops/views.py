"""View operators as index maps, ``index_map(node, index) -> sources``; :data:`INDEX_MAPS` holds them by name.

Where a source has no ``valid``, its index is in range for every index of the output. Where it has one, the index is
in range wherever ``valid`` holds, and must not be used to load elsewhere (:func:`in_range` makes it harmless). Several
sources cover the output: exactly one of them is valid at each position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from ..ir.build import all_of, ge, lt, maximum, minimum
from ..ir.graph import Node, Value
from ..ir.loops import INDEX, Expr, Type, const
from .attributes import integer, ints, number, text
from .narrow import stored_value
from .opdef import Source

IndexMap = Callable[[Node, Sequence[Expr]], Sequence[Source]]


def in_range(source: Source, operand: Value) -> Source:
    """``source`` with its index clamped into ``operand``, so that it may be loaded from whether valid or not."""
    if source.valid is None:
        return source
    clamped = tuple(
        maximum(minimum(part, extent - 1), 0) for part, extent in zip(source.index, operand.shape)
    )
    return replace(source, index=clamped)


# ---------------------------------------------------------------- reshape


def _reshape(node: Node, index: Sequence[Expr]) -> Sequence[Source]:
    """Dimensions that correspond one to one keep their index; only runs that are merged or split are flattened."""
    x = _operand(node, 0)
    return (Source(0, reshape_index(index, node.output.shape, x.shape)),)


def reshape_index(index: Sequence[Expr], shape: Sequence[int], source: Sequence[int]) -> tuple[Expr, ...]:
    """The index in an array of shape ``source`` of the element that stands at ``index`` in its reshape to ``shape``."""
    found: list[Expr] = [INDEX(0)] * len(source)
    for outer, inner in _runs(shape, source):
        flat: Expr = INDEX(0)
        for d in outer:
            flat = flat * shape[d] + index[d]
        for position, d in enumerate(inner):
            step = prod(source[k] for k in inner[position + 1 :])
            quotient = flat // step
            found[d] = quotient % source[d] if position else quotient
    return tuple(found)


def _runs(shape: Sequence[int], source: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Shortest runs of dimensions other than 1 with equal products: of ``shape``, and of ``source``."""
    ours = [d for d, extent in enumerate(shape) if extent != 1]
    theirs = [d for d, extent in enumerate(source) if extent != 1]
    if 0 in shape:
        return []
    runs = []
    while ours or theirs:
        run: tuple[list[int], list[int]] = ([], [])
        sizes = [1, 1]
        while not run[0] or sizes[0] != sizes[1]:
            side = int(sizes[1] < sizes[0])
            taken = (theirs if side else ours).pop(0)
            run[side].append(taken)
            sizes[side] *= (source if side else shape)[taken]
        runs.append(run)
    return runs


# ---------------------------------------------------------------- the other single sources


def _transpose(node: Node, index: Sequence[Expr]) -> Sequence[Source]:
    found: list[Expr] = list(index)
    for position, axis in enumerate(ints(node.attrs, "perm")):
        found[axis] = index[position]
    return (Source(0, tuple(found)),)


def _expand(node: Node, index: Sequence[Expr]) -> Sequence[Source]:
    return (Source(0, broadcast_index(_operand(node, 0).shape, index)),)


def broadcast_index(shape: Sequence[int], index: Sequence[Expr]) -> tuple[Expr, ...]:
    """The index of an operand of ``shape`` that is broadcast (NumPy) to a result indexed by ``index``."""
    last = index[len(index) - len(shape) :]
    return tuple(INDEX(0) if extent == 1 else part for extent, part in zip(shape, last))


def _slice(node: Node, index: Sequence[Expr]) -> Sequence[Source]:
    starts, steps = ints(node.attrs, "starts"), ints(node.attrs, "steps")
    return (Source(0, tuple(part * step + start for part, start, step in zip(index, starts, steps))),)


# ---------------------------------------------------------------- concat


def _concat(node: Node, index: Sequence[Expr]) -> Sequence[Source]:
    """One source an operand that has elements, valid between its start and its end along the axis."""
    axis = integer(node.attrs, "axis")
    extents = [operand.shape[axis] for operand in node.operands]
    total, start = sum(extents), 0
    sources = []
    for position, extent in enumerate(extents):
        if extent:
            at = (*index[:axis], index[axis] - start, *index[axis + 1 :])
            sources.append(Source(position, at, _between(index[axis], start, start + extent, total)))
        start += extent
    return tuple(sources)


def _between(index: Expr, start: int, end: int, total: int) -> Expr | None:
    """start <= index < end, without the comparisons that 0 <= index < total implies."""
    tests = []
    if start > 0:
        tests.append(ge(index, start))
    if end < total:
        tests.append(lt(index, end))
    return all_of(tests)


# ---------------------------------------------------------------- pad


def _pad(node: Node, index: Sequence[Expr]) -> Sequence[Source]:
    before, after = ints(node.attrs, "before"), ints(node.attrs, "after")
    x, mode = _operand(node, 0), text(node.attrs, "mode")
    if mode == "constant":
        return (_constant_pad(node, x, index),)
    border = {"reflect": _reflect, "edge": _edge, "wrap": _wrap}[mode]
    padded = zip(index, x.shape, before, after)
    return (Source(0, tuple(border(part - low, extent, low, high) for part, extent, low, high in padded)),)


def _constant_pad(node: Node, x: Value, index: Sequence[Expr]) -> Source:
    before, after = ints(node.attrs, "before"), ints(node.attrs, "after")
    tests: list[Expr] = []
    for part, extent, low, high in zip(index, x.shape, before, after):
        test = _between(part, low, low + extent, low + extent + high)
        tests.extend(() if test is None else (test,))
    valid = all_of(tests)
    fill = None
    if valid is not None:
        fill = const(stored_value(number(node.attrs, "value"), x.dtype), Type(x.dtype.stored))
    return Source(0, tuple(part - low for part, low in zip(index, before)), valid, fill)


def _reflect(i: Expr, extent: int, before: int, after: int) -> Expr:
    """-1 is 1, ``extent`` is ``extent - 2``. The last clamp never binds: it shows the range to the verifier."""
    period = 2 * (extent - 1)
    if extent <= 1:
        return INDEX(0)
    if max(before, after) >= extent:
        i = (i + -(-before // period) * period) % period
        before, after = 0, 1
    if before:
        i = maximum(i, -i)
    if after:
        i = minimum(i, 2 * (extent - 1) - i)
    return maximum(minimum(i, extent - 1), 0)


def _edge(i: Expr, extent: int, before: int, after: int) -> Expr:
    """-1 is 0, ``extent`` is ``extent - 1``."""
    if before:
        i = maximum(i, 0)
    return minimum(i, extent - 1) if after else i


def _wrap(i: Expr, extent: int, before: int, after: int) -> Expr:
    """-1 is ``extent - 1``, ``extent`` is 0; so often as there is padding for."""
    return (i + -(-before // extent) * extent) % extent if before or after else i


def _operand(node: Node, position: int) -> Value:
    value = node.inputs[position]
    assert value is not None
    return value


INDEX_MAPS: dict[str, IndexMap] = {
    "reshape": _reshape,
    "transpose": _transpose,
    "expand": _expand,
    "slice": _slice,
    "concat": _concat,
    "pad": _pad,
}

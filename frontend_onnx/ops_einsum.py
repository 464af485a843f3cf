"""Rule of Einsum: operands are contracted two at a time, each time by one matrix product or one multiplication."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np

from ..ir.graph import Value
from ..record import record
from .context import NodeContext, Rule


@record
class _Term:
    """A tensor with one label a dimension."""

    value: Value
    labels: tuple[str, ...]

    def extent(self, label: str) -> int:
        return self.value.shape[self.labels.index(label)]


def einsum(ctx: NodeContext) -> Sequence[Value]:
    """Dimensions under ``...`` are labelled ``.0``, ``.1`` and so on, counted from the last."""
    operands, (inputs, output) = ctx.operands(), _split_equation(ctx)
    if len(inputs) != len(operands):
        raise ctx.invalid(f"the equation has {len(inputs)} operands, the node {len(operands)}")
    terms = [_Term(value, _labels(ctx, text, len(value.shape))) for value, text in zip(operands, inputs)]
    result = _output_labels(ctx, terms, output)
    extents = _extents(ctx, terms)
    if any(label not in extents for label in result) or len(set(result)) != len(result):
        raise ctx.invalid(f"the output {output} names labels twice, or such that no operand has")
    terms = [_distinct(ctx, term) for term in terms]
    terms = [_summed(ctx, t, _needed(terms[:n] + terms[n + 1 :], result)) for n, t in enumerate(terms)]
    first, *rest = terms
    while rest:
        second = rest.pop(0)
        first = _contracted(ctx, first, second, _needed(rest, result), extents)
    return [_arranged(ctx, first, result, extents)]


def _split_equation(ctx: NodeContext) -> tuple[list[str], str | None]:
    """The labels of each operand, and those of the output where they are given."""
    equation = ctx.string("equation").replace(" ", "")
    left, arrow, right = equation.partition("->")
    if any(not (c.isascii() and c.isalpha()) for c in (left + right).replace("...", "").replace(",", "")):
        raise ctx.invalid(f"the equation is {equation}")
    return left.split(","), right if arrow else None


def _labels(ctx: NodeContext, text: str, rank: int) -> tuple[str, ...]:
    before, dots, after = text.partition("...")
    hidden = rank - len(before) - len(after) if dots else 0
    labels = (*before, *(f".{n}" for n in reversed(range(hidden))), *after)
    if hidden < 0 or len(labels) != rank:
        raise ctx.invalid(f"labels {text} for an operand of rank {rank}")
    return labels


def _output_labels(ctx: NodeContext, terms: Sequence[_Term], output: str | None) -> tuple[str, ...]:
    """Without an explicit output: the hidden dimensions, then the labels that occur once, in alphabetical order."""
    every = [label for term in terms for label in term.labels]
    hidden = tuple(sorted({label for label in every if label.startswith(".")}, key=lambda label: -int(label[1:])))
    if output is None:
        return (*hidden, *sorted(label for label in set(every) if every.count(label) == 1 and label not in hidden))
    return _labels(ctx, output, len(output.replace("...", "")) + (len(hidden) if "..." in output else 0))


def _extents(ctx: NodeContext, terms: Sequence[_Term]) -> dict[str, int]:
    """The extent of each label; 1 gives way to any other."""
    extents: dict[str, int] = {}
    for term in terms:
        for label, extent in zip(term.labels, term.value.shape):
            known = extents.setdefault(label, extent)
            if extent not in (known, 1) and known != 1:
                raise ctx.invalid(f"label {label} has the extents {known} and {extent}")
            extents[label] = max(known, extent) if known != 0 else 0
    return extents


def _needed(others: Iterable[_Term], result: Iterable[str]) -> set[str]:
    return {label for term in others for label in term.labels} | set(result)


def _distinct(ctx: NodeContext, term: _Term) -> _Term:
    """A label that an operand has twice stands for the diagonal."""
    for label in term.labels:
        if term.labels.count(label) > 1:
            places = [axis for axis, own in enumerate(term.labels) if own == label][:2]
            rest = [axis for axis in range(len(term.labels)) if axis not in places]
            extent = term.extent(label)
            if term.value.shape[places[1]] != extent:
                raise ctx.invalid(f"label {label} has two extents in {term.value.type}")
            moved = ctx.emit("transpose", term.value, perm=(*places, *rest))
            flat = ctx.reshape(moved, (extent * extent, *moved.shape[2:]))
            diagonal = np.arange(extent, dtype=np.int64) * (extent + 1)
            value = ctx.emit("gather", flat, ctx.constant(diagonal), axis=0)
            return _distinct(ctx, _Term(value, (label, *(term.labels[axis] for axis in rest))))
    return term


def _summed(ctx: NodeContext, term: _Term, needed: set[str]) -> _Term:
    """Sums over the labels that nothing else has."""
    axes = tuple(axis for axis, label in enumerate(term.labels) if label not in needed)
    if not axes:
        return term
    value = ctx.emit("reduce", term.value, kind="sum", axes=axes, keepdims=False)
    return _Term(value, tuple(label for label in term.labels if label in needed))


def _arranged(ctx: NodeContext, term: _Term, order: Sequence[str], extents: Mapping[str, int]) -> Value:
    """The dimensions in ``order``; labels that the term lacks have extent 1, others are expanded to theirs."""
    own = [label for label in order if label in term.labels]
    perm = tuple(term.labels.index(label) for label in own)
    value = term.value if perm == tuple(range(len(perm))) else ctx.emit("transpose", term.value, perm=perm)
    full = tuple(extents[label] for label in own)
    value = value if value.shape == full else ctx.emit("expand", value, shape=full)
    return ctx.reshape(value, tuple(extents[label] if label in own else 1 for label in order))


def _contracted(ctx: NodeContext, a: _Term, b: _Term, needed: set[str], extents: Mapping[str, int]) -> _Term:
    shared = [label for label in a.labels if label in b.labels]
    batch = [label for label in shared if label in needed]
    inner = [label for label in shared if label not in needed]
    rows = [label for label in a.labels if label not in shared]
    columns = [label for label in b.labels if label not in shared]
    order = (*batch, *rows, *columns)
    if not inner:
        return _Term(ctx.emit("mul", _arranged(ctx, a, order, extents), _arranged(ctx, b, order, extents)), order)
    counted = {term.labels[axis] for term in (a, b) for axis in ctx.extents(term.value)}
    if any(len(group) > 1 and counted & set(group) for group in (batch, rows, columns)):
        return _contracted_apart(ctx, a, b, (batch, rows, inner, columns), extents)
    sizes = [prod(extents[label] for label in group) for group in (batch, rows, inner, columns)]
    lhs = ctx.reshape(_arranged(ctx, a, (*batch, *rows, *inner), extents), (sizes[0], sizes[1], sizes[2]))
    rhs = ctx.reshape(_arranged(ctx, b, (*batch, *inner, *columns), extents), (sizes[0], sizes[2], sizes[3]))
    product = ctx.cast(ctx.emit("matmul", lhs, rhs), lhs.dtype)  # of narrow integers it is int32
    return _Term(ctx.reshape(product, tuple(extents[label] for label in order)), order)


def _contracted_apart(
    ctx: NodeContext, a: _Term, b: _Term, groups: tuple[list[str], list[str], list[str], list[str]],
    extents: Mapping[str, int],
) -> _Term:  # fmt: skip
    """The contraction without merged dimensions, whose extents only a run knows: all labels but the last rows and
    columns are those of a batch of products, of extent 1 in the operand that lacks them."""
    batch, rows, inner, columns = groups
    outer = (*batch, *rows[:-1], *columns[:-1])
    sums = prod(extents[label] for label in inner)

    def matrices(term: _Term, order: Sequence[str], shape: tuple[int, int]) -> Value:
        value = _arranged(ctx, term, [label for label in (*outer, *order) if label in term.labels], extents)
        return ctx.reshape(value, (*(extents[label] if label in term.labels else 1 for label in outer), *shape))

    lhs = matrices(a, (*rows[-1:], *inner), (prod(extents[label] for label in rows[-1:]), sums))
    rhs = matrices(b, (*inner, *columns[-1:]), (sums, prod(extents[label] for label in columns[-1:])))
    product = ctx.cast(ctx.emit("matmul", lhs, rhs), lhs.dtype)
    order = (*outer, *rows[-1:], *columns[-1:])
    return _Term(ctx.reshape(product, tuple(extents[label] for label in order)), order)


RULES: Mapping[str, Rule] = {"Einsum": einsum}

"""How a transpose passes an operator: ``op(transpose(x, perm))`` becomes ``transpose(op'(x), perm')``.

One rule for a family of operators. ``perm`` is a transpose's permutation, so dimension ``i`` of the transposed value is
dimension ``perm[i]`` of its *base* ``x``. No rule changes the order in which an element is computed, except that a
reduction over several axes may visit them in another order.

A :class:`Sinker` holds the decisions: which layout each node is computed in. ``cancel_transposes`` searches for the
best ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

from ..ir.graph import Graph, Node, Value
from ..ops.attributes import integer, ints
from ..ops.opdef import Kind
from ..ops.table import OPS
from .rewrite import Rewriter, rewrite
from .views import Perm, compose, groups, identity, inverse, is_reshape, permuted, reshape, transpose, with_rank

Plan = Mapping[str, Perm]
"""Name of a node's output -> the permutation that its operands are taken with, instead of the preferred one."""


@dataclass
class Sinker:
    """Sinks the transposes of a graph as far as they go, in one walk."""

    plan: Plan
    chosen: dict[str, tuple[Perm, tuple[Perm, ...]]] = field(default_factory=dict)
    """Name of a node's output -> the permutation taken and all that its operands offered."""

    def run(self, graph: Graph) -> Graph:
        return rewrite(graph, self._sink)

    def _sink(self, rewriter: Rewriter, node: Node) -> Value | None:
        if node.op == "transpose":
            return transpose(rewriter, _first(node), ints(node.attrs, "perm"), loc=node.loc, name=node.output.name)
        if node.op == "reshape":
            return self._sink_reshape(rewriter, node)
        if node.op == "matmul":
            return _sink_matmul(rewriter, node)
        rule = _rule(node)
        if rule is None:
            return None
        perm = self._choose(rewriter, node)
        return None if perm == identity(len(perm)) else rule(rewriter, node, perm)

    def _choose(self, rewriter: Rewriter, node: Node) -> Perm:
        """The layout to compute ``node`` in: the planned one, else the one that leaves the least to transpose."""
        rank = _rank(node)
        offers = [perm for value in node.operands if (perm := _perm_of(rewriter, value)) and len(perm) == rank]
        candidates = tuple(dict.fromkeys([*offers, identity(rank)]))
        best = min(candidates, key=lambda perm: _cost_of_operands(rewriter, node, perm))
        if node.op in _ALONG_AXES and offers and _loses_contiguity(node, best):
            best = identity(rank)
        best = self.plan.get(node.output.name, best)
        self.chosen[node.output.name] = best, candidates
        return best

    def _sink_reshape(self, rewriter: Rewriter, node: Node) -> Value | None:
        """A reshape that splits, joins, adds or drops dimensions. What it joins is brought together in the base first,
        where it does not lie so: a transpose that stays, in front of one that sinks on.

        Example: f32[1,8,8,64] -transpose(0,3,1,2)-> [1,64,8,8] -reshape-> [1,64,64] becomes
        f32[1,8,8,64] -reshape-> [1,64,64] -transpose(0,2,1)-> [1,64,64]; the channels of
        f32[8,8,2,32] -transpose(3,2,0,1)-> [32,2,8,8] -reshape-> [64,8,8] are exchanged,
        f32[8,8,2,32] -transpose(0,1,3,2)-> [8,8,32,2] -reshape-> [8,8,64] -transpose(2,0,1)-> [64,8,8].
        """
        perm = _perm_of(rewriter, _first(node))
        if perm is None or node.output.type.size == 0:
            return None
        source = rewriter.producer(_first(node))
        assert source is not None
        before, shape = _first(node).shape, node.output.shape
        joined = self._choose_joined(node, perm, _joined(before, shape, perm))
        if joined == perm:
            return None
        base = transpose(rewriter, _first(source), joined, loc=source.loc)
        keys = _positions_in_base(before, shape, compose(inverse(joined), perm))
        assert keys is not None
        order = tuple(sorted(range(len(shape)), key=keys.__getitem__))
        result = reshape(rewriter, base, permuted(shape, order), loc=node.loc, name=node.output.name)
        return _done(rewriter, node, result, inverse(order))

    def _choose_joined(self, node: Node, perm: Perm, joined: Perm) -> Perm:
        """What is transposed in front of a reshape: as little as it takes, or all."""
        if joined == identity(len(perm)):
            return joined
        chosen = perm if self.plan.get(node.output.name) == perm else joined
        self.chosen[node.output.name] = chosen, (joined, perm)
        return chosen


def _first(node: Node) -> Value:
    value = node.inputs[0]
    assert value is not None
    return value


def _rank(node: Node) -> int:
    """The rank that operands are brought to: the result's where they broadcast, otherwise the operand's own."""
    return len(node.output.shape) if OPS[node.op].kind is Kind.POINTWISE else len(_first(node).shape)


def _perm_of(rewriter: Rewriter, value: Value) -> Perm | None:
    producer = rewriter.producer(value)
    return ints(producer.attrs, "perm") if producer is not None and producer.op == "transpose" else None


def _cost_of_operands(rewriter: Rewriter, node: Node, perm: Perm) -> int:
    """Elements to move so that every operand is there as ``transpose(base, perm)``."""
    return sum(_cost_of(rewriter, value, perm) for value in node.operands if not rewriter.is_constant(value))


def _cost_of(rewriter: Rewriter, value: Value, perm: Perm) -> int:
    shape = (1,) * (len(perm) - len(value.shape)) + value.shape
    back, own = inverse(perm), _perm_of(rewriter, value)
    if own is not None and len(own) == len(perm):
        back = compose(own, back)
        shape = permuted(shape, inverse(own))
    return 0 if is_reshape(shape, back) else value.type.size


def _loses_contiguity(node: Node, perm: Perm) -> bool:
    """Whether an operator along the last dimension would work along another one, which is slower to walk."""
    axes = ints(node.attrs, "axes") if "axes" in node.attrs else (integer(node.attrs, "axis"),)
    last = len(perm) - 1
    return last in axes and last not in permuted(perm, axes) and node.op != "reduce"


def _base(rewriter: Rewriter, value: Value, perm: Perm) -> Value:
    """The value that ``value`` is the transpose by ``perm`` of."""
    if value.type.size == 1 and rewriter.is_constant(value):
        return value
    return transpose(rewriter, with_rank(rewriter, value, len(perm)), inverse(perm))


def _bases(rewriter: Rewriter, node: Node, perm: Perm) -> list[Value | None]:
    tables = OPS[node.op].tables
    return [
        value if value is None or position in tables else _base(rewriter, value, perm)
        for position, value in enumerate(node.inputs)
    ]


def _done(rewriter: Rewriter, node: Node, result: Value, perm: Perm) -> Value:
    return transpose(rewriter, result, perm, loc=node.loc, name=node.output.name)


# One function a family: (rewriter, node, perm of the operands) -> the result. ``perm`` is not the identity.


def _pointwise(rewriter: Rewriter, node: Node, perm: Perm) -> Value:
    """Works on single elements, wherever they are. The axis of per-axis quantization moves."""
    operands = _bases(rewriter, node, perm)
    axis = integer(node.attrs, "axis") if "axis" in node.attrs else len(perm)
    moved = {"axis": perm[axis]} if axis < len(perm) else {}
    return _done(rewriter, node, rewriter.like(node, *operands, **moved), perm)


def _along_axis(rewriter: Rewriter, node: Node, perm: Perm) -> Value:
    """Softmax, cumsum, normalize, concat: the axes are renamed."""
    operands = _bases(rewriter, node, perm)
    if "axes" in node.attrs:
        result = rewriter.like(node, *operands, axes=tuple(sorted(permuted(perm, ints(node.attrs, "axes")))))
    else:
        result = rewriter.like(node, *operands, axis=perm[integer(node.attrs, "axis")])
    return _done(rewriter, node, result, perm)


def _reduce(rewriter: Rewriter, node: Node, perm: Perm) -> Value:
    """Reduce and arg_reduce: the axes are renamed; the dimensions that stay keep their order in the base."""
    (base,) = _bases(rewriter, node, perm)
    axes = ints(node.attrs, "axes") if node.op == "reduce" else (integer(node.attrs, "axis"),)
    renamed = tuple(sorted(permuted(perm, axes)))
    result = rewriter.like(node, base, **({"axes": renamed} if node.op == "reduce" else {"axis": renamed[0]}))
    if not node.attrs["keepdims"]:
        left = [perm[axis] for axis in range(len(perm)) if axis not in axes]
        perm = tuple(sorted(left).index(axis) for axis in left)
    return _done(rewriter, node, result, perm)


def _per_dimension(rewriter: Rewriter, node: Node, perm: Perm) -> Value:
    """Pad, slice and expand have an entry for each dimension."""
    operands = _bases(rewriter, node, perm)
    entries = {
        name: permuted(ints(node.attrs, name), inverse(perm))
        for name in ("before", "after", "starts", "steps", "sizes", "shape")
        if name in node.attrs
    }
    return _done(rewriter, node, rewriter.like(node, *operands, **entries), perm)


def _gather(rewriter: Rewriter, node: Node, perm: Perm) -> Value:
    """Indices of rank 1 keep the rank: the axis is renamed."""
    base = _base(rewriter, _first(node), perm)
    axis = perm[integer(node.attrs, "axis")]
    return _done(rewriter, node, rewriter.like(node, base, node.inputs[1], axis=axis), perm)


def _interpolate(rewriter: Rewriter, node: Node, perm: Perm) -> Value:
    """The axes are renamed, and stay ascending with their tables."""
    tables = node.inputs[1:]
    sides = sorted(zip(permuted(perm, ints(node.attrs, "axes")), tables[::2], tables[1::2]), key=lambda side: side[0])
    axes = tuple(axis for axis, _, _ in sides)
    operands = [table for _, *pair in sides for table in pair]
    base = _base(rewriter, _first(node), perm)
    return _done(rewriter, node, rewriter.like(node, base, *operands, axes=axes), perm)


_ALONG_AXES = (
    "softmax", "int_softmax", "log_softmax", "cumsum", "cumprod", "normalize", "rms_normalize", "int_normalize",
)  # fmt: skip
_RULES: dict[str, Callable[[Rewriter, Node, Perm], Value]] = {
    **dict.fromkeys((*_ALONG_AXES, "concat"), _along_axis),
    **dict.fromkeys(("reduce", "arg_reduce"), _reduce),
    **dict.fromkeys(("pad", "slice", "expand"), _per_dimension),
    "gather": _gather,
    "interpolate": _interpolate,
}


def _rule(node: Node) -> Callable[[Rewriter, Node, Perm], Value] | None:
    if OPS[node.op].kind is Kind.POINTWISE:
        return _pointwise
    if node.op == "expand" and len(_first(node).shape) != len(node.output.shape):
        return None
    if node.op == "gather" and len(node.operands[1].shape) != 1:
        return None
    return _RULES.get(node.op)


def lets_pass(node: Node) -> bool:
    """Whether a transpose may pass ``node``, in one direction or the other."""
    return node.op in ("transpose", "reshape", "matmul") or _rule(node) is not None


def _joined(before: tuple[int, ...], after: tuple[int, ...], perm: Perm) -> Perm:
    """The permutation of the base of a transpose by ``perm``, with the result ``before``, behind which the dimensions
    that a reshape to ``after`` joins lie together, in their order: blocks at the place of their first dimension."""
    if _positions_in_base(before, after, perm) is not None:
        return identity(len(perm))
    blocks = [[perm[axis] for axis in old] for old, _ in groups(before, after) if old]
    return tuple(place for block in sorted(blocks, key=min) for place in block)


def _positions_in_base(before: tuple[int, ...], after: tuple[int, ...], perm: Perm) -> list[tuple[int, int]] | None:
    """For each dimension of ``after`` a key that sorts it into the base's order; ``None`` if the base scatters it."""
    keys: list[tuple[int, int]] = []
    for old, new in groups(before, after):
        real = [axis for axis in old if before[axis] != 1]
        places = [perm[axis] for axis in real]
        steps = range(min(places), max(places) + 1) if places else ()
        between = [axis for axis in steps if axis not in places and before[perm.index(axis)] != 1]
        if places != sorted(places) or between:
            return None
        first = places[0] if places else (keys[-1][0] if keys else -1)
        keys.extend((first, position) for position in new)
    return keys


def _sink_matmul(rewriter: Rewriter, node: Node) -> Value | None:
    return _sink_rows(rewriter, node) or _sink_flattened(rewriter, node)


def _sink_rows(rewriter: Rewriter, node: Node) -> Value | None:
    """Rows of the left operand are independent: what permutes them permutes the result's."""
    lhs, rhs, *bias = node.inputs
    assert lhs is not None and rhs is not None
    perm = _perm_of(rewriter, lhs)
    if perm is None or perm[-1] != len(perm) - 1 or len(rhs.shape) != 2:
        return None
    if any(value is not None and value.type.size != value.shape[-1] for value in bias):
        return None
    result = rewriter.like(node, _base(rewriter, lhs, perm), rhs, *bias)
    return _done(rewriter, node, result, perm)


def _sink_flattened(rewriter: Rewriter, node: Node) -> Value | None:
    """``reshape(transpose(x)) @ w``: the sum runs over the elements of x in another order when w's rows follow.

    Example: [1,4,4,64] -transpose-> [1,64,4,4] -reshape-> [1,1024] @ w becomes
    [1,4,4,64] -reshape-> [1,1024] @ w', w' = w with its 64*4*4 rows reordered to 4*4*64.
    """
    lhs, rhs, *bias = node.inputs
    flat = rewriter.producer(lhs)
    rows = rewriter.array(rhs)
    if flat is None or flat.op != "reshape" or rhs is None or rows is None or rows.ndim != 2:
        return None
    moved = rewriter.producer(flat.inputs[0])
    if moved is None or moved.op != "transpose":
        return None
    shape, perm, width = moved.output.shape, ints(moved.attrs, "perm"), rows.shape[0]
    start = next((axis for axis in range(len(shape) - 1, -1, -1) if prod(shape[axis:]) == width), None)
    if start is None or perm[:start] != identity(start):
        return None
    back = tuple(axis - start for axis in inverse(perm)[start:])
    reordered = rows.reshape(*shape[start:], -1).transpose(*back, len(back)).reshape(rows.shape)
    weights = rewriter.constant(reordered, rhs.name)
    return rewriter.like(node, reshape(rewriter, _first(moved), flat.output.shape, loc=flat.loc), weights, *bias)

"""The pointwise and view work of a fused node, evaluated element by element from its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..ir.build import maximum, minimum, select
from ..ir.graph import Graph, Node, Value
from ..ir.loops import Const, Expr, Let, Type, Var, as_expr
from ..ops.opdef import Kind
from ..ops.table import OPS
from .names import Names
from .tensors import TensorRef


def table_names(graph: Graph) -> set[str]:
    """The operands that are looked up in, at an index of their own."""
    return {n.operands[p].name for n in graph.nodes if n.op in OPS for p in OPS[n.op].tables}


class Body:
    """Builds the expression of any value of ``graph`` at an index.

    ``refs`` hold the tensors from outside, by value name; ``seeds`` the elements that are known already (the result
    of an anchor). Intermediate values that are needed twice are named in ``lets``, which must precede the use.
    ``chosen`` holds the positions of the operands that concatenations show wherever elements are asked for.
    """

    def __init__(
        self,
        graph: Graph,
        refs: Mapping[str, TensorRef],
        names: Names,
        seeds: Mapping[str, Expr] | None = None,
        chosen: Mapping[str, int] | None = None,
    ) -> None:
        self.graph, self.refs, self.names = graph, refs, names
        self.lets: list[Let] = []
        self._producers = graph.producers()
        self._uses = {name: len(nodes) for name, nodes in graph.uses().items()}
        self._seeds = dict(seeds or {})
        self._chosen = dict(chosen or {})
        self._known: dict[tuple[str, tuple[Expr, ...]], Expr] = {}

    def bind(self, stem: str, expr: Expr) -> Expr:
        """Names an intermediate value."""
        if isinstance(expr, (Var, Const)):
            return expr
        var = Var(self.names.fresh(stem), expr.type)
        self.lets.append(Let(var, expr))
        return var

    def element(self, value: Value, index: Sequence[Expr]) -> Expr:
        """``value`` at ``index`` (of its own rank)."""
        if value.name in self._seeds:
            return self._seeds[value.name]
        constant = self.graph.constant(value)
        if constant is not None and constant.size == 1:
            stored = value.dtype.stored
            return Const(constant.reshape(-1)[:1].view(stored.numpy)[0].item(), Type(stored))
        if self._outside(value):
            ref = self.refs[value.name]
            return ref[index]
        key = (value.name, tuple(index))
        if key not in self._known:
            expr = self._computed(self._producers[value.name], index)
            if self._uses.get(value.name, 0) > 1:
                expr = self.bind("t", expr)
            self._known[key] = expr
        return self._known[key]

    def _table(self, value: Value) -> Expr:
        """The first element of a table; the operator moves the index."""
        buffer = self.refs[value.name].buffer
        return buffer[(as_expr(0),) * len(buffer.shape)]

    def _outside(self, value: Value) -> bool:
        return value.name in self.refs and value.name not in self._producers

    def _computed(self, node: Node, index: Sequence[Expr]) -> Expr:
        row = OPS[node.op]
        if row.kind is Kind.POINTWISE:
            assert row.scalar is not None, node.op
            operands = [
                self._table(v) if position in row.tables else self.element(v, self._broadcast(v, index))
                for position, v in enumerate(node.operands)
            ]
            return row.scalar(operands, node, self.bind)
        if is_copy(node):
            return self.element(node.operands[0], self._broadcast(node.operands[0], index))
        assert row.index_map is not None, node.op
        return self._viewed(node, index)

    def _broadcast(self, value: Value, index: Sequence[Expr]) -> tuple[Expr, ...]:
        """The index into an operand that belongs to ``index`` of the result."""
        if self._outside(value):
            return self.refs[value.name].broadcast_index(index)
        if self.graph.constant(value) is not None or value.name in self._seeds:
            return tuple(index)
        if value.shape and len(value.shape) == len(index):
            return tuple(as_expr(0) if extent == 1 else i for i, extent in zip(index, value.shape))
        return tuple(index[len(index) - len(value.shape) :]) if len(value.shape) < len(index) else tuple(index)

    def _viewed(self, node: Node, index: Sequence[Expr]) -> Expr:
        """The element that a view shows: one source, or a choice among several."""
        row = OPS[node.op]
        assert row.index_map is not None
        result: Expr | None = None
        sources = row.index_map(node, index)
        if node.output.name in self._chosen:
            position = self._chosen[node.output.name]
            sources = [replace(each, valid=None) for each in sources if each.operand == position]
        for source in reversed(sources):
            operand = node.inputs[source.operand]
            assert operand is not None
            where = source.index if source.valid is None else _clamped(source.index, operand.shape)
            element = self.element(operand, where)
            if source.valid is None:
                result = element
            else:
                other = source.fill if source.fill is not None else result
                result = element if other is None else select(source.valid, element, other)
        assert result is not None
        return result


def is_copy(node: Node) -> bool:
    """Whether its elements are those of its operand in the same places, whatever loops run over them."""
    return node.op == "expand" and node.operands[0].shape == node.output.shape


def _clamped(index: Sequence[Expr], shape: Sequence[int]) -> tuple[Expr, ...]:
    """Kept inside ``shape``: both sides of a Select are evaluated."""
    return tuple(_clamp(i, extent) for i, extent in zip(index, shape, strict=True))


def _clamp(index: Expr, extent: int) -> Expr:
    if isinstance(index, Const):
        return Const(min(max(int(index.value), 0), extent - 1), index.type)
    return maximum(minimum(index, extent - 1), 0)

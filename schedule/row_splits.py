"""Fused nodes on some rows of their tensors: which operands a block of rows reads, and the node of a block alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ..errors import CcmlError
from ..ir.graph import Graph, Node, Value
from ..ir.types import TensorType
from ..ops.attributes import integer, ints
from ..ops.fused import body_of
from ..ops.opdef import Kind
from ..ops.table import OPS, infer_types
from ..record import record
from .window import Window

WHOLE_OPERANDS = {"conv": (1, 2), "matmul": (2,), "softmax": (), "normalize": ()}
"""The anchors whose rows depend on the same rows of their first operand alone, and the operands that all rows read. Of
a product's right matrix the batches go with those of the rows."""


@record
class RowSplit:
    """How tensors whose first dimensions are ``frame`` are taken apart: each index of all dimensions of the frame but
    its last one, of which a block has ``rows``, and the last block what is left."""

    frame: tuple[int, ...]
    rows: int

    @property
    def blocks(self) -> int:
        """The number of all blocks."""
        return prod(self.frame[:-1]) * -(-self.frame[-1] // self.rows)

    def part(self, shape: Sequence[int], rank: int, columns: int = 0) -> tuple[int, ...] | None:
        """The shape of a block of a tensor that broadcasts to ``rank`` dimensions; its last ``columns`` are whole.
        ``None`` where its dimensions are not those of the frame."""
        found = list(shape)
        for dim, extent in enumerate(self.frame):
            at = dim - (rank - len(shape))
            if at < 0 or at >= len(shape) - columns or shape[at] == 1:
                continue
            if shape[at] != extent:
                return None
            found[at] = self.rows if dim == len(self.frame) - 1 else 1
        return tuple(found)


def operand_parts(node: Node, split: RowSplit) -> dict[str, tuple[int, ...]] | None:
    """The shapes of what a block of a fused ``node`` reads and gives, by value; ``None`` where the node is more than
    products of rows, functions of rows and pointwise work, or reads a tensor in two ways."""
    found: dict[str, tuple[int, ...]] = {}
    body = body_of(node.attrs)
    for inner in body.nodes:
        rank = len(inner.output.shape)
        if not _row_by_row(inner, rank, len(split.frame)):
            return None
        for position, value in enumerate(inner.inputs):
            if value is None:
                continue
            columns = 2 if inner.op == "matmul" and position == 1 else 0
            shape: tuple[int, ...] | None = value.shape
            if not _is_whole(inner, position):
                shape = split.part(value.shape, rank, columns)
            if shape is None or found.setdefault(value.name, shape) != shape:
                return None
        shape = split.part(inner.output.shape, rank)
        if shape is None or found.setdefault(inner.output.name, shape) != shape:
            return None
    return found


def _is_whole(node: Node, position: int) -> bool:
    row = OPS[node.op]
    return position in (row.tables if row.kind is Kind.POINTWISE else WHOLE_OPERANDS[node.op])


def _row_by_row(node: Node, rank: int, frame: int) -> bool:
    """Whether rows along the last of ``frame`` dimensions do not depend on each other."""
    if len(node.outputs) != 1 or rank <= frame:
        return False
    if OPS[node.op].kind is Kind.POINTWISE or node.op == "matmul":
        return True
    if node.op == "softmax":
        return integer(node.attrs, "axis") >= frame
    if node.op == "normalize":
        return min(ints(node.attrs, "axes")) >= frame
    if node.op != "conv" or node.attrs["layout"] != "channels_last":
        return False
    return Window.of(node).pointwise


def part_of(node: Node, parts: Mapping[str, tuple[int, ...]]) -> Node | None:
    """The fused ``node`` on tensors of the shapes ``parts``; ``None`` where its operators do not take them."""
    body = body_of(node.attrs)
    made = {
        value.name: Value(value.name, TensorType(value.dtype, parts[value.name]))
        for value in (*body.inputs, *(value for inner in body.nodes for value in inner.operands))
        if value.name in parts
    }
    nodes = []
    for inner in body.nodes:
        operands = tuple(None if value is None else made.get(value.name, value) for value in inner.inputs)
        try:
            types = infer_types(inner.op, operands, inner.attrs)
        except CcmlError:
            return None
        if [type_.shape for type_ in types] != [parts[value.name] for value in inner.outputs]:
            return None
        outputs = tuple(Value(value.name, type_) for value, type_ in zip(inner.outputs, types, strict=True))
        made.update((value.name, value) for value in outputs)
        nodes.append(Node(inner.op, operands, outputs, inner.attrs, inner.loc))
    inputs, outputs = (tuple(made[value.name] for value in side) for side in (body.inputs, body.outputs))
    return Node(
        node.op, inputs, outputs, {"body": Graph(body.name, inputs, outputs, tuple(nodes), body.constants)}, node.loc
    )

"""Which fused nodes are computed block by block of rows: those with more between them than the second cache holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ..ir.graph import AttrValue, Graph, Node, join_locs
from ..ir.types import DType
from ..ops.fused import fused_macs
from ..ops.table import OPS
from ..targets.target import Cpu
from .row_splits import RowSplit, operand_parts, part_of

LEAST = 1
"""The share of the second cache beyond which a result is not there any more when it is read."""
BETWEEN = 3 << 17
"""Bytes of a block that the nearest caches keep beside the weights."""
EVEN = 1 / 2
"""The share of as many rows as fit that is enough where blocks are all alike."""
FEWEST_ROWS = 16
"""Of the product's rows in a block: with fewer, weights are read too often."""
MOST_OPERANDS = 1 / 2
"""The share of the second cache that may be taken by what blocks read over and over."""


def block_rows(graph: Graph, cpu: Cpu) -> Graph:
    """``graph`` with chains of fused nodes as one, of ``row_blocks``, where that saves memory traffic.

    Where extents are told by a run nothing is joined: rows that are not needed are not known here.
    """
    if not cpu.caches or graph.extents or graph.states:
        return graph
    return _Chains(graph, cpu).joined()


@dataclass
class _Chains:
    graph: Graph
    cpu: Cpu

    def __post_init__(self) -> None:
        self.users = self.graph.uses()
        self.kept = {value.name for value in self.graph.outputs}

    def joined(self) -> Graph:
        nodes: list[Node] = []
        chains = {id(chain[-1][-1]): chain for chain in self._chains()}
        members = {id(node) for chain in chains.values() for node in chain[-1]}
        for node in self.graph.nodes:
            if id(node) in chains:
                nodes.append(_as_one(*chains[id(node)]))
            elif id(node) not in members:
                nodes.append(node)
        return self.graph.with_nodes(nodes)

    def _chains(self) -> list[tuple[RowSplit, list[Node]]]:
        found: list[tuple[RowSplit, list[Node]]] = []
        taken: set[int] = set()
        for node in self.graph.nodes:
            if id(node) in taken or not self._fits(node):
                continue
            chain, split = [node], None
            while (following := self._next(chain[-1])) is not None:
                longer = self._split([*chain, following])
                if longer is None:
                    break
                chain, split = [*chain, following], longer
            if split is not None:
                found.append((split, chain))
                taken |= {id(member) for member in chain}
        return found

    def _fits(self, node: Node) -> bool:
        return node.op == "fused" and len(node.outputs) == 1 and node.output.dtype is DType.F32

    def _next(self, node: Node) -> Node | None:
        """The only reader of a result that the second cache does not keep."""
        value = node.output
        users = self.users.get(value.name, [])
        if value.name in self.kept or len(users) != 1 or not self._fits(users[0]):
            return None
        return users[0] if value.type.nbytes > self.cpu.caches[0].size * LEAST else None

    def _split(self, chain: list[Node]) -> RowSplit | None:
        """The largest blocks for which a chain keeps what is between its members in the nearest caches."""
        result = chain[-1].output
        if any(len(node.output.shape) != len(result.shape) for node in chain):
            return None
        between = sum(node.output.type.nbytes for node in chain[:-1])
        for last in range(len(result.shape) - 1):
            frame = result.shape[: last + 1]
            most = BETWEEN * prod(frame) // between
            if frame[-1] == 1 or most == 0 or any(node.output.shape[: last + 1] != frame for node in chain):
                continue
            split = RowSplit(frame, self._rows(frame[-1], most))
            if split.blocks > 1 and self._serves(chain, split):
                return split
        return None

    def _rows(self, extent: int, most: int) -> int:
        """Rows of a block, of ``most`` at most: they divide the extent where others are not much more. Rows that are
        left need loops of their own, and with them their weights where these are not in panels."""
        rows = -(-extent // -(-extent // most))
        divisor = next(part for part in range(rows, 0, -1) if extent % part == 0)
        return rows if self.cpu.panel and divisor < rows * EVEN else divisor

    def _serves(self, chain: list[Node], split: RowSplit) -> bool:
        rows = split.rows * prod(chain[-1].output.shape[len(split.frame) : -1])
        if rows < FEWEST_ROWS or not any(fused_macs(node, OPS) for node in chain):
            return False
        read = _read(chain, split)
        undivided = None if read is None else _read(chain, replace(split, rows=split.frame[-1]))
        if read is None or undivided is None:
            return False
        in_blocks = all(read[node.output.name] != undivided[node.output.name] for node in chain[:-1])
        again = sum(prod(shape) for name, shape in read.items() if shape == undivided[name])
        return in_blocks and again * DType.F32.size <= self.cpu.caches[0].size * MOST_OPERANDS


def _read(chain: list[Node], split: RowSplit) -> dict[str, tuple[int, ...]] | None:
    """The shapes of what a block of a chain reads; ``None`` where it cannot be told apart."""
    read: dict[str, tuple[int, ...]] = {}
    for node in chain:
        parts = operand_parts(node, split)
        if parts is None or part_of(node, parts) is None:
            return None
        if any(read.setdefault(value.name, parts[value.name]) != parts[value.name] for value in node.operands):
            return None
    return read


def _as_one(split: RowSplit, chain: list[Node]) -> Node:
    made = {node.output.name for node in chain}
    operands = {value.name: value for node in chain for value in node.operands}
    inputs = tuple(value for name, value in operands.items() if name not in made)
    outputs, loc = chain[-1].outputs, join_locs(*(node.loc for node in chain))
    members = Graph(outputs[0].name, inputs, outputs, tuple(chain))
    attrs: dict[str, AttrValue] = {"body": members, "frame": split.frame, "rows": split.rows}
    inner = Node("row_blocks", inputs, outputs, attrs, loc)
    return Node("fused", inputs, outputs, {"body": Graph(outputs[0].name, inputs, outputs, (inner,))}, loc)

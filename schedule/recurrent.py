"""Recurrent layers with constant weights: contractions in the place of their sums of products.

The products with the input do not depend on the step before: they are one contraction over all steps in time and
batches, in front of the loops. In the loop over time, the weights of all gates of the state are side by side::

    inputs[t, b, row] = bias[row] + sum over i of x[t, b, i] * w[row, i]
    for each direction, step t                             where sequences have lengths, batch by batch
      sums[b, row] = bias[row] + sum over k of h[b, k] * r[row, k] + inputs[t, b, row]
      gates and states of ``ops/recurrent_nest.py``, lanes are units

Of weights that the fastest cache does not hold, steps begin with those that the step before read last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..ir.build import load, store
from ..ir.graph import Node
from ..ir.loops import INDEX, Block, Buffer, Expr, Load, Type, Var, as_expr
from ..ir.loops_rewrite import loop
from ..ir.types import DType
from ..ops.nest_tools import operand, optional
from ..ops.opdef import NestContext
from ..ops.recurrent import lengths_position
from ..ops.recurrent_nest import Cell, Cells, gru, lstm, rnn
from .blocking import Axis, Product
from .contraction import PackedWeights
from .contraction_loops import region_nests
from .dots import usable_dots
from .generic import NestAdapter
from .kernel import KernelContext
from .microkernel import Contraction
from .tensors import merge_dimensions
from .there_and_back import there_and_back

FAST_CACHE = 32 << 10
"""Bytes that the fastest cache of a core holds, at least."""

NESTS: dict[str, Callable[[NestContext, Node, Cells], Block]] = {"lstm": lstm, "gru": gru, "rnn": rnn}


def is_recurrent(ctx: KernelContext) -> bool:
    """Whether the anchor is a recurrent layer of float32 with constant weights and biases, on a CPU with vectors and
    memory for the products of all steps."""
    node = ctx.anchor
    if node is None or not ctx.cpu.caches or operand(node, 0).dtype is not DType.F32:
        return False
    return all(value is None or ctx.constant(value) is not None for value in (*node.inputs[1:3], optional(node, 3)))


def lower_recurrent(ctx: KernelContext) -> Block:
    """A recurrent layer for which :func:`is_recurrent` holds."""
    node = ctx.anchor
    assert node is not None
    together = optional(node, lengths_position(2 if node.op == "lstm" else 1)) is None
    directions = [_Direction.of(ctx, node, number) for number in range(operand(node, 1).shape[0])]
    blocks: set[Var] = set()

    def make(adapter: NestContext, node: Node, number: int, batch: Expr) -> Cell:
        return _PackedCell(adapter, node, number, batch, ctx, directions[number], together, blocks)

    before = tuple(stmt for direction in directions for stmt in direction.input_products(ctx, node))
    steps = NESTS[node.op](NestAdapter(ctx), node, Cells(make, together))
    if directions[0].r.nbytes > FAST_CACHE:
        steps = there_and_back(steps, blocks, ctx.names)
    return (*before, *steps)


@dataclass(frozen=True)
class _Direction:
    """Weights ``w[row, i]`` and ``r[row, k]``, biases of both, and memory for the products with all inputs."""

    w: np.ndarray
    r: np.ndarray
    bias: np.ndarray
    recurrent_bias: np.ndarray
    inputs: Buffer

    @staticmethod
    def of(ctx: KernelContext, node: Node, number: int) -> _Direction:
        w, r, b = (ctx.constant(value) for value in (*node.inputs[1:3], optional(node, 3)))
        assert w is not None and r is not None
        seq, batch, _ = operand(node, 0).shape
        rows = w.shape[1]
        biases = np.zeros(2 * rows, np.float32) if b is None else b[number]
        inputs = ctx.temporary("inputs", DType.F32, (seq * batch, rows), align=4 * max(ctx.cpu.f32_lanes))
        return _Direction(w[number], r[number], biases[:rows], biases[rows:], inputs)

    def input_products(self, ctx: KernelContext, node: Node) -> Block:
        x = operand(node, 0)
        seq, batch, depth = x.shape
        t, b, k = (Var(ctx.names.fresh(stem)) for stem in ("t", "b", "k"))
        shape, refs = merge_dimensions((seq, batch, depth), {x.name: ctx.refs[x.name]}, keep_last=1)
        outer = tuple(Axis(var, extent) for var, extent in zip((t,), shape[:-2]))

        def finish(r: Expr, column: Expr, value: Expr, mask: Expr | None) -> Block:
            number = t * batch + r if outer else r
            return (store(self.inputs[number, column], value, mask),)

        lhs = refs[x.name][*(axis.var for axis in outer), b, k]
        return _joined(_product(ctx, self.w, self.bias, outer, Axis(b, shape[-2]), Axis(k, depth), lhs, finish))


@dataclass(frozen=True)
class _PackedCell(Cell):
    """A cell whose sums are contractions; ``together``: rows are batches. ``blocks`` gets the variables of the
    outermost loops of these sums."""

    kernel: KernelContext
    packed: _Direction
    together: bool
    blocks: set[Var]

    @property
    def batches(self) -> int:
        return operand(self.node, 0).shape[1]

    @property
    def slot(self) -> Expr:
        return self.batch if self.together else INDEX(0)

    def memory(self, stem: str, sections: int = 1) -> tuple[Buffer, Block]:
        return self.ctx.scratch(stem, self.dtype, (self.batches if self.together else 1, sections * self.hidden))

    def each_unit(self, body: Callable[[Expr], Block], units: int | None = None) -> Block:
        block = super().each_unit(body, units)
        if self.together:
            assert isinstance(self.batch, Var)
            block = loop(self.batch, self.batches, *block)
        return self.kernel.vectorized(block)

    def sums(
        self, target: Buffer, at: int, rows: range, t: Expr | None = None, state: Buffer | None = None
    ) -> Block:
        """All of them for a row of the contraction, which is a batch or the only one."""

        def given(batch: Expr, column: Expr) -> Load:
            assert t is not None
            return self.packed.inputs[t * self.batches + batch, column + rows.start]

        def finish(r: Expr, column: Expr, value: Expr, mask: Expr | None) -> Block:
            if t is not None:
                batch = r if self.together else self.batch
                index = given(batch, column).index
                value = value + load(self.packed.inputs, *index, lanes=value.type.lanes, active=mask)
            return (store(target[r, column + at], value, mask),)

        if state is None:
            return self.each_unit(lambda n: (store(target[self.slot, n + at], given(self.batch, n)),), len(rows))
        k = Axis(Var(self.kernel.names.fresh("k")), self.hidden)
        row = Axis(Var(self.kernel.names.fresh("row")), self.batches if self.together else 1)
        part = slice(rows.start, rows.stop)
        weights, bias = self.packed.r[part], self.packed.recurrent_bias[part]
        nests = _product(self.kernel, weights, bias, (), row, k, state[row.var, k.var], finish)
        self.blocks.update(var for var, _ in nests)
        return _joined(nests)


def _product(
    ctx: KernelContext, weights: np.ndarray, bias: np.ndarray, outer: tuple[Axis, ...], row: Axis, k: Axis, lhs: Load,
    finish: Callable[[Expr, Expr, Expr, Expr | None], Block],
) -> Sequence[tuple[Var, Block]]:  # fmt: skip
    """``bias[n] + sum over k of lhs[row, k] * weights[n, k]``; ``finish(row, n, values, mask)`` takes vectors of it.
    A nest for each region of columns, with the variable of its loop over blocks of these."""
    columns = len(weights)
    repeats = outer[0].extent if outer else 1
    dots, reserve = usable_dots(ctx.cpu, DType.F32), ctx.cpu.registers.vector // 16
    product = Product(dots, row.extent, columns, (k.extent,), repeats, reserve=reserve)
    blocking = product.cheapest(ctx.cpu) if outer else ctx.blocking(product)
    packed = PackedWeights(ctx, weights.T[None], blocking)
    start = ctx.pack("bias", bias.astype(np.float32)) if bias.any() else None

    def mask(lanes: int, active: int) -> Expr | None:
        return None if active == lanes else as_expr(active)

    def init(column: Expr, lanes: int, active: int) -> Expr:
        if start is None:
            return Type(DType.F32, lanes)(0)
        return load(start, column, lanes=lanes, active=mask(lanes, active))

    spec = Contraction(
        outer, row, columns, (k,), lhs,
        lambda region, block, vector: packed.load(region, (INDEX(0), block, k.var), vector), init,
        lambda r, column, value, lanes, active: finish(r, column, value, mask(lanes, active)),
    )  # fmt: skip
    return tuple(region_nests(spec, blocking, ctx.names))


def _joined(nests: Sequence[tuple[Var, Block]]) -> Block:
    return tuple(stmt for _, nest in nests for stmt in nest)

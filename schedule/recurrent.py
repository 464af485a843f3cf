"""Recurrent layers with constant weights: contractions in the place of their sums of products.

The products with the input do not depend on the step before: they are one contraction over all steps in time and
batches, in front of the loops. In the loop over time, the weights of all gates of the state are side by side::

    inputs[t, b, row] = bias[row] + sum over i of x[t, b, i] * w[row, i]
    for each direction, step t                             where sequences have lengths, batch by batch
      old = h
      for each block of units
        sums[b, row] = bias[row] + sum over k of old[b, k] * r[row, k] + inputs[t, b, row]    rows: the gates of these
        gates and states of ``ops/recurrent_nest.py`` of these units, lanes are units

so that gates are computed while the weights of the next block are on their way from the second cache, and so may be
products with the inputs of later steps (``inputs_ahead.py``). Where units are no whole blocks, or the fastest cache
holds the weights, the sums of all come first. Of weights that it does not hold, steps begin with those that the step
before read last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, prod

import numpy as np

from ..ir.build import load, store
from ..ir.graph import Node
from ..ir.loops import INDEX, Alloc, Block, Buffer, Const, Expr, For, Load, Store, Type, Var, as_expr
from ..ir.loops_rewrite import loop, loop_index, walk_stmts
from ..ir.types import DType
from ..ops.nest_tools import operand, optional
from ..ops.opdef import NestContext
from ..ops.recurrent import lengths_position
from ..ops.recurrent_nest import Cell, Cells, Sums, Units, gru, lstm, rnn
from ..record import record
from ..targets.target import Dot
from .blocking import Axis, Blocking, Product, Region
from .contraction import PackedWeights
from .contraction_loops import region_nests
from .dots import usable_dots, weight_operand
from .generic import NestAdapter
from .inputs_ahead import InputLayer, InputsAhead
from .kernel import KernelContext
from .microkernel import Contraction
from .tensors import TensorRef, merge_dimensions
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
    blocks: list[set[Var]] = []
    ahead: dict[int, InputsAhead] = {}

    def make(adapter: NestContext, node: Node, number: int, batch: Expr) -> Cell:
        return _PackedCell(adapter, node, number, batch, ctx, directions[number], together, blocks, ahead)

    steps = NESTS[node.op](NestAdapter(ctx), node, Cells(make, together))
    if directions[0].streamed:
        steps = there_and_back(steps, blocks, ctx.names)
    before: Block = ()
    for number, direction in enumerate(directions):
        before += direction.input_products(ctx, node, ahead.get(number))
    return (*before, *steps)


@record
class _Direction:
    """Recurrent weights ``r[row, k]`` and their biases, memory for the products with all inputs, and the weights of
    these."""

    r: np.ndarray
    recurrent_bias: np.ndarray
    inputs: Buffer
    input_weights: _Weights

    @property
    def streamed(self) -> bool:
        """Whether each step reads weights from behind the fastest cache."""
        return self.r.nbytes > FAST_CACHE

    @staticmethod
    def of(ctx: KernelContext, node: Node, number: int) -> _Direction:
        w, r, b = (ctx.constant(value) for value in (*node.inputs[1:3], optional(node, 3)))
        assert w is not None and r is not None
        seq, batch, _ = operand(node, 0).shape
        rows = w.shape[1]
        biases = np.zeros(2 * rows, np.float32) if b is None else b[number]
        inputs = ctx.temporary("inputs", DType.F32, (seq * batch, rows), align=4 * max(ctx.cpu.f32_lanes))
        *outer, inner, depth = _merged_input(ctx, node)[0]
        product = _product(ctx, inner, rows, depth, outer[0] if outer else 1)
        blocking = product.cheapest(ctx.cpu) if outer else ctx.blocking(product)
        weights = _Weights.of(ctx, blocking, w[number], biases[:rows])
        return _Direction(r[number], biases[rows:], inputs, weights)

    def input_products(self, ctx: KernelContext, node: Node, ahead: InputsAhead | None) -> Block:
        """The products with all inputs, or those that the loop over time does not form ``ahead``."""
        (*outside, inner, depth), x = _merged_input(ctx, node)
        t, b, k = (Var(ctx.names.fresh(stem)) for stem in ("t", "b", "k"))
        outer = tuple(Axis(var, extent) for var, extent in zip((t,), outside))
        count = inner if ahead is None else ahead.first
        first = inner - count if ahead is not None and ahead.layer.backward else 0

        def finish(r: Expr, column: Expr, value: Expr, mask: Expr | None) -> Block:
            number = t * inner + r if outer else first + r
            return (store(self.inputs[number, column], value, mask),)

        lhs = x[*(axis.var for axis in outer), first + b, k]
        return _joined(_nests(ctx, self.input_weights, outer, Axis(b, count), Axis(k, depth), lhs, finish))

    def layer(self, ctx: KernelContext, node: Node, backward: bool) -> InputLayer | None:
        """The products with the inputs of one sequence, where their weights are stored vector by vector."""
        (*outer, seq, depth), x = _merged_input(ctx, node)
        weights = self.input_weights
        dot, columns = weights.blocking.dot, weights.columns
        packed = weights.packed
        if packed is None or not packed.panel or outer or operand(node, 0).shape[1] != 1:
            return None
        vectors = Region(0, columns // dot.lanes, 1, columns)

        def read(vector: Expr, k: Expr) -> Expr:
            return packed.load(vectors, (INDEX(0), vector, k), 0)

        hidden = self.r.shape[-1]
        return InputLayer(
            self.inputs, lambda place, k: x[place, k], read, weights.bias, dot, seq, depth, columns, hidden, backward
        )


@record
class _PackedCell(Cell):
    """A cell whose sums are contractions; ``together``: rows are batches. ``blocks`` gets the variables of the
    outermost loops of the sums of each stage, and ``ahead`` by direction the products that steps take along."""

    kernel: KernelContext
    packed: _Direction
    together: bool
    blocks: list[set[Var]]
    ahead: dict[int, InputsAhead]

    @property
    def batches(self) -> int:
        return operand(self.node, 0).shape[1]

    @property
    def slot(self) -> Expr:
        return self.batch if self.together else INDEX(0)

    def memory(self, stem: str, sections: int = 1) -> tuple[Buffer, Block]:
        return self.ctx.scratch(stem, self.dtype, (self._rows, sections * self.hidden))

    def each_unit(self, body: Callable[[Expr], Block], units: int | None = None) -> Block:
        block = super().each_unit(body, units)
        if self.together:
            assert isinstance(self.batch, Var)
            block = loop(self.batch, self.batches, *block)
        return self.kernel.vectorized(block)

    @property
    def _rows(self) -> int:
        """Rows of the contraction: the batches, or the only one."""
        return self.batches if self.together else 1

    def _product(self, columns: int, repeats: int = 1) -> Product:
        return _product(self.kernel, self._rows, columns, self.hidden, repeats)

    def stage(self, sums: Sequence[Sums], units: Sequence[Units]) -> Block:
        """Block of units by block of units, where they are whole blocks: ``units`` of a block behind its sums, which
        read a copy of the state if ``units`` replace it."""
        sections = [(each, row) for each in sums if each.state is not None for row in each.rows[:: self.hidden]]
        width = self._block_width(len(sections))
        self.blocks.append(set())
        if width is None:
            return super().stage(sums, units)
        count = self.hidden // width
        number = Var(self.kernel.names.fresh("ub"))
        part = loop_index(number, count)

        given = [Units(len(each.rows), partial(self._given, each)) for each in sums if each.state is None]
        behind: Block = ()
        for each in (*given, *units):
            for at in range(0, each.count, self.hidden):
                behind += self.each_unit(partial(_from, part * width + at, each.body), width)
        state = sums[0].state
        assert state is not None
        before: Block = ()
        if any(isinstance(stmt, Store) and stmt.buffer == state for stmt in walk_stmts(behind)):
            new = state
            state, before = self.memory("old")
            before += self.each_unit(lambda n: (store(state[self.slot, n], new[self.slot, n]),))
        self.blocks[-1].add(number)
        products = self._block_products(sections, width, part, state)
        return (*before, *loop(number, count, *products, *behind))

    def _block_width(self, sections: int) -> int | None:
        """How many units a block has, of ``sections`` columns each: those of a panel of the CPU's, or so many that the
        products have the fewest estimated cycles; ``None`` where the units are no whole blocks, or all weights stay in
        the fastest cache: gates of all units at once are vectors that do not wait for each other."""
        cpu = self.kernel.cpu
        if not self.packed.streamed:
            return None
        lanes = cpu.panel or max(cpu.f32_lanes)

        def cycles(width: int) -> float:
            product = self._product(sections * width, self.hidden // width)
            return product.cycles(cpu, self.kernel.blocking(product))

        widths = [width for width in range(lanes, self.hidden, lanes) if self.hidden % width == 0]
        return min(widths[:1] if cpu.panel else widths, key=cycles, default=None)

    def _block_products(self, sections: Sequence[tuple[Sums, int]], width: int, part: Expr, state: Buffer) -> Block:
        """The sums of the units of block ``part``, of as many ``sections``, each with its first row, at once as the
        registers hold."""
        rows = np.array([row for _, row in sections])[None, :, None] + np.arange(self.hidden).reshape(-1, 1, width)
        rows = rows.reshape(len(rows), -1)
        bias = self.packed.recurrent_bias[rows.reshape(-1)].astype(np.float32)
        start = self.kernel.pack("bias", bias) if bias.any() else None
        packed = self.kernel.pack("w", np.swapaxes(self.packed.r[rows], 1, 2))

        found = [self._whole_blocking(count * width) for count in range(1, len(sections) + 1)]
        most = max((count for count, blocking in enumerate(found, start=1) if blocking is not None), default=1)
        size = ceil(len(sections) / ceil(len(sections) / most))
        block: Block = ()
        for at in range(0, len(sections), size):
            group = sections[at : at + size]
            chosen = found[len(group) - 1] or self.kernel.blocking(self._product(width))
            first = part * rows.shape[1] + at * width
            read = partial(_load_of_block, packed, (part, at * width), chosen.dot)
            weights = _Weights(len(group) * width, chosen, read, start, first)
            nest = _joined(self._nests(weights, state, partial(self._finish_block, group, width, part)))
            block += self._with_inputs(nest, group[0], chosen, width, part)
        return block

    def _with_inputs(
        self, nest: Block, section: tuple[Sums, int], blocking: Blocking, width: int, part: Expr
    ) -> Block:  # fmt: skip
        """``nest`` of block ``part``, which begins with ``section``; that of the first gates with products of later
        inputs, where these are in time, and the loop over k leaves registers."""
        sums, row = section
        k_loops = [stmt for stmt in nest if isinstance(stmt, For)]
        if row or sums.t is None or self.lengths is not None or len(k_loops) != 1:
            return nest
        layer, cpu = self.packed.layer(self.kernel, self.node, self.backward), self.kernel.cpu
        taken = sum(prod(stmt.buffer.shape) for stmt in nest if isinstance(stmt, Alloc))
        if layer is None or not isinstance(k_loops[0].extent, Const):
            return nest
        passages = int(k_loops[0].extent.value)
        ahead = InputsAhead.of(layer, self.hidden // width, passages, cpu.registers.vector - taken)
        if ahead is None:
            return nest
        self.ahead[self.direction] = ahead
        return ahead.join(nest, sums.t, part, self.kernel.names)

    def _whole_blocking(self, columns: int) -> Blocking | None:
        """The cheapest blocking that has the sums of all ``columns`` in registers, if there is one."""
        product, cpu = self._product(columns), self.kernel.cpu
        whole = (each for each in product.possible(cpu) if columns <= each.vectors * each.dot.lanes)
        return min(whole, key=lambda each: product.cycles(cpu, each), default=None)

    def _finish_block(
        self, group: Sequence[tuple[Sums, int]], width: int, part: Expr, r: Expr, n: Expr, value: Expr,
        mask: Expr | None,
    ) -> Block:  # fmt: skip
        """Stores sums of a ``group`` of sections, or of the only one, of block ``part``."""
        section, unit = divmod(int(n.value), width) if isinstance(n, Const) else (0, n)
        sums, row = group[section]
        return self._finish(sums, r, part * width + (row - sums.rows.start) + unit, value, mask)

    def sums(self, sums: Sums) -> Block:
        if sums.state is None:
            return self.each_unit(partial(self._given, sums), len(sums.rows))
        rows = slice(sums.rows.start, sums.rows.stop)
        weights, bias = self.packed.r[rows], self.packed.recurrent_bias[rows]
        blocking = self.kernel.blocking(self._product(len(weights)))
        nests = self._nests(_Weights.of(self.kernel, blocking, weights, bias), sums.state, partial(self._finish, sums))
        self.blocks[-1].update(var for var, _ in nests)
        return _joined(nests)

    def _nests(self, weights: _Weights, state: Buffer, finish: Finish) -> Sequence[tuple[Var, Block]]:
        k, row = (Var(self.kernel.names.fresh(stem)) for stem in ("k", "row"))
        return _nests(self.kernel, weights, (), Axis(row, self._rows), Axis(k, self.hidden), state[row, k], finish)

    def _finish(self, sums: Sums, row: Expr, n: Expr, value: Expr, mask: Expr | None) -> Block:
        """Stores sums from the n-th on, with the products with the input."""
        if sums.t is not None:
            index = self._input(sums, row if self.together else self.batch, n).index
            value = value + load(self.packed.inputs, *index, lanes=value.type.lanes, active=mask)
        return (store(sums.target[row, n + sums.at], value, mask),)

    def _given(self, sums: Sums, n: Expr) -> Block:
        """Stores the n-th of sums of the input alone."""
        return (store(sums.target[self.slot, n + sums.at], self._input(sums, self.batch, n)),)

    def _input(self, sums: Sums, batch: Expr, n: Expr) -> Load:
        assert sums.t is not None
        return self.packed.inputs[sums.t * self.batches + batch, n + sums.rows.start]


Finish = Callable[[Expr, Expr, Expr, Expr | None], Block]
"""``finish(row, n, values, mask)`` takes a vector of results from the n-th column on."""


@record
class _Weights:
    """``columns`` columns of weights as a ``blocking`` reads them: ``load(region, block, k, vector)``. ``bias`` is that
    of all columns from the place ``first`` on."""

    columns: int
    blocking: Blocking
    load: Callable[[Region, Expr, Expr, int], Expr]
    bias: Buffer | None
    first: Expr
    packed: PackedWeights | None = None

    @staticmethod
    def of(ctx: KernelContext, blocking: Blocking, weights: np.ndarray, bias: np.ndarray) -> _Weights:
        """Weights ``[column, k]`` and their biases, packed."""
        packed = PackedWeights(ctx, weights.T[None], blocking)
        start = ctx.pack("bias", bias.astype(np.float32)) if bias.any() else None

        def read(region: Region, block: Expr, k: Expr, vector: int) -> Expr:
            return packed.load(region, (INDEX(0), block, k), vector)

        return _Weights(len(weights), blocking, read, start, INDEX(0), packed)


def _merged_input(ctx: KernelContext, node: Node) -> tuple[tuple[int, ...], TensorRef]:
    """The input as [steps and batches, depth], or [steps, batches, depth] where memory does not allow it: its shape and
    where it is."""
    x = operand(node, 0)
    shape, refs = merge_dimensions(x.shape, {x.name: ctx.refs[x.name]}, keep_last=1)
    return shape, refs[x.name]


def _product(ctx: KernelContext, rows: int, columns: int, depth: int, repeats: int) -> Product:
    dots, reserve = usable_dots(ctx.cpu, DType.F32), ctx.cpu.registers.vector // 16
    return Product(dots, rows, columns, (depth,), repeats, reserve=reserve)


def _nests(
    ctx: KernelContext, weights: _Weights, outer: tuple[Axis, ...], row: Axis, k: Axis, lhs: Load, finish: Finish
) -> Sequence[tuple[Var, Block]]:
    """``bias[n] + sum over k of lhs[row, k] * weights[n, k]``. A nest for each region of columns, with the variable of
    its loop over blocks of these."""

    def mask(lanes: int, active: int) -> Expr | None:
        return None if active == lanes else as_expr(active)

    def init(column: Expr, lanes: int, active: int) -> Expr:
        if weights.bias is None:
            return Type(DType.F32, lanes)(0)
        return load(weights.bias, weights.first + column, lanes=lanes, active=mask(lanes, active))

    spec = Contraction(
        outer, row, weights.columns, (k,), lhs,
        lambda region, block, vector: weights.load(region, block, k.var, vector), init,
        lambda r, column, value, lanes, active: finish(r, column, value, mask(lanes, active)),
    )  # fmt: skip
    return tuple(region_nests(spec, weights.blocking, ctx.names))


def _from(first: Expr, body: Callable[[Expr], Block], n: Expr) -> Block:
    return body(n + first)


def _load_of_block(
    packed: Buffer, place: tuple[Expr, int], dot: Dot, region: Region, block: Expr, k: Expr, vector: int
) -> Expr:
    """Columns of ``packed[part, k, column]`` from ``place``, a part and a column, on."""
    part, first = place
    column = block * (region.vectors * dot.lanes) + (first + region.start + vector * dot.lanes)
    return weight_operand(dot, Load(packed, (part, k, column), dot.lanes))


def _joined(nests: Sequence[tuple[Var, Block]]) -> Block:
    return tuple(stmt for _, nest in nests for stmt in nest)

"""Contractions of bytes with constant weights by tiles of CPUs with AMX.

A block of the result is two tiles of rows by one or two panels of sixteen columns (``blocks/matrix_tiles.py``)::

    for each panel of rows
      configure tiles
      for each block of columns, and each block of rows of the panel
        sums[...] = biases and products, by the block instruction
        for each row of both tiles: what is behind the contraction
      release tiles

Of many weights columns are outermost. As a panel configures tiles for itself, it can be in a chunk of its own, on any
thread.

The rows of a tile are neighbouring results of a line (the last dimension); a line is cut into tiles of equal size, of
which the last may begin earlier, so that nothing beyond the tensor is read: rows that an earlier tile has are not
finished again. The two tiles of a block are neighbours in a line, or at the same place of two lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import ceil, prod

import numpy as np

from ..blocks import BLOCKS
from ..blocks.matrix_tiles import COLUMNS_OF_TILE, DEPTH_OF_TILE, GROUP, LINE, ROWS_OF_TILE, product_name
from ..ir.build import load, lt, minimum
from ..ir.graph import Node
from ..ir.loops import (
    INDEX,
    Alloc,
    Block,
    Buffer,
    Expr,
    For,
    If,
    Invoke,
    Pointer,
    Space,
    Type,
    Var,
    as_expr,
    const_value,
)
from ..ir.loops_rewrite import loop, loop_index, row_major
from ..ir.types import DType
from ..ops.attributes import integer, ints
from ..ops.integer import BYTES, sum_shift
from ..record import record
from .blocking import Product
from .borders import needed_halo
from .byte_operands import Columns, Pixels, start, unflattened
from .contraction import is_conv, is_matmul
from .dots import usable_dots
from .kernel import KernelContext
from .tensors import Halo, TensorRef

BLOCK = 2 * COLUMNS_OF_TILE
"""Columns of a block."""
_LEAST_WORK = 8000
"""Cycles of products for which tiles are configured once, at least."""
_KEPT_WEIGHTS = 1 << 18
"""Bytes of weights that caches keep while rows pass: more are read once, a block of columns for all rows."""
_FEWEST_WEIGHTS = 1 << 16
"""Bytes of weights that are there for the next block of columns without being fetched."""
_SURE = 0.95
"""The share of the cycles of vectors above which an estimate is not trusted to be better."""


def is_tiled(ctx: KernelContext) -> bool:
    """Whether the anchor is a ``conv`` (channels last, one group) or ``matmul`` of bytes with constant weights of which
    each result sums at least a group of neighbours."""
    node, weights = ctx.contraction
    if weights is None or weights.dtype != np.int8 or node.operands[0].dtype not in BYTES or sum_shift(node.attrs):
        return False
    if ctx.by_rows or not node.output.type.size or 0 in weights.shape:
        return False
    if node.op == "conv":
        fits = is_conv(ctx) and integer(node.attrs, "group") == 1
    else:
        fits = is_matmul(ctx) and weights.ndim == 2
    if not fits:
        return False
    dense = ctx.with_dense_tensors()
    runs = _Runs.of(dense, Pixels.of(dense, node))
    return runs.length >= GROUP and len(runs.loops) <= _LOOPS


def tiled_cost(ctx: KernelContext) -> float:
    """The cycles in proportion to those of vectors; infinite where the difference is too small to be sure."""
    node, weights = ctx.contraction
    assert weights is not None
    pixels = Pixels.of(ctx, node)
    runs, grid, columns = _Runs.of(ctx, pixels), Grid.best(pixels.shape), node.output.shape[-1]
    dots = usable_dots(ctx.cpu, node.operands[0].dtype, weights.dtype)
    k = (*(extent for extent, _ in runs.loops), runs.length)
    product = Product(dots, pixels.shape[-1], columns, k, prod(pixels.shape[:-1]))
    share = _cycles(runs, grid, columns) / product.cycles(ctx.cpu, product.cheapest(ctx.cpu))
    return share if share < _SURE else float("inf")


def lower_tiled(ctx: KernelContext) -> Block:
    """``conv`` or ``matmul``, for which :func:`is_tiled` holds."""
    return _Tiled(ctx).emit()


def tiled_halo(conv: Node) -> Halo:
    """What convolutions read beyond their input, and behind each line, where there are borders anyway, room for the
    last group of a run that ends within one."""
    halo, (_, *_, kernel, depth) = needed_halo(conv), conv.operands[1].shape
    missing = -(kernel if ints(conv.attrs, "dilation")[-1] == 1 else 1) * depth % GROUP
    if halo.empty or not missing or kernel * depth > DEPTH_OF_TILE:
        return halo
    *before, columns, channels = halo.after
    return replace(halo, after=(*before, columns + ceil(missing / depth), channels))


# ---------------------------------------------------------------- how it is cut

_LOOPS = 2
"""Loops over runs that the block instruction has."""


@record
class _Runs:
    """What a result sums: runs of ``length`` neighbouring bytes, in ``loops`` of an extent and a step in bytes. Behind
    the last byte that any result sums there are ``spare`` ones in memory."""

    length: int
    loops: tuple[tuple[int, int], ...]
    spare: int = 0

    @staticmethod
    def of(ctx: KernelContext, pixels: Pixels) -> _Runs:
        """Taps along a line are part of a run where their channels are neighbours."""
        window, operand = pixels.window, ctx.contraction[0].inputs[0]
        assert operand is not None
        x = pixels.refs[operand.name]
        length, strides = window.depth, x.buffer.strides[:-1]
        taps = list(zip(window.kernel, window.dilation, strides[len(strides) - len(window.kernel) :], strict=True))
        if taps and taps[-1][1] == 1 and taps[-1][2] == length:
            length *= taps.pop()[0]
        loops = tuple((kernel, dilation * step) for kernel, dilation, step in taps if kernel > 1)
        return _Runs(length, loops, _spare(pixels, x))

    @property
    def width(self) -> int:
        """Bytes of a step, in whole groups, of as many steps as there have to be; the last group may reach into what is
        to spare."""
        steps = ceil(self.length / DEPTH_OF_TILE)
        width = GROUP * ceil(self.length / (GROUP * steps))
        return width if width <= self.length + self.spare else self.length // GROUP * GROUP

    @property
    def steps(self) -> int:
        return ceil(self.length / self.width)

    @property
    def last(self) -> int:
        """Where the last step begins."""
        return max(self.length - self.width, 0)

    @property
    def count(self) -> int:
        return prod(extent for extent, _ in self.loops)

    @property
    def size(self) -> int:
        """Bytes of weights of a column."""
        return self.count * self.steps * self.width

    @property
    def scalars(self) -> tuple[int, ...]:
        """As the block instruction takes them, from ``steps`` on."""
        (outer, outer_step), (taps, tap_step) = ((1, 0),) * (_LOOPS - len(self.loops)) + self.loops
        return (self.steps, self.width, self.last, outer, outer_step, taps, tap_step)

    def packed(self, weights: np.ndarray) -> np.ndarray:
        """``weights`` [o, runs * length] as bytes [panel, run, step, group, column, k]; zero where a step repeats what
        the one before has or reaches beyond the run, and in columns that are missing."""
        columns = ceil(len(weights) / COLUMNS_OF_TILE) * COLUMNS_OF_TILE
        out = np.zeros((columns, self.count, self.steps, self.width), np.int8)
        runs = weights.reshape(len(weights), self.count, self.length)
        whole = (self.steps - 1) * self.width
        out[: len(weights), :, :-1] = runs[:, :, :whole].reshape(len(weights), self.count, -1, self.width)
        out[: len(weights), :, -1, whole - self.last : self.length - self.last] = runs[:, :, whole:]
        tiles = out.reshape(-1, COLUMNS_OF_TILE, self.count, self.steps, self.width // GROUP, GROUP)
        return np.ascontiguousarray(tiles.transpose(0, 2, 3, 4, 1, 5)).reshape(-1)


def _spare(pixels: Pixels, x: TensorRef) -> int:
    """Bytes in memory behind the last one that is read."""
    window, plain = pixels.window, len(pixels.shape) - len(pixels.window.kernel)
    taps = zip(pixels.shape[plain:], window.kernel, window.stride, window.dilation, window.pad, strict=True)
    last = [extent - 1 for extent in pixels.shape[:plain]]
    last += [(extent - 1) * stride + (kernel - 1) * dilation - pad for extent, kernel, stride, dilation, pad in taps]
    place = sum((at + offset) * step for at, offset, step in zip((*last, window.depth - 1), x.offset, x.buffer.strides))
    return max(prod(x.buffer.shape) - 1 - place, 0)


@record
class Grid:
    """Results of a ``shape`` as tiles of ``rows`` rows. The two tiles of a block are neighbours in a line or, of
    ``lines``, at the same place of two."""

    shape: tuple[int, ...]
    rows: int
    lines: bool

    @staticmethod
    def best(shape: tuple[int, ...]) -> Grid:
        """That of the fewest cycles."""
        line = shape[-1]
        pairs = 2 * ceil(line / (2 * ROWS_OF_TILE))
        found = [Grid(shape, ceil(line / pairs), lines=False)]
        if len(shape) > 1 and shape[-2] > 1:
            found.append(Grid(shape, ceil(line / ceil(line / ROWS_OF_TILE)), lines=True))
        return min(found, key=lambda grid: grid.count * _product_cycles(grid.rows, 2, _Runs(DEPTH_OF_TILE, ())))

    @property
    def tiles(self) -> int:
        """Of a line."""
        return ceil(self.shape[-1] / self.rows)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Their number along each dimension."""
        if self.lines:
            *outer, lines, _ = self.shape
            return (*outer, ceil(lines / 2), self.tiles)
        return (*self.shape[:-1], ceil(self.tiles / 2))

    @property
    def count(self) -> int:
        return prod(self.blocks)

    def tile(self, block: Sequence[Expr], number: int) -> Tile:
        """One of the two tiles of a block."""
        *lead, place = block
        if not self.lines:
            return self._tile((*lead, place * 2 + number), lead, self.tiles % 2 == 1 and number == 1)
        *outer, pair = lead
        line, lines = pair * 2 + number, self.shape[-2]
        if number == 0 or lines % 2 == 0:
            return self._tile((*outer, line, place), (*outer, line))
        tile = self._tile((*outer, line, place), (*outer, minimum(line, as_expr(lines - 1))))
        return replace(tile, exists=lt(line, as_expr(lines)))

    def _tile(self, number: Sequence[Expr], source: Sequence[Expr], beyond: bool = False) -> Tile:
        """The last of ``number`` is that of the tile in its line, which may be ``beyond`` the last of them; what it is
        made of is at that of ``source``."""
        *lead, tile = number
        line = as_expr(self.shape[-1])
        first, rows = tile * self.rows, as_expr(self.rows)
        if self.shape[-1] % self.rows == 0 and not beyond:
            return Tile((*lead, first), (*source, first), rows)
        begin, left = minimum(first, line - self.rows), minimum(rows, line - first)
        return Tile((*lead, first), (*source, begin), left, lt(first, line) if beyond else None)


@record
class Tile:
    """Its results are from ``position`` on, as many rows as are ``left``: the last ones of those that are computed from
    what is at ``source``. Where there is a condition for it, it may be that it does not ``exist``."""

    position: tuple[Expr, ...]
    source: tuple[Expr, ...]
    left: Expr
    exists: Expr | None = None


def _product_cycles(rows: int, panels: int, runs: _Runs) -> float:
    cycles = BLOCKS[product_name(DType.U8, panels)].own_cycles((rows, 0, *runs.scalars, 0))
    assert cycles is not None
    return cycles


def _cycles(runs: _Runs, grid: Grid, columns: int) -> float:
    """The estimate for all of it."""
    pairs, single = divmod(ceil(columns / COLUMNS_OF_TILE), 2)
    total = 0.0
    for count, panels in ((pairs, 2), (single, 1)):
        finish = 3.0 * 2 * grid.rows * panels + 12
        total += count * grid.count * (_product_cycles(grid.rows, panels, runs) + finish)
    return total


# ---------------------------------------------------------------- the loops


@record
class _Panel:
    """Blocks of a grid: those of one ``lead``, of ``count`` (``most`` in other panels) from ``first`` on in the next
    dimension, and all of the ``inner`` ones."""

    lead: tuple[Expr, ...]
    first: Expr
    count: Expr
    most: int
    inner: tuple[int, ...]


class _Tiled:
    def __init__(self, ctx: KernelContext) -> None:
        self.ctx, self.names = ctx, ctx.names
        node, weights = ctx.contraction
        x = node.inputs[0]
        assert weights is not None and x is not None
        pixels = Pixels.of(ctx, node)
        self.window, self.refs, self.x = pixels.window, pixels.refs, pixels.refs[x.name]
        self.activation = x.dtype
        self.runs, self.grid = _Runs.of(ctx, pixels), Grid.best(pixels.shape)
        self.columns = node.output.shape[-1]
        operands = Columns.of(ctx, node, weights)
        self.weights = ctx.pack("w", self.runs.packed(operands.weights))
        bias = np.zeros(ceil(self.columns / COLUMNS_OF_TILE) * COLUMNS_OF_TILE, np.int32)
        bias[: self.columns] = operands.bias.astype(np.int32)
        self.bias = ctx.pack("bias", bias)

    def emit(self) -> Block:
        return self.ctx.loops(self._loops, _Tiled, self.runs, self.grid)

    @cached_property
    def _row_step(self) -> int:
        """Bytes between the activations of neighbours in a line."""
        return (self.window.stride[-1] if self.window.kernel else 1) * self.x.buffer.strides[-2]

    @cached_property
    def _columns_first(self) -> bool:
        return self.runs.size * self.columns > _KEPT_WEIGHTS

    def _loops(self) -> Block:
        """Of many weights those of a block of columns stay near, of few the rows."""
        if self._columns_first:
            return self._over_columns(lambda first, columns: self._panels(columns, partial(self._rows, first, columns)))
        return self._panels(self.columns, lambda part: self._over_columns(partial(self._rows, part=part)))

    def _panels(self, columns: int, make: Callable[[_Panel], Block]) -> Block:
        """``make`` of ``columns`` for panels of blocks of rows for which it is worth to configure tiles."""
        each = _cycles(self.runs, self.grid, columns) / self.grid.count
        blocks = self.grid.blocks
        dim = next(dim for dim in reversed(range(len(blocks))) if dim == 0 or each * prod(blocks[dim:]) >= _LEAST_WORK)
        line = each * prod(blocks[dim + 1 :])
        count = max(1, blocks[dim] // ceil(_LEAST_WORK / line))
        size = ceil(blocks[dim] / count)
        count = ceil(blocks[dim] / size)
        lead = [Var(self.names.fresh("line")) for _ in blocks[:dim]]
        panel = Var(self.names.fresh("panel"))
        first = loop_index(panel, count) * size
        whole = blocks[dim] % size == 0
        part = _Panel(
            tuple(loop_index(var, extent) for var, extent in zip(lead, blocks)), first,
            as_expr(size) if whole else minimum(as_expr(size), as_expr(blocks[dim]) - first), size, blocks[dim + 1 :],
        )  # fmt: skip
        block = loop(panel, count, *self._configured(make(part)))
        for var, extent in reversed(list(zip(lead, blocks))):
            block = loop(var, extent, *block)
        return block

    def _configured(self, block: Block) -> Block:
        configure = Invoke("tiles_configure", (), (self.grid.rows, self.runs.width))
        return (configure, *block, Invoke("tiles_release", (), ()))

    def _over_columns(self, make: Callable[[Expr, int], Block]) -> Block:
        """``make`` for each block of columns: the first of them, and how many there are."""
        full, rest = divmod(self.columns, BLOCK)
        number = Var(self.names.fresh("nb"))
        block = loop(number, full, *make(loop_index(number, full) * BLOCK, BLOCK)) if full else ()
        return (*block, *make(as_expr(full * BLOCK), rest)) if rest else block

    def _rows(self, first: Expr, columns: int, part: _Panel) -> Block:
        """Blocks of rows of ``columns`` from ``first`` on: a ``part`` of them."""
        outer, number = Var(self.names.fresh("ob")), Var(self.names.fresh("rb"))
        inner = prod(part.inner)
        line = INDEX(0) if const_value(part.count) == 1 else outer
        block = (*part.lead, part.first + line, *unflattened(loop_index(number, inner), part.inner))
        passage = line * inner + loop_index(number, inner), part.most * inner
        if self._columns_first:
            passage = row_major(block, self.grid.blocks), self.grid.count
        ahead, lines = self._next(first, *passage)
        tiles = [self.grid.tile(block, side) for side in range(2)]
        rows, panels = self.grid.rows, ceil(columns / COLUMNS_OF_TILE)
        shape = (2 * rows, panels * COLUMNS_OF_TILE)
        sums = Buffer(self.names.fresh("sums"), Type(DType.I32), shape, Space.STACK, align=64)
        pointers = (
            *(Pointer(self.x.buffer, self._source(tile)) for tile in tiles),
            start(self.weights, first * self.runs.size), start(self.bias, first), start(sums),
            start(self.weights, ahead),
        )  # fmt: skip
        scalars = (rows, self._row_step, *self.runs.scalars, lines)
        product = Invoke(product_name(self.activation, panels), pointers, scalars)
        finish = (
            stmt
            for side, tile in enumerate(tiles)
            for stmt in self._finish(tile, sums, side * rows, first, columns)
        )
        return loop(outer, part.count, *loop(number, inner, Alloc(sums), product, *finish))

    def _next(self, first: Expr, passage: Expr, passages: int) -> tuple[Expr, int]:
        """What a ``passage`` of so many over the columns from ``first`` on fetches of the weights of the next ones:
        from which byte on, and how many lines in each step."""
        steps, total = self.runs.count * self.runs.steps, prod(self.weights.shape)
        lines = ceil(BLOCK * self.runs.size / (LINE * steps * passages))
        fetched = lines * LINE * steps
        if self.columns <= BLOCK or total < _FEWEST_WEIGHTS or fetched >= total:
            return INDEX(0), 0
        return minimum((first + BLOCK) * self.runs.size + passage * fetched, as_expr(total - fetched - 1)), lines

    def _source(self, tile: Tile) -> tuple[Expr, ...]:
        """Where what the first row of a tile sums begins in the input."""
        window, position = self.window, tile.source
        plain = len(position) - len(window.kernel)
        places = zip(position[plain:], window.stride, window.pad, strict=True)
        return self.x.at((*position[:plain], *(at * stride - pad for at, stride, pad in places), as_expr(0)))

    def _finish(self, tile: Tile, sums: Buffer, base: int, first: Expr, columns: int) -> Block:
        """The results of a tile whose sums begin at row ``base``."""
        row = Var(self.names.fresh("i"))
        *lead, begin = tile.position
        place, again = (*lead, begin + row), self.grid.rows - tile.left
        block: Block = ()
        for offset in range(0, columns, COLUMNS_OF_TILE):
            known = load(sums, again + row + base, as_expr(offset), lanes=COLUMNS_OF_TILE)
            active = min(columns - offset, COLUMNS_OF_TILE)
            block += self.ctx.store_vector(
                lambda c: (*place, c), first + offset, self.ctx.rounded(known), active, self.refs
            )
        rows: Block = (For(row, tile.left, block),)
        return rows if tile.exists is None else (If(tile.exists, rows),)

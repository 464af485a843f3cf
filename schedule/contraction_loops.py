"""The loops around the microkernel of a contraction: which operands pass over which.

Columns are outermost as a rule, so that a block of weights stays in the fastest cache while all rows pass::

    for nb:4, o:56, rb:4: a block of registers

With panels of rows, where the second cache does not keep all activations until the next block of columns::

    for panel:14
      for nb:4, o:4, rb:4: a block of registers

Kernels that go row by row have the columns innermost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, prod

from ..ir.build import minimum
from ..ir.loops import Block, Load, Var, as_expr
from ..ir.loops_rewrite import loop, loop_index, substitute, walk_expr
from ..record import record
from .blocking import Axis, Blocking, Region, pieces, regions
from .microkernel import Contraction, tile
from .names import Names

KEPT = 1 / 2
"""The share of the cache behind the fastest up to which activations, or weights, are kept there."""
ROW_PANEL = 1 / 4
"""The share of it for the activations of a panel of rows."""


def contraction_block(
    spec: Contraction, blocking: Blocking, names: Names, *, rows_first: bool = False, row_panels: bool = False
) -> Block:
    """The loop nest of ``spec``: regions of columns, then the outer axes, then blocks of rows; with ``rows_first``
    the columns are innermost. With ``row_panels`` all columns pass over some rows, then over the next ones, where
    activations are too many for the caches to keep all of them for the next columns."""
    if rows_first:
        return _rows_first(spec, blocking, names)
    panel = _RowPanel.of(spec, blocking) if row_panels else None
    if panel is not None:
        return _in_row_panels(spec, blocking, names, panel)
    return tuple(stmt for _, nest in region_nests(spec, blocking, names) for stmt in nest)


def region_nests(spec: Contraction, blocking: Blocking, names: Names) -> Iterator[tuple[Var, Block]]:
    """The loop nests of regions of columns, which may run in any order, each with the variable of its outermost loop,
    that over blocks of columns: a region of one block has no such loop."""
    for region in regions(spec.columns, blocking.dot.lanes, blocking.vectors):
        block_var = Var(names.fresh("nb"))
        body: Block = ()
        for piece in pieces(spec.row.extent, blocking.rows):
            body += _row_loop(spec, blocking, names, region, block_var, *piece)
        for axis in reversed(spec.outer):
            body = loop(axis.var, axis.extent, *body)
        yield block_var, loop(block_var, region.blocks, *body)


@record
class _RowPanel:
    """``size`` passages of the outer axis of that number, or blocks of rows where there is none of it. A few panels are
    even in number, so that two threads have the same work."""

    number: int
    size: int

    @staticmethod
    def of(spec: Contraction, blocking: Blocking) -> _RowPanel | None:
        """``None`` where there is no such cache or it keeps the activations between blocks of columns, and where more
        weights would be read again and again, once for each panel, than activations, once for each block of columns."""
        kept, most = blocking.cache * KEPT, int(blocking.cache * ROW_PANEL)
        blocks = sum(region.blocks for region in regions(spec.columns, blocking.dot.lanes, blocking.vectors))
        weights = ceil(spec.depth / blocking.dot.group) * 4 * blocking.dot.packed_parts * spec.columns
        x = next((part.buffer for part in walk_expr(spec.lhs) if isinstance(part, Load)), None)
        activations = 0 if x is None else prod(x.shape) * x.dtype.size
        if not most or blocks < 2 or activations <= kept:
            return None
        again = activations / most * weights
        if weights > kept and (activations <= blocking.cache or 2 * again > blocks * activations):
            return None
        found, passage = None, activations
        for number, extent in enumerate([*(axis.extent for axis in spec.outer), ceil(spec.row.extent / blocking.rows)]):
            passage = ceil(passage / extent)
            if extent > 1 and (found is None or found.size == 1):
                count = ceil(extent / max(1, most // passage))
                found = _RowPanel(number, ceil(extent / (count + count % 2 if count > 1 else 1)))
        return found


def _in_row_panels(spec: Contraction, blocking: Blocking, names: Names, panel: _RowPanel) -> Block:
    """Panels of rows, then regions of columns, and last the rows of the panel."""
    found = pieces(spec.row.extent, blocking.rows)
    if panel.number < len(spec.outer):
        return _row_panels_of(spec, blocking, names, panel, found)
    return tuple(stmt for piece in found for stmt in _row_panels_of(spec, blocking, names, panel, [piece]))


def _row_panels_of(
    spec: Contraction, blocking: Blocking, names: Names, panel: _RowPanel, found: Sequence[tuple[int, int, int]]
) -> Block:
    """Of rows in these pieces, or of the blocks of the only one."""
    rows = Axis(Var(names.fresh("rb")), found[0][1])
    axes = (*spec.outer, rows)
    before, split, after = axes[: panel.number], axes[panel.number], spec.outer[panel.number + 1 :]
    number, inner = Var(names.fresh("panel")), Var(names.fresh("inner"))
    size = min(panel.size, split.extent)
    panels = ceil(split.extent / size)
    place = loop_index(number, panels) * size + loop_index(inner, size)
    passages = as_expr(size) if split.extent % size == 0 else minimum(size, split.extent - number * size)
    nest: Block = ()
    for region in regions(spec.columns, blocking.dot.lanes, blocking.vectors):
        block_var = Var(names.fresh("nb"))
        around = (*before, Axis(number, panels), Axis(block_var, region.blocks), Axis(inner, size), *after)
        body: Block = ()
        for start, count, height in found:
            if split is rows:
                body = tile(spec, blocking, names, region, block_var, rows.var, start, count, height, around)
            else:
                var = Var(names.fresh("rb"))
                loops = (*around, Axis(var, count))
                block = tile(spec, blocking, names, region, block_var, var, start, count, height, loops)
                body += loop(var, count, *block)
        for axis in reversed(after):
            body = loop(axis.var, axis.extent, *body)
        nest += loop(block_var, region.blocks, *loop(inner, passages, *substitute(body, {split.var: place})))
    nest = loop(number, panels, *nest)
    for axis in reversed(before):
        nest = loop(axis.var, axis.extent, *nest)
    return nest


def _rows_first(spec: Contraction, blocking: Blocking, names: Names) -> Block:
    body: Block = ()
    for start, count, height in pieces(spec.row.extent, blocking.rows):
        var = Var(names.fresh("rb"))
        columns: Block = ()
        for region in regions(spec.columns, blocking.dot.lanes, blocking.vectors):
            block_var = Var(names.fresh("nb"))
            around = (*spec.outer, Axis(var, count), Axis(block_var, region.blocks))
            block = tile(spec, blocking, names, region, block_var, var, start, count, height, around)
            columns += loop(block_var, region.blocks, *block)
        body += loop(var, count, *columns)
    for axis in reversed(spec.outer):
        body = loop(axis.var, axis.extent, *body)
    return body


def _row_loop(
    spec: Contraction,
    blocking: Blocking,
    names: Names,
    region: Region,
    block_var: Var,
    start: int,
    count: int,
    height: int,
) -> Block:
    var = Var(names.fresh("rb"))
    around = (Axis(block_var, region.blocks), *spec.outer, Axis(var, count))
    body = tile(spec, blocking, names, region, block_var, var, start, count, height, around)
    return loop(var, count, *body) if count > 1 else body

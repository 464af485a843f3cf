"""Vectorization: the iterations of a loop become lanes.

A *map* loop (iterations independent)::              A *reduction* loop::

    for c:64                                             for k:64
      y[c] = x[c] + 1                                      acc[0] = acc[0] + x[k]
    ->                                                   ->
    for c:4                                              vacc[0] = splat(0)
      y[c*16 : 16] = x[c*16 : 16] + splat(1)             for k:4
                                                           vacc[0] = vacc[0] + x[k*16 : 16]
                                                         acc[0] = acc[0] + reduce_add(vacc[0])

``vectorizer.py`` says which accesses become lanes. A reduction reassociates; the schedule asks for it knowingly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..ir.loops import (
    INDEX,
    Alloc,
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Load,
    Reduce,
    Space,
    Stmt,
    Store,
    Type,
    Var,
)
from ..ir.loops_rewrite import loop_index, most_passages, stmt_exprs, substitute, walk_expr, walk_stmts
from ..ir.types import DType
from ..record import record
from .affine import coefficient
from .border_pieces import border_pieces
from .byte_tables import only_lookups
from .down_rows import TOGETHER, goes_down_rows, jammed
from .lookups import table_place
from .names import Names, rename_bound
from .vectorizer import ANY_MACHINE, Able, NotVectorizable, Vectorizer


@record
class _Lanes:
    """The lane counts to use, widest first, what the machine has, and whether outer loops stay whole."""

    widths: tuple[int, ...]
    able: Able = ANY_MACHINE
    by_rows: bool = False


def vectorize(
    block: Block, widths: Sequence[int], names: Names, able: Able = ANY_MACHINE, *, by_rows: bool = False
) -> Block:
    """Vectorizes, in every loop nest of ``block``, the outermost loop that allows it.

    ``widths`` are the lane counts to use, widest first; a trip count that is no multiple continues with narrower ones
    and ends scalar. ``able`` says what the machine has. With ``by_rows`` outer loops stay whole.
    """
    return _vectorize_block(block, _Lanes(tuple(w for w in widths if w > 1), able, by_rows), names)


def _vectorize_block(block: Block, lanes: _Lanes, names: Names) -> Block:
    return tuple(stmt for old in block for stmt in _vectorize_stmt(old, lanes, names))


def vectorize_copies(block: Block, widths: Sequence[int], names: Names) -> Block:
    """``block`` with loops that copy neighbouring bytes in ``widths`` bytes at a time, widest first. Four bytes are a
    word, which machines without vectors move as well."""
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, If):
            parts = (vectorize_copies(part, widths, names) for part in (stmt.then, stmt.orelse))
            out.append(If(stmt.cond, *parts))
        elif isinstance(stmt, For) and is_copy_of_bytes(stmt):
            out.extend(_copied(stmt, tuple(widths), names))
        elif isinstance(stmt, For):
            out.append(For(stmt.var, stmt.extent, vectorize_copies(stmt.body, widths, names), stmt.kind))
        else:
            out.append(stmt)
    return tuple(out)


def is_copy_of_bytes(stmt: For) -> bool:
    """Whether the loop does nothing but to store a byte that it loads."""
    copied = stmt.body[0] if len(stmt.body) == 1 else None
    if not isinstance(copied, Store) or not isinstance(copied.value, Load) or not isinstance(stmt.extent, Const):
        return False
    buffers = (copied.buffer, copied.value.buffer)
    return all(b.dtype in (DType.I8, DType.U8) and b.type.lanes == 1 and b.space is not Space.REG for b in buffers)


def _copied(stmt: For, widths: tuple[int, ...], names: Names) -> Block:
    try:
        return _vectorize_map(stmt, _Lanes(widths), names)
    except NotVectorizable:
        return (stmt,)


def _vectorize_stmt(stmt: Stmt, lanes: _Lanes, names: Names) -> Block:
    def inside(block: Block) -> Block:
        return _vectorize_block(block, lanes, names)

    if isinstance(stmt, If):
        return (If(stmt.cond, inside(stmt.then), inside(stmt.orelse)),)
    if not isinstance(stmt, For):
        return (stmt,)
    if isinstance(stmt.extent, Const) and int(stmt.extent.value) < 1:
        return ()
    if isinstance(stmt.extent, Const):
        usable = _for_doubles(lanes) if _has_doubles(stmt) else lanes
        for attempt in (_vectorize_map, _vectorize_reduction):
            try:
                return attempt(stmt, usable, names)
            except NotVectorizable:
                continue
        pieces = _between_borders(stmt, lanes, names)
        if pieces is not None:
            return pieces
    return (For(stmt.var, stmt.extent, inside(stmt.body), stmt.kind),)


def _has_doubles(loop: For) -> bool:
    exprs = (part for stmt in walk_stmts(loop.body) for expr in stmt_exprs(stmt) for part in walk_expr(expr))
    return any(part.type.dtype is DType.F64 for part in exprs)


def _for_doubles(lanes: _Lanes) -> _Lanes:
    """Vectors of doubles fill one register: wider ones make compilers of C slow, and code no faster."""
    return replace(lanes, widths=tuple(width for width in lanes.widths if 2 * width <= lanes.widths[0]))


def _between_borders(stmt: For, lanes: _Lanes, names: Names) -> Block | None:
    """An innermost loop in pieces of which the longest becomes lanes, where it does not as a whole; a loop around
    others in pieces without conditions on its variable."""
    outer = any(isinstance(inner, For) for inner in walk_stmts(stmt.body))
    if not lanes.widths or (outer and lanes.by_rows):
        return None
    pieces = border_pieces(stmt, 1 if outer else lanes.widths[0], names)
    if pieces is None:
        return None
    if not outer:
        loops = [part for piece in pieces for part in piece if isinstance(part, For)]
        try:
            _vectorize_map(max(loops, key=lambda each: most_passages(each.extent) or 0), lanes, names)
        except NotVectorizable:
            return None
    return tuple(stmt for piece in pieces for stmt in _vectorize_block(piece, lanes, names))


def stripes(extent: int, widths: Sequence[int]) -> list[tuple[int, int, int]]:
    """(start, trips, lanes) covering ``extent``; the scalar rest has one lane."""
    found, start = [], 0
    for lanes in (*widths, 1):
        trips = (extent - start) // lanes
        if trips:
            found.append((start, trips, lanes))
            start += trips * lanes
    return found


def _loop(loop: For, start: int, trips: int, lanes: int, names: Names, body_at: Vectorizer | None) -> Block:
    """One stripe: ``body_at`` is the vectorizer whose base is the new variable, or ``None`` for scalar code."""
    if body_at is None:
        var = Var(names.fresh(loop.var.name))
        body = rename_bound(loop.body, names)
        moved = substitute(body, {loop.var: var + start})
        return (For(var, Const(trips, INDEX), moved, loop.kind),)
    body = body_at.block(loop.body)
    if trips == 1:
        return body
    var = next(v for v in walk_expr(body_at.base) if isinstance(v, Var))
    return (For(var, Const(trips, INDEX), body, loop.kind),)


def _vectorizer(loop: For, start: int, trips: int, lanes: int, names: Names, able: Able) -> Vectorizer:
    base: Expr = Const(start, INDEX)
    if trips > 1:
        base = Var(names.fresh(loop.var.name)) * lanes + start
    return Vectorizer(loop.var, lanes, base, names, able=able)


def _vectorize_map(loop: For, usable: _Lanes, names: Names) -> Block:
    assert isinstance(loop.extent, Const)
    _check_independent(loop)
    parts = stripes(int(loop.extent.value), _widths(loop, usable))
    if all(lanes == 1 for _, _, lanes in parts):
        raise NotVectorizable("fewer iterations than lanes")
    out: list[Stmt] = []
    for start, trips, lanes in parts:
        if lanes > 1 and trips >= TOGETHER and goes_down_rows(loop):
            count = trips // TOGETHER
            out += _side_by_side(loop, start, count, lanes, names, usable.able)
            start, trips = start + count * TOGETHER * lanes, trips % TOGETHER
        body_at = _vectorizer(loop, start, trips, lanes, names, usable.able) if lanes > 1 else None
        out.extend(_loop(loop, start, trips, lanes, names, body_at) if trips else ())
    return tuple(out)


def _side_by_side(loop: For, start: int, count: int, lanes: int, names: Names, able: Able) -> Block:
    """A stripe of a loop of which some vectors at a time go down the rows."""
    var = Var(names.fresh(loop.var.name))
    first = loop_index(var, count) * (TOGETHER * lanes) + start
    bases = [first + number * lanes for number in range(TOGETHER)]
    bodies = [Vectorizer(loop.var, lanes, base, names, able=able).block(loop.body) for base in bases]
    body = jammed(bodies)
    return (For(var, Const(count, INDEX), body, loop.kind),) if count > 1 else body


def _widths(loop: For, usable: _Lanes) -> tuple[int, ...]:
    """Those that a loop can have: tables are looked up by whole registers only."""
    if usable.able.byte_lookup_lanes and only_lookups(loop.body):
        return (usable.able.byte_lookup_lanes,)
    lanes = usable.able.lookup_lanes
    if not lanes or not any(table_place(load) for load in _loads(loop.body)):
        return usable.widths
    return tuple(width for width in usable.widths if width == lanes)


def _check_independent(loop: For) -> None:
    """No iteration may read what another writes: memory that the loop both loads and stores, or outer registers."""
    inside = {stmt.buffer for stmt in walk_stmts(loop.body) if isinstance(stmt, Alloc)}
    stored = {stmt.buffer for stmt in walk_stmts(loop.body) if isinstance(stmt, Store)} - inside
    if any(buffer.space is Space.REG for buffer in stored):
        raise NotVectorizable("a register is carried from one iteration to the next")
    for load in _loads(loop.body):
        if load.buffer in stored and not _same_place(loop, load):
            raise NotVectorizable(f"{load.buffer.name} is both loaded and stored")


def _loads(block: Block) -> list[Load]:
    return [
        part
        for stmt in walk_stmts(block)
        for expr in stmt_exprs(stmt)
        for part in walk_expr(expr)
        if isinstance(part, Load)
    ]


def _same_place(loop: For, load: Load) -> bool:
    """All stores to the buffer use exactly the load's index, which moves with the loop: iterations stay apart."""
    stores = [s for s in walk_stmts(loop.body) if isinstance(s, Store) and s.buffer == load.buffer]
    moves = bool(load.index) and coefficient(load.index[-1], loop.var) == 1
    return moves and all(s.index == load.index for s in stores)


# ---------------------------------------------------------------- reductions

_IDENTITY = {"add": 0, "mul": 1}


def _identity(op: str, type_: Type) -> int | float:
    """The neutral element of ``op``."""
    if op in _IDENTITY:
        return float(_IDENTITY[op]) if type_.dtype.is_float else _IDENTITY[op]
    if type_.dtype.is_float:
        return float("inf") if op == "min" else float("-inf")
    info = np.iinfo(type_.dtype.numpy)
    return int(info.max if op == "min" else info.min)


def _accumulates(stmt: Store, dtypes: frozenset[DType]) -> bool:
    """Whether ``stmt`` is ``acc[i] = op(acc[i], f)`` on scalars."""
    value, buffer = stmt.value, stmt.buffer
    if not isinstance(value, Binary) or value.op not in ("add", "mul", "min", "max"):
        return False
    return value.x == Load(buffer, stmt.index) and buffer.type.lanes == 1 and buffer.dtype in dtypes


def _reduction_stores(loop: For, dtypes: frozenset[DType]) -> dict[Buffer, str]:
    """Accumulator -> operator, for the stores ``acc[i] = op(acc[i], f)`` to registers from outside the loop."""
    inside = {stmt.buffer for stmt in walk_stmts(loop.body) if isinstance(stmt, Alloc)}
    found: dict[Buffer, str] = {}
    for stmt in walk_stmts(loop.body):
        if not isinstance(stmt, Store) or stmt.buffer in inside or stmt.buffer.space is not Space.REG:
            continue
        if stmt.buffer in found or not _accumulates(stmt, dtypes):
            raise NotVectorizable(f"{stmt.buffer.name} is not a plain accumulator")
        assert isinstance(stmt.value, Binary)
        found[stmt.buffer] = stmt.value.op
    if not found:
        raise NotVectorizable("no accumulator")
    uses = [load.buffer for load in _loads(loop.body) if load.buffer in found]
    if len(uses) != len(found):
        raise NotVectorizable("an accumulator is used inside the loop")
    return found


def _vectorize_reduction(loop: For, usable: _Lanes, names: Names) -> Block:
    assert isinstance(loop.extent, Const)
    accumulators = _reduction_stores(loop, usable.able.dtypes)
    parts = stripes(int(loop.extent.value), usable.widths[:1])
    if parts[0][2] == 1:
        narrower = replace(usable, widths=usable.widths[1:])
        return _vectorize_reduction(loop, narrower, names) if narrower.widths else _fail()
    out: list[Stmt] = []
    for start, trips, lanes in parts:
        if lanes == 1:
            out.extend(_loop(loop, start, trips, 1, names, None))
        else:
            out.extend(_accumulated(loop, start, trips, lanes, names, usable.able, accumulators))
    return tuple(out)


def _accumulated(
    loop: For, start: int, trips: int, lanes: int, names: Names, able: Able, accumulators: dict[Buffer, str]
) -> Block:
    """A stripe of a reduction: in vectors, of which long sums have several, then over their lanes."""
    together = able.sums if trips >= 2 * able.sums and _is_plain_sum(loop, accumulators) else 1
    count, rest = divmod(trips, together)
    var = Var(names.fresh(loop.var.name))
    first: Expr = var * (together * lanes) + start if count > 1 else Const(start, INDEX)
    bases = [first + number * lanes for number in range(together)]
    bases += [Const(start + (count * together + number) * lanes, INDEX) for number in range(rest)]
    out: list[Stmt] = []
    wide: list[dict[Buffer, Buffer]] = []
    for _ in range(together):
        wide.append({})
        for acc, op in accumulators.items():
            vectors = replace(acc, name=names.fresh(acc.name), type=acc.type.with_lanes(lanes))
            wide[-1][acc] = vectors
            neutral = Const(_identity(op, acc.type), vectors.type)
            out.append(Alloc(vectors))
            out.extend(Store(vectors, _origin(vectors, i), neutral) for i in range(vectors.shape[0]))
    blocks: list[Block] = []
    for number, base in enumerate(bases):
        body_at = Vectorizer(loop.var, lanes, base, names, able=able)
        body_at.registers |= wide[number % together]
        blocks.append(body_at.block(loop.body))
    body = tuple(stmt for block in blocks[:together] for stmt in block)
    out.extend((For(var, Const(count, INDEX), body, loop.kind),) if count > 1 else body)
    out.extend(stmt for block in blocks[together:] for stmt in block)
    for acc, op in accumulators.items():
        for i in range(acc.shape[0]):
            at = _origin(acc, i)
            total: Expr = Load(wide[0][acc], at)
            for other in wide[1:]:
                total = Binary(op, total, Load(other[acc], at))
            out.append(Store(acc, at, Binary(op, Load(acc, at), Reduce(op, total))))
    return tuple(out)


_FEW_PARTS = 12
"""Expressions of what is added up, beside which the latency of the addition counts."""


def _is_plain_sum(loop: For, accumulators: dict[Buffer, str]) -> bool:
    """Whether the loop does little else than to accumulate floats."""
    if not all(acc.dtype.is_float for acc in accumulators) or not all(isinstance(stmt, Store) for stmt in loop.body):
        return False
    values = [part for stmt in loop.body for expr in stmt_exprs(stmt) for part in walk_expr(expr)]
    return sum(part.type != INDEX for part in values) <= _FEW_PARTS


def _origin(buffer: Buffer, first: int) -> tuple[Expr, ...]:
    if len(buffer.shape) != 1:
        raise NotVectorizable(f"{buffer.name} has more than one dimension")
    return (Const(first, INDEX),)


def _fail() -> Block:
    raise NotVectorizable("fewer iterations than lanes")


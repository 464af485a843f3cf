"""Vectorization: the iterations of a loop become lanes.

A *map* loop (iterations independent)::              A *reduction* loop::

    for c:64                                             for k:64
      y[c] = x[c] + 1                                      acc[0] = acc[0] + x[k]
    ->                                                   ->
    for c:4                                              vacc[0] = splat(0)
      y[c*16 : 16] = x[c*16 : 16] + splat(1)             for k:4
                                                           vacc[0] = vacc[0] + x[k*16 : 16]
                                                         acc[0] = acc[0] + reduce_add(vacc[0])

Legality is checked access by access: along the loop variable every load must be contiguous in its last dimension or
not move at all, every store contiguous. A reduction reassociates; the schedule asks for it knowingly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..ir.loops import (
    I32,
    INDEX,
    Alloc,
    Binary,
    Bitcast,
    Block,
    Buffer,
    Call,
    Const,
    Convert,
    Expr,
    For,
    If,
    Let,
    Load,
    Reduce,
    Select,
    Space,
    Splat,
    Stmt,
    Store,
    Type,
    Unary,
    Var,
)
from ..ir.loops_rewrite import map_expr, most_passages, stmt_exprs, substitute, walk_expr, walk_stmts
from ..ir.types import DType
from ..record import record
from .affine import coefficient, occurs
from .border_pieces import border_pieces
from .byte_tables import looked_up_bytes, number_of, only_lookups
from .lookups import looked_up, table_place
from .names import Names, rename_bound

SCALAR_ONLY = frozenset({"scale_round"})
"""Rows of the instruction table that no machine has for lanes."""
LARGEST_ARRAY = 1 << 14
"""Bytes of the stack for an array that all lanes have an element of."""


class NotVectorizable(Exception):  # noqa: N818 - it is no error: another loop is tried
    """The loop cannot become lanes; the message says which access or statement stands in the way."""


VECTOR_DTYPES = frozenset(DType(name) for name in ("f32", "f16", "i32", "u32", "i16", "u16", "i8", "u8", "bool"))
LONG_DTYPES = frozenset({DType.I64, DType.U64})
"""What only some machines have vectors of."""


@record
class Able:
    """What a machine has for vectors: the elements that they may have, how many lanes look up tables at once, and how
    many those of bytes by bytes; ``sums``: how many vectors a long plain sum is kept in, none of which then waits for
    the one before."""

    dtypes: frozenset[DType] = VECTOR_DTYPES
    lookup_lanes: int = 0
    byte_lookup_lanes: int = 0
    sums: int = 1


ANY_MACHINE = Able()


class Vectorizer:
    """Rewrites straight code and nested loops so that ``var = base + lane`` for all lanes at once.

    ``seeds`` gives variables that already are vectors; ``active`` limits loads and stores to the first lanes;
    ``able`` says what the machine has.
    """

    def __init__(
        self,
        var: Var,
        lanes: int,
        base: Expr,
        names: Names,
        *,
        active: Expr | None = None,
        seeds: dict[Var, Expr] | None = None,
        able: Able = ANY_MACHINE,
    ) -> None:
        self.able = able
        self.var, self.lanes, self.base, self.names, self.active = var, lanes, base, names, active
        self.vectors: dict[Var, Expr] = dict(seeds or {})
        self.renamed: dict[Var, Expr] = {}
        self.registers: dict[Buffer, Buffer] = {}
        self.arrays: dict[Buffer, Buffer] = {}
        self.lets: list[Let] = []

    # ---- expressions

    def at_base(self, expr: Expr) -> Expr:
        """``expr`` for lane 0."""

        def rule(part: Expr) -> Expr | None:
            if not isinstance(part, Var):
                return None
            return self.base if part == self.var else self.renamed.get(part)

        return map_expr(expr, rule)

    def varies(self, expr: Expr) -> bool:
        """Whether lanes can differ in ``expr``."""
        for part in walk_expr(expr):
            if isinstance(part, Var):
                if part == self.var or part in self.vectors:
                    return True
            elif isinstance(part, Load) and (part.buffer in self.registers or part.buffer in self.arrays):
                return True
        return False

    def vector(self, expr: Expr) -> Expr:
        """``expr`` as a vector of all lanes."""
        if not self.varies(expr):
            scalar = self.at_base(expr)
            if scalar.type.dtype not in self.able.dtypes:
                raise NotVectorizable(f"{scalar.type} has no vectors")
            if isinstance(scalar, Const):
                return Const(scalar.value, scalar.type.with_lanes(self.lanes))
            return Splat(scalar, self.lanes)
        result = self._varying(expr)
        if result.type.dtype not in self.able.dtypes:
            raise NotVectorizable(f"{result.type} has no vectors")
        return result

    def _varying(self, expr: Expr) -> Expr:
        if isinstance(expr, Var) and expr in self.vectors:
            return self.vectors[expr]
        if isinstance(expr, Load):
            return self._load(expr)
        if isinstance(expr, Unary):
            return Unary(expr.op, self.vector(expr.x))
        if isinstance(expr, Binary):
            return Binary(expr.op, self.vector(expr.x), self.vector(expr.y))
        if isinstance(expr, Select):
            return Select(self.vector(expr.cond), self.vector(expr.x), self.vector(expr.y))
        if isinstance(expr, Convert):
            return Convert(expr.type.with_lanes(self.lanes), self.vector(expr.x))
        if isinstance(expr, Bitcast) and expr.type.lanes == expr.x.type.lanes == 1:
            return Bitcast(expr.type.with_lanes(self.lanes), self.vector(expr.x))
        if isinstance(expr, Call) and expr.function not in SCALAR_ONLY:
            return Call(expr.function, tuple(self.vector(a) for a in expr.args), expr.type.with_lanes(self.lanes))
        raise NotVectorizable(f"{type(expr).__name__} depends on {self.var.name}")

    def _load(self, expr: Load) -> Expr:
        if expr.buffer in self.registers:
            return replace(expr, buffer=self.registers[expr.buffer])
        if expr.buffer in self.arrays:
            return Load(*self._in_array(expr.buffer, expr.index), self.lanes)
        able = self.able
        place = table_place(expr) if self.lanes in (able.lookup_lanes, able.byte_lookup_lanes) else None
        if place is not None and self.lanes == able.byte_lookup_lanes:
            return self._looked_up_bytes(expr.buffer, *place)
        if place is not None:
            return self._looked_up(expr.buffer, *place)
        self._check_contiguous(expr.buffer, expr.index, "load")
        index = tuple(self.at_base(i) for i in expr.index)
        return Load(expr.buffer, index, self.lanes, self.active)

    def _looked_up(self, table: Buffer, number: Expr, offset: int) -> Expr:
        """The elements at ``number + offset``."""
        place = self.vector(I32(number))
        name = Var(self.names.fresh("place"), place.type)
        self.lets.append(Let(name, place + offset if offset else place))
        return looked_up(table, name)

    def _looked_up_bytes(self, table: Buffer, place: Expr, offset: int) -> Expr:
        """The bytes at the byte ``place + offset``."""
        number = number_of(table, place)
        if number is None or offset not in (0, 128):
            raise NotVectorizable(f"{table.name} is no table of bytes by bytes")
        vector = self.vector(number)
        name = Var(self.names.fresh("place"), vector.type)
        self.lets.append(Let(name, vector))
        return looked_up_bytes(table, name, offset)

    def _check_contiguous(self, buffer: Buffer, index: Sequence[Expr], what: str) -> None:
        if buffer.dtype not in self.able.dtypes:
            raise NotVectorizable(f"{buffer.dtype.value} has no vectors")
        if any(occurs(v, i) for v in self.vectors for i in index):
            raise NotVectorizable(f"{what} {buffer.name}: the index differs between lanes")
        steps = [coefficient(i, self.var) for i in index]
        if not steps or steps[-1] != 1 or any(step != 0 for step in steps[:-1]):
            raise NotVectorizable(f"{what} {buffer.name} is not contiguous along {self.var.name}")

    # ---- statements

    def block(self, block: Block) -> Block:
        return tuple(part for stmt in block for part in self._named(self.stmt(stmt)))

    def _named(self, stmt: Stmt) -> Block:
        """``stmt`` behind the names that its expressions use."""
        lets, self.lets = self.lets, []
        return (*lets, stmt)

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Let):
            return self._let(stmt)
        if isinstance(stmt, Alloc):
            return self._alloc(stmt)
        if isinstance(stmt, Store):
            return self._store(stmt)
        if isinstance(stmt, For) and not self.varies(stmt.extent):
            fresh = Var(self.names.fresh(stmt.var.name))
            extent = self.at_base(stmt.extent)
            self.renamed[stmt.var] = fresh
            return For(fresh, extent, self.block(stmt.body), stmt.kind)
        if isinstance(stmt, If) and not self.varies(stmt.cond):
            return If(self.at_base(stmt.cond), self.block(stmt.then), self.block(stmt.orelse))
        raise NotVectorizable(f"{type(stmt).__name__} depends on {self.var.name}")

    def _let(self, stmt: Let) -> Stmt:
        name = self.names.fresh(stmt.var.name)
        if not self.varies(stmt.value):
            value = self.at_base(stmt.value)
            scalar = Var(name, value.type)
            self.renamed[stmt.var] = scalar
            return Let(scalar, value)
        value = self.vector(stmt.value)
        vector = Var(name, value.type)
        self.vectors[stmt.var] = vector
        return Let(vector, value)

    def _alloc(self, stmt: Alloc) -> Stmt:
        """Registers become vectors, and arrays on the stack have an element of each for all lanes."""
        buffer = stmt.buffer
        if buffer.type.lanes != 1 or buffer.dtype not in self.able.dtypes:
            raise NotVectorizable(f"{buffer.name} is allocated in the loop")
        name, size = self.names.fresh(buffer.name), prod(buffer.shape) * buffer.dtype.size * self.lanes
        if buffer.space is Space.REG:
            wide = replace(buffer, name=name, type=buffer.type.with_lanes(self.lanes))
            self.registers[buffer] = wide
        elif buffer.space is Space.STACK and size <= LARGEST_ARRAY:
            align = max(buffer.align, buffer.dtype.size * self.lanes)
            wide = replace(buffer, name=name, shape=(*buffer.shape, self.lanes), align=align)
            self.arrays[buffer] = wide
        else:
            raise NotVectorizable(f"{buffer.name} is allocated in the loop")
        return Alloc(wide)

    def _in_array(self, buffer: Buffer, index: Sequence[Expr]) -> tuple[Buffer, tuple[Expr, ...]]:
        """Where all lanes have their elements of an array."""
        if any(self.varies(i) for i in index):
            raise NotVectorizable(f"lanes have other places in {buffer.name}")
        return self.arrays[buffer], (*(self.at_base(i) for i in index), Const(0, INDEX))

    def _store(self, stmt: Store) -> Stmt:
        if stmt.buffer in self.registers:
            index = tuple(self.at_base(i) for i in stmt.index)
            return Store(self.registers[stmt.buffer], index, self.vector(stmt.value))
        if stmt.buffer in self.arrays:
            return Store(*self._in_array(stmt.buffer, stmt.index), self.vector(stmt.value))
        if stmt.active is not None:
            raise NotVectorizable("a store is masked already")
        self._check_contiguous(stmt.buffer, stmt.index, "store")
        index = tuple(self.at_base(i) for i in stmt.index)
        return Store(stmt.buffer, index, self.vector(stmt.value), self.active)


# ---------------------------------------------------------------- whole loops


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
    if isinstance(stmt.extent, Const):
        for attempt in (_vectorize_map, _vectorize_reduction):
            try:
                return attempt(stmt, lanes, names)
            except NotVectorizable:
                continue
        pieces = _between_borders(stmt, lanes, names)
        if pieces is not None:
            return pieces
    return (For(stmt.var, stmt.extent, inside(stmt.body), stmt.kind),)


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
        body_at = _vectorizer(loop, start, trips, lanes, names, usable.able) if lanes > 1 else None
        out.extend(_loop(loop, start, trips, lanes, names, body_at))
    return tuple(out)


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


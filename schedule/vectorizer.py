"""Statements with lanes in place of the iterations of a loop.

Legality is checked access by access: along the loop variable every load must be contiguous in its last dimension or
not move at all, every store contiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

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
    Select,
    Space,
    Splat,
    Stmt,
    Store,
    Unary,
    Var,
)
from ..ir.loops_rewrite import map_expr, walk_expr
from ..ir.types import DType
from ..record import record
from .affine import coefficient, occurs
from .byte_tables import looked_up_bytes, number_of
from .lookups import looked_up, table_place
from .names import Names

SCALAR_ONLY = frozenset({"scale_round"})
"""Rows of the instruction table that no machine has for lanes."""
LARGEST_ARRAY = 1 << 14
"""Bytes of the stack for an array that all lanes have an element of."""


class NotVectorizable(Exception):  # noqa: N818 - it is no error: another loop is tried
    """The loop cannot become lanes; the message says which access or statement stands in the way."""


VECTOR_DTYPES = frozenset(DType(name) for name in ("f32", "f16", "i32", "u32", "i16", "u16", "i8", "u8", "bool"))
LONG_DTYPES = frozenset({DType.I64, DType.U64, DType.F64})
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

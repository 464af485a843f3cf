"""The invariants of a kernel.

- **L1** A name is not bound while it is bound: parameters, loop variables, Lets and Allocs share one name space, and a
  binding ends with its block. Names are not empty.
- **L2** Every variable and buffer that is used is in scope, with the type and shape of its binding.
- **L3** Parameters are ``GLOBAL`` or, where they are ``const``, ``ROWS``; Allocs are ``STACK`` or ``REG``. ``GLOBAL``,
  ``ROWS`` and ``STACK`` elements are scalars, none is ``index``; extents are not negative; an alignment is 0 or a power
  of two.
- **L4** Expressions have the types that ``ir/loops.py`` states; loop variables and extents are ``index``, conditions of
  Ifs are ``bool``, a Let has the type of its value.
- **L5** A literal fits its type: int for integers, float (finite ones within range) for floats, bool or 0/1 for bool.
- **L6** Calls name a row of the instruction table and have its operand and result types.
- **L7** An access has one ``index`` scalar per dimension. Of ``REG`` buffers it moves one whole element and is not
  masked; elsewhere it moves lanes of the last dimension, and a Store's value has the element type.
- **L8** Accesses are in range, as far as that depends on loop variables and literals; indices that are loaded from
  memory are the program's own promise. Conditions of Ifs and clamps with ``min``/``max``/``select`` count.
- **L9** ``active`` is an ``index`` scalar between 0 and the number of lanes.
- **L10** A ``const`` parameter is never stored.
- **L11** Inside a ``parallel`` loop, nothing is stored in ``STACK`` or ``REG`` buffers allocated outside of it.
- **L12** Once scheduled, there are no ``unroll`` loops and no loops without a body, and ``REG`` indices are constants.
- **L13** An Invoke names a row of the table of block instructions, with as many scalars and pointers, of the element
  types of its parameters; what it touches is in range, as far as L8 goes, and not a ``REG`` buffer; what it writes is
  no ``const`` parameter. A Prefetch names a place of a buffer in memory, which need not be in range.
- **L14** Scalars of a kernel are ``index``, and its parameters then have one dimension. Where there are scalars, ranges
  within parameters are those of the specialisations (L8, L13). Scalars of an Invoke are ``index``.
- **L15** A foreign kernel has no statements and no scalars; its arguments are parameters, each once, or absent (-1), of
  as many types; what may be in place is a parameter that it writes and one that it reads, of one type and size.
- **L16** The outermost loops of a chunked kernel are as many parallel ones of constant extents, around all the rest; it
  has no scalars, and its chunks meet nowhere in memory.
- **L17** What is fetched are rows that a ``ROWS`` parameter has, and nothing else touches one; a row fits behind its
  target, which has its element type and is written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from math import prod
from typing import NoReturn

from ..errors import CcmlError, ErrorCode
from ..record import record
from .bounds import Bounds, arithmetic
from .foreign import Foreign
from .independence import are_independent
from .instructions import NO_BLOCKS, NO_INSTRUCTIONS, BlockTable, InstructionTable
from .loops import (
    BOOL,
    INDEX,
    Access,
    Alloc,
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    Fetch,
    For,
    If,
    Invoke,
    Kernel,
    Let,
    Load,
    LoopKind,
    Pointer,
    Prefetch,
    Space,
    Stmt,
    Store,
    Var,
    const_value,
)
from .loops_rewrite import children
from .loops_text import print_block, print_expr
from .loops_types import INDEX_BITS, complaint
from .types import DType

_LAST_INDEX = 2 ** (INDEX_BITS - 1) - 1


def verify_kernel(
    kernel: Kernel,
    scheduled: bool = False,
    *,
    instructions: InstructionTable = NO_INSTRUCTIONS,
    blocks: BlockTable = NO_BLOCKS,
) -> None:
    """Raises ``CcmlError`` (IR_INVALID) with the number of the first broken invariant and the place."""
    _Verifier(kernel, scheduled, instructions, blocks).run()


@record
class _Scope:
    """What is visible at one place; ``frozen`` are local buffers that a surrounding parallel loop must not store."""

    names: dict[str, Var | Buffer] = field(default_factory=dict)
    bounds: Bounds = field(default_factory=Bounds)
    frozen: frozenset[str] = frozenset()

    def locals(self) -> frozenset[str]:
        buffers = (item for item in self.names.values() if isinstance(item, Buffer))
        return frozenset(buffer.name for buffer in buffers if buffer.space is not Space.GLOBAL)


class _Verifier:
    def __init__(
        self, kernel: Kernel, scheduled: bool, instructions: InstructionTable, blocks: BlockTable
    ) -> None:
        self._kernel = kernel
        self._scheduled = scheduled
        self._instructions = instructions
        self._blocks = blocks

    def run(self) -> None:
        scope = _Scope()
        for param in self._kernel.params:
            fetched = param.space is Space.ROWS and param.access is Access.READ and len(param.shape) > 0
            self._buffer(param, param.space is Space.GLOBAL or fetched)
            scope = self._bind(param, scope)
            if self._kernel.scalars and len(param.shape) != 1:
                self._fail("L14", f"{param.name!r} has {len(param.shape)} dimensions in a kernel with scalars")
        for scalar in self._kernel.scalars:
            if scalar.type != INDEX:
                self._fail("L14", f"scalar {scalar.name!r} has type {scalar.type}")
            scope = self._bind(scalar, scope)
        self._block(self._kernel.body, scope)
        if self._kernel.foreign is not None:
            self._foreign(self._kernel.foreign)
        if self._kernel.chunked:
            self._chunks()

    def _chunks(self) -> None:
        body, loops = self._kernel.body, list[For]()
        for _ in range(self._kernel.chunked):
            loop = body[0] if len(body) == 1 else None
            if not isinstance(loop, For) or loop.kind is not LoopKind.PARALLEL or const_value(loop.extent) is None:
                self._fail("L16", f"{self._kernel.chunked} parallel loops of constant extents are not outside")
            loops.append(loop)
            body = loop.body
        if self._kernel.scalars or not are_independent(loops, self._blocks):
            self._fail("L16", "its chunks may meet in memory")

    def _foreign(self, foreign: Foreign) -> None:
        params = self._kernel.params
        if self._kernel.body or self._kernel.scalars:
            self._fail("L15", "it is foreign and has statements or scalars")
        given = [number for number in foreign.arguments if number != -1]
        if sorted(given) != list(range(len(params))) or len(foreign.types) != len(foreign.arguments):
            self._fail("L15", f"{len(params)} parameters, arguments {list(foreign.arguments)} of {foreign.types}")
        for pair in foreign.in_place:
            if not all(0 <= number < len(params) for number in pair):
                self._fail("L15", f"{pair} are not both parameters")
            written, read = (params[number] for number in pair)
            same = (written.type, prod(written.shape)) == (read.type, prod(read.shape))
            if not same or (written.access, read.access) != (Access.WRITE, Access.READ):
                self._fail("L15", f"{written.name!r} cannot be in the place of {read.name!r}")

    def _fail(self, invariant: str, reason: str, at: Stmt | Expr | None = None) -> NoReturn:
        place = ""
        if isinstance(at, Stmt):
            place = f", in `{print_block((at,)).splitlines()[0]}`"
        elif at is not None:
            place = f", in `{print_expr(at)}`"
        raise CcmlError(ErrorCode.IR_INVALID, f"{invariant}: {reason}{place}", loc=self._kernel.name)

    # ------------------------------------------------------------ bindings

    def _bind(self, item: Var | Buffer, scope: _Scope) -> _Scope:
        if not item.name:
            self._fail("L1", "a name is empty")
        if item.name in scope.names:
            self._fail("L1", f"{item.name!r} is bound already")
        return _Scope({**scope.names, item.name: item}, scope.bounds, scope.frozen)

    def _buffer(self, buffer: Buffer, right_space: bool) -> None:
        if not right_space:
            self._fail("L3", f"buffer {buffer.name!r} cannot be {buffer.space.value} here")
        if buffer.dtype is DType.INDEX:
            self._fail("L3", f"buffer {buffer.name!r} holds index values")
        if buffer.type.lanes < 1 or (buffer.type.lanes != 1 and buffer.space is not Space.REG):
            self._fail("L3", f"buffer {buffer.name!r} in {buffer.space.value} memory has elements {buffer.type}")
        if any(extent < 0 for extent in buffer.shape):
            self._fail("L3", f"buffer {buffer.name!r} has the shape {list(buffer.shape)}")
        if buffer.align < 0 or buffer.align & (buffer.align - 1):
            self._fail("L3", f"buffer {buffer.name!r} is aligned to {buffer.align}, not a power of two")

    # ------------------------------------------------------------ statements

    def _block(self, block: Block, scope: _Scope) -> None:
        for stmt in block:
            scope = self._stmt(stmt, scope)

    def _stmt(self, stmt: Stmt, scope: _Scope) -> _Scope:
        """Checks ``stmt``; returns what is visible behind it."""
        match stmt:
            case For():
                self._for(stmt, scope)
            case If(cond, then, orelse):
                self._expr(cond, scope)
                if cond.type != BOOL:
                    self._fail("L4", f"the condition has type {cond.type}", stmt)
                self._block(then, replace(scope, bounds=scope.bounds.assuming(cond)))
                self._block(orelse, replace(scope, bounds=scope.bounds.assuming(cond, False)))
            case Let(var, value):
                self._expr(value, scope)
                if var.type != value.type:
                    self._fail("L4", f"{var.name!r} has type {var.type}, its value {value.type}", stmt)
                inner = self._bind(var, scope)
                bounds = scope.bounds.with_let(var, value)
                return inner if bounds is scope.bounds else replace(inner, bounds=bounds)
            case Alloc(buffer):
                self._buffer(buffer, buffer.space in (Space.STACK, Space.REG))
                return self._bind(buffer, scope)
            case Store():
                self._store(stmt, scope)
            case Invoke():
                self._invoke(stmt, scope)
            case Prefetch(pointer):
                self._place(pointer, scope, stmt)
            case Fetch():
                self._fetch(stmt, scope)
            case _:
                self._fail("L4", f"{stmt!r} is not a statement")
        return scope

    def _for(self, stmt: For, scope: _Scope) -> None:
        self._expr(stmt.extent, scope)
        if stmt.var.type != INDEX or stmt.extent.type != INDEX:
            self._fail("L4", f"{stmt.var.name!r} has type {stmt.var.type}, its extent {stmt.extent.type}", stmt)
        if self._scheduled and stmt.kind is LoopKind.UNROLL:
            self._fail("L12", "an unroll loop is left", stmt)
        if self._scheduled and not stmt.body:
            self._fail("L12", "a loop has no body", stmt)
        inner = replace(self._bind(stmt.var, scope), bounds=scope.bounds.in_loop(stmt.var, stmt.extent))
        if stmt.kind is LoopKind.PARALLEL:
            inner = replace(inner, frozen=scope.locals())
        self._block(stmt.body, inner)

    def _store(self, stmt: Store, scope: _Scope) -> None:
        buffer, value = stmt.buffer, stmt.value
        self._expr(value, scope)
        self._access(buffer, stmt.index, value.type.lanes, stmt.active, scope, stmt)
        wanted = buffer.type if buffer.space is Space.REG else buffer.type.with_lanes(value.type.lanes)
        if value.type != wanted:
            self._fail("L7", f"a value of type {value.type} in {buffer.name!r} of {buffer.type}", stmt)
        if buffer.space is Space.GLOBAL and buffer.access is Access.READ:
            self._fail("L10", f"{buffer.name!r} is const", stmt)
        if buffer.name in scope.frozen:
            self._fail("L11", f"{buffer.name!r} is allocated outside of the parallel loop", stmt)

    def _invoke(self, stmt: Invoke, scope: _Scope) -> None:
        row = self._blocks.get(stmt.block)
        if row is None or len(row.scalars) != len(stmt.scalars):
            self._fail("L13", f"there is no block instruction {stmt.block!r} of {len(stmt.scalars)} scalars", stmt)
        for scalar in stmt.scalars:
            if isinstance(scalar, Expr):
                self._expr(scalar, scope)
                if scalar.type != INDEX:
                    self._fail("L14", f"a scalar has type {scalar.type}", stmt)
        numbers = tuple(scalar if isinstance(scalar, int) else 1 for scalar in stmt.scalars)
        params = row.kernel(numbers).params
        if len(params) != len(stmt.pointers):
            self._fail("L13", f"{len(stmt.pointers)} pointers for {len(params)} parameters", stmt)
        for param, pointer in zip(params, stmt.pointers):
            self._pointer(param, pointer, scope, stmt)

    def _fetch(self, stmt: Fetch, scope: _Scope) -> None:
        source, target = stmt.source, stmt.target
        self._in_scope(source, scope, stmt)
        self._expr(stmt.row, scope)
        self._place(target, scope, stmt)
        if source.space is not Space.ROWS or stmt.row.type != INDEX:
            self._fail("L17", f"row {stmt.row.type} of {source.space.value} memory", stmt)
        if _outside(*scope.bounds.range(stmt.row), 0, source.shape[0] - 1):
            self._fail("L17", f"{source.name!r} has {source.shape[0]} rows", stmt)
        if target.buffer.type != source.type or target.buffer.access is Access.READ:
            self._fail("L17", f"a row of {source.type} for {target.buffer.access.value} {target.buffer.type}", stmt)
        if not any(self._spans(target, stmt.elements, dim, scope) for dim in range(len(target.buffer.shape) + 1)):
            self._fail("L17", f"the {stmt.elements} elements of a row may leave {target.buffer.name!r}", stmt)

    def _pointer(self, param: Buffer, pointer: Pointer, scope: _Scope, at: Invoke) -> None:
        """The elements that ``param`` stands for lie in the pointer's buffer, which is dense."""
        buffer = pointer.buffer
        self._place(pointer, scope, at)
        if buffer.type != param.type:
            self._fail("L13", f"{buffer.name!r} of {buffer.type} in {buffer.space.value} memory for {param.type}", at)
        if param.access is not Access.READ and buffer.access is Access.READ:
            self._fail("L13", f"{buffer.name!r} is const", at)
        if self._unbounded(buffer):
            return
        if not any(self._spans(pointer, math.prod(param.shape), dim, scope) for dim in range(len(buffer.shape) + 1)):
            self._fail("L13", f"the {math.prod(param.shape)} elements for {param.name!r} may leave {buffer.name!r}", at)

    def _place(self, pointer: Pointer, scope: _Scope, at: Stmt) -> None:
        """A pointer into memory, whether or not the place lies in its buffer."""
        buffer = pointer.buffer
        self._in_scope(buffer, scope, at)
        for part in pointer.index:
            self._expr(part, scope)
        if len(pointer.index) != len(buffer.shape) or any(part.type != INDEX for part in pointer.index):
            self._fail("L7", f"{len(pointer.index)} indices for {len(buffer.shape)} dimensions", at)
        if buffer.space in (Space.REG, Space.ROWS):
            self._fail("L13", f"{buffer.name!r} is {buffer.space.value}, which has no address", at)

    def _unbounded(self, buffer: Buffer) -> bool:
        """Whether only specialisations know how long ``buffer`` is."""
        return bool(self._kernel.scalars) and buffer.space is Space.GLOBAL

    @staticmethod
    def _spans(pointer: Pointer, size: int, dim: int, scope: _Scope) -> bool:
        """Whether ``size`` elements from ``pointer`` on lie in the dimensions from ``dim`` on, as far as is known."""
        shape = pointer.buffer.shape
        for part, extent in zip(pointer.index[:dim], shape):
            if _outside(*scope.bounds.range(part), 0, extent - 1):
                return False
        flat = [part * stride for part, stride in zip(pointer.index[dim:], pointer.buffer.strides[dim:])]
        low, high = scope.bounds.range(*flat)
        return not _outside(low, high, 0, math.prod(shape[dim:]) - size)

    # ------------------------------------------------------------ expressions and accesses

    def _expr(self, expr: Expr, scope: _Scope) -> None:
        if isinstance(expr, Var):
            self._in_scope(expr, scope, expr)
            return
        if isinstance(expr, Load):
            lanes = 1 if expr.buffer.space is Space.REG else expr.lanes
            if lanes < 1 or lanes != expr.lanes:
                self._fail("L7", f"{expr.lanes} lanes; a reg buffer is read by whole elements", expr)
            self._access(expr.buffer, expr.index, lanes, expr.active, scope, expr)
            return
        if isinstance(expr, Binary):
            self._expr(expr.x, scope)
            self._expr(expr.y, scope)
        elif not isinstance(expr, Const):
            for child in children(expr):
                self._expr(child, scope)
        wrong = complaint(expr, self._instructions)
        if wrong is not None:
            invariant, _, reason = wrong.partition(": ")
            self._fail(invariant, reason, expr)

    def _in_scope(self, item: Var | Buffer, scope: _Scope, at: Stmt | Expr) -> None:
        bound = scope.names.get(item.name)
        if bound is None:
            self._fail("L2", f"{item.name!r} is not in scope", at)
        if bound is not item and bound != item:
            self._fail("L2", f"{item.name!r} is used as {item}, but bound as {bound}", at)

    def _access(
        self,
        buffer: Buffer,
        index: tuple[Expr, ...],
        lanes: int,
        active: Expr | None,
        scope: _Scope,
        at: Stmt | Expr,
    ) -> None:
        self._in_scope(buffer, scope, at)
        if buffer.space is Space.ROWS:
            self._fail("L17", f"the rows of {buffer.name!r} are in no memory", at)
        simple = [self._simple(part, scope) for part in index]
        others = [part for part, found in zip(index, simple) if found is None]
        for part in others if active is None else (*others, active):
            self._expr(part, scope)
        if len(index) != len(buffer.shape):
            self._fail("L7", f"{len(index)} indices for {len(buffer.shape)} dimensions", at)
        if any(part.type != INDEX for part in others):
            self._fail("L7", f"indices of types {', '.join(str(part.type) for part in index)}", at)
        if buffer.space is Space.REG:
            self._register_access(index, active, at)
            lanes = 1
        if lanes != 1 and not index:
            self._fail("L7", f"{lanes} lanes of a buffer without dimensions", at)
        if active is not None:
            self._active(active, lanes, scope, at)
        self._in_range(buffer, index, simple, lanes, active, scope, at)

    def _simple(self, expr: Expr, scope: _Scope) -> tuple[int, int] | None:
        """What :meth:`_expr` finds nothing wrong with, and :meth:`Bounds.interval` knows, as most indices: both at
        once. ``None`` for what has to be looked at."""
        if type(expr) is Binary:
            x = self._simple(expr.x, scope)
            y = None if x is None else self._simple(expr.y, scope)
            return None if x is None or y is None else arithmetic(expr.op, x, y)
        if type(expr) is Const:
            number = expr.value
            right = type(number) is int and -_LAST_INDEX <= number <= _LAST_INDEX and expr.type == INDEX
            return (number, number) if right else None  # type: ignore[return-value]  # it is an int
        return scope.bounds.interval(expr)

    def _register_access(self, index: tuple[Expr, ...], active: Expr | None, at: Stmt | Expr) -> None:
        if active is not None:
            self._fail("L7", "an access to a reg buffer is masked", at)
        if self._scheduled and not all(isinstance(part, Const) for part in index):
            self._fail("L12", "an index of a reg buffer is not constant", at)

    def _active(self, active: Expr, lanes: int, scope: _Scope, at: Stmt | Expr) -> None:
        if active.type != INDEX:
            self._fail("L9", f"active has type {active.type}", at)
        low, high = scope.bounds.range(active)
        if _outside(low, high, 0, lanes):
            self._fail("L9", f"active may be {_interval(low, high)} of {lanes} lanes", at)

    def _in_range(
        self,
        buffer: Buffer,
        index: tuple[Expr, ...],
        simple: Sequence[tuple[int, int] | None],
        lanes: int,
        active: Expr | None,
        scope: _Scope,
        at: Stmt | Expr,
    ) -> None:
        """``simple`` has bounds of indices, where they are known already."""
        if self._unbounded(buffer):
            return
        for dim, (part, near, extent) in enumerate(zip(index, simple, buffer.shape)):
            beyond = lanes - 1 if dim == len(index) - 1 and active is None else 0
            if near is not None and near[0] >= 0 and near[1] + beyond < extent and active is None:
                continue
            low, high = scope.bounds.range(part)
            if dim == len(index) - 1:
                high = high + lanes - 1 if active is None else scope.bounds.range(part, active)[1] - 1
            if _outside(low, high, 0, extent - 1):
                size = f"dimension {dim} of {buffer.name!r} has {extent} elements"
                self._fail("L8", f"{size}, accessed are {_interval(low, high)}", at)


def _outside(low: float, high: float, least: int, most: int) -> bool:
    """Whether a known bound lies outside; an unknown bound is accepted."""
    return (math.isfinite(low) and low < least) or (math.isfinite(high) and high > most)


def _interval(low: float, high: float) -> str:
    return f"{low}..{high}"

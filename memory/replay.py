"""Runs the memory accesses of a kernel, and nothing else, byte by byte: the evidence for tensors that overlap.

Loops become arrays with an entry for each of their iterations, from which the places of all accesses follow; these are
put into the order in which the kernel makes them. Then, one after the other, a load of a tensor looks whether its bytes
still belong to it, and a store makes bytes its own. That shares nothing with the analysis that the plan was made by.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from math import inf, prod
from typing import NamedTuple

import numpy as np

from ..blocks import BLOCKS, block_kernel
from ..errors import CcmlError, ErrorCode
from ..ir.bounds import Bounds
from ..ir.loops import (
    BOOL,
    INDEX,
    Access,
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
    Select,
    Stmt,
    Store,
    Unary,
    Var,
)
from ..ir.loops_rewrite import most_passages, stmt_loads, walk_expr, walk_stmts
from ..record import record

MOST_ACCESSES = 1 << 21
"""Accesses that one replay may take: about two seconds. The stem of an image of 224x224 pixels makes 1.6 million."""

_MOST_POINTS = 1 << 16
"""Iterations of an outermost loop at which conditions are looked at to count accesses."""

Number = np.ndarray
"""The value of an expression at some points: without dimensions where it is the same at all, else one for each."""

_OPERATORS: dict[str, Callable[[Number, Number], Number]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide, "floormod": np.mod,
    "min": np.minimum, "max": np.maximum, "and": np.logical_and, "or": np.logical_or,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip


def replay(kernel: Kernel, places: Mapping[str, tuple[int, int]], memory: bytearray) -> str | None:
    """What is wrong, if anything, when ``kernel`` runs with its parameters in ``memory``.

    ``places`` map parameters to their first byte and the mark of their tensor; ``memory`` holds the mark of the tensor
    that each byte belongs to, and may be written. Of parameters that are only read, all bytes that are read must have
    their mark. Raises
    ``IR_INVALID`` where the kernel may take more than :data:`MOST_ACCESSES`, for which no plan lets tensors overlap.
    """
    if replay_length(kernel) > MOST_ACCESSES:
        raise CcmlError(ErrorCode.IR_INVALID, "too many accesses to replay", loc=kernel.name)
    walk = _Walk(kernel, places)
    accesses = walk.block(kernel.body, _Points(1))
    if _one_size(accesses):
        return _first_wrong(accesses, walk.touches, places, memory)
    owners = [bytes([places[name][1]]) for name, _ in walk.touches]
    reads = [reads for _, reads in walk.touches]
    for first, size, touch in zip(*(column.tolist() for column in (accesses.first, accesses.size, accesses.touch))):
        owned = owners[touch] * size
        if not reads[touch]:
            memory[first : first + size] = owned
        elif memory[first : first + size] != owned:
            return f"{first} is read as a part of {walk.touches[touch][0]}"
    return None


def _one_size(accesses: _Accesses) -> bool:
    """Whether each access is of one of the elements, all of the same size, that memory consists of."""
    if not len(accesses.size) or accesses.size[0] < 1:
        return False
    size = accesses.size[0]
    return bool(np.all(accesses.size == size) and np.all(accesses.first % size == 0))


def _first_wrong(
    accesses: _Accesses, touches: Sequence[tuple[str, bool]], places: Mapping[str, tuple[int, int]], memory: bytearray
) -> str | None:
    """What :func:`replay` says where accesses are of :func:`_one_size`, all at once."""
    reads = np.array([reads for _, reads in touches], bool)
    marks = np.array([places[name][1] for name, _ in touches], np.uint8)
    made = np.bincount(accesses.touch, minlength=len(touches)) > 0
    check = _changed if np.intersect1d(marks[made & reads], marks[made & ~reads]).size else _overwritten
    wrong = check(accesses, reads, marks, np.frombuffer(memory, np.uint8))
    if not len(wrong):
        return None
    earliest = wrong.min()
    return f"{accesses.first[earliest]} is read as a part of {touches[accesses.touch[earliest]][0]}"


def _overwritten(accesses: _Accesses, reads: np.ndarray, marks: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The numbers of reads that do not find what was there ``before``, or find that it was not their tensor's, where
    no tensor is both read and written: what counts is the first write at each place."""
    size, is_read = int(accesses.size[0]), reads[accesses.touch]
    written, read = np.flatnonzero(~is_read)[::-1], np.flatnonzero(is_read)
    first_write = np.full(len(before) // size + 1, len(is_read), np.int64)
    first_write[accesses.first[written] // size] = written
    begin, mark = accesses.first[read], marks[accesses.touch[read]]
    foreign = np.logical_or.reduce([before[begin + byte] != mark for byte in range(size)])
    return read[foreign | (first_write[begin // size] < read)]


def _changed(accesses: _Accesses, reads: np.ndarray, marks: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The numbers of reads that do not find their tensor: in the order of places, and of time at each place, a read
    finds what the last write before it left there."""
    size, number = int(accesses.size[0]), np.arange(len(accesses.first))
    order = np.argsort(accesses.first, kind="stable")
    place, touch = accesses.first[order], accesses.touch[order]
    is_read, mark = reads[touch], marks[touch]
    begins = np.maximum.accumulate(np.where(np.diff(place, prepend=-1) != 0, number, 0))
    written = np.maximum.accumulate(np.where(is_read, -1, number))
    at_first = np.logical_and.reduce([before[place + byte] == mark for byte in range(size)])
    right = np.where(written >= begins, mark[written] == mark, at_first)
    return order[is_read & ~right]


_Parts = tuple[tuple[tuple[int, int], ...], ...]
"""For each pointer of an Invoke elements: the first of some neighbours, and how many these are."""


@lru_cache(maxsize=256)
def _rounds(block: str, scalars: tuple[int, ...]) -> tuple[tuple[bool, _Parts], ...]:
    """What an Invoke reads (or else writes), one round after the other."""
    step = BLOCKS[block].in_steps
    if not step:
        return tuple((reads, _parts(block, scalars)) for reads in (False, True))
    params = block_kernel(block, scalars).params
    starts = range(0, params[0].shape[0], step)
    return tuple((reads, (((at, step),),) * len(params)) for at in starts for reads in (True, False))


@lru_cache(maxsize=256)
def _parts(block: str, scalars: tuple[int, ...]) -> _Parts:
    """The elements that an Invoke touches. Of blocks that do so in parts they follow from their meanings."""
    meaning = block_kernel(block, scalars)
    if not BLOCKS[block].in_parts:
        return tuple(((0, prod(param.shape)),) for param in meaning.params)
    walk = _Walk(meaning, {param.name: (0, 0) for param in meaning.params})
    accesses = walk.block(meaning.body, _Points(1))
    found = []
    for param in meaning.params:
        own = np.isin(accesses.touch, [n for n, (name, _) in enumerate(walk.touches) if name == param.name])
        places = np.unique(accesses.first[own]) // param.dtype.size
        runs = np.split(places, np.flatnonzero(np.diff(places) != 1) + 1) if len(places) else []
        found.append(tuple((int(run[0]), len(run)) for run in runs))
    return tuple(found)


@lru_cache(maxsize=256)
def replay_length(kernel: Kernel) -> float:
    """An upper bound on the accesses of parameters; infinite where there is none, or where memory says how often a loop
    runs."""
    if kernel.foreign is not None or _has_unknown_loops(kernel):
        return inf
    return _length(kernel.body, {buffer.name for buffer in kernel.params}, Bounds(), _Points(1))


def _has_unknown_loops(kernel: Kernel) -> bool:
    """Whether a loop runs as often as memory says, without a bound in its extent."""
    loaded: set[Var] = set()

    def unknown(expr: Expr) -> bool:
        return any(isinstance(part, Load) or part in loaded for part in walk_expr(expr))

    for stmt in walk_stmts(kernel.body):
        if isinstance(stmt, Let) and stmt.var.type == INDEX and unknown(stmt.value):
            loaded.add(stmt.var)
        if isinstance(stmt, For) and most_passages(stmt.extent) is None and unknown(stmt.extent):
            return True
    return False


def _length(block: Block, names: Collection[str], bounds: Bounds, points: _Points) -> float:
    """The accesses of one run of ``block`` on average over the ``points``: iterations of an outermost loop."""
    total: float = 0
    for stmt in block:
        total += len(_loads(stmt, names))
        if isinstance(stmt, Let):
            bounds = bounds.with_let(stmt.var, stmt.value)
            points = points.with_value(stmt.var, points.value(stmt.value))
        elif isinstance(stmt, Store):
            total += stmt.buffer.name in names
        elif isinstance(stmt, Fetch):
            total += stmt.target.buffer.name in names
        elif isinstance(stmt, Invoke):
            total += sum(len(parts) for reads, every in _rounds(stmt.block, stmt.numbers) if reads for parts in every)
        elif isinstance(stmt, If):
            total += sum(share * _length(side, names, bounds, points) for side, share in _sides(stmt, points))
        elif isinstance(stmt, For):
            most = max(bounds.range(stmt.extent)[1], 0)
            outermost = points.count == 1 and most <= _MOST_POINTS
            iterations = _Points(int(most), {stmt.var: np.arange(int(most))}) if outermost and most else points
            inner = _length(stmt.body, names, bounds.in_loop(stmt.var, stmt.extent), iterations)
            total += most * inner if inner else 0
    return total


def _sides(stmt: If, points: _Points) -> Iterator[tuple[Block, float]]:
    """The sides of ``stmt`` that run at some of the ``points``, each with the share of these; both where that is not
    known."""
    cond = points.value(stmt.cond)
    holds = None if cond is None else float((points.each(cond) != 0).mean())
    for side, share in ((stmt.then, holds), (stmt.orelse, None if holds is None else 1 - holds)):
        if side and share != 0:
            yield side, 1 if share is None else share


def _loads(stmt: Stmt, names: Collection[str]) -> Sequence[Load]:
    return [load for load in stmt_loads(stmt) if load.buffer.name in names]


@record
class _Points:
    """``count`` times that a block runs, in order, with the values of variables that do not depend on data. Others may
    have ``limits``, the least and the greatest that they can be."""

    count: int
    values: Mapping[Var, Number] = field(default_factory=dict)
    limits: Mapping[Var, tuple[int, int]] = field(default_factory=dict)

    def chosen(self, rows: np.ndarray) -> _Points:
        """The points with these numbers, each as often as it stands there."""
        return _Points(len(rows), {var: v[rows] if v.ndim else v for var, v in self.values.items()}, self.limits)

    def with_value(self, var: Var, value: Number | None) -> _Points:
        known = {name: v for name, v in self.values.items() if name != var}
        limits = {name: each for name, each in self.limits.items() if name != var}
        return _Points(self.count, known if value is None else {**known, var: value}, limits)

    def with_let(self, let: Let) -> _Points:
        """With the value of a variable, or its limits where it is clamped."""
        found = self.with_value(let.var, self.value(let.value))
        limits = None if let.var in found.values else _clamped(let.value)
        return found if limits is None else replace(found, limits={**found.limits, let.var: limits})

    def place(self, expr: Expr) -> tuple[Number, int] | None:
        """The least that an index is at each point, and how much more it may be, where it is the sum of something known
        and of variables with limits."""
        known = self.value(expr)
        if known is not None:
            return known, 0
        if isinstance(expr, Var) and expr in self.limits:
            low, high = self.limits[expr]
            return np.asarray(low), high - low
        if isinstance(expr, Binary) and expr.op == "add":
            x, y = self.place(expr.x), self.place(expr.y)
            return None if x is None or y is None else (x[0] + y[0], x[1] + y[1])
        return None

    def value(self, expr: Expr) -> Number | None:
        """``None`` where the value depends on data, or is not of ``index`` or bool."""
        if expr.type not in (INDEX, BOOL):
            return None
        if isinstance(expr, Const):
            return np.asarray(int(expr.value))
        if isinstance(expr, Var):
            return self.values.get(expr)
        if isinstance(expr, Select):
            cond, x, y = (self.value(part) for part in (expr.cond, expr.x, expr.y))
            return None if cond is None or x is None or y is None else np.where(cond, x, y)
        if isinstance(expr, Unary) and expr.op in ("neg", "not"):
            inner = self.value(expr.x)
            return None if inner is None else np.negative(inner) if expr.op == "neg" else np.logical_not(inner)
        if isinstance(expr, Binary) and expr.x.type in (INDEX, BOOL) and expr.op in _OPERATORS:
            x, y = self.value(expr.x), self.value(expr.y)
            return None if x is None or y is None else _OPERATORS[expr.op](x, y)
        return None

    def each(self, value: Number | int) -> np.ndarray:
        """``value`` as an array with an element for each point."""
        return np.broadcast_to(np.asarray(value, np.int64), self.count)


def _clamped(expr: Expr) -> tuple[int, int] | None:
    """The limits of ``max(min(.., high), low)``."""
    if not (isinstance(expr, Binary) and expr.op == "max" and isinstance(expr.y, Const) and expr.type == INDEX):
        return None
    inner, low = expr.x, int(expr.y.value)
    if not (isinstance(inner, Binary) and inner.op == "min" and isinstance(inner.y, Const)):
        return None
    return low, max(low, int(inner.y.value))


class _Accesses(NamedTuple):
    """Accesses in order: at which point, from which byte on, how many bytes, and which of the walk's touches."""

    point: np.ndarray
    first: np.ndarray
    size: np.ndarray
    touch: np.ndarray

    @staticmethod
    def in_order(parts: Sequence[_Accesses], points: int) -> _Accesses:
        """The accesses of statements that follow one another: at every one of the ``points`` those of the first before
        the next."""
        if not parts:
            return _Accesses(*(np.zeros(0, np.int64) for _ in _Accesses._fields))
        if len(parts) == 1:
            return parts[0]
        if all(part.is_even(points) for part in parts):
            return _Accesses(*(_side_by_side(column, points) for column in zip(*parts, strict=True)))
        every = _Accesses(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        order = np.argsort(every.point, kind="stable")
        return _Accesses(*(column[order] for column in every))

    def is_even(self, points: int) -> bool:
        """Whether there are as many at each of the ``points``, and some."""
        count, rest = divmod(len(self.point), max(points, 1))
        return count > 0 and not rest and bool(np.all(self.point.reshape(points, count) == np.arange(points)[:, None]))


def _side_by_side(columns: Sequence[np.ndarray], points: int) -> np.ndarray:
    """At each of the ``points`` what the first column has there, then the next."""
    return np.concatenate([column.reshape(points, -1) for column in columns], axis=1).reshape(-1)


class _Walk:
    """Lists the accesses of the parameters that have ``places``; ``touches``: of which parameter, and if it reads."""

    def __init__(self, kernel: Kernel, places: Mapping[str, tuple[int, int]]) -> None:
        self.kernel, self.places = kernel, places
        self.constant = {param.name for param in kernel.params if param.access is Access.READ}
        self.touches: list[tuple[str, bool]] = [(name, reads) for name in places for reads in (False, True)]

    def block(self, block: Block, points: _Points) -> _Accesses:
        parts: list[_Accesses] = []
        for stmt in block:
            for load in _loads(stmt, self.places):
                parts += self._touch(True, load.buffer, load.index, load.lanes, points, load.active)
            if isinstance(stmt, Let):
                points = points.with_let(stmt)
            elif isinstance(stmt, Store):
                parts += self._touch(False, stmt.buffer, stmt.index, stmt.value.type.lanes, points, stmt.active)
            elif isinstance(stmt, Fetch):
                parts += self._touch(False, stmt.target.buffer, stmt.target.index, stmt.elements, points)
            elif isinstance(stmt, If):
                parts += self._if(stmt, points)
            elif isinstance(stmt, For):
                parts += self._for(stmt, points)
            elif isinstance(stmt, Invoke):
                parts += self._invoke(stmt, points)
        return _Accesses.in_order(parts, points.count)

    def _if(self, stmt: If, points: _Points) -> list[_Accesses]:
        """Both sides where the condition is not known."""
        cond = points.value(stmt.cond)
        if cond is None:
            return [self.block(stmt.then, points), self.block(stmt.orelse, points)]
        holds = points.each(cond) != 0
        sides = ((stmt.then, np.flatnonzero(holds)), (stmt.orelse, np.flatnonzero(~holds)))
        return [self._at(side, points.chosen(rows), rows) for side, rows in sides if side and rows.size]

    def _for(self, stmt: For, points: _Points) -> list[_Accesses]:
        """Every point becomes one for each iteration."""
        extent, most = points.value(stmt.extent), most_passages(stmt.extent)
        if extent is None and most is not None:
            extent = points.value(Const(most, INDEX))
        if extent is None:
            raise CcmlError(ErrorCode.IR_INVALID, "a loop's extent is not known", loc=self.kernel.name)
        if not any(self._accesses(part) for part in walk_stmts(stmt.body)):
            return []
        extents = np.maximum(points.each(extent), 0)
        rows = np.repeat(np.arange(points.count), extents)
        iteration = np.arange(len(rows)) - np.repeat(np.cumsum(extents) - extents, extents)
        return [self._at(stmt.body, points.chosen(rows).with_value(stmt.var, iteration), rows)]

    def _at(self, block: Block, inner: _Points, rows: np.ndarray) -> _Accesses:
        """The accesses of a nested block, whose points belong to the points ``rows`` of the block around it."""
        found = self.block(block, inner)
        return found._replace(point=rows[found.point])

    def _accesses(self, stmt: Stmt) -> bool:
        """Whether a statement, without those nested in it, accesses what has a place."""
        written: Sequence[Buffer] = (stmt.buffer,) if isinstance(stmt, Store) else ()
        if isinstance(stmt, Fetch):
            written = (stmt.target.buffer,)
        if isinstance(stmt, Invoke):
            written = [pointer.buffer for pointer in stmt.pointers]
        return any(buffer.name in self.places for buffer in written) or bool(_loads(stmt, self.places))

    def _invoke(self, stmt: Invoke, points: _Points) -> list[_Accesses]:
        """All its writes may come before any of its reads, unless its block goes in steps."""
        parts: list[_Accesses] = []
        params = block_kernel(stmt.block, stmt.numbers).params
        for reads, touched in _rounds(stmt.block, stmt.numbers):
            for param, pointer, places in zip(params, stmt.pointers, touched, strict=True):
                if reads == (param.access is Access.READ):
                    for first, count in places:
                        index = (*pointer.index[:-1], pointer.index[-1] + first) if first else pointer.index
                        parts += self._touch(reads, pointer.buffer, index, count, points)
        return parts

    def _touch(
        self, reads: bool, buffer: Buffer, index: Sequence[Expr], elements: int, points: _Points,
        active: Expr | None = None,
    ) -> list[_Accesses]:  # fmt: skip
        """From the first to the last place along dimensions whose index is not known, within its limits and in the
        buffer; of a masked access the lanes that are active. Where these are not known, all that lie in the buffer."""
        if buffer.name not in self.places or (reads and buffer.name not in self.constant):
            return []
        item, begin = buffer.dtype.size, self.places[buffer.name][0]
        first, more = points.each(begin), 0
        for expr, extent, stride in zip(index, buffer.shape, buffer.strides, strict=True):
            place = points.place(expr)
            if place is None:
                more += (extent - 1) * stride
            else:
                first = first + points.each(place[0]) * (stride * item)
                more += place[1] * stride
        lanes = np.asarray(elements) if active is None else points.value(active)
        inside = (begin + prod(buffer.shape) * item - first) // item
        if lanes is None:
            lanes = np.minimum(elements, inside)
        count = points.each(lanes) + more
        size = (np.minimum(count, inside) if more else count) * item
        touch = points.each(self.touches.index((buffer.name, reads)))
        return [_Accesses(np.arange(points.count), first, size, touch)]

"""Runs a kernel in Python: the meaning of the loop IR, exactly as stated at the head of ``ir/loops.py``.

The oracle that both printers are tested against. A scalar is a NumPy scalar of its type (``index``: a Python int), a
vector is an array with one element per lane. What the loop IR leaves undefined raises :class:`UndefinedBehaviourError`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .instructions import NO_BLOCKS, NO_INSTRUCTIONS, BlockTable, InstructionTable
from .loops import (
    INDEX,
    Access,
    Alloc,
    Binary,
    Bitcast,
    Block,
    Buffer,
    Call,
    Const,
    Convert,
    Expr,
    Fetch,
    For,
    If,
    Invoke,
    Kernel,
    Lane,
    Let,
    Load,
    Pointer,
    Prefetch,
    Reduce,
    Select,
    Shuffle,
    Space,
    Splat,
    Stmt,
    Store,
    Type,
    Unary,
    Var,
)
from .loops_text import print_block, print_expr
from .loops_types import bits
from .specialize import specialized
from .types import DType

Operand = Any  # a NumPy scalar or array, or an int


class UndefinedBehaviourError(Exception):
    """A kernel did what the loop IR leaves undefined, such as an access out of range."""


def run_kernel(
    kernel: Kernel,
    arrays: Mapping[str, np.ndarray],
    scalars: Sequence[int] = (),
    *,
    instructions: InstructionTable = NO_INSTRUCTIONS,
    blocks: BlockTable = NO_BLOCKS,
) -> None:
    """Runs ``kernel`` on ``arrays`` (parameter name -> C-contiguous array), which it changes in place.

    ``scalars`` are the values of its scalars. An array has the element type and the number of elements of its
    parameter; the shape may differ. Raises ``ValueError`` for arrays that do not fit and
    :class:`UndefinedBehaviourError`.
    """
    run = _Run(instructions, blocks)
    if kernel.scalars:
        kernel = specialized(kernel, scalars, [arrays[param.name].size for param in kernel.params])
    for param in kernel.params:
        run.memory[param.name] = _Memory(param, _view(param, arrays))
    with np.errstate(all="ignore"):
        run.block(kernel.body)


def _view(param: Buffer, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    if param.name not in arrays:
        raise ValueError(f"no array for parameter {param.name!r}")
    array = arrays[param.name]
    if array.dtype != param.dtype.numpy or array.size != np.prod(param.shape, dtype=int):
        raise ValueError(f"parameter {param.name!r} is {param.type}{list(param.shape)}, not {array.dtype}{array.shape}")
    if not array.flags.c_contiguous:
        raise ValueError(f"the array for parameter {param.name!r} is not C-contiguous")
    return array.reshape(*param.shape, 1)


class _Memory:
    """The elements of a buffer, lanes last, and which of them are defined."""

    def __init__(self, buffer: Buffer, data: np.ndarray | None = None) -> None:
        self.buffer = buffer
        shape = (*buffer.shape, buffer.type.lanes)
        self.data = np.zeros(shape, buffer.dtype.numpy) if data is None else data
        self.defined = np.full(shape, data is not None)
        self.constant = buffer.space in (Space.GLOBAL, Space.ROWS) and buffer.access is Access.READ


class _Run:
    """``memory`` and ``names`` hold the buffers and variables by name; names are unique in scope. ``fetched`` tells how
    many rows of a parameter were."""

    def __init__(self, instructions: InstructionTable, blocks: BlockTable) -> None:
        self.memory: dict[str, _Memory] = {}
        self.names: dict[str, Operand] = {}
        self.fetched: dict[str, int] = {}
        self._instructions, self._blocks = instructions, blocks

    # ------------------------------------------------------------ statements

    def block(self, block: Block) -> None:
        for stmt in block:
            self._stmt(stmt)

    def _stmt(self, stmt: Stmt) -> None:
        match stmt:
            case For(var, extent, body):
                for count in range(self.value(extent)):
                    self.names[var.name] = count
                    self.block(body)
            case If(cond, then, orelse):
                self.block(then if self.value(cond) else orelse)
            case Let(var, value):
                self.names[var.name] = self.value(value)
            case Alloc(buffer):
                self.memory[buffer.name] = _Memory(buffer)
            case Store():
                self._store(stmt)
            case Invoke():
                self._invoke(stmt)
            case Prefetch():
                pass
            case Fetch():
                self._fetch(stmt)
            case _:
                raise TypeError(f"not a statement of the loop IR: {stmt!r}")

    def _store(self, stmt: Store) -> None:
        memory = self.memory[stmt.buffer.name]
        if memory.constant:
            raise UndefinedBehaviourError(f"const buffer stored: {print_block((stmt,)).strip()}")
        value = np.atleast_1d(self.value(stmt.value))
        where, active = self._place(stmt.buffer, stmt.index, stmt.value.type.lanes, stmt.active, stmt)
        if stmt.buffer.space is Space.REG:
            memory.data[where], memory.defined[where] = value, True
        else:
            memory.data[where][:active, 0], memory.defined[where][:active, 0] = value[:active], True

    def _invoke(self, stmt: Invoke) -> None:
        """Runs the meaning on the memory behind the pointers."""
        kernel = self._blocks[stmt.block].kernel(stmt.numbers)
        run = _Run(self._instructions, self._blocks)
        for param, pointer in zip(kernel.params, stmt.pointers, strict=True):
            run.memory[param.name] = self._behind(pointer, param, stmt)
        run.block(kernel.body)

    def _fetch(self, stmt: Fetch) -> None:
        """Rows come in order: a function of the caller's that reads them from a sensor has no others."""
        name, row = stmt.source.name, self.value(stmt.row)
        if row != self.fetched.get(name, 0) or row >= stmt.source.shape[0]:
            raise UndefinedBehaviourError(f"row {row} is not the next one: {print_block((stmt,)).strip()}")
        self.fetched[name] = row + 1
        target = self._behind(stmt.target, Buffer(name, stmt.source.type, (stmt.elements,)), stmt)
        target.data[...] = self.memory[name].data[row].reshape(stmt.elements, 1)
        target.defined[...] = True

    def _behind(self, pointer: Pointer, param: Buffer, at: Stmt) -> _Memory:
        """A view of the elements from ``pointer`` on, as ``param``."""
        memory, size = self.memory[pointer.buffer.name], int(np.prod(param.shape))
        places = [self.value(part) for part in pointer.index]
        start = sum(place * stride for place, stride in zip(places, pointer.buffer.strides, strict=True))
        if start < 0 or start + size > memory.data.size or (memory.constant and param.access is not Access.READ):
            raise UndefinedBehaviourError(f"out of range or const at {places}: {print_block((at,)).strip()}")
        view = _Memory(param, memory.data.reshape(-1, 1)[start : start + size])
        view.defined = memory.defined.reshape(-1, 1)[start : start + size]
        return view

    # ------------------------------------------------------------ expressions

    def value(self, expr: Expr) -> Operand:
        match expr:
            case Const(value, type_):
                return _literal(value, type_)
            case Var(name):
                return self.names[name]
            case Load():
                return self._load(expr)
            case Unary(op, x):
                return _UNARY[op](self.value(x))
            case Binary():
                return self._binary(expr)
            case Select(cond, x, y):
                return _select(self.value(cond), self.value(x), self.value(y))
            case Convert(type_, x):
                return self._convert(self.value(x), type_, expr)
            case Bitcast(type_, x):
                return _of_type(np.atleast_1d(self.value(x)).view(type_.dtype.numpy), type_)
            case Splat(x, lanes):
                return _of_type(np.full(lanes, self.value(x), x.type.dtype.numpy), expr.type)
            case Lane(x, number):
                return _of_type(np.atleast_1d(self.value(x))[number : number + 1], expr.type)
            case Shuffle(x, y, picks):
                both = np.concatenate([np.atleast_1d(self.value(x)), np.atleast_1d(self.value(y))])
                return _of_type(both[list(picks)], expr.type)
            case Reduce(op, x):
                return _of_type(_reduce(op, np.atleast_1d(self.value(x))), expr.type)
            case Call():
                return self._call(expr)
        raise TypeError(f"not an expression of the loop IR: {expr!r}")

    def _load(self, load: Load) -> Operand:
        memory = self.memory[load.buffer.name]
        where, active = self._place(load.buffer, load.index, load.lanes, load.active, load)
        if load.buffer.space is Space.REG:
            lanes, defined = memory.data[where], memory.defined[where]
        else:
            lanes = np.zeros(load.lanes, load.buffer.dtype.numpy)
            lanes[:active] = memory.data[where][:active, 0]
            defined = memory.defined[where][:active, 0]
        if not defined.all():
            raise UndefinedBehaviourError(f"undefined element read: {print_expr(load)}")
        return _of_type(lanes.copy(), load.type)

    def _place(
        self, buffer: Buffer, index: tuple[Expr, ...], lanes: int, active: Expr | None, at: Stmt | Expr
    ) -> tuple[tuple[int | slice, ...], int]:
        """Where the touched elements are in the memory's arrays, and how many lanes are touched."""
        touched = lanes if active is None else self.value(active)
        if buffer.space is Space.REG:
            lanes = touched = 1
        places = [self.value(part) for part in index]
        ends = [place + 1 for place in places]
        if ends:
            ends[-1] += touched - 1
        inside = all(end <= extent for end, extent in zip(ends, buffer.shape, strict=True))
        if not inside or min(places, default=0) < 0 or not 0 <= touched <= lanes:
            shown = print_expr(at) if isinstance(at, Expr) else print_block((at,)).strip()
            raise UndefinedBehaviourError(f"out of range at {places}, {touched} lanes of {list(buffer.shape)}: {shown}")
        if buffer.space is Space.REG:
            return tuple(places), 1
        if not places:
            return (np.newaxis, ...), touched  # type: ignore[return-value]
        return (*places[:-1], slice(places[-1], places[-1] + touched)), touched

    def _binary(self, expr: Binary) -> Operand:
        x, y = self.value(expr.x), self.value(expr.y)
        dtype = expr.x.type.dtype
        if expr.op in ("shl", "shr") and not np.all((y >= 0) & (y < bits(dtype))):
            raise UndefinedBehaviourError(f"shift count {y}: {print_expr(expr)}")
        if not dtype.is_float and expr.op in _DIVISIONS:
            least = np.iinfo(dtype.numpy).min
            if np.any(y == 0) or (dtype.is_signed and np.any((x == least) & (y == -1))):
                raise UndefinedBehaviourError(f"division of {x} by {y}: {print_expr(expr)}")
        if expr.op == "div":
            return operator.truediv(x, y) if dtype.is_float else _truncated_quotient(x, y)
        return _BINARY[expr.op](x, y)

    def _convert(self, x: Operand, type_: Type, at: Expr) -> Operand:
        lanes = np.atleast_1d(x)
        if type_.dtype is DType.BOOL:
            return _of_type(lanes != 0, type_)
        if lanes.dtype.kind == "f" and type_.dtype.is_integer:
            info = np.iinfo(type_.dtype.numpy)
            if not all(np.isfinite(lane) and info.min <= int(lane) <= info.max for lane in lanes):
                raise UndefinedBehaviourError(f"{x} to {type_}: {print_expr(at)}")
        return _of_type(lanes.astype(type_.dtype.numpy), type_)

    def _call(self, call: Call) -> Operand:
        row = self._instructions[call.function]
        args = [np.atleast_1d(self.value(arg)) for arg in call.args]
        if row.across:
            return _of_type(np.asarray(row.meaning(*args), call.type.dtype.numpy), call.type)
        lanes = [row.meaning(*(arg[lane] for arg in args)) for lane in range(call.type.lanes)]
        return _of_type(np.array(lanes, call.type.dtype.numpy), call.type)


# ---------------------------------------------------------------- operators


def _of_type(lanes: np.ndarray, type_: Type) -> Operand:
    """An array of lanes as an operand of ``type_``."""
    if type_.lanes != 1:
        return lanes
    return int(lanes[0]) if type_ == INDEX else lanes[0]


def _literal(value: int | float | bool, type_: Type) -> Operand:
    if type_ == INDEX:
        return int(value)
    return _of_type(np.full(type_.lanes, value, type_.dtype.numpy), type_)


def _select(cond: Operand, x: Operand, y: Operand) -> Operand:
    if isinstance(cond, np.ndarray):
        return np.where(cond, x, y)
    return x if cond else y


def _truncated_quotient(x: Operand, y: Operand) -> Operand:
    floor = x // y
    return np.where((floor * y != x) & ((x < 0) != (y < 0)), floor + 1, floor)[()]


def _remainder(x: Operand, y: Operand) -> Operand:
    return x - _truncated_quotient(x, y) * y


def _reduce(op: str, lanes: np.ndarray) -> np.ndarray:
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = _BINARY[op](lanes[:half], lanes[half:])
    return lanes


_DIVISIONS = ("div", "mod", "floordiv", "floormod")
_UNARY: dict[str, Callable[[Operand], Operand]] = {"neg": operator.neg, "abs": abs, "not": np.invert}
_BINARY: dict[str, Callable[[Operand, Operand], Operand]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "mod": _remainder,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "min": lambda x, y: _select(x < y, x, y),
    "max": lambda x, y: _select(x > y, x, y),
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "shr": operator.rshift,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}

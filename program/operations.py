"""How many operations a run takes: an estimate for comparing programs for similar CPUs."""

from __future__ import annotations

import math
from functools import lru_cache

from ..blocks import BLOCKS
from ..ir.bounds import Bounds
from ..ir.loops import (
    Binary,
    Block,
    Call,
    Convert,
    For,
    If,
    Invoke,
    Kernel,
    Let,
    Load,
    Reduce,
    Select,
    Space,
    Stmt,
    Store,
    Unary,
)
from ..ir.loops_rewrite import stmt_exprs, walk_expr
from ..ir.program import Program
from ..ir.steps import walk_calls
from ..ir.types import DType

REGISTER = 16
"""Bytes of a vector that is one operation."""

PER_CYCLE = 8
"""Operations in a cycle of a CPU with vectors of 64 bytes, of which it computes two: what block instructions take."""

_COUNTED = frozenset({Binary, Call, Convert, Load, Reduce, Select, Unary})


def operations(program: Program) -> int:
    """Loads, stores and arithmetic on elements, in vectors of :data:`REGISTER` bytes, of one run at most: kernels of
    loops once, all branches. Indices and loops are not counted."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    return sum(_kernel_operations(kernels[call.kernel]) for call in walk_calls(program.body))


@lru_cache(maxsize=256)
def _kernel_operations(kernel: Kernel) -> int:
    return 0 if kernel.foreign is not None else _block(kernel.body, Bounds())


def _block(block: Block, bounds: Bounds) -> int:
    total = 0
    for stmt in block:
        total += _own(stmt)
        if isinstance(stmt, Let):
            bounds = bounds.with_let(stmt.var, stmt.value)
        elif isinstance(stmt, If):
            total += max(_block(stmt.then, bounds), _block(stmt.orelse, bounds))
        elif isinstance(stmt, For):
            most = bounds.range(stmt.extent)[1]
            times = 1 if most == math.inf else int(max(most, 0))
            total += times * _block(stmt.body, bounds.in_loop(stmt.var, stmt.extent))
    return total


def _own(stmt: Stmt) -> int:
    """The operations of the statement itself."""
    total = 0
    for expr in stmt_exprs(stmt):
        for part in walk_expr(expr):
            if type(part) not in _COUNTED or (isinstance(part, Load) and part.buffer.space is Space.REG):
                continue
            type_ = part.type
            if type_.dtype is not DType.INDEX:
                total += _registers(type_.lanes * type_.dtype.size)
    if isinstance(stmt, Store) and stmt.buffer.space is not Space.REG:
        total += _registers(stmt.value.type.lanes * stmt.buffer.dtype.size)
    return total + (_of_block(stmt) if isinstance(stmt, Invoke) else 0)


def _of_block(stmt: Invoke) -> int:
    row = BLOCKS[stmt.block]
    cycles = row.own_cycles(stmt.numbers)
    return _kernel_operations(row.kernel(stmt.numbers)) if cycles is None else round(PER_CYCLE * cycles)


def _registers(size: int) -> int:
    return math.ceil(size / REGISTER)

"""Maxima of neighbouring bytes, as of the rows of a softmax, on cores that compare several bytes at a time.

    for k:64                              invoke greatest_of<64>(&x[i, 0], &most[0])
      top[0] = max(top[0], i32(x[i, k]))  ->  top[0] = max(top[0], i32(most[0]))
"""

from __future__ import annotations

from ..blocks import has_block
from ..ir.build import convert, maximum
from ..ir.loops import (
    INDEX,
    Alloc,
    Binary,
    Block,
    Buffer,
    Const,
    Convert,
    For,
    If,
    Invoke,
    Load,
    Pointer,
    Space,
    Stmt,
    Store,
    Type,
    as_expr,
)
from ..ir.loops_rewrite import map_expr
from ..ir.types import DType
from ..targets.target import Cpu
from .affine import coefficient, occurs
from .names import Names

FEWEST = 12
"""Bytes for which the block instruction takes less than a loop."""


def greatest_of_rows(block: Block, cpu: Cpu, names: Names) -> Block:
    """``block`` with such loops as block instructions, where ``cpu`` has more than a loop for them."""
    if not cpu.extensions & {"dsp", "mve"} or not has_block("greatest_of", cpu.extensions):
        return block
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, If):
            sides = (greatest_of_rows(side, cpu, names) for side in (stmt.then, stmt.orelse))
            out.append(If(stmt.cond, *sides))
        elif isinstance(stmt, For) and (found := _row(stmt)) is not None:
            out += _invoked(stmt, *found, names)
        elif isinstance(stmt, For):
            out.append(For(stmt.var, stmt.extent, greatest_of_rows(stmt.body, cpu, names), stmt.kind))
        else:
            out.append(stmt)
    return tuple(out)


def _row(stmt: For) -> tuple[Store, Load] | None:
    """The accumulation that is all there is in the loop, and the byte that it loads."""
    body = stmt.body[0] if len(stmt.body) == 1 else None
    if not isinstance(body, Store) or not isinstance(stmt.extent, Const) or int(stmt.extent.value) < FEWEST:
        return None
    value = body.value
    if body.buffer.space is not Space.REG or not isinstance(value, Binary) or value.op != "max":
        return None
    loaded = value.y.x if isinstance(value.y, Convert) else value.y
    if value.x != Load(body.buffer, body.index) or not isinstance(loaded, Load) or loaded.lanes != 1:
        return None
    *outer, inner = (coefficient(index, stmt.var) for index in loaded.index)
    neighbours = inner == 1 and all(step == 0 for step in outer)
    one = not any(occurs(stmt.var, index) for index in body.index)
    return (body, loaded) if neighbours and one and loaded.buffer.dtype is DType.I8 else None


def _invoked(stmt: For, accumulation: Store, loaded: Load, names: Names) -> Block:
    assert isinstance(stmt.extent, Const)
    most = Buffer(names.fresh("most"), Type(DType.I8), (1,), Space.STACK)
    first = tuple(map_expr(index, lambda part: INDEX(0) if part == stmt.var else None) for index in loaded.index)
    acc = Load(accumulation.buffer, accumulation.index)
    return (
        Alloc(most),
        Invoke("greatest_of", (Pointer(loaded.buffer, first), Pointer(most, (as_expr(0),))), (int(stmt.extent.value),)),
        Store(accumulation.buffer, accumulation.index, maximum(acc, convert(most[0], acc.type.dtype))),
    )

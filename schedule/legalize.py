"""Replaces what a CPU has no instruction for by what it has."""

from __future__ import annotations

from ..ir.loops import Block, Call, Expr, map_block
from ..ops.rounding_exprs import expand_rounding
from ..targets.target import Cpu

ROUNDING = frozenset({"floor", "ceil", "trunc", "round_even"})


def legalize(block: Block, cpu: Cpu) -> Block:
    """``block`` with the rounding functions that ``cpu`` lacks expanded into conversions."""

    def rule(expr: Expr) -> Expr | None:
        lacks = isinstance(expr, Call) and expr.function in ROUNDING and expr.function not in cpu.features
        return expand_rounding(expr) if lacks else None

    return map_block(block, rule)

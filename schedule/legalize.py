"""Replaces what a CPU has no instruction for by what it has."""

from __future__ import annotations

import math

from ..instructions import INSTRUCTIONS
from ..ir.build import clamped, maximum, minimum
from ..ir.loops import I32, Binary, Block, Call, Const, Expr, Type
from ..ir.loops_rewrite import map_block
from ..ir.types import DType
from ..targets.target import Cpu

BOUNDED = {"min": "minimum", "max": "maximum"}
"""Clamping of vectors of floats, by the operator, where it is one instruction."""

IN_SINGLE = frozenset({"fma", "floor", "ceil", "trunc", "round_even"})
"""What cores whose float unit knows single precision alone do not have for doubles."""

WORDS_ALONE = frozenset({"leading_zeros"})
"""What is an instruction for a word, but for no vector."""


def legalize(block: Block, cpu: Cpu, *, fuse: bool = False) -> Block:
    """``block`` with the functions that ``cpu`` lacks expanded as their rows of the instruction table say, and clamping
    to a byte, or of floats by a constant, as the instruction where there is one. With ``fuse``, products that need no
    rounding before a sum have none where ``cpu`` has a fused multiply-add."""

    saturates = "saturate8" in cpu.features

    def rule(expr: Expr) -> Expr | None:
        if isinstance(expr, Binary):
            if saturates:
                return _saturated(expr)
            return _bounded(expr) if BOUNDED.get(expr.op) in cpu.features else None
        if not isinstance(expr, Call):
            return None
        features = _scalar_features(cpu, expr.type)
        if expr.function in features:
            return None
        if fuse and expr.function == "multiply_add" and "fma" in features:
            return Call("fma", expr.args, expr.type)
        expansion = INSTRUCTIONS[expr.function].expansion
        return None if expansion is None else expansion(expr)

    return map_block(block, rule)


def _saturated(expr: Binary) -> Expr | None:
    """``min(max(x, lo), hi)`` of words, where one bound is that of a byte: a function, and the other bound."""
    found = clamped(expr)
    if found is None or expr.type != I32:
        return None
    x, lo, hi = found
    if not -128 <= lo.value <= hi.value <= 127 or (lo.value > -128 and hi.value < 127):
        return None
    result: Expr = Call("saturate8", (x,), I32)
    if lo.value > -128:
        result = maximum(result, lo)
    return minimum(result, hi) if hi.value < 127 else result


def _bounded(expr: Binary) -> Expr | None:
    """``max(c, x)`` of a constant, for which NaN stays NaN either way. Where c and x are zeros of different signs the
    instruction may take the other one, which compares as equal."""
    whole = expr.type.dtype is DType.F32 and expr.type.lanes == 4
    if not whole or not isinstance(expr.x, Const) or math.isnan(expr.x.value):
        return None
    return Call(BOUNDED[expr.op], (expr.x, expr.y), expr.type)


def _scalar_features(cpu: Cpu, type_: Type) -> frozenset[str]:
    """What the CPU has for ``type_``. Packed integers in a scalar are a matter of cores that can widen them, too."""
    packed = {"dot2_i16i16"} if type_.lanes == 1 and "long_dot2_i16i16" not in cpu.features else set()
    words = WORDS_ALONE if type_.lanes > 1 else set()
    single = IN_SINGLE if type_.dtype is DType.F64 and "f64" not in cpu.features else set()
    return cpu.features - packed - words - single


"""Replaces what a CPU has no instruction for by what it has."""

from __future__ import annotations

from ..ir.loops import I32, Binary, Block, Call, Const, Convert, Expr, Type
from ..ir.loops_rewrite import map_block
from ..ir.types import DType
from ..ops.rounding_exprs import expand_rounding
from ..ops.scale_exprs import expand_mul_high
from ..targets.target import Cpu

ROUNDING = frozenset({"floor", "ceil", "trunc", "round_even"})
_NARROW = {8: DType.I8, 16: DType.I16}


def legalize(block: Block, cpu: Cpu) -> Block:
    """``block`` with the functions that ``cpu`` lacks expanded: rounding into conversions, roots of halves into those
    of floats, scalar dot products and widening of packed integers into plain arithmetic. Clamping to a byte becomes the
    instruction where there is one."""

    def rule(expr: Expr) -> Expr | None:
        if isinstance(expr, Binary) and "saturate8" in cpu.features:
            return _saturated(expr)
        if not isinstance(expr, Call) or expr.function in _scalar_features(cpu, expr.type):
            return None
        if expr.function in ROUNDING:
            return expand_rounding(expr)
        if expr.function == "sqrt" and expr.type.dtype is DType.F16:
            return _in_single(expr)
        if expr.function in ("widen_even", "widen_odd"):
            return _widened(expr.args[0], 0 if expr.function == "widen_even" else 8)
        if expr.function in ("halves_add", "halves_sub"):
            return _halves(expr.function[7:], *expr.args)
        if expr.function in ("low_by_high", "high_by_low"):
            acc, x, w = expr.args
            bits = (0, 16) if expr.function == "low_by_high" else (16, 0)
            return Binary("add", acc, Binary("mul", _part(x, bits[0], 16), _part(w, bits[1], 16)))
        if expr.function == "mul_high":
            return expand_mul_high(*expr.args)
        if expr.function == "dot2_i16i16" and expr.type == I32:
            acc, x, w = expr.args
            for bit in (0, 16):
                acc = Binary("add", acc, Binary("mul", _part(x, bit, 16), _part(w, bit, 16)))
            return acc
        return None

    return map_block(block, rule)


def _saturated(expr: Binary) -> Expr | None:
    """``min(max(x, lo), hi)`` of words, where one bound is that of a byte: a function, and the other bound."""
    inner = expr.x
    if expr.op != "min" or not isinstance(inner, Binary) or inner.op != "max" or expr.type != I32:
        return None
    lo, hi = inner.y, expr.y
    if not isinstance(lo, Const) or not isinstance(hi, Const) or not -128 <= lo.value <= hi.value <= 127:
        return None
    if lo.value > -128 and hi.value < 127:
        return None
    result: Expr = Call("saturate8", (inner.x,), I32)
    if lo.value > -128:
        result = Binary("max", result, lo)
    return Binary("min", result, hi) if hi.value < 127 else result


def _scalar_features(cpu: Cpu, type_: Type) -> frozenset[str]:
    """What the CPU has for ``type_``. Packed integers in a scalar are a matter of cores that can widen them, too."""
    packed = {"dot2_i16i16"} if type_.lanes == 1 and "widen_even" not in cpu.features else set()
    single = ROUNDING if type_.dtype is DType.F64 and "f64" not in cpu.features else set()
    return cpu.features - packed - single


def _in_single(expr: Call) -> Expr:
    """A square root of halves in single precision: rounding twice changes nothing, as 24 >= 2 * 11 + 2 digits."""
    single = Type(DType.F32, expr.type.lanes)
    return Convert(expr.type, Call(expr.function, (Convert(single, expr.args[0]),), single))


def _part(word: Expr, bit: int, bits: int) -> Expr:
    """The signed integer of ``bits`` from ``bit`` on."""
    moved = Binary("shr", word, Const(bit, I32)) if bit else word
    return Convert(I32, Convert(Type(_NARROW[bits]), moved))


def _halves(op: str, x: Expr, y: Expr) -> Expr:
    """The operation on both halfwords of two words."""
    mask = Const(-0x10000, I32)
    high = Binary(op, Binary("and", x, mask), Binary("and", y, mask))
    return Binary("or", high, Binary("and", Binary(op, x, y), Const(0xFFFF, I32)))


def _widened(word: Expr, bit: int) -> Expr:
    """Two signed bytes, 16 bits apart, as halfwords."""
    low = Binary("and", _part(word, bit, 8), Const(0xFFFF, I32))
    return Binary("or", low, Binary("shl", _part(word, bit + 16, 8), Const(16, I32)))

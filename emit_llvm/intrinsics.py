"""Rows of the instruction table as LLVM's intrinsics."""

from __future__ import annotations

from collections.abc import Sequence

from ..instructions import Intrinsic
from .writer import FunctionWriter


def write_intrinsic(
    out: FunctionWriter, function: Intrinsic, name: str, lanes: int, args: Sequence[str], types: Sequence[str]
) -> str:
    """The call with ``args``, the operands of the row in their order, of ``types``; ``name`` is that of the result."""
    picked = [args[position] for position in function.order or range(len(args))]
    if function.rounds:
        bfloats = _vector("bfloat", lanes)
        return out.value(f"bitcast {bfloats} {out.value(f'fptrunc {types[0]} {picked[0]} to {bfloats}')} to {name}")
    if function.shuffle:
        lanes_of = ", ".join(f"i32 {lane}" for lane in function.shuffle)
        return out.value(f"shufflevector {name} {picked[0]}, {name} {picked[1]}, <{lanes} x i32> <{lanes_of}>")
    if function.rotated:
        word, rotation = (name, picked[-1]), (name, str(function.rotated))
        picked[-1] = out.intrinsic(f"llvm.fshr.{name}", name, word, word, rotation)
    taken = function.order or range(len(args))
    operands = [(types[position], value) for position, value in zip(taken, picked)]
    if function.parts or function.bfloats:
        bits = function.parts or 16
        parts = _vector("bfloat" if function.bfloats else f"i{bits}", 32 // bits * lanes)
        operands = [
            operand if position == 0 and not function.result_parts
            else (parts, out.value(f"bitcast {types[position]} {operand[1]} to {parts}"))
            for position, operand in zip(taken, operands)
        ]  # fmt: skip
        if function.result_parts:
            return out.value(f"bitcast {parts} {out.intrinsic(function.name, parts, *operands)} to {name}")
    result = out.intrinsic(function.name, name, *operands, *function.also)
    return out.value(f"add {name} {result}, {args[0]}") if function.adds else result


def _vector(element: str, lanes: int) -> str:
    return element if lanes == 1 else f"<{lanes} x {element}>"

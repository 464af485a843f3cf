"""The function behind the row ``scale_round``, printed from its loop-IR expressions."""

from __future__ import annotations

from ..ir.loops import I32, Call, Load, Var
from ..ops.scale_exprs import expand_mul_high, scale_by_float, scale_by_multiplier
from ..targets import Machine
from .expressions import SCALE_HELPER, ExpressionWriter, internal_error
from .runtime_ir import Helper
from .writer import FunctionWriter

_ACC, _FACTOR, _SHIFT = (Var(name, I32) for name in ("acc", "factor", "shift"))


def scale_helper(machine: Machine) -> Helper:
    """``i32 @ccml_scale_round(i32 acc, i32 factor, i32 shift)``: the short way where the shift is positive."""
    out, features = FunctionWriter(), machine.cpu.features
    writer = ExpressionWriter(out, machine, _no_memory)
    writer.variables = {var.name: f"%{var.name}" for var in (_ACC, _FACTOR, _SHIFT)}
    inexact = scale_by_float(_ACC, _FACTOR, _SHIFT)
    high = Call("mul_high", (_ACC, _FACTOR), I32) if "mul_high" in features else expand_mul_high(_ACC, _FACTOR)
    out.branch(out.value("icmp sgt i32 %shift, 0"), "fixed", "float")
    for label, value in (("fixed", scale_by_multiplier(_SHIFT, high)), ("float", inexact)):
        out.start(label)
        writer.statement()
        out.effect(f"ret i32 {writer.write(value)}")
    body = "\n".join(("entry:", *out.lines, ""))
    return Helper(f"i32 @{SCALE_HELPER}(i32 %acc, i32 %factor, i32 %shift)", body)


def _no_memory(load: Load) -> str:
    raise internal_error("the expressions of a helper read no memory")

"""The function behind the row ``scale_round``, printed from its loop-IR expressions."""

from __future__ import annotations

from ..ir.loops import I32, Call, Load, Var
from ..ops.scale_exprs import expand_mul_high, scale_by_float, scale_by_fraction, scale_by_multiplier
from ..targets import Machine
from .expressions import SCALE_HELPER, ExpressionWriter, internal_error
from .runtime_ir import Helper
from .writer import FunctionWriter

_ACC, _FACTOR, _SHIFT = (Var(name, I32) for name in ("acc", "factor", "shift"))


def scale_helper(machine: Machine) -> Helper:
    """``i32 @ccml_scale_round(i32 acc, i32 factor, i32 shift)``: the short ways where the shift is positive, where
    nothing is scaled, and where few bits tell how to round."""
    out, features = FunctionWriter(), machine.cpu.features
    writer = ExpressionWriter(out, machine, _no_memory)
    writer.variables = {var.name: f"%{var.name}" for var in (_ACC, _FACTOR, _SHIFT)}
    usual, by_fraction = scale_by_fraction(_ACC, _FACTOR, _SHIFT)
    by_float = scale_by_float(_ACC, _FACTOR, _SHIFT)
    high = Call("mul_high", (_ACC, _FACTOR), I32) if "mul_high" in features else expand_mul_high(_ACC, _FACTOR)
    out.branch(out.value("icmp eq i32 %acc, 0"), "nothing", "something")
    out.start("something")
    out.branch(out.value("icmp sgt i32 %shift, 0"), "fixed", "scaled")
    out.start("scaled")
    writer.statement()
    out.branch(writer.write(usual), "fraction", "float")
    values = {"nothing": I32(0), "fixed": scale_by_multiplier(_SHIFT, high), "fraction": by_fraction, "float": by_float}
    for label, value in values.items():
        out.start(label)
        writer.statement()
        out.effect(f"ret i32 {writer.write(value)}")
    body = "\n".join(("entry:", *out.lines, ""))
    return Helper(f"i32 @{SCALE_HELPER}(i32 %acc, i32 %factor, i32 %shift)", body)


def _no_memory(load: Load) -> str:
    raise internal_error("the expressions of a helper read no memory")

"""What single-precision floating-point instructions do, in LLVM IR."""

from __future__ import annotations

from collections.abc import Mapping

from .function_ir import FunctionIr
from .instruction import FLOATS, PC, Instruction
from .meaning_arithmetic import Meaning, meanings

INTRINSICS = (
    *(f"declare float @llvm.{name}.f32(float)" for name in ("fabs", "sqrt", "floor", "ceil", "trunc", "roundeven",
                                                             "round")),
    "declare float @llvm.fma.f32(float, float, float)", "declare float @llvm.minnum.f32(float, float)",
    "declare float @llvm.maxnum.f32(float, float)", "declare i32 @llvm.fptosi.sat.i32.f32(float)",
    "declare i32 @llvm.fptoui.sat.i32.f32(float)",
)  # fmt: skip
_NEAREST = "roundeven"
_ROUNDING = {"a": "round", "n": _NEAREST, "p": "ceil", "m": "floor", "z": "trunc", "r": _NEAREST, "x": _NEAREST}


def _apply(f: FunctionIr, function: str, *args: str) -> str:
    return f.call(f"llvm.{function}.f32", *args, kind="float")


def _negated(f: FunctionIr, x: str) -> str:
    return f.emit(f"fneg float {x}")


def _arithmetic(f: FunctionIr, i: Instruction) -> None:
    x, y = f.get_float(i.rn), f.get_float(i.rm)
    op = {"vadd": "fadd", "vsub": "fsub", "vmul": "fmul", "vnmul": "fmul", "vdiv": "fdiv"}[i.op]
    result = f.binary(op, x, y, "float")
    f.put_float(i.rd, _negated(f, result) if i.op == "vnmul" else result)


def _multiply_add(f: FunctionIr, i: Instruction) -> None:
    """One rounding (VFMA) or two (VMLA); the product is negated in -MS and -NMA, the accumulator in -N-."""
    acc, x, y = f.get_float(i.rd), f.get_float(i.rn), f.get_float(i.rm)
    if i.op in ("vmls", "vnmla", "vfms", "vfnma"):
        x = _negated(f, x)
    if i.op.startswith(("vnm", "vfn")):
        acc = _negated(f, acc)
    if i.op.startswith("vf"):
        result = _apply(f, "fma", x, y, acc)
    else:
        result = f.binary("fadd", acc, f.binary("fmul", x, y, "float"), "float")
    f.put_float(i.rd, result)


def _one(f: FunctionIr, i: Instruction) -> None:
    if i.op == "vmov":
        f.put(FLOATS + i.rd, f.get(FLOATS + i.rm))
        return
    x = f.get_float(i.rm)
    if i.op == "vneg":
        result = _negated(f, x)
    elif i.op in ("vabs", "vsqrt"):
        result = _apply(f, {"vabs": "fabs", "vsqrt": "sqrt"}[i.op], x)
    else:
        result = _apply(f, _ROUNDING[i.op[-1]], x)
    f.put_float(i.rd, result)


def _constant(f: FunctionIr, i: Instruction) -> None:
    f.put(FLOATS + i.rd, str(i.imm))


def _compare(f: FunctionIr, i: Instruction) -> None:
    """Less, equal, greater and unordered are the flags N, ZC, C and CV."""
    x = f.get_float(i.rd)
    y = "0.0" if i.op == "vcmp0" else f.get_float(i.rm)
    less, equal, unordered = (f.emit(f"fcmp {op} float {x}, {y}") for op in ("olt", "oeq", "uno"))
    result = f.select(less, "-1", f.select(equal, "0", "1"))
    f.set_float_flags(result, f.binary("xor", less, "true", "i1"), unordered)


def _convert(f: FunctionIr, i: Instruction) -> None:
    """Float to integer with a rounding, or integer to float."""
    sign = "si" if i.op.endswith("s32") else "ui"
    if i.op.startswith("vcvt_from"):
        f.put_float(i.rd, f.emit(f"{sign}tofp i32 {f.get(FLOATS + i.rm)} to float"))
        return
    rounded = _apply(f, _ROUNDING[i.op[5]], f.get_float(i.rm))
    f.put(FLOATS + i.rd, f.emit(f"call i32 @llvm.fpto{sign}.sat.i32.f32(float {rounded})"))


def _fixed(f: FunctionIr, i: Instruction) -> None:
    """Fixed-point numbers of 32 bits with ``imm`` behind the point."""
    if i.width != 4:
        return
    scale = f.emit(f"bitcast i32 {(127 + i.imm) << 23} to float")
    sign = "si" if i.signed else "ui"
    if i.op == "vcvt_fixed_to":
        scaled = f.binary("fmul", f.get_float(i.rd), scale, "float")
        f.put(FLOATS + i.rd, f.emit(f"call i32 @llvm.fpto{sign}.sat.i32.f32(float {scaled})"))
    else:
        value = f.emit(f"{sign}tofp i32 {f.get(FLOATS + i.rd)} to float")
        f.put_float(i.rd, f.binary("fdiv", value, scale, "float"))


def _extreme(f: FunctionIr, i: Instruction) -> None:
    name = "minnum" if i.op == "vminnm" else "maxnum"
    f.put_float(i.rd, _apply(f, name, f.get_float(i.rn), f.get_float(i.rm)))


def _select(f: FunctionIr, i: Instruction) -> None:
    f.put(FLOATS + i.rd, f.select(f.condition(i.imm), f.get(FLOATS + i.rn), f.get(FLOATS + i.rm)))


def _to_core(f: FunctionIr, i: Instruction) -> None:
    f.put(i.rd, f.get(FLOATS + i.rm))


def _from_core(f: FunctionIr, i: Instruction) -> None:
    f.put(FLOATS + i.rm, f.get(i.rd))


def _to_core_two(f: FunctionIr, i: Instruction) -> None:
    f.put(i.rd, f.get(FLOATS + i.rm))
    f.put(i.ra, f.get(FLOATS + i.rm + 1))


def _from_core_two(f: FunctionIr, i: Instruction) -> None:
    f.put(FLOATS + i.rm, f.get(i.rd))
    f.put(FLOATS + i.rm + 1, f.get(i.ra))


def _status(f: FunctionIr, i: Instruction) -> None:
    """VMRS: flags of a comparison; the other bits of the register are not followed."""
    if i.rd == PC:
        f.take_float_flags()
    else:
        f.put(i.rd, "0")


_CONVERSIONS = [f"vcvt_{r}_{t}" for r in "anpmrz" for t in ("s32", "u32")] + ["vcvt_from_s32", "vcvt_from_u32"]

FLOAT: Mapping[str, Meaning] = meanings(
    (_arithmetic, "vadd vsub vmul vnmul vdiv"),
    (_multiply_add, "vmla vmls vnmla vnmls vfma vfms vfnma vfnms"),
    (_one, "vmov vneg vabs vsqrt " + " ".join(f"vrint{r}" for r in _ROUNDING)),
    (_constant, "vmov_imm"),
    (_compare, "vcmp vcmp0"),
    (_convert, " ".join(_CONVERSIONS)),
    (_fixed, "vcvt_fixed_to vcvt_fixed_from"),
    (_extreme, "vminnm vmaxnm"),
    (_select, "vsel"),
    (_to_core, "vmov_to_core"),
    (_from_core, "vmov_from_core"),
    (_to_core_two, "vmov_to_core2"),
    (_from_core_two, "vmov_from_core2"),
    (_status, "vmrs"),
)

"""What multiplications, divisions, and arithmetic on pairs of words and halfwords do, in LLVM IR."""

from __future__ import annotations

from collections.abc import Mapping

from .function_ir import FunctionIr
from .instruction import NONE, Instruction
from .meaning_arithmetic import Meaning, clamped, half, halves, meanings


def _accumulated(f: FunctionIr, i: Instruction, value: str) -> None:
    f.put(i.rd, value if i.ra == NONE else f.binary("add", value, f.get(i.ra)))


def _multiply(f: FunctionIr, i: Instruction) -> None:
    product = f.binary("mul", f.get(i.rn), f.get(i.rm))
    if i.op == "mls":
        f.put(i.rd, f.binary("sub", f.get(i.ra), product))
    else:
        if i.sets_flags:
            f.set_result(product)
        _accumulated(f, i, product)


def _multiply_halves(f: FunctionIr, i: Instruction) -> None:
    x, y = half(f, f.get(i.rn), i.imm & 2), half(f, f.get(i.rm), i.imm & 1)
    _accumulated(f, i, f.binary("mul", x, y))


def _dual(f: FunctionIr, i: Instruction) -> None:
    x, y = f.get(i.rn), f.get(i.rm)
    if i.imm & 1:
        y = f.call("llvm.fshr.i32", y, y, "16")
    low, high = (f.binary("mul", half(f, x, top), half(f, y, top)) for top in (0, 1))
    _accumulated(f, i, f.binary("sub" if i.op == "smlsd" else "add", low, high))


def _most_significant(f: FunctionIr, i: Instruction) -> None:
    """SMMUL, SMMLA and SMMLS, and products with halves, keep the high bits of a long product."""
    x, y = f.get(i.rn), f.get(i.rm)
    if i.op == "smulw":
        y = half(f, y, i.imm & 1)
    wide = [f.emit(f"sext i32 {value} to i64") for value in (x, y)]
    product = f.binary("mul", wide[0], wide[1], "i64")
    if i.op == "smulw":
        _accumulated(f, i, f.emit(f"trunc i64 {f.binary('ashr', product, '16', 'i64')} to i32"))
        return
    if i.ra != NONE:
        acc = f.binary("shl", f.emit(f"zext i32 {f.get(i.ra)} to i64"), "32", "i64")
        product = f.binary("sub" if i.op == "smmls" else "add", acc, product, "i64")
    if i.imm & 1:
        product = f.binary("add", product, str(1 << 31), "i64")
    f.put(i.rd, f.emit(f"trunc i64 {f.binary('lshr', product, '32', 'i64')} to i32"))


def _pair(f: FunctionIr, low: int, high: int) -> str:
    words = [f.emit(f"zext i32 {f.get(register)} to i64") for register in (low, high)]
    return f.binary("or", words[0], f.binary("shl", words[1], "32", "i64"), "i64")


def _put_pair(f: FunctionIr, low: int, high: int, value: str) -> None:
    f.put(low, f.emit(f"trunc i64 {value} to i32"))
    f.put(high, f.emit(f"trunc i64 {f.binary('lshr', value, '32', 'i64')} to i32"))


def _long_multiply(f: FunctionIr, i: Instruction) -> None:
    """``ra`` is the low word of the result, ``rd`` the high one."""
    x, y = f.get(i.rn), f.get(i.rm)
    if i.op == "smlalxy":
        x, y = half(f, x, i.imm & 2), half(f, y, i.imm & 1)
    extend = "zext" if i.op[0] == "u" else "sext"
    wide = [f.emit(f"{extend} i32 {value} to i64") for value in (x, y)]
    product = f.binary("mul", wide[0], wide[1], "i64")
    if i.op == "umaal":
        for register in (i.ra, i.rd):
            product = f.binary("add", product, f.emit(f"zext i32 {f.get(register)} to i64"), "i64")
    elif "lal" in i.op:
        product = f.binary("add", product, _pair(f, i.ra, i.rd), "i64")
    _put_pair(f, i.ra, i.rd, product)


def _long_shift(f: FunctionIr, i: Instruction) -> None:
    """A pair of registers, ``rd`` the low one, by a constant or by the low bits of a register."""
    kind, amount = i.shift
    value = _pair(f, i.rd, i.ra)
    if amount:
        name = {"lsl": "shl", "lsr": "lshr", "asr": "ashr"}[kind]
        _put_pair(f, i.rd, i.ra, f.binary(name, value, str(amount), "i64"))
        return
    steps = f.emit(f"zext i32 {f.binary('and', f.get(i.rm), '63')} to i64")
    _put_pair(f, i.rd, i.ra, f.binary("shl" if kind == "lsl" else "ashr", value, steps, "i64"))


def _divide(f: FunctionIr, i: Instruction) -> None:
    """By zero gives zero, the lowest number by -1 itself."""
    x, y = f.get(i.rn), f.get(i.rm)
    zero = f.compare("eq", y, "0")
    extend = "sext" if i.op == "sdiv" else "zext"
    wide = [f.emit(f"{extend} i32 {value} to i64") for value in (x, f.select(zero, "1", y))]
    quotient = f.emit(f"trunc i64 {f.binary(i.op, wide[0], wide[1], 'i64')} to i32")
    f.put(i.rd, f.select(zero, "0", quotient))


def _saturating(f: FunctionIr, i: Instruction) -> None:
    x, y = f.get(i.rm), f.get(i.rn)
    if i.op.startswith("qd"):
        y = f.call("llvm.sadd.sat.i32", y, y)
    f.put(i.rd, f.call(f"llvm.s{'add' if i.op.endswith('add') else 'sub'}.sat.i32", x, y))


def _parallel(f: FunctionIr, i: Instruction) -> None:
    """Two halfwords at once, wrapping around or saturated."""
    x, y = f.get(i.rn), f.get(i.rm)
    parts = []
    for top in (0, 1):
        value = f.binary("add" if "add" in i.op else "sub", half(f, x, top), half(f, y, top))
        if i.op[0] == "q":
            value = clamped(f, value, -32768, 32767)
        parts.append(value)
    f.put(i.rd, halves(f, parts[0], parts[1]))


MULTIPLICATION: Mapping[str, Meaning] = meanings(
    (_multiply, "mul mls"),
    (_multiply_halves, "smulxy"),
    (_dual, "smlad smlsd"),
    (_most_significant, "smmul smmls smulw"),
    (_long_multiply, "smull umull smlal umlal umaal smlalxy"),
    (_long_shift, "long_shift"),
    (_divide, "sdiv udiv"),
    (_saturating, "qadd qdadd qsub qdsub"),
    (_parallel, "sadd16 ssub16 qadd16 qsub16"),
)

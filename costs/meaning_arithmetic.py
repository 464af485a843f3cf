"""What arithmetic of the integer core does to registers and flags, in LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .function_ir import FunctionIr
from .instruction import NONE, PC, Instruction

Meaning = Callable[[FunctionIr, Instruction], None]

INTRINSICS = (
    "declare i32 @llvm.ctlz.i32(i32, i1)", "declare i32 @llvm.bswap.i32(i32)", "declare i32 @llvm.bitreverse.i32(i32)",
    "declare i32 @llvm.fshr.i32(i32, i32, i32)", "declare i32 @llvm.smax.i32(i32, i32)",
    "declare i32 @llvm.smin.i32(i32, i32)", "declare i32 @llvm.sadd.sat.i32(i32, i32)",
    "declare i32 @llvm.ssub.sat.i32(i32, i32)",
)  # fmt: skip


def meanings(*groups: tuple[Meaning, str]) -> dict[str, Meaning]:
    """What is meant by each operation, from lists of those that share a function."""
    return {op: meaning for meaning, ops in groups for op in ops.split()}


# ---------------------------------------------------------------- arithmetic


def _operand(f: FunctionIr, i: Instruction) -> tuple[str, str | None]:
    """The flexible second operand, and the carry of its shift where it has one."""
    if i.rm == NONE:
        return str(i.imm), None if i.carry == NONE else ("true" if i.carry else "false")
    return shifted(f, f.get(i.rm, i), *i.shift)


def shifted(f: FunctionIr, x: str, kind: str, amount: int) -> tuple[str, str | None]:
    """``x`` shifted by a constant, with the last bit that went out."""
    if kind == "rrx":
        low = f.emit(f"trunc i32 {x} to i1")
        top = f.binary("shl", f.unsigned(f.carry()), "31")
        return f.binary("or", f.binary("lshr", x, "1"), top), low
    if amount == 0:
        return x, None
    out = 32 - amount if kind == "lsl" else amount - 1
    carry = f.emit(f"trunc i32 {f.binary('lshr', x, str(out))} to i1")
    if kind == "ror":
        return f.call("llvm.fshr.i32", x, x, str(amount)), carry
    if amount == 32:
        return (f.binary("ashr", x, "31") if kind == "asr" else "0"), carry
    return f.binary({"lsl": "shl", "lsr": "lshr", "asr": "ashr"}[kind], x, str(amount)), carry


def _add_with(f: FunctionIr, i: Instruction, x: str, y: str, carry: str) -> None:
    """AddWithCarry of the manual: x + y + carry (an i1)."""
    wide = [f.emit(f"zext i32 {value} to i64") for value in (x, y)]
    total = f.binary("add", f.binary("add", wide[0], wide[1], "i64"), f.emit(f"zext i1 {carry} to i64"), "i64")
    result = f.emit(f"trunc i64 {total} to i32")
    if i.sets_flags:
        f.set_result(result)
        f.set_carry(f.emit(f"trunc i64 {f.binary('lshr', total, '32', 'i64')} to i1"))
        differs = f.binary("and", f.binary("xor", x, result), f.binary("xor", y, result))
        f.set_overflow(f.compare("slt", differs, "0"))
    f.put(i.rd, result)


def _inverted(f: FunctionIr, x: str) -> str:
    return f.binary("xor", x, "-1")


def _sum(f: FunctionIr, i: Instruction) -> None:
    x, (y, _) = f.get(i.rn, i), _operand(f, i)
    if i.op in ("add", "sub") and not i.sets_flags:
        f.put(i.rd, f.binary(i.op, x, y))
    elif i.op == "add":
        _add_with(f, i, x, y, "false")
    elif i.op == "sub":
        _add_with(f, i, x, _inverted(f, y), "true")
    elif i.op == "rsb":
        _add_with(f, i, _inverted(f, x), y, "true")
    else:
        _add_with(f, i, x, y if i.op == "adc" else _inverted(f, y), f.carry())


def _logic(f: FunctionIr, i: Instruction) -> None:
    y, carry = _operand(f, i)
    if i.op == "mov":
        result = y
    elif i.op == "mvn":
        result = _inverted(f, y)
    else:
        name = {"and": "and", "bic": "and", "orr": "or", "orn": "or", "eor": "xor"}[i.op]
        result = f.binary(name, f.get(i.rn, i), _inverted(f, y) if i.op in ("bic", "orn") else y)
    if i.sets_flags:
        f.set_result(result)
        if carry is not None:
            f.set_carry(carry)
    f.put(i.rd, result)


def _register_shift(f: FunctionIr, i: Instruction) -> None:
    """By the low byte of a register; 32 and more shift everything out."""
    x, amount = f.get(i.rn), f.binary("and", f.get(i.rm), "255")
    kind = i.shift[0]
    if kind == "ror":
        result = f.call("llvm.fshr.i32", x, x, f.binary("and", amount, "31"))
        out = f.compare("slt", result, "0")
    else:
        wide = f.emit(f"{'sext' if kind == 'asr' else 'zext'} i32 {x} to i64")
        capped = f.select(f.compare("ugt", amount, "33"), "33", amount)
        steps = f.emit(f"zext i32 {capped} to i64")
        if kind == "lsl":
            moved = f.binary("shl", wide, steps, "i64")
            out = f.emit(f"trunc i64 {f.binary('lshr', moved, '32', 'i64')} to i1")
            result = f.emit(f"trunc i64 {moved} to i32")
        else:
            name = "ashr" if kind == "asr" else "lshr"
            moved = f.binary(name, f.binary("shl", wide, "1", "i64"), steps, "i64")
            out = f.emit(f"trunc i64 {moved} to i1")
            result = f.emit(f"trunc i64 {f.binary('ashr', moved, '1', 'i64')} to i32")
            result = f.select(f.compare("eq", amount, "0"), x, result)
    if i.sets_flags:
        f.set_result(result)
        f.set_carry(f.emit(f"select i1 {f.compare('eq', amount, '0')}, i1 {f.carry()}, i1 {out}"))
    f.put(i.rd, result)


def _movt(f: FunctionIr, i: Instruction) -> None:
    f.put(i.rd, f.binary("or", f.binary("and", f.get(i.rd), "65535"), str(i.imm << 16)))


def _adr(f: FunctionIr, i: Instruction) -> None:
    f.put(i.rd, str(((i.address + 4) & ~3) + i.imm))


def _select(f: FunctionIr, i: Instruction) -> None:
    x, y = ("0" if register == PC else f.get(register) for register in (i.rn, i.rm))
    if i.op == "csinc":
        y = f.binary("add", y, "1")
    elif i.op != "csel":
        y = _inverted(f, y) if i.op == "csinv" else f.binary("sub", "0", y)
    f.put(i.rd, f.select(f.condition(i.imm), x, y))


# ---------------------------------------------------------------- fields and extension


def part(f: FunctionIr, x: str, low: int, width: int, signed: bool) -> str:
    """``width`` bits of ``x`` from bit ``low`` on, extended."""
    up = f.binary("shl", x, str(max(32 - low - width, 0)))
    return f.binary("ashr" if signed else "lshr", up, str(32 - width))


def _extend(f: FunctionIr, i: Instruction) -> None:
    x = f.get(i.rm)
    if i.imm:
        x = f.call("llvm.fshr.i32", x, x, str(i.imm))
    signed = i.op[0] == "s"
    if i.op.endswith("16"):
        low = part(f, x, 0, 8, signed)
        high = f.binary("shl", part(f, x, 16, 8, signed), "16")
        if i.ra != NONE:
            acc = f.get(i.ra)
            high = f.binary("add", high, f.binary("and", acc, "-65536"))
            low = f.binary("add", low, acc)
        result = f.binary("or", f.binary("and", high, "-65536"), f.binary("and", low, "65535"))
    else:
        result = part(f, x, 0, 8 if i.op[3] == "b" else 16, signed)
        if i.ra != NONE:
            result = f.binary("add", result, f.get(i.ra))
    f.put(i.rd, result)


def _field(f: FunctionIr, i: Instruction) -> None:
    f.put(i.rd, part(f, f.get(i.rn), i.imm, i.width, i.op == "sbfx"))


def _insert(f: FunctionIr, i: Instruction) -> None:
    mask = ((1 << i.width) - 1) << i.imm
    kept = f.binary("and", f.get(i.rd), str(~mask & 0xFFFFFFFF))
    if i.rn != NONE:
        field = f.binary("and", f.binary("shl", f.get(i.rn), str(i.imm)), str(mask))
        kept = f.binary("or", kept, field)
    f.put(i.rd, kept)


def _pack(f: FunctionIr, i: Instruction) -> None:
    y, _ = shifted(f, f.get(i.rm), *i.shift)
    x = f.get(i.rn)
    high, low = (x, y) if i.signed else (y, x)
    f.put(i.rd, f.binary("or", f.binary("and", high, "-65536"), f.binary("and", low, "65535")))


def _saturate(f: FunctionIr, i: Instruction) -> None:
    x, _ = shifted(f, f.get(i.rm), *i.shift)
    low, high = (-(1 << (i.imm - 1)), (1 << (i.imm - 1)) - 1) if i.op[0] == "s" else (0, (1 << i.imm) - 1)
    if i.op.endswith("16"):
        f.put(i.rd, halves(f, *(clamped(f, half(f, x, top), low, high) for top in (0, 1))))
    else:
        f.put(i.rd, clamped(f, x, low, high))


def clamped(f: FunctionIr, x: str, low: int, high: int) -> str:
    return f.call("llvm.smin.i32", f.call("llvm.smax.i32", x, str(low)), str(high))


def halves(f: FunctionIr, low: str, high: str) -> str:
    """Two halfwords as a word."""
    return f.binary("or", f.binary("and", low, "65535"), f.binary("shl", high, "16"))


def _reverse(f: FunctionIr, i: Instruction) -> None:
    x = f.get(i.rm)
    if i.op == "clz":
        result = f.emit(f"call i32 @llvm.ctlz.i32(i32 {x}, i1 0)")
    elif i.op == "rbit":
        result = f.call("llvm.bitreverse.i32", x)
    else:
        result = f.call("llvm.bswap.i32", x)
        if i.op == "rev16":
            result = f.call("llvm.fshr.i32", result, result, "16")
        elif i.op == "revsh":
            result = f.binary("ashr", result, "16")
    f.put(i.rd, result)


def half(f: FunctionIr, x: str, top: int) -> str:
    return f.binary("ashr", x, "16") if top else part(f, x, 0, 16, True)


def _nothing(_: FunctionIr, __: Instruction) -> None:
    """No effect on what is followed."""


ARITHMETIC: Mapping[str, Meaning] = meanings(
    (_sum, "add sub rsb adc sbc"),
    (_logic, "and bic orr orn eor mov mvn"),
    (_register_shift, "shift"),
    (_movt, "movt"),
    (_adr, "adr"),
    (_select, "csel csinc csinv csneg"),
    (_extend, "sxtb sxth uxtb uxth sxtb16 uxtb16"),
    (_field, "sbfx ubfx"),
    (_insert, "bfi"),
    (_pack, "pkh"),
    (_saturate, "ssat usat ssat16 usat16"),
    (_reverse, "clz rbit rev rev16 revsh"),
    (_nothing, "other it trap usad8 smlald"),
)

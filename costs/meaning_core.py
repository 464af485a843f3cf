"""What instructions of the integer core do to registers, flags and memory, in LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .function_ir import FLOATS, FunctionIr
from .instruction import NONE, PC, Instruction

Meaning = Callable[[FunctionIr, Instruction], None]

INTRINSICS = (
    "declare i32 @llvm.ctlz.i32(i32, i1)", "declare i32 @llvm.bswap.i32(i32)", "declare i32 @llvm.bitreverse.i32(i32)",
    "declare i32 @llvm.fshr.i32(i32, i32, i32)", "declare i32 @llvm.smax.i32(i32, i32)",
    "declare i32 @llvm.smin.i32(i32, i32)", "declare i32 @llvm.sadd.sat.i32(i32, i32)",
    "declare i32 @llvm.ssub.sat.i32(i32, i32)",
)  # fmt: skip

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


def _part(f: FunctionIr, x: str, low: int, width: int, signed: bool) -> str:
    """``width`` bits of ``x`` from bit ``low`` on, extended."""
    up = f.binary("shl", x, str(max(32 - low - width, 0)))
    return f.binary("ashr" if signed else "lshr", up, str(32 - width))


def _extend(f: FunctionIr, i: Instruction) -> None:
    x = f.get(i.rm)
    if i.imm:
        x = f.call("llvm.fshr.i32", x, x, str(i.imm))
    signed = i.op[0] == "s"
    if i.op.endswith("16"):
        low = _part(f, x, 0, 8, signed)
        high = f.binary("shl", _part(f, x, 16, 8, signed), "16")
        if i.ra != NONE:
            acc = f.get(i.ra)
            high = f.binary("add", high, f.binary("and", acc, "-65536"))
            low = f.binary("add", low, acc)
        result = f.binary("or", f.binary("and", high, "-65536"), f.binary("and", low, "65535"))
    else:
        result = _part(f, x, 0, 8 if i.op[3] == "b" else 16, signed)
        if i.ra != NONE:
            result = f.binary("add", result, f.get(i.ra))
    f.put(i.rd, result)


def _field(f: FunctionIr, i: Instruction) -> None:
    f.put(i.rd, _part(f, f.get(i.rn), i.imm, i.width, i.op == "sbfx"))


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
        f.put(i.rd, _halves(f, *(_clamped(f, _half(f, x, top), low, high) for top in (0, 1))))
    else:
        f.put(i.rd, _clamped(f, x, low, high))


def _clamped(f: FunctionIr, x: str, low: int, high: int) -> str:
    return f.call("llvm.smin.i32", f.call("llvm.smax.i32", x, str(low)), str(high))


def _halves(f: FunctionIr, low: str, high: str) -> str:
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


# ---------------------------------------------------------------- multiplication


def _half(f: FunctionIr, x: str, top: int) -> str:
    return f.binary("ashr", x, "16") if top else _part(f, x, 0, 16, True)


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
    x, y = _half(f, f.get(i.rn), i.imm & 2), _half(f, f.get(i.rm), i.imm & 1)
    _accumulated(f, i, f.binary("mul", x, y))


def _dual(f: FunctionIr, i: Instruction) -> None:
    x, y = f.get(i.rn), f.get(i.rm)
    if i.imm & 1:
        y = f.call("llvm.fshr.i32", y, y, "16")
    low, high = (f.binary("mul", _half(f, x, top), _half(f, y, top)) for top in (0, 1))
    _accumulated(f, i, f.binary("sub" if i.op == "smlsd" else "add", low, high))


def _most_significant(f: FunctionIr, i: Instruction) -> None:
    """SMMUL, SMMLA and SMMLS, and products with halves, keep the high bits of a long product."""
    x, y = f.get(i.rn), f.get(i.rm)
    if i.op == "smulw":
        y = _half(f, y, i.imm & 1)
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
        x, y = _half(f, x, i.imm & 2), _half(f, y, i.imm & 1)
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
    halves = []
    for top in (0, 1):
        value = f.binary("add" if "add" in i.op else "sub", _half(f, x, top), _half(f, y, top))
        if i.op[0] == "q":
            value = _clamped(f, value, -32768, 32767)
        halves.append(value)
    f.put(i.rd, _halves(f, halves[0], halves[1]))


# ---------------------------------------------------------------- memory


def address(f: FunctionIr, i: Instruction) -> str:
    """Where a load or store goes; the base register is updated where the instruction does that."""
    base = f.get(i.rn, i)
    offset = str(i.imm)
    if i.rm != NONE:
        offset, _ = shifted(f, f.get(i.rm), *i.shift)
    moved = base if offset == "0" else f.binary("add", base, offset)
    if i.index != "offset":
        f.put(i.rn, moved)
    return base if i.index == "post" else moved


def _load(f: FunctionIr, i: Instruction) -> None:
    where = address(f, i)
    f.put(i.rd, f.read(where, i.width, signed=i.signed))


def _store(f: FunctionIr, i: Instruction) -> None:
    value = f.get(i.rd)
    f.write(address(f, i), value, i.width)


def _load_two(f: FunctionIr, i: Instruction) -> None:
    where = address(f, i)
    words = [f.read(where), f.read(f.binary("add", where, "4"))]
    f.put(i.rd, words[0])
    f.put(i.ra, words[1])


def _store_two(f: FunctionIr, i: Instruction) -> None:
    values = [f.get(i.rd), f.get(i.ra)]
    where = address(f, i)
    f.write(where, values[0])
    f.write(f.binary("add", where, "4"), values[1])


def _multiple(f: FunctionIr, i: Instruction) -> None:
    """LDM, STM and their relatives; "push" and "ldmdb" go down before."""
    down = i.op in ("push", "ldmdb")
    size = 4 * len(i.registers)
    base = f.get(i.rn, i)
    if i.imm:
        base = f.binary("add", base, str(i.imm))
    first = f.binary("sub", base, str(size)) if down else base
    places = [first if not n else f.binary("add", first, str(4 * n)) for n in range(len(i.registers))]
    numbers = [register + FLOATS if i.floats else register for register in i.registers]
    if i.op.startswith("ldm"):
        values = [f.read(place) for place in places]
        if i.index != "offset":
            f.put(i.rn, first if down else f.binary("add", base, str(size)))
        for number, value in zip(numbers, values, strict=True):
            if i.floats or number != PC:
                f.put(number, value)
        return
    for number, place in zip(numbers, places, strict=True):
        f.write(place, f.get(number))
    if i.index != "offset":
        f.put(i.rn, first if down else f.binary("add", base, str(size)))


def _nothing(_: FunctionIr, __: Instruction) -> None:
    """No effect on what is followed."""


_GROUPS: tuple[tuple[Meaning, str], ...] = (
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
    (_multiply, "mul mls"),
    (_multiply_halves, "smulxy"),
    (_dual, "smlad smlsd"),
    (_most_significant, "smmul smmls smulw"),
    (_long_multiply, "smull umull smlal umlal umaal smlalxy"),
    (_long_shift, "long_shift"),
    (_divide, "sdiv udiv"),
    (_saturating, "qadd qdadd qsub qdsub"),
    (_parallel, "sadd16 ssub16 qadd16 qsub16"),
    (_load, "ldr"),
    (_store, "str"),
    (_load_two, "ldrd"),
    (_store_two, "strd"),
    (_multiple, "ldm ldmdb stm push pop_pc"),
    (_nothing, "other it trap usad8 smlald"),
)

CORE: Mapping[str, Meaning] = {op: meaning for meaning, ops in _GROUPS for op in ops.split()}

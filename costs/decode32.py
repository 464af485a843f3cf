"""The 32-bit Thumb instructions of the integer core (Armv8-M Architecture Reference Manual, C2.2.3)."""

from __future__ import annotations

from .decode16 import SHIFTS, immediate_shift, listed, signed
from .instruction import ALWAYS, LR, NONE, PC, SP, Instruction, Kind

_ALU = {0: "and", 1: "bic", 2: "orr", 3: "orn", 4: "eor", 8: "add", 10: "adc", 11: "sbc", 13: "sub", 14: "rsb"}
_TESTED = frozenset({"and", "eor", "add", "sub"})
_EXTENSIONS = ("sxth", "uxth", "sxtb16", "uxtb16", "sxtb", "uxtb")


def decode32(address: int, high: int, low: int) -> Instruction:
    """What is neither floating point nor vector."""
    group = high >> 9
    if group == 0b1110100:
        return _multiple_double(address, high, low)
    if group == 0b1110101:
        return _shifted_register(address, high, low)
    if high >> 11 == 0b11110:
        if low & 0x8000:
            return _branch(address, high, low)
        return _plain_immediate(address, high, low) if high & 0x200 else _modified_immediate(address, high, low)
    if group == 0b1111100:
        return _load_store(address, high, low)
    return _register(address, high, low) if not high & 0x100 else _multiply(address, high, low)


# ---------------------------------------------------------------- memory


def _multiple_double(address: int, high: int, low: int) -> Instruction:
    rn, load, writes = high & 15, bool(high & 0x10), bool(high & 0x20)
    kind = Kind.LOAD if load else Kind.STORE
    if not high & 0x40:
        registers, before = listed(low), not high & 0x80
        name = "ldm" if load else "push" if before else "stm"
        if load and before:
            name = "ldmdb"
        index = "offset" if not writes or (load and rn in registers) else "pre" if before else "post"
        return Instruction(address, 4, name, kind, rn=rn, registers=registers, index=index, words=len(registers))
    if high & 0x120 == 0 and high & 0x80:
        if load and low & 0xF0 in (0, 0x10):
            return Instruction(address, 4, "tbh" if low & 0x10 else "tbb", Kind.BRANCH, rn=rn, rm=low & 15)
        return Instruction(address, 4, "other", kind)
    if high & 0x120 == 0:
        return Instruction(address, 4, "other", kind)
    offset = (low & 255) * 4 * (1 if high & 0x80 else -1)
    index = "post" if not high & 0x100 else "pre" if writes else "offset"
    name = "ldrd" if load else "strd"
    return Instruction(address, 4, name, kind, rd=low >> 12, ra=low >> 8 & 15, rn=rn, imm=offset, index=index, words=2)


def _load_store(address: int, high: int, low: int) -> Instruction:
    rn, rt, load = high & 15, low >> 12, bool(high & 0x10)
    width, sign = (1, 2, 4, 0)[high >> 5 & 3], bool(high & 0x100)
    kind = Kind.LOAD if load else Kind.STORE
    if width == 0 or (load and rt == PC and width < 4):
        return Instruction(address, 4, "other")  # preload hints
    name = "ldr" if load else "str"
    imm, rm, shift, index = 0, NONE, ("lsl", 0), "offset"
    if load and rn == PC:
        imm = (low & 0xFFF) * (1 if high & 0x80 else -1)
    elif high & 0x80:
        imm = low & 0xFFF
    elif low & 0x800:
        imm = (low & 255) * (1 if low & 0x200 else -1)
        index = "post" if not low & 0x400 else "pre" if low & 0x100 else "offset"
    else:
        rm, shift = low & 15, ("lsl", low >> 4 & 3)
    if load and rt == PC:
        name, kind = ("pop_pc" if rn == SP and index == "post" else "jump_loaded"), Kind.BRANCH
    return Instruction(
        address,
        4,
        name,
        kind,
        rd=rt,
        rn=rn,
        rm=rm,
        imm=imm,
        shift=shift,
        width=width,
        signed=sign,
        index=index,
        words=1,
    )


# ---------------------------------------------------------------- arithmetic


def _shifted_register(address: int, high: int, low: int) -> Instruction:
    op, rn, rd, rm = high >> 5 & 15, high & 15, low >> 8 & 15, low & 15
    flags = bool(high & 0x10)
    shift = immediate_shift(low >> 4 & 3, low >> 10 & 0x1C | low >> 6 & 3)
    if low & 0x8000:
        return _conditional_select(address, high, low)
    if op == 6:
        return Instruction(address, 4, "pkh", rd=rd, rn=rn, rm=rm, shift=shift, signed=bool(low & 0x20))
    if op == 2 and flags and rd & 1 and rm in (SP, PC):
        return _long_shift(address, high, low)
    return _alu(address, op, rd, rn, rm, flags, shift=shift)


def _long_shift(address: int, high: int, low: int) -> Instruction:
    """Shifts of Armv8.1-M over one or two core registers; saturation and rounding are not followed."""
    even, odd, kind = high & 14, low >> 8 & 15, low >> 4 & 3
    amount = (low >> 10 & 0x1C | low >> 6 & 3) or 32
    if low & 15 == SP:
        shift = ("asr" if kind & 2 else "lsl", 0)
        return Instruction(
            address, 4, "other" if odd == PC else "long_shift", rd=even, ra=odd, rm=low >> 12, shift=shift
        )
    if odd == PC:
        name = ("lsl", "lsr", "asr", "lsl")[kind]
        return Instruction(address, 4, "mov", rd=high & 15, rm=high & 15, shift=(name, amount))
    return Instruction(address, 4, "long_shift", rd=even, ra=odd, shift=(("lsl", "lsr", "asr", "lsl")[kind], amount))


def _conditional_select(address: int, high: int, low: int) -> Instruction:
    name = {8: "csel", 9: "csinc", 10: "csinv", 11: "csneg"}.get(low >> 12, "other")
    return Instruction(address, 4, name, rd=low >> 8 & 15, rn=high & 15, rm=low & 15, imm=low >> 4 & 15)


def _modified_immediate(address: int, high: int, low: int) -> Instruction:
    op, rn, rd = high >> 5 & 15, high & 15, low >> 8 & 15
    imm, carry = _expanded(high >> 10 & 1, low >> 12 & 7, low & 255)
    return _alu(address, op, rd, rn, NONE, bool(high & 0x10), imm=imm, carry=carry)


def _expanded(i: int, imm3: int, imm8: int) -> tuple[int, int]:
    """ThumbExpandImm_C: the constant and the carry that it leaves, if any."""
    code = i << 3 | imm3
    if code < 4:
        return (imm8, imm8 * 0x10001, imm8 * 0x1000100, imm8 * 0x1010101)[code], NONE
    rotation, value = code << 1 | imm8 >> 7, imm8 & 127 | 128
    rotated = (value >> rotation | value << (32 - rotation)) & 0xFFFFFFFF
    return rotated, rotated >> 31


def _alu(
    address: int, op: int, rd: int, rn: int, rm: int, flags: bool, *, imm: int = 0, carry: int = NONE,
    shift: tuple[str, int] = ("lsl", 0),
) -> Instruction:  # fmt: skip
    name = _ALU.get(op, "other")
    if rn == PC and name in ("orr", "orn"):
        name = "mov" if name == "orr" else "mvn"
    if rd == PC and flags and name in _TESTED:
        rd = NONE
    return Instruction(address, 4, name, rd=rd, rn=rn, rm=rm, imm=imm, carry=carry, shift=shift, sets_flags=flags)


def _plain_immediate(address: int, high: int, low: int) -> Instruction:
    op, rn, rd = high >> 4 & 31, high & 15, low >> 8 & 15
    imm12 = high << 1 & 0x800 | low >> 4 & 0x700 | low & 255
    at = low >> 10 & 0x1C | low >> 6 & 3
    if op in (0, 10):
        if rn == PC:
            return Instruction(address, 4, "adr", rd=rd, imm=imm12 if op == 0 else -imm12)
        return Instruction(address, 4, "add" if op == 0 else "sub", rd=rd, rn=rn, imm=imm12)
    if op == 4:
        return Instruction(address, 4, "mov", rd=rd, imm=rn << 12 | imm12)
    if op == 12:
        return Instruction(address, 4, "movt", rd=rd, imm=rn << 12 | imm12)
    if op in (16, 18, 24, 26):
        if op & 2 and not at:
            name, bits = ("ssat16", (low & 15) + 1) if op < 24 else ("usat16", low & 15)
            return Instruction(address, 4, name, rd=rd, rm=rn, imm=bits)
        shift = immediate_shift(op & 2, at)
        name, bits = ("ssat", (low & 31) + 1) if op < 24 else ("usat", low & 31)
        return Instruction(address, 4, name, rd=rd, rm=rn, imm=bits, shift=shift)
    if op in (20, 28):
        return Instruction(address, 4, "sbfx" if op == 20 else "ubfx", rd=rd, rn=rn, imm=at, width=(low & 31) + 1)
    if op == 22:
        return Instruction(address, 4, "bfi", rd=rd, rn=NONE if rn == PC else rn, imm=at, width=(low & 31) + 1 - at)
    return Instruction(address, 4, "other")


def _register(address: int, high: int, low: int) -> Instruction:
    """Shifts by a register, extensions, parallel arithmetic, reversals."""
    op, rn, rd, rm = high >> 4 & 15, high & 15, low >> 8 & 15, low & 15
    if not op & 8 and low & 0xF0 == 0:
        return Instruction(
            address, 4, "shift", rd=rd, rn=rn, rm=rm, shift=(SHIFTS[op >> 1], 0), sets_flags=bool(op & 1)
        )
    if op < 6 and low & 0x80:
        ra = NONE if rn == PC else rn
        return Instruction(address, 4, _EXTENSIONS[op], rd=rd, rm=rm, ra=ra, imm=(low >> 4 & 3) * 8)
    if op in (9, 11) and low & 0xC0 == 0x80:
        name = ("rev", "rev16", "rbit", "revsh")[low >> 4 & 3] if op == 9 else "clz"
        return Instruction(address, 4, name, rd=rd, rm=rm)
    if op == 8 and low & 0xC0 == 0x80:
        name = ("qadd", "qdadd", "qsub", "qdsub")[low >> 4 & 3]
        return Instruction(address, 4, name, rd=rd, rn=rn, rm=rm)
    parallel = {(9, 0): "sadd16", (13, 0): "ssub16", (9, 1): "qadd16", (13, 1): "qsub16"}
    return Instruction(address, 4, parallel.get((op, low >> 4 & 15), "other"), rd=rd, rn=rn, rm=rm)


def _multiply(address: int, high: int, low: int) -> Instruction:
    op, rn, rm = high >> 4 & 15, high & 15, low & 15
    ra, rd, part = low >> 12, low >> 8 & 15, low >> 4 & 15
    kind = Kind.DIVIDE if op in (9, 11) else Kind.LONG_MULTIPLY if op in (8, 10) else Kind.LONG_MULTIPLY_ADD
    if op < 8:
        acc = NONE if ra == PC else ra
        kind = Kind.MULTIPLY if acc == NONE else Kind.MULTIPLY_ADD
        name = ("mul", "smulxy", "smlad", "smulw", "smlsd", "smmul", "smmls", "usad8")[op]
        if op == 0 and part == 1:
            name = "mls"
        return Instruction(address, 4, name, kind, rd=rd, rn=rn, rm=rm, ra=acc, imm=part)
    if op in (9, 11):
        return Instruction(address, 4, "sdiv" if op == 9 else "udiv", kind, rd=rd, rn=rn, rm=rm)
    name = {8: "smull", 10: "umull", 12: "smlal", 14: "umlal"}.get(op, "other")
    if (op, part) == (14, 6):
        name = "umaal"
    elif op == 12 and part >= 8:
        name = "smlalxy" if part < 12 else "smlald"
    elif part and name != "other":
        name = "other"
    return Instruction(address, 4, name, kind, rd=rd, ra=ra, rn=rn, rm=rm, imm=part)


# ---------------------------------------------------------------- branches


def _branch(address: int, high: int, low: int) -> Instruction:
    if low & 0x5000 == 0x4000:
        return _loop(address, high, low)
    sign, j1, j2 = high >> 10 & 1, low >> 13 & 1, low >> 11 & 1
    if low & 0x5000 == 0:
        cond = high >> 6 & 15
        if cond >= 14:
            return Instruction(address, 4, "other")  # hints, barriers, special registers
        offset = signed(sign << 20 | j2 << 19 | j1 << 18 | (high & 63) << 12 | (low & 0x7FF) << 1, 21)
        return Instruction(address, 4, "b", Kind.BRANCH, cond=cond, target=address + 4 + offset)
    i1, i2 = 1 - (j1 ^ sign), 1 - (j2 ^ sign)
    offset = signed(sign << 24 | i1 << 23 | i2 << 22 | (high & 0x3FF) << 12 | (low & 0x7FF) << 1, 25)
    name = "bl" if low & 0x5000 == 0x5000 else "b"
    return Instruction(address, 4, name, Kind.BRANCH, cond=ALWAYS, target=address + 4 + offset)


def _loop(address: int, high: int, low: int) -> Instruction:
    """Low-overhead loops of Armv8.1-M; ``imm`` is log2 of the lanes of a tail-predicated one, or ``NONE``."""
    forward, size, rn = (low & 0x7FE) << 1 | low >> 10 & 2, high >> 4 & 3, high & 15
    tail = NONE if high & 0x40 else 4 - size
    if high & 0xFF80 != 0xF000:
        return Instruction(address, 4, "other")
    if not low & 0x2000 and rn == PC:
        if size == 2:
            return Instruction(address, 4, "b", Kind.LOOP_END, target=address + 4 - forward)
        name = "letp" if size == 1 else "le"
        return Instruction(address, 4, name, Kind.LOOP_END, rd=LR, target=address + 4 - forward)
    if low & 0x2000:
        if rn == PC or low & 0xFFF != 1:
            return Instruction(address, 4, "other")  # LCTP, VCTP
        return Instruction(address, 4, "dls", Kind.ALU, rd=LR, rn=rn, imm=tail)
    return Instruction(address, 4, "wls", Kind.BRANCH, rd=LR, rn=rn, imm=tail, target=address + 4 + forward)

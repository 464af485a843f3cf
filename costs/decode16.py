"""The 16-bit Thumb instructions (Armv8-M Architecture Reference Manual, C2.2.1)."""

from __future__ import annotations

from .instruction import NONE, PC, SP, Instruction, Kind

SHIFTS = ("lsl", "lsr", "asr", "ror")
_LOGIC = (
    "and",
    "eor",
    "lsl",
    "lsr",
    "asr",
    "adc",
    "sbc",
    "ror",
    "tst",
    "rsb",
    "cmp",
    "cmn",
    "orr",
    "mul",
    "bic",
    "mvn",
)
_TESTS = {"tst": "and", "cmp": "sub", "cmn": "add"}
_INDEXED = (("str", 4, False), ("str", 2, False), ("str", 1, False), ("ldr", 1, True),
            ("ldr", 4, False), ("ldr", 2, False), ("ldr", 1, False), ("ldr", 2, True))  # fmt: skip


def signed(value: int, bits: int) -> int:
    """The low ``bits`` of ``value`` in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def listed(mask: int) -> tuple[int, ...]:
    """The registers of a list."""
    return tuple(register for register in range(16) if mask >> register & 1)


def immediate_shift(kind: int, amount: int) -> tuple[str, int]:
    """DecodeImmShift: how the second operand is shifted."""
    if kind == 3:
        return ("ror", amount) if amount else ("rrx", 1)
    return SHIFTS[kind], amount or (32 if kind else 0)


def decode16(address: int, half: int, flags: bool) -> Instruction:
    """``flags``: not within an IT block, where most of them set no flags."""
    top = half >> 12
    if top < 4:
        return _shift_add_compare(address, half, flags)
    if top == 4:
        return _data_processing(address, half, flags)
    if top < 10:
        return _load_store(address, half)
    if top == 10:
        base = SP if half & 0x800 else PC
        return Instruction(address, 2, "adr" if base == PC else "add", rd=half >> 8 & 7, rn=base, imm=(half & 255) * 4)
    if top == 11:
        return _miscellaneous(address, half)
    if top == 12:
        return _multiple(address, half)
    if top == 13:
        cond = half >> 8 & 15
        if cond >= 14:
            return Instruction(address, 2, "trap", Kind.BRANCH)
        return Instruction(address, 2, "b", Kind.BRANCH, cond=cond, target=address + 4 + signed(half << 1, 9))
    return Instruction(address, 2, "b", Kind.BRANCH, target=address + 4 + signed(half << 1, 12))


def _shift_add_compare(address: int, half: int, flags: bool) -> Instruction:
    rd, rn = half & 7, half >> 3 & 7
    group = half >> 11
    if group < 3:
        shift = immediate_shift(group, half >> 6 & 31)
        return Instruction(address, 2, "mov", rd=rd, rm=rn, shift=shift, sets_flags=flags)
    if group == 3:
        op = "sub" if half & 0x200 else "add"
        if half & 0x400:
            return Instruction(address, 2, op, rd=rd, rn=rn, imm=half >> 6 & 7, sets_flags=flags)
        return Instruction(address, 2, op, rd=rd, rn=rn, rm=half >> 6 & 7, sets_flags=flags)
    rd, imm = half >> 8 & 7, half & 255
    op = ("mov", "sub", "add", "sub")[group - 4]
    if group == 5:
        return Instruction(address, 2, "sub", rn=rd, imm=imm, sets_flags=True)
    return Instruction(address, 2, op, rd=rd, rn=rd, imm=imm, sets_flags=flags)


def _data_processing(address: int, half: int, flags: bool) -> Instruction:
    if half >= 0x4800:
        return Instruction(address, 2, "ldr", Kind.LOAD, rd=half >> 8 & 7, rn=PC, imm=(half & 255) * 4, words=1)
    if half >= 0x4400:
        return _special(address, half)
    op, rd, rm = _LOGIC[half >> 6 & 15], half & 7, half >> 3 & 7
    if op in SHIFTS:
        return Instruction(address, 2, "shift", rd=rd, rn=rd, rm=rm, shift=(op, 0), sets_flags=flags)
    if op in _TESTS:
        return Instruction(address, 2, _TESTS[op], rn=rd, rm=rm, sets_flags=True)
    if op == "rsb":
        return Instruction(address, 2, "rsb", rd=rd, rn=rm, sets_flags=flags)
    if op == "mul":
        return Instruction(address, 2, "mul", Kind.MULTIPLY, rd=rd, rn=rd, rm=rm, sets_flags=flags)
    return Instruction(address, 2, op, rd=rd, rn=rd, rm=rm, sets_flags=flags)


def _special(address: int, half: int) -> Instruction:
    rm, rd = half >> 3 & 15, half & 7 | half >> 4 & 8
    op = half >> 8 & 3
    if op == 3:
        return Instruction(address, 2, "blx" if half & 0x80 else "bx", Kind.BRANCH, rm=rm)
    if op == 1:
        return Instruction(address, 2, "sub", rn=rd, rm=rm, sets_flags=True)
    name = "mov" if op == 2 else "add"
    if rd == PC:
        return Instruction(address, 2, "jump", Kind.BRANCH, rn=PC if name == "add" else NONE, rm=rm)
    return Instruction(address, 2, name, rd=rd, rn=rd, rm=rm)


def _load_store(address: int, half: int) -> Instruction:
    top, rd, rn, imm = half >> 12, half & 7, half >> 3 & 7, half >> 6 & 31
    if top == 5:
        op, width, sign = _INDEXED[half >> 9 & 7]
        kind = Kind.LOAD if op == "ldr" else Kind.STORE
        rm = half >> 6 & 7
        return Instruction(address, 2, op, kind, rd=rd, rn=rn, rm=rm, width=width, signed=sign, words=1)
    op = "ldr" if half & 0x800 else "str"
    kind = Kind.LOAD if op == "ldr" else Kind.STORE
    if top == 9:
        return Instruction(address, 2, op, kind, rd=half >> 8 & 7, rn=SP, imm=(half & 255) * 4, words=1)
    width = {6: 4, 7: 1, 8: 2}[top]
    return Instruction(address, 2, op, kind, rd=rd, rn=rn, imm=imm * width, width=width, words=1)


def _miscellaneous(address: int, half: int) -> Instruction:
    rd, rm = half & 7, half >> 3 & 7
    if half & 0x0500 == 0x0100:
        op = "cbnz" if half & 0x800 else "cbz"
        target = address + 4 + (half >> 2 & 0x3E | half >> 3 & 0x40)
        return Instruction(address, 2, op, Kind.BRANCH, rn=rd, target=target)
    if half & 0x0600 == 0x0400:
        mask = half & 255
        if half & 0x800:
            registers = listed(mask | (half & 0x100) << 7)
            return Instruction(address, 2, "ldm", Kind.LOAD, rn=SP, registers=registers, index="post",
                               words=len(registers))  # fmt: skip
        registers = listed(mask | (half & 0x100) << 6)
        return Instruction(address, 2, "push", Kind.STORE, rn=SP, registers=registers, index="pre",
                           words=len(registers))  # fmt: skip
    selector = half >> 8 & 15
    if selector == 0:
        return Instruction(address, 2, "sub" if half & 0x80 else "add", rd=SP, rn=SP, imm=(half & 127) * 4)
    if selector == 2:
        op = ("sxth", "sxtb", "uxth", "uxtb")[half >> 6 & 3]
        return Instruction(address, 2, op, rd=rd, rm=rm)
    if selector == 10:
        return Instruction(address, 2, ("rev", "rev16", "other", "revsh")[half >> 6 & 3], rd=rd, rm=rm)
    if selector == 15 and half & 15:
        return Instruction(address, 2, "it", Kind.IF_THEN, imm=half & 255)
    return Instruction(address, 2, "trap" if selector == 14 else "other")


def _multiple(address: int, half: int) -> Instruction:
    rn, registers = half >> 8 & 7, listed(half & 255)
    if half & 0x800:
        index = "offset" if rn in registers else "post"
        return Instruction(address, 2, "ldm", Kind.LOAD, rn=rn, registers=registers, index=index, words=len(registers))
    return Instruction(address, 2, "stm", Kind.STORE, rn=rn, registers=registers, index="post", words=len(registers))

"""Floating-point and Helium instructions (Armv8-M Architecture Reference Manual, C2.2.3, coprocessors 8 to 11).

Scalar single precision is decoded here, as generated code may branch on it, vectors in ``decode_vector.py``.
"""

from __future__ import annotations

from .decode_vector import (
    decode_duplicate,
    decode_interleaved,
    decode_vector,
    decode_vector_memory,
    decode_vector_move,
)
from .instruction import PC, Instruction, Kind

_ARITHMETIC = {
    (0, 0): "vmla", (0, 1): "vmls", (1, 0): "vnmls", (1, 1): "vnmla", (2, 0): "vmul", (2, 1): "vnmul", (3, 0): "vadd",
    (3, 1): "vsub", (8, 0): "vdiv", (9, 0): "vfnms", (9, 1): "vfnma", (10, 0): "vfma", (10, 1): "vfms",
}  # fmt: skip
_ONE_OPERAND = {
    (0, 0): "vmov", (0, 1): "vabs", (1, 0): "vneg", (1, 1): "vsqrt", (4, 0): "vcmp", (4, 1): "vcmp", (5, 0): "vcmp0",
    (5, 1): "vcmp0", (6, 0): "vrintr", (6, 1): "vrintz", (7, 0): "vrintx", (8, 0): "vcvt_from_u32",
    (8, 1): "vcvt_from_s32", (12, 0): "vcvt_r_u32", (12, 1): "vcvt_z_u32", (13, 0): "vcvt_r_s32", (13, 1): "vcvt_z_s32",
}  # fmt: skip
_ROUNDINGS = "anpm"
_MACS = frozenset({"vmla", "vmls", "vnmla", "vnmls", "vfma", "vfms", "vfnma", "vfnms"})


def decode_float(address: int, high: int, low: int) -> Instruction:
    """``high`` is of the form 111x11xx."""
    single = low >> 8 & 15 == 10
    scalar = single or low >> 8 & 15 == 11
    if high & 0xFE00 == 0xEC00:
        if scalar:
            made = _move_pair if high & 0x1E0 == 0x40 else _memory
            return made(address, high, low, single)
        return (decode_vector_memory if high & 0x1E0 else decode_vector_move)(address, high, low)
    if high & 0xFE00 == 0xFC00:
        return decode_interleaved(address, high, low)
    if not scalar or high & 0xEF00 == 0xEF00:
        return decode_vector(address, high, low)
    if high & 0xFF00 == 0xFE00:
        return _armv8(address, high, low) if single else Instruction(address, 4, "other", Kind.FLOAT)
    if low & 0x10:
        return _move_core(address, high, low, single)
    if not single:
        return Instruction(address, 4, "other", Kind.FLOAT)
    return _arithmetic(address, high, low)


def _fields(high: int, low: int) -> tuple[int, int, int]:
    """Sd, Sn, Sm."""
    return low >> 11 & 0x1E | high >> 6 & 1, high << 1 & 0x1E | low >> 7 & 1, low << 1 & 0x1E | low >> 5 & 1


# ---------------------------------------------------------------- memory


def _memory(address: int, high: int, low: int, single: bool) -> Instruction:
    """VLDR, VSTR, VLDM, VSTM, VPUSH, VPOP."""
    rn, load, count = high & 15, bool(high & 0x10), low & 255
    first = _fields(high, low)[0] if single else 2 * (low >> 12 & 15 | high >> 2 & 16)
    kind = Kind.LOAD if load else Kind.STORE
    if high & 0x120 == 0x100:
        registers = tuple(range(first, first + (1 if single else 2)))
        offset = count * 4 * (1 if high & 0x80 else -1)
        name = "ldm" if load else "stm"
        return Instruction(address, 4, name, kind, rn=rn, imm=offset, registers=registers, floats=True,
                           words=len(registers))  # fmt: skip
    if rn == PC or not count:
        return Instruction(address, 4, "other", Kind.FLOAT)  # VSCCLRM and relatives
    registers = tuple(range(first, min(first + (count if single else count & ~1), 32)))
    index = "offset" if not high & 0x20 else "post" if high & 0x80 else "pre"
    name = ("ldm" if index != "pre" else "ldmdb") if load else ("stm" if index != "pre" else "push")
    return Instruction(address, 4, name, kind, rn=rn, registers=registers, floats=True, index=index,
                       words=len(registers))  # fmt: skip


# ---------------------------------------------------------------- registers


def _move_pair(address: int, high: int, low: int, single: bool) -> Instruction:
    """VMOV between two core registers and two single ones or a double one."""
    first = _fields(high, low)[2] if single else 2 * (low & 15 | low >> 1 & 16)
    name = "vmov_to_core2" if high & 0x10 else "vmov_from_core2"
    return Instruction(address, 4, name, Kind.FLOAT_MOVE_PAIR, rd=low >> 12, ra=high & 15, rm=first)


def _move_core(address: int, high: int, low: int, single: bool) -> Instruction:
    """VMOV, VMRS and VMSR. Lanes other than words are not followed."""
    rt = low >> 12
    if single and high & 0xFFE0 == 0xEE00:
        name = "vmov_to_core" if high & 0x10 else "vmov_from_core"
        return Instruction(address, 4, name, Kind.FLOAT_MOVE, rd=rt, rm=_fields(high, low)[1])
    if single and high == 0xEEF1:
        return Instruction(address, 4, "vmrs", Kind.FLOAT, rd=rt)
    if not single and high & 0x90 == 0x80:
        return decode_duplicate(address, high, low)
    if not single and high & 0xFF80 == 0xEE00 and low & 0x60 == 0:
        lane = 2 * (high & 15 | low >> 3 & 16) + (high >> 5 & 1)
        if lane < 32:
            name = "vmov_to_core" if high & 0x10 else "vmov_from_core"
            return Instruction(address, 4, name, Kind.FLOAT_MOVE, rd=rt, rm=lane)
    return Instruction(address, 4, "other", Kind.FLOAT)


# ---------------------------------------------------------------- arithmetic


def _arithmetic(address: int, high: int, low: int) -> Instruction:
    sd, sn, sm = _fields(high, low)
    op, second = high >> 4 & 11, low >> 6 & 1
    if op != 11:
        name = _ARITHMETIC.get((op, second), "other")
        kind = Kind.FLOAT_DIVIDE if name == "vdiv" else Kind.FLOAT_MAC if name in _MACS else Kind.FLOAT
        return Instruction(address, 4, name, kind, rd=sd, rn=sn, rm=sm)
    if not second:
        imm8 = high << 4 & 0xF0 | low & 15
        return Instruction(address, 4, "vmov_imm", Kind.FLOAT, rd=sd, imm=_constant(imm8))
    name = _ONE_OPERAND.get((high & 15, low >> 7 & 1), "other")
    if name == "other" and high & 15 in (10, 11, 14, 15):
        fixed = "vcvt_fixed_to" if high & 4 else "vcvt_fixed_from"
        bits = 32 if low & 0x80 else 16
        fraction = bits - ((low & 15) << 1 | low >> 5 & 1)
        return Instruction(address, 4, fixed, Kind.FLOAT, rd=sd, imm=fraction, width=bits // 8, signed=not high & 1)
    kind = Kind.FLOAT_DIVIDE if name == "vsqrt" else Kind.FLOAT
    return Instruction(address, 4, name, kind, rd=sd, rm=sm)


def _constant(imm8: int) -> int:
    """VFPExpandImm: the bits of a float."""
    exponent = (0x7C if imm8 & 0x40 else 0x80) + (imm8 >> 4 & 3)
    return (imm8 & 0x80) << 24 | exponent << 23 | (imm8 & 15) << 19


def _armv8(address: int, high: int, low: int) -> Instruction:
    """VSEL, VMAXNM, VMINNM, and conversions with a rounding of their own."""
    sd, sn, sm = _fields(high, low)
    if not high & 0x80:
        return Instruction(address, 4, "vsel", Kind.FLOAT, rd=sd, rn=sn, rm=sm, imm=(0, 6, 10, 12)[high >> 4 & 3])
    if high & 0xB0 == 0x80:
        name = "vminnm" if low & 0x40 else "vmaxnm"
        return Instruction(address, 4, name, Kind.FLOAT, rd=sd, rn=sn, rm=sm)
    if high & 0xBC == 0xB8:
        return Instruction(address, 4, f"vrint{_ROUNDINGS[high & 3]}", Kind.FLOAT, rd=sd, rm=sm)
    if high & 0xBC == 0xBC:
        sign = "s32" if low & 0x80 else "u32"
        return Instruction(address, 4, f"vcvt_{_ROUNDINGS[high & 3]}_{sign}", Kind.FLOAT, rd=sd, rm=sm)
    return Instruction(address, 4, "other", Kind.FLOAT)

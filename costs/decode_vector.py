"""Helium instructions (Armv8-M Architecture Reference Manual, C2.4): what class they are of, which registers they read
and write, and how far they move a base register. What they compute is not followed.
"""

from __future__ import annotations

from .instruction import NONE, Instruction, Kind, vector_register


def decode_vector_memory(address: int, high: int, low: int) -> Instruction:
    """VLDR and VSTR with a base register, which some of them move; gathers and scatters."""
    rn, vector, load = high & 15, vector_register(low >> 13), bool(high & 0x10)
    if high & 0x120 == 0:
        return _gather(address, vector, vector_register(low >> 1), low >> 7 & 3, rn, load)
    if low & 0x1000:
        scale = low >> 7 & 3
    else:  # widening or narrowing: the size in memory is told by the fourth bit of the base register
        rn, scale = high & 7, high >> 3 & 1
    op, imm = "other", 0
    if high & 0x20:
        offset = (low & 127) << scale
        op, imm = "add", (offset if high & 0x80 else -offset) & 0xFFFFFFFF
    return _memory(address, Kind.VECTOR_MEMORY, vector, load, (rn,), op=op, base=rn, imm=imm)


def decode_interleaved(address: int, high: int, low: int) -> Instruction:
    """VLD2, VLD4 and their stores, of which the last of each set steps over what the set moves; gathers; complex
    arithmetic."""
    rn, load = high & 15, bool(high & 0x10)
    if low >> 9 & 7 != 7:
        return _arithmetic(address, Kind.VECTOR_MULTIPLY, low, (_qd(low), _qn(high), _qm(low)))
    if high & 0x100:
        return _gather(address, vector_register(low >> 13), vector_register(high >> 1), 2, NONE, load)
    if not low & 0x1000:
        return _gather(address, vector_register(low >> 13), vector_register(low >> 1), low >> 7 & 3, rn, load)
    vectors = tuple(each for n in range(4 if low & 1 else 2) for each in vector_register((low >> 13) + n))
    moved = high & 0x120 == 0x20
    size = (64 if low & 1 else 32) if moved else 0
    op = "add" if moved else "other"
    return _memory(address, Kind.VECTOR_INTERLEAVED, vectors, load, (rn,), op=op, base=rn, imm=size)


def _gather(
    address: int, vector: tuple[int, ...], index: tuple[int, ...], size: int, rn: int, load: bool
) -> Instruction:
    kind = (Kind.VECTOR_GATHER_16, Kind.VECTOR_GATHER_8, Kind.VECTOR_GATHER_4, Kind.VECTOR_GATHER_4)[size]
    addresses = (*index, *(() if rn == NONE else (rn,)))
    return _memory(address, kind, vector, load, addresses, op="other", base=NONE, imm=0)


def _memory(
    address: int, kind: Kind, vector: tuple[int, ...], load: bool, addresses: tuple[int, ...], *, op: str, base: int,
    imm: int,
) -> Instruction:  # fmt: skip
    moved = op == "add"
    return Instruction(
        address, 4, op, kind, rd=base if moved else NONE, rn=base if moved else NONE, imm=imm, words=4,
        written=vector if load else (), read=addresses if load else (*addresses, *vector), loads=load,
    )  # fmt: skip


def decode_vector_move(address: int, high: int, low: int) -> Instruction:
    """VMOV between two lanes and two core registers."""
    vector, core = vector_register(low >> 13), (low & 15, high & 15)
    if high & 0x10:
        return Instruction(address, 4, "other", Kind.VECTOR, read=(*core, *vector), written=vector)
    return Instruction(address, 4, "other", Kind.VECTOR, read=vector, written=core)


def decode_duplicate(address: int, high: int, low: int) -> Instruction:
    """VDUP."""
    return Instruction(address, 4, "other", Kind.VECTOR, read=(low >> 12,), written=vector_register(high >> 1))


def decode_vector(address: int, high: int, low: int) -> Instruction:
    """Vector arithmetic."""
    if high & 0xEF00 == 0xEF00:
        return (_immediate if high & 0x80 else _same)(address, high, low)
    return (_across if high & 0x80 else _mixed)(address, high, low)


# ---------------------------------------------------------------- arithmetic


def _qd(low: int) -> tuple[int, ...]:
    return vector_register(low >> 13)


def _qn(high: int) -> tuple[int, ...]:
    return vector_register(high >> 1)


def _qm(low: int) -> tuple[int, ...]:
    return vector_register(low >> 1)


def _arithmetic(address: int, kind: Kind, low: int, read: tuple[tuple[int, ...], ...]) -> Instruction:
    """One that writes the vector Qd."""
    operands = tuple(each for registers in read for each in registers)
    return Instruction(address, 4, "other", kind, read=operands, written=_qd(low))


def _same(address: int, high: int, low: int) -> Instruction:
    """Three vector registers."""
    op, fourth = low >> 8 & 15, bool(low & 0x10)
    kind = {
        (4, True): Kind.VECTOR_SHIFT, (5, False): Kind.VECTOR_SHIFT, (5, True): Kind.VECTOR_SHIFT,
        (9, True): Kind.VECTOR_MULTIPLY, (11, False): Kind.VECTOR_MULTIPLY, (12, True): Kind.VECTOR_MULTIPLY,
        (13, True): Kind.VECTOR_MULTIPLY, (13, False): Kind.VECTOR_FLOAT, (15, True): Kind.VECTOR_FLOAT,
    }.get((op, fourth), Kind.VECTOR)  # fmt: skip
    accumulated = (_qd(low),) if op == 12 else ()
    return _arithmetic(address, kind, low, (*accumulated, _qn(high), _qm(low)))


def _immediate(address: int, high: int, low: int) -> Instruction:
    """Two vector registers, shifts by a constant, constants."""
    op = low >> 8 & 15
    if not low & 0x10:
        kind = Kind.VECTOR
        if high & 3 >= 2:
            kind = Kind.VECTOR_MULTIPLY  # conversions, rounding
        elif high & 3 == 1 and op & 4:
            kind = Kind.VECTOR_FLOAT
        return _arithmetic(address, kind, low, (_qm(low),))
    if not high & 0x38:
        return _arithmetic(address, Kind.VECTOR, low, ())
    inserts = op in (4, 5) and bool(high & 0x1000)
    shifts = op in (2, 6, 7) or (op == 5 and inserts)
    kind = Kind.VECTOR_MULTIPLY if op >= 12 else Kind.VECTOR_SHIFT if shifts else Kind.VECTOR
    return _arithmetic(address, kind, low, (*((_qd(low),) if inserts else ()), _qm(low)))


def _across(address: int, high: int, low: int) -> Instruction:
    """Sums, maxima and minima over lanes; widening and narrowing shifts."""
    if low & 0x40:
        widens = high & 0x60 == 0x20
        vectors = (_qm(low),) if widens else (_qd(low), _qm(low))
        return _arithmetic(address, Kind.VECTOR_SHIFT if widens else Kind.VECTOR_NARROW, low, vectors)
    rd, second, eighth = low >> 12 & 14, high >> 4 & 7, bool(low & 0x100)
    core: tuple[int, ...] = (low >> 12,)
    if second == 6:
        return Instruction(address, 4, "other", Kind.VECTOR_SHIFT, read=(*core, *_qm(low)), written=core)
    if second == 0 and eighth and low & 1:  # VABAV
        read = (*core, *_qn(high), *_qm(low))
        return Instruction(address, 4, "other", Kind.VECTOR_SHIFT, read=read, written=core)
    core = (rd, *(() if second == 7 else (2 * second + 1,)))
    lanes = bool(high & 1) and eighth  # VADDV
    operands = _qm(low) if lanes else (*_qn(high), *_qm(low))
    read = (*core, *operands) if low & 0x20 else operands
    kind = Kind.VECTOR_MULTIPLY if lanes else Kind.VECTOR_SUM
    return Instruction(address, 4, "other", kind, read=read, written=core)


def _mixed(address: int, high: int, low: int) -> Instruction:
    """A vector and a scalar register, comparisons, long products, narrowing moves, indices."""
    first, scalar, fifth = low >> 8 & 15 == 15, bool(low & 0x40), bool(low & 0x20)
    size = high >> 4 & 3
    if high & 0x1000 and first and high & 0x40 and low & 0xFF == 0x4D:
        return Instruction(address, 4, "other")  # VPST
    if first and high & 1 and not low & 0xE000 and (size == 3) != bool(high & 0x1000):
        read = (*_qn(high), *((low & 15,) if scalar else _qm(low)))
        return Instruction(address, 4, "other", Kind.VECTOR_FLOAT, read=read)
    if scalar:
        if first and fifth and high & 1:
            return Instruction(address, 4, "other", Kind.VECTOR, read=(high & 14,), written=(*_qd(low), high & 14))
        floats = size == 3
        if first:
            kind = Kind.VECTOR_FLOAT if floats and not fifth else Kind.VECTOR
            return _arithmetic(address, kind, low, (_qn(high), (low & 15,)))
        if fifth and size == 3 and high & 9 == 9 and low & 0x1000:
            kind = Kind.VECTOR if not (low & 0x80 or high & 2) else Kind.VECTOR_SHIFT
            return _arithmetic(address, kind, low, (_qd(low), (low & 15,)))
        return _arithmetic(address, Kind.VECTOR_MULTIPLY, low, (_qd(low), _qn(high), (low & 15,)))
    if not first and size == 3 and high & 1 and not high & 8:
        return _arithmetic(address, Kind.VECTOR_NARROW, low, (_qd(low), _qm(low)))
    if first and high & 0x1000:
        return _arithmetic(address, Kind.VECTOR, low, (_qn(high), _qm(low)))  # VPSEL, VCADD
    return _arithmetic(address, Kind.VECTOR_MULTIPLY, low, (_qn(high), _qm(low)))


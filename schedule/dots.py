"""How operands of a :class:`Dot` are brought into the form that its instruction takes.

A Dot of one product per lane is plain arithmetic. A Dot that sums a group of products takes each group as one 32-bit
element: four 8-bit or two 16-bit integers, or two bfloat16, the first in the low bits; a product of matrices takes
groups of two words.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..ir.build import load
from ..ir.loops import F32, I16, I32, I64, U32, Bitcast, Call, Expr, Load, Type, as_expr
from ..ir.types import DType
from ..targets.target import LONG_SUMS, Cpu, Dot, ElementKind

PAIRS = frozenset({"dot2_i16i16", "long_dot2_i16i16"})
"""The instructions that take halfwords in pairs."""


def usable_dots(
    cpu: Cpu, activation: DType, weights: np.dtype | None = None, *, wide: bool = False
) -> tuple[Dot, ...]:
    """The multiply-accumulates for activations and weights of these types; of any weights where they do not matter.
    With ``wide``, those of integers that add up in 64 bits: what the CPU has, and multiplication and addition."""
    return tuple(
        dot
        for dot in (*cpu.dots, *LONG_SUMS)
        if dot.activation.value == activation.value
        and (dot.accumulator is ElementKind.I64) == wide
        and (weights is None or np.can_cast(weights, weight_type(dot), casting="safe"))
    )


def has_dot(cpu: Cpu, activation: DType, weights: np.dtype | None = None, *, wide: bool = False) -> bool:
    """Whether there is such a multiply-accumulate."""
    return bool(usable_dots(cpu, activation, weights, wide=wide))


def weight_type(dot: Dot) -> np.dtype:
    """The element type in which weights are packed for ``dot``."""
    return DType(dot.weight.value).numpy


def activation_shift(dot: Dot) -> int:
    """What :func:`group_operand` adds to every activation: 128 where signed bytes meet an unsigned instruction."""
    return 128 if dot.name == "dot4_u8i8" and dot.activation is ElementKind.I8 else 0


def ends_whole(dot: Dot, extent: int) -> bool:
    """Whether the last group of ``extent`` packed weights is that of the last activations, a whole one, with zeros for
    those that the group before it has: bytes that are fewer than a group would have to be put together one by one."""
    return dot.group >= 4 and extent > dot.group and extent % dot.group != 0


def takes_words(dot: Dot) -> bool:
    """Whether vectors of activations of a row enter as they are, or widened at once."""
    single = dot.group == 1 and dot.activation is ElementKind.BF16
    return single or (dot.group > 1 and not activation_shift(dot) and dot.name not in PAIRS)


def operand_type(dot: Dot) -> Type:
    """A vector of operands of ``dot``: numbers, halfwords that it widens, or words that hold a group."""
    if dot.group > 1:
        return I32.with_lanes(dot.lanes)
    if dot.widens and dot.lanes > 1:
        return I16.with_lanes(dot.lanes)
    kind = DType.I32 if dot.accumulator is ElementKind.I64 else DType(dot.accumulator.value)
    return Type(kind, dot.lanes)


def group_operand(dot: Dot, first: Load, present: int) -> Expr:
    """The ``dot.group`` activations from ``first`` on as the scalar that the instruction takes.

    Only ``present`` of them exist; the others become zero (their weights are zero as well).
    """
    if dot.group == 1:
        return widened(dot, first)
    if dot.name in PAIRS and dot.parts == 1:
        return _pair(first, present)
    active = None if present == dot.group else as_expr(present)
    if dot.rows > 1:
        return Bitcast(I64, load(first.buffer, *first.index, lanes=dot.group, active=active))
    if active is not None and dot.activation is ElementKind.BF16:
        return I32(first)
    word: Expr = Bitcast(I32, load(first.buffer, *first.index, lanes=dot.group, active=active))
    if activation_shift(dot):
        return word ^ -0x7F7F7F80
    return word


def part_operand(dot: Dot, word: Expr, part: int) -> Expr:
    """A ``part`` of a group in each lane of ``word``: of four bytes those at even or those at odd places, widened to
    halfwords."""
    if dot.parts == 1:
        return word
    return bytes_of_part(word, part, unsigned=dot.activation is ElementKind.U8)


def weight_part(dot: Dot, loaded: Expr, part: int) -> Expr:
    """The same of packed weights as they are loaded."""
    return loaded if dot.packed_parts == dot.parts else bytes_of_part(loaded, part, unsigned=False)


def bytes_of_part(word: Expr, part: int, *, unsigned: bool) -> Expr:
    """The bytes at even places of each lane, or those at odd ones (``part`` 1), widened to halfwords."""
    names = ("even_bytes", "odd_bytes") if unsigned else ("widen_even", "widen_odd")
    return Call(names[part], (word,), word.type)


def parts_apart(dot: Dot, groups: np.ndarray) -> np.ndarray:
    """Packed weights ``[..., groups, group, blocks, width]`` with the parts of each group, in the order of
    :func:`part_operand`, as groups of their own."""
    *lead, count, group, blocks, width = groups.shape
    apart = dot.packed_parts
    parts = groups.reshape(*lead, count, group // apart, apart, blocks, width)
    return np.moveaxis(parts, -3, -4).reshape(*lead, count * apart, group // apart, blocks, width)


def _pair(first: Load, present: int) -> Expr:
    """Two activations widened to 16 bits, side by side."""
    if present == 2 and first.type.dtype is DType.I16:
        return Bitcast(I32, load(first.buffer, *first.index, lanes=2))
    low = I32(first) & 0xFFFF
    if present == 1:
        return low
    *outer, last = first.index
    second = first.buffer[*outer, last + 1]
    return low | (I32(second) << 16)


def weight_operand(dot: Dot, loaded: Load) -> Expr:
    """Packed weights as they enter :func:`multiply_accumulate`."""
    return loaded if dot.group > 1 else widened(dot, loaded)


def widened(dot: Dot, loaded: Expr) -> Expr:
    """Single elements as :func:`multiply_accumulate` takes them."""
    if dot.activation is ElementKind.BF16:
        return widened_bfloats(loaded)
    return operand_type(dot).with_lanes(loaded.type.lanes)(loaded)


def widened_bfloats(loaded: Expr) -> Expr:
    """Floats whose upper halves are ``loaded``, the bits of bfloat16: the same numbers."""
    return _floats(U32.with_lanes(loaded.type.lanes)(loaded) << 16)


def _floats(words: Expr) -> Expr:
    return Bitcast(F32.with_lanes(words.type.lanes), words)


def multiply_accumulate(dot: Dot, x: Expr, w: Expr, acc: Expr) -> Expr:
    """``acc + x . w``, lane by lane."""
    if dot.activation is ElementKind.BF16 and dot.name in ("fma", "mul+add") and dot.group == 2:
        single = replace(dot, activation=ElementKind.F32, group=1)
        acc = multiply_accumulate(single, _floats(x & -0x10000), _floats(w & -0x10000), acc)
        return multiply_accumulate(single, _floats(x << 16), _floats(w << 16), acc)
    if dot.name == "fma":
        return Call("fma", (x, w, acc), acc.type)
    if dot.accumulator is ElementKind.I64 and dot.name == "mul+add":
        return acc + acc.type(x * w)
    if dot.name == "mul+add":
        return acc + acc.type(x) * acc.type(w)
    return Call(dot.name, (acc, x, w), acc.type)


HALVES = ("lower_halves", "upper_halves")
"""The instructions that take the first, or the second, halves of two vectors."""


def halves(name: str, x: Expr, y: Expr) -> Expr:
    """The halves of two vectors of four 32-bit elements side by side, as one of :data:`HALVES` takes them."""
    words = I32.with_lanes(4)
    joined = Call(name, tuple(each if each.type == words else Bitcast(words, each) for each in (x, y)), words)
    return joined if x.type == words else Bitcast(x.type, joined)

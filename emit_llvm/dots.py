"""Rows of the instruction table on packed integers as LLVM intrinsics: dot products by row and number of 32-bit lanes,
and operations on the bytes and halfwords of a word."""

from __future__ import annotations

from .writer import FunctionWriter

_ACCUMULATING = {
    ("dot4_u8i8", 16): "llvm.x86.avx512.vpdpbusd.512",
    ("dot4_u8i8", 8): "llvm.x86.avx512.vpdpbusd.256",
    ("dot4_u8i8", 4): "llvm.x86.avx512.vpdpbusd.128",
    ("dot4_i8i8", 4): "llvm.aarch64.neon.sdot.v4i32.v16i8",
}
_PAIRS = {16: "llvm.x86.avx512.pmaddw.d.512", 8: "llvm.x86.avx2.pmadd.wd", 4: "llvm.x86.sse2.pmadd.wd"}
_PRODUCTS = {"low_by_high": "smlabt", "high_by_low": "smlatb"}
_DSP = {"widen_even": "sxtb16", "widen_odd": "sxtb16", "halves_add": "sadd16", "halves_sub": "ssub16", **_PRODUCTS}


def is_dot(function: str) -> bool:
    return function.startswith("dot")


def write_dot(out: FunctionWriter, function: str, lanes: int, acc: str, x: str, w: str) -> str | None:
    """``acc + x . w``; ``None`` where no intrinsic has that many lanes."""
    word = "i32" if lanes == 1 else f"<{lanes} x i32>"
    if (function, lanes) == ("dot2_i16i16", 1):
        return out.intrinsic("llvm.arm.smlad", word, (word, x), (word, w), (word, acc))
    parts = f"<{4 * lanes} x i8>" if function.startswith("dot4") else f"<{2 * lanes} x i16>"
    operands = [(parts, out.value(f"bitcast {word} {value} to {parts}")) for value in (x, w)]
    if (function, lanes) in _ACCUMULATING:
        return out.intrinsic(_ACCUMULATING[function, lanes], word, (word, acc), *operands)
    if function == "dot2_i16i16" and lanes in _PAIRS:
        products = out.intrinsic(_PAIRS[lanes], word, *operands)
        return out.value(f"add {word} {products}, {acc}")
    return None


def is_packed(function: str) -> bool:
    """Whether it is a row on bytes or halfwords of single words, as Arm's DSP extension has them."""
    return function in _DSP


def write_packed(out: FunctionWriter, function: str, *words: str) -> str:
    if function == "widen_odd":
        words = (out.intrinsic("llvm.fshr.i32", "i32", ("i32", words[0]), ("i32", words[0]), ("i32", "8")),)
    if function in _PRODUCTS:
        words = (*words[1:], words[0])
    return out.intrinsic(f"llvm.arm.{_DSP[function]}", "i32", *(("i32", word) for word in words))

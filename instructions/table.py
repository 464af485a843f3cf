"""The instruction table: the functions that a loop-IR ``Call`` may name, each with all that is said of it.

Targets say in their data (``Cpu.features``) which of them they have. Every row with a C function has a portable twin in
``runtime_c`` that gives the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..ir.loops import Expr
from ..ir.types import DType
from ..ops.rounding_exprs import expand_rounding
from . import expansions, meanings
from .instruction import ANY, Instruction, Intrinsic

_WORDS = (DType.I32, DType.I32, DType.I32)
_BFLOATS = (DType.F32, DType.I32, DType.I32)
_ACC_LAST = (1, 2, 0)


def _float(name: str) -> Mapping[str, tuple[Intrinsic, ...]]:
    return {ANY: (Intrinsic(name),)}


def _rounding(call: Expr) -> Expr:
    return expand_rounding(call)


INSTRUCTIONS: dict[str, Instruction] = {
    row.name: row
    for row in (
        Instruction("fma", (None, None, None), None, meanings.fma, intrinsics=_float("llvm.fma")),
        # fused where that saves time, else two roundings: how is decided kernel by kernel
        Instruction(
            "multiply_add", (None, None, None), None, meanings.multiply_add, expansion=expansions.product_and_sum,
            c_header=None,
        ),
        Instruction(
            "sqrt", (None,), None, np.sqrt, expansion=expansions.root_in_single, intrinsics=_float("llvm.sqrt")
        ),
        Instruction("floor", (None,), None, np.floor, expansion=_rounding, intrinsics=_float("llvm.floor")),
        Instruction("ceil", (None,), None, np.ceil, expansion=_rounding, intrinsics=_float("llvm.ceil")),
        Instruction("trunc", (None,), None, np.trunc, expansion=_rounding, intrinsics=_float("llvm.trunc")),
        Instruction("round_even", (None,), None, np.rint, expansion=_rounding, intrinsics=_float("llvm.roundeven")),
        # acc + x . w: four bytes (x unsigned or signed) or two halfwords in each 32-bit lane
        Instruction(
            "dot4_u8i8", _WORDS, DType.I32, meanings.dot(8, True), c_header="ccml_dot.h",
            intrinsics={
                "x86": tuple(
                    Intrinsic(f"llvm.x86.avx512.vpdpbusd.{32 * lanes}", lanes, parts=8) for lanes in (16, 8, 4)
                ),
            },
        ),
        Instruction(
            "dot4_i8i8", _WORDS, DType.I32, meanings.dot(8, False), c_header="ccml_dot.h",
            # the second factor may be a lane: that of the activations
            intrinsics={"aarch64": (Intrinsic("llvm.aarch64.neon.sdot.v4i32.v16i8", 4, (0, 2, 1), parts=8),)},
        ),
        # acc + x . w of matrices: 2 x 2 words, two rows of eight bytes, two columns of eight bytes
        Instruction(
            "mmla_i8i8", _WORDS, DType.I32, meanings.matrix_of_bytes, c_header="ccml_matrix.h", across=True,
            intrinsics={"aarch64": (Intrinsic("llvm.aarch64.neon.smmla.v4i32.v16i8", 4, parts=8),)},
        ),
        # lane by lane a word of two vectors, that with this number: what tables are looked up by
        Instruction(
            "pick_words", (DType.I32, DType.I32, DType.I32), DType.I32, meanings.pick_words, c_header="ccml_lookup.h",
            intrinsics={"x86": (Intrinsic("llvm.x86.avx512.vpermi2var.d.512", 16, (1, 0, 2)),)}, across=True,
        ),
        # byte by byte that of four vectors with this number below 64, else that of the first operand
        Instruction(
            "pick_bytes", (DType.I32,) * 6, DType.I32, meanings.pick_bytes, c_header="ccml_lookup.h", across=True,
            intrinsics={"aarch64": (Intrinsic("llvm.aarch64.neon.tbx4.v16i8", 4, (0, 2, 3, 4, 5, 1), 8, True),)},
        ),
        # the rows of accumulators of matrix products, and pairs of rows for them
        Instruction(
            "lower_halves", (DType.I32, DType.I32), DType.I32, meanings.lower_halves, c_header="ccml_matrix.h",
            intrinsics={ANY: (Intrinsic("", 4, shuffle=(0, 1, 4, 5)),)}, across=True,
        ),
        Instruction(
            "upper_halves", (DType.I32, DType.I32), DType.I32, meanings.upper_halves, c_header="ccml_matrix.h",
            intrinsics={ANY: (Intrinsic("", 4, shuffle=(2, 3, 6, 7)),)}, across=True,
        ),
        Instruction(
            "dot2_i16i16", _WORDS, DType.I32, meanings.dot(16, False), expansion=expansions.dot_of_halves,
            c_header="ccml_dot.h",
            intrinsics={
                "x86": (
                    Intrinsic("llvm.x86.avx512.pmaddw.d.512", 16, (1, 2), parts=16, adds=True),
                    Intrinsic("llvm.x86.avx2.pmadd.wd", 8, (1, 2), parts=16, adds=True),
                    Intrinsic("llvm.x86.sse2.pmadd.wd", 4, (1, 2), parts=16, adds=True),
                ),
                "arm": (Intrinsic("llvm.arm.smlad", 1, _ACC_LAST),),
            },
        ),
        # the same with the sum in 64 bits
        Instruction(
            "long_dot2_i16i16", (DType.I64, DType.I32, DType.I32), DType.I64, meanings.dot(16, False, 64),
            expansion=expansions.long_dot_of_halves, c_header="ccml_dot.h",
            intrinsics={"arm": (Intrinsic("llvm.arm.smlald", 1, _ACC_LAST),)},
        ),
        # acc + x . w in floats: two bfloat16 in each 32-bit lane, with the roundings of the processor, for which what
        # is subnormal may be zero
        Instruction(
            "dot2_bf16", _BFLOATS, DType.F32, meanings.dot_of_bfloats, c_header="ccml_bfloat.h",
            intrinsics={
                "x86": tuple(
                    Intrinsic(f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}", lanes, bfloats=True) for lanes in (16, 8, 4)
                ),
                "aarch64": (Intrinsic("llvm.aarch64.neon.bfdot.v4f32.v8bf16", 4, (0, 2, 1), bfloats=True),),
            },
        ),
        # the same of matrices: 2 x 2 floats, two rows of four bfloat16, two columns of four bfloat16
        Instruction(
            "mmla_bf16", _BFLOATS, DType.F32, meanings.matrix_of_bfloats, c_header="ccml_bfloat.h", across=True,
            intrinsics={"aarch64": (Intrinsic("llvm.aarch64.neon.bfmmla", 4, bfloats=True),)},
        ),
        # the bits of the nearest bfloat16
        Instruction(
            "round_bf16", (DType.F32,), DType.U16, meanings.round_to_bfloat, expansion=expansions.rounded_to_bfloat,
            c_header=None, intrinsics={"aarch64": (Intrinsic("fptrunc", rounds=True),)},
        ),
        # bytes 0 and 2, or 1 and 3, of a word as two signed halfwords
        Instruction(
            "widen_even", (DType.I32,), DType.I32, meanings.widen(0), expansion=expansions.widened(0),
            recognized=expansions.signed_bytes_of_halfwords(0), c_header="ccml_widen.h",
            intrinsics={"arm": (Intrinsic("llvm.arm.sxtb16", 1),)},
        ),
        Instruction(
            "widen_odd", (DType.I32,), DType.I32, meanings.widen(1), expansion=expansions.widened(8),
            recognized=expansions.signed_bytes_of_halfwords(8), c_header="ccml_widen.h",
            intrinsics={"arm": (Intrinsic("llvm.arm.sxtb16", 1, rotated=8),)},
        ),
        # the same as unsigned halfwords
        Instruction(
            "even_bytes", (DType.I32,), DType.I32, meanings.bytes_apart(0), expansion=expansions.bytes_apart(0),
            recognized=expansions.bytes_of_halfwords(0), c_header="ccml_dot.h",
        ),
        Instruction(
            "odd_bytes", (DType.I32,), DType.I32, meanings.bytes_apart(1), expansion=expansions.bytes_apart(8),
            recognized=expansions.bytes_of_halfwords(8), c_header="ccml_dot.h",
        ),
        # signed ones added to two halfwords, without a carry from one to the other
        Instruction(
            "widen_even_add", (DType.I32, DType.I32), DType.I32, meanings.widen_add(0),
            expansion=expansions.widened_and_added(0), c_header="ccml_widen.h",
            intrinsics={"arm": (Intrinsic("llvm.arm.sxtab16", 1),)},
        ),
        Instruction(
            "widen_odd_add", (DType.I32, DType.I32), DType.I32, meanings.widen_add(1),
            expansion=expansions.widened_and_added(8), c_header="ccml_widen.h",
            intrinsics={"arm": (Intrinsic("llvm.arm.sxtab16", 1, rotated=8),)},
        ),
        # the greater and the less of two in vectors of four, NaN where one is; of zeros with different signs either
        Instruction(
            "maximum", (DType.F32, DType.F32), DType.F32, np.maximum, c_header="ccml_bounds.h",
            intrinsics=_float("llvm.maximum"),
        ),
        Instruction(
            "minimum", (DType.F32, DType.F32), DType.F32, np.minimum, c_header="ccml_bounds.h",
            intrinsics=_float("llvm.minimum"),
        ),
        # clamped to a signed byte
        Instruction(
            "saturate8", (DType.I32,), DType.I32, meanings.saturate8, expansion=expansions.saturated,
            recognized=expansions.saturated, c_header="ccml_saturate.h",
        ),
        # the upper word of the product
        Instruction(
            "mul_high", (DType.I32, DType.I32), DType.I32, meanings.mul_high,
            expansion=expansions.high_of_short_products, recognized=expansions.high_of_wide_product,
            opaque=frozenset({"arm"}), c_header="ccml_scale.h",
        ),
        # how many bits of a word are zeros above its leading one; of 0 all
        Instruction(
            "leading_zeros", (DType.I32,), DType.I32, meanings.leading_zeros, expansion=expansions.leading_zeros,
            c_header="ccml_scale.h", intrinsics={ANY: (Intrinsic("llvm.ctlz", also=(("i1", "false"),)),)},
        ),
        # acc * factor / 2^(32 + shift) for shift > 0, else float32(acc) * (factor * 2^shift); rounded to a whole number
        Instruction("scale_round", _WORDS, DType.I32, meanings.scale_round, c_header="ccml_scale.h"),
    )
}  # fmt: skip

/* Part of the ccml runtime: a single pixel by all channels, requantized to bytes by factors of 15 bits, two in a word.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_PACKED_4X1_HALFWORD_H
#define CCML_GEMM_PACKED_4X1_HALFWORD_H

#include "ccml_gemm_packed_4x1.h"

#if CCML_ARM_DSP
#define CCML_PACKED_4X1_HALFWORD_MULTIPLY \
    "ldrd r10, r11, [r0], #8\n" \
    "smlawb r4, r4, r10, r2\n" \
    "smlawt r5, r5, r10, r2\n" \
    "smlawb r6, r6, r11, r2\n" \
    "smlawt r7, r7, r11, r2\n"

#define CCML_BLOCK_GEMM_PACKED_4X1_HALFWORD 1
CCML_NAKED ccml_gemm_packed_4x1_halfword(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED, int32_t shift CCML_UNUSED)
{
    CCML_PACKED_4X1(CCML_PACKED_4X1_HALFWORD_MULTIPLY);
}

#undef CCML_PACKED_4X1_HALFWORD_MULTIPLY
#endif

#endif

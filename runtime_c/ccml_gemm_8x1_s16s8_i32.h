/* Part of the ccml runtime: one pixel of halfwords by all channels of bytes, as accumulators.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_8X1_S16S8_I32_H
#define CCML_GEMM_8X1_S16S8_I32_H

#include "ccml_gemm_8x1.h"

#if CCML_ARM_DSP
#define CCML_GEMM_8X1_S16S8_PIXEL "ldrd r2, r3, [r1], #8\n"
#define CCML_GEMM_8X1_S16S8_ONE(a) "str " a ", [r11], #4\n"
#define CCML_GEMM_8X1_S16S8_FOUR(a, b, c, d) \
    CCML_GEMM_8X1_S16S8_ONE(a) CCML_GEMM_8X1_S16S8_ONE(b) CCML_GEMM_8X1_S16S8_ONE(c) CCML_GEMM_8X1_S16S8_ONE(d)

#define CCML_BLOCK_GEMM_8X1_S16S8_I32 1
CCML_NAKED ccml_gemm_8x1_s16s8_i32(
    const int32_t *w CCML_UNUSED, const int16_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t channels CCML_UNUSED)
{
    CCML_GEMM_8X1_OF(
        "", CCML_GEMM_8X1_S16S8_PIXEL, CCML_GEMM_8X1_CHANNEL, "3", CCML_GEMM_8X1_S16S8_FOUR, CCML_GEMM_8X1_S16S8_ONE);
}
#endif

#endif

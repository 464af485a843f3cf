/* Part of the ccml runtime: two staged pixels by all channels, as accumulators.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_3X2_I32_H
#define CCML_GEMM_3X2_I32_H

#include "ccml_gemm_3x2.h"

#if CCML_ARM_DSP
#define CCML_GEMM_3X2_I32_ONE \
    "str r4, [r10], #4\n" \
    "str r5, [r11], #4\n"

#define CCML_GEMM_3X2_I32_THREE \
    CCML_GEMM_3X2_I32_ONE \
    "str r6, [r10], #4\n" \
    "str r7, [r11], #4\n" \
    "str r8, [r10], #4\n" \
    "str r9, [r11], #4\n"

#define CCML_BLOCK_GEMM_3X2_I32 1
CCML_NAKED ccml_gemm_3x2_i32(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *y0 CCML_UNUSED, int32_t *y1 CCML_UNUSED,
    int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED)
{
    CCML_GEMM_3X2(
        2, "", CCML_GEMM_3X2_BEGIN, CCML_GEMM_3X2_BEGIN_ONE, CCML_GEMM_3X2_I32_THREE,
        CCML_GEMM_3X2_I32_ONE);
}
#endif

#endif

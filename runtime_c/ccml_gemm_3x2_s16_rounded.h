/* Part of the ccml runtime: two staged pixels by all channels of weights of 16 bits, requantized by one factor.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_3X2_S16_ROUNDED_H
#define CCML_GEMM_3X2_S16_ROUNDED_H

#include "ccml_gemm_3x2_rounded.h"

#if CCML_ARM_DSP
#define CCML_GEMM_3X2_S16_CHANNEL(acc0, acc1) \
    "ldrd r10, r11, [r0], #8\n" \
    "smlad " acc0 ", r10, r2, " acc0 "\n" \
    "smlad " acc1 ", r10, r12, " acc1 "\n" \
    "smlad " acc0 ", r11, r3, " acc0 "\n" \
    "smlad " acc1 ", r11, lr, " acc1 "\n"
#define CCML_GEMM_3X2_S16_THREE \
    CCML_GEMM_3X2_PIXELS CCML_GEMM_3X2_S16_CHANNEL("r4", "r5") CCML_GEMM_3X2_S16_CHANNEL("r6", "r7") \
    CCML_GEMM_3X2_S16_CHANNEL("r8", "r9")
#define CCML_GEMM_3X2_S16_ONE CCML_GEMM_3X2_PIXELS CCML_GEMM_3X2_S16_CHANNEL("r4", "r5")

#define CCML_BLOCK_GEMM_3X2_S16_ROUNDED 1
CCML_NAKED ccml_gemm_3x2_s16_rounded(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t factor CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    CCML_GEMM_3X2_WITH(
        0, CCML_GEMM_3X2_S16_THREE, CCML_GEMM_3X2_S16_ONE, "", CCML_GEMM_3X2_BEGIN, CCML_GEMM_3X2_BEGIN_ONE,
        CCML_GEMM_3X2_ROUNDED_THREE, CCML_GEMM_3X2_ROUNDED_ONE);
}

#undef CCML_GEMM_3X2_S16_CHANNEL
#undef CCML_GEMM_3X2_S16_THREE
#undef CCML_GEMM_3X2_S16_ONE
#endif

#endif

/* Part of the ccml runtime: two staged pixels with terms of their own by all channels, requantized by one factor.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_3X2_ROUNDED_H
#define CCML_GEMM_3X2_ROUNDED_H

#include "ccml_gemm_3x2.h"

#if CCML_ARM_DSP
/* What is added to the sums of either pixel stands behind the staged ones. */
#define CCML_GEMM_3X2_ROUNDED_SETUP \
    "add r6, r1, r4, lsl #4\n" \
    "ldrd r8, r9, [r6]\n" \
    "strd r8, r9, [sp]\n"
#define CCML_GEMM_3X2_ROUNDED_BEGIN \
    "ldrd r2, r3, [sp]\n" \
    "add r5, r4, r3\n" \
    "add r4, r4, r2\n" \
    "add r7, r6, r3\n" \
    "add r6, r6, r2\n" \
    "add r9, r8, r3\n" \
    "add r8, r8, r2\n"
#define CCML_GEMM_3X2_ROUNDED_BEGIN_ONE \
    "ldrd r2, r3, [sp]\n" \
    "add r5, r4, r3\n" \
    "add r4, r4, r2\n"

/* A sum times the factor in r2, its upper word rounded, and the zero point in r3. */
#define CCML_GEMM_3X2_ROUNDED_BYTES(acc0, acc1) \
    "smmlar " acc0 ", " acc0 ", r2, r3\n" \
    "smmlar " acc1 ", " acc1 ", r2, r3\n" \
    "ssat " acc0 ", #8, " acc0 "\n" \
    "ssat " acc1 ", #8, " acc1 "\n" \
    "strb " acc0 ", [r10], #1\n" \
    "strb " acc1 ", [r11], #1\n"
#define CCML_GEMM_3X2_ROUNDED_ONE "ldrd r2, r3, [sp, #108]\n" CCML_GEMM_3X2_ROUNDED_BYTES("r4", "r5")
#define CCML_GEMM_3X2_ROUNDED_THREE \
    CCML_GEMM_3X2_ROUNDED_ONE CCML_GEMM_3X2_ROUNDED_BYTES("r6", "r7") CCML_GEMM_3X2_ROUNDED_BYTES("r8", "r9")

#define CCML_BLOCK_GEMM_3X2_ROUNDED 1
CCML_NAKED ccml_gemm_3x2_rounded(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t factor CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    CCML_GEMM_3X2(
        0, CCML_GEMM_3X2_ROUNDED_SETUP, CCML_GEMM_3X2_ROUNDED_BEGIN, CCML_GEMM_3X2_ROUNDED_BEGIN_ONE,
        CCML_GEMM_3X2_ROUNDED_THREE, CCML_GEMM_3X2_ROUNDED_ONE);
}
#endif

#endif

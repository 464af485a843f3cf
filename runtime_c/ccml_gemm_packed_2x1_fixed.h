/* Part of the ccml runtime: one of four staged pixels by all channels, requantized to bytes without floats.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_PACKED_2X1_FIXED_H
#define CCML_GEMM_PACKED_2X1_FIXED_H

#include "ccml_gemm_packed_2x4.h"

#if CCML_ARM_DSP

/* What is added before the shift in r8, the shift in r7; r6 is kept. */
#define CCML_PACKED_2X1_FIXED_SETUP \
    "mov r10, r6\n" \
    "ldrd r6, r7, [sp, #40]\n" CCML_PACKED_2X4_OFFSET \
    "mov r8, r6\n" \
    "mov r6, r10\n"

#define CCML_PACKED_2X1_FIXED_FINISH \
    "ldrd r10, r11, [r0], #8\n" \
    "smmla r2, r2, r10, r8\n" \
    "smmla r3, r3, r11, r8\n" \
    "asr r2, r2, r7\n" \
    "asr r3, r3, r7\n" \
    "ssat r2, #8, r2\n" \
    "ssat r3, #8, r3\n" CCML_PACKED_2X4_STORE("r2", "r3", "r12")

#define CCML_BLOCK_GEMM_PACKED_2X1_FIXED 1
CCML_NAKED ccml_gemm_packed_2x1_fixed(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED, int32_t shift CCML_UNUSED)
{
    CCML_PACKED_2X1(0, CCML_PACKED_2X1_FIXED_SETUP, CCML_PACKED_2X1_FIXED_FINISH);
}
#endif

#endif

/* Part of the ccml runtime: four staged pixels by all channels, requantized to bytes without floats.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_PACKED_2X4_FIXED_H
#define CCML_GEMM_PACKED_2X4_FIXED_H

#include "ccml_gemm_packed_2x4.h"

#if CCML_ARM_DSP

#define CCML_PACKED_2X4_FIXED_SETUP "ldrd r6, r7, [sp, #116]\n" CCML_PACKED_2X4_OFFSET

#define CCML_PACKED_2X4_FIXED_BYTE(a) \
    "asr " a ", " a ", r12\n" \
    "ssat " a ", #8, " a "\n"

#define CCML_BLOCK_GEMM_PACKED_2X4_FIXED 1
CCML_NAKED ccml_gemm_packed_2x4_fixed(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int8_t *y2 CCML_UNUSED, int8_t *y3 CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t zero_point CCML_UNUSED, int32_t shift CCML_UNUSED)
{
    CCML_PACKED_2X4(
        0, CCML_PACKED_2X4_LAST_TWO, CCML_PACKED_2X4_FIXED_SETUP,
        "ldr r12, [sp]\n" CCML_PACKED_2X4_FIXED(CCML_PACKED_2X4_FIXED_BYTE));
}
#endif

#endif

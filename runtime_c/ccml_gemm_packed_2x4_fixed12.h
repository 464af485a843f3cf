/* Part of the ccml runtime: ccml_gemm_packed_2x4_fixed for a shift of 12.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_PACKED_2X4_FIXED12_H
#define CCML_GEMM_PACKED_2X4_FIXED12_H

#include "ccml_gemm_packed_2x4.h"

#if CCML_ARM_DSP

#define CCML_PACKED_2X4_FIXED12_SETUP \
    "ldr r6, [sp, #116]\n" \
    "lsl r6, r6, #12\n" \
    "add r6, r6, #2048\n"

#define CCML_PACKED_2X4_FIXED12_BYTE(a) "ssat " a ", #8, " a ", asr #12\n"

#define CCML_BLOCK_GEMM_PACKED_2X4_FIXED12 1
CCML_NAKED ccml_gemm_packed_2x4_fixed12(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int8_t *y2 CCML_UNUSED, int8_t *y3 CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    CCML_PACKED_2X4(
        0, CCML_PACKED_2X4_LAST_TWO, CCML_PACKED_2X4_FIXED12_SETUP,
        CCML_PACKED_2X4_FIXED(CCML_PACKED_2X4_FIXED12_BYTE));
}
#endif

#endif

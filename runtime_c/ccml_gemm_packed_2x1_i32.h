/* Part of the ccml runtime: one of four staged pixels by all channels, as accumulators.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_PACKED_2X1_I32_H
#define CCML_GEMM_PACKED_2X1_I32_H

#include "ccml_gemm_packed_2x4.h"

#if CCML_ARM_DSP
#define CCML_PACKED_2X1_STORE \
    "asr r2, r2, #8\n" \
    "asr r3, r3, #8\n" \
    "strd r2, r3, [r12], #8\n"

#define CCML_BLOCK_GEMM_PACKED_2X1_I32 1
CCML_NAKED ccml_gemm_packed_2x1_i32(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t channels CCML_UNUSED)
{
    CCML_PACKED_2X1(2, "", CCML_PACKED_2X1_STORE);
}
#endif

#endif

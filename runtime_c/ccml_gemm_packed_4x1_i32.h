/* Part of the ccml runtime: a single pixel by all channels, as accumulators, on packed weights.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_PACKED_4X1_I32_H
#define CCML_GEMM_PACKED_4X1_I32_H

#include "ccml_gemm_packed_4x1.h"

#if CCML_ARM_DSP
#define CCML_BLOCK_GEMM_PACKED_4X1_I32 1
CCML_NAKED ccml_gemm_packed_4x1_i32(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t channels CCML_UNUSED)
{
    CCML_PACKED_4X1_WITH(
        "add r5, r2, r5, lsl #2\n",
        "vmov r2, r3, s5, s6\n"
        "asr r4, r4, #8\n"
        "asr r5, r5, #8\n"
        "asr r6, r6, #8\n"
        "asr r7, r7, #8\n"
        "stm r2!, {r4-r7}\n");
}
#endif

#endif

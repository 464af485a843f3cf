/* Part of the ccml runtime: four staged pixels by all channels, as accumulators.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_PACKED_2X4_I32_H
#define CCML_GEMM_PACKED_2X4_I32_H

#include "ccml_gemm_packed_2x4.h"

#if CCML_ARM_DSP

#define CCML_WORDS_1X4(c0, c1, y) \
    "asr " c0 ", " c0 ", #8\n" \
    "asr " c1 ", " c1 ", #8\n" \
    "str " c0 ", [" y "], #4\n" \
    "str " c1 ", [" y "], #4\n"

#define CCML_PACKED_2X4_I32_FINISH \
    CCML_PACKED_2X4_POINTERS \
    CCML_WORDS_1X4("r2", "r6", "r10") \
    CCML_WORDS_1X4("r3", "r7", "r11") \
    CCML_WORDS_1X4("r4", "r8", "r12") \
    CCML_WORDS_1X4("r5", "r9", "lr")

#define CCML_BLOCK_GEMM_PACKED_2X4_I32 1
CCML_NAKED ccml_gemm_packed_2x4_i32(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *y0 CCML_UNUSED, int32_t *y1 CCML_UNUSED,
    int32_t *y2 CCML_UNUSED, int32_t *y3 CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED)
{
    CCML_PACKED_2X4(2, CCML_PACKED_2X4_LAST_TWO, "", CCML_PACKED_2X4_I32_FINISH);
}
#endif

#endif

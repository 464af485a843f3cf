/* Part of the ccml runtime: four staged pixels by all channels, as accumulators.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_QUAD_I32_H
#define CCML_QUAD_I32_H

#include "ccml_quad.h"

#if CCML_ARM_DSP

#define CCML_QUAD_WORDS(c0, c1, y) \
    "asr " c0 ", " c0 ", #8\n" \
    "asr " c1 ", " c1 ", #8\n" \
    "str " c0 ", [" y "], #4\n" \
    "str " c1 ", [" y "], #4\n"

#define CCML_QUAD_I32_FINISH \
    CCML_QUAD_POINTERS \
    CCML_QUAD_WORDS("r2", "r6", "r10") \
    CCML_QUAD_WORDS("r3", "r7", "r11") \
    CCML_QUAD_WORDS("r4", "r8", "r12") \
    CCML_QUAD_WORDS("r5", "r9", "lr")

#define CCML_BLOCK_QUAD_I32 1
CCML_NAKED ccml_quad_i32(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *y0 CCML_UNUSED, int32_t *y1 CCML_UNUSED,
    int32_t *y2 CCML_UNUSED, int32_t *y3 CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED)
{
    CCML_QUAD(2, CCML_QUAD_LAST_TWO, "", CCML_QUAD_I32_FINISH);
}
#endif

#endif

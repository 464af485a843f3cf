/* Part of the ccml runtime: ccml_quad_fixed for a shift of 12.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_QUAD_FIXED12_H
#define CCML_QUAD_FIXED12_H

#include "ccml_quad.h"

#if CCML_ARM_DSP

#define CCML_QUAD_FIXED12_SETUP \
    "ldr r6, [sp, #116]\n" \
    "lsl r6, r6, #12\n" \
    "add r6, r6, #2048\n"

#define CCML_QUAD_FIXED12_BYTE(a) "ssat " a ", #8, " a ", asr #12\n"

CCML_NAKED ccml_quad_fixed12(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int8_t *y2 CCML_UNUSED, int8_t *y3 CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    CCML_QUAD(0, CCML_QUAD_LAST_TWO, CCML_QUAD_FIXED12_SETUP, CCML_QUAD_FIXED(CCML_QUAD_FIXED12_BYTE));
}
#else
static inline void ccml_quad_fixed12(
    const int32_t *w, const int32_t *x, int8_t *y0, int8_t *y1, int8_t *y2, int8_t *y3, int32_t groups,
    int32_t channels, int32_t zero_point)
{
    ccml_lone_bytes_fixed(w, x, y0, groups, channels, zero_point, 12);
    ccml_lone_bytes_fixed(w, x + 1, y1, groups, channels, zero_point, 12);
    ccml_lone_bytes_fixed(w, x + 2, y2, groups, channels, zero_point, 12);
    ccml_lone_bytes_fixed(w, x + 3, y3, groups, channels, zero_point, 12);
}
#endif

#endif

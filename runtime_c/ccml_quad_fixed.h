/* Part of the ccml runtime: four staged pixels by all channels, requantized to bytes without floats.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_QUAD_FIXED_H
#define CCML_QUAD_FIXED_H

#include "ccml_quad.h"

#if CCML_ARM_DSP

/* At sp + 32 what is added before the shift, and the shift. */
#define CCML_QUAD_FIXED_SETUP \
    "ldrd r6, r7, [sp, #100]\n" CCML_QUAD_OFFSET \
    "strd r6, r7, [sp, #32]\n"

/* Four accumulators of one channel, whose factor is in m. */
#define CCML_QUAD_FIXED_CHANNEL(a0, a1, a2, a3, m) \
    "smmla " a0 ", " a0 ", " m ", r1\n" \
    "smmla " a1 ", " a1 ", " m ", r1\n" \
    "smmla " a2 ", " a2 ", " m ", r1\n" \
    "smmla " a3 ", " a3 ", " m ", r1\n" \
    "asr " a0 ", " a0 ", r12\n" \
    "asr " a1 ", " a1 ", r12\n" \
    "asr " a2 ", " a2 ", r12\n" \
    "asr " a3 ", " a3 ", r12\n" \
    "pkhbt " a0 ", " a0 ", " a1 ", lsl #16\n" \
    "pkhbt " a2 ", " a2 ", " a3 ", lsl #16\n"

#define CCML_QUAD_FIXED_FINISH \
    "ldrd r1, r12, [sp, #32]\n" \
    "ldrd r10, r11, [r0], #8\n" \
    CCML_QUAD_FIXED_CHANNEL("r2", "r3", "r4", "r5", "r10") \
    CCML_QUAD_FIXED_CHANNEL("r6", "r7", "r8", "r9", "r11") \
    "ldm sp, {r10, r11, r12, lr}\n" \
    CCML_QUAD_STORE_BYTES("r2", "r6", "r10", "r11") \
    CCML_QUAD_STORE_BYTES("r4", "r8", "r12", "lr") \
    "stm sp, {r10, r11, r12, lr}\n"

CCML_NAKED ccml_quad_fixed(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int8_t *y2 CCML_UNUSED, int8_t *y3 CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t zero_point CCML_UNUSED, int32_t shift CCML_UNUSED)
{
    CCML_QUAD(0, CCML_QUAD_FIXED_SETUP, CCML_QUAD_FIXED_FINISH);
}
#else
static inline void ccml_quad_fixed(
    const int32_t *w, const int32_t *x, int8_t *y0, int8_t *y1, int8_t *y2, int8_t *y3, int32_t groups,
    int32_t channels, int32_t zero_point, int32_t shift)
{
    ccml_lone_bytes_fixed(w, x, y0, groups, channels, zero_point, shift);
    ccml_lone_bytes_fixed(w, x + 1, y1, groups, channels, zero_point, shift);
    ccml_lone_bytes_fixed(w, x + 2, y2, groups, channels, zero_point, shift);
    ccml_lone_bytes_fixed(w, x + 3, y3, groups, channels, zero_point, shift);
}
#endif

#endif

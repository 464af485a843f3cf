/* Part of the ccml runtime: two staged pixels by all channels, requantized to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_PAIR_I8_H
#define CCML_PAIR_I8_H

#include "ccml_pair.h"

#if CCML_ARM_DSP
#define CCML_PAIR_BYTES(acc0, acc1) \
    "ldm r0!, {r2, r3, r12}\n" \
    CCML_REQUANTIZE(acc0, "r2", "r3", "r12") \
    CCML_REQUANTIZE(acc1, "r2", "r3", "r12") \
    "strb " acc0 ", [r10], #1\n" \
    "strb " acc1 ", [r11], #1\n"

CCML_NAKED ccml_pair_i8(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED)
{
    CCML_PAIR(CCML_PAIR_BYTES);
}
#else
static inline void ccml_pair_i8(
    const int32_t *w, const int32_t *x, int8_t *y0, int8_t *y1, int32_t groups, int32_t channels)
{
    CCML_PAIR(ccml_requantize, 3)
}
#endif

#endif

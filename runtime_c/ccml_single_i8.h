/* Part of the ccml runtime: one pixel by all channels, requantized to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_SINGLE_I8_H
#define CCML_SINGLE_I8_H

#include "ccml_single.h"

#if CCML_ARM_DSP
#define CCML_SINGLE_BYTE(acc) \
    "ldm r0!, {r2, r3, r10}\n" \
    CCML_REQUANTIZE(acc, "r2", "r3", "r10") \
    "strb " acc ", [r11], #1\n"

CCML_NAKED ccml_single_i8(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t channels CCML_UNUSED)
{
    CCML_SINGLE(CCML_SINGLE_BYTE);
}
#else
static inline void ccml_single_i8(const int32_t *w, const int8_t *x, int8_t *y, int32_t groups, int32_t channels)
{
    CCML_SINGLE(ccml_requantize, 3)
}
#endif

#endif

/* Part of the ccml runtime: one pixel by all channels, as accumulators.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_SINGLE_I32_H
#define CCML_SINGLE_I32_H

#include "ccml_single.h"

#if CCML_ARM_DSP
#define CCML_SINGLE_WORD(acc) "str " acc ", [r11], #4\n"

CCML_NAKED ccml_single_i32(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t channels CCML_UNUSED)
{
    CCML_SINGLE(CCML_SINGLE_WORD);
}
#else
#define CCML_SINGLE_SAME(acc, constants) (acc)

static inline void ccml_single_i32(const int32_t *w, const int8_t *x, int32_t *y, int32_t groups, int32_t channels)
{
    CCML_SINGLE(CCML_SINGLE_SAME, 0)
}
#endif

#endif

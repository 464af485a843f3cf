/* Part of the ccml runtime: words clamped to what a signed byte holds.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_SATURATE_H
#define CCML_SATURATE_H

#include "ccml_base.h"

static inline int32_t ccml_i32_saturate8(int32_t x)
{
#if CCML_GNU && defined(__thumb2__)
    int32_t y;
    __asm__("ssat %0, #8, %1" : "=r"(y) : "r"(x));
    return y;
#else
    return x < -128 ? -128 : x > 127 ? 127 : x;
#endif
}

/* The same of a word that is shifted right by a constant from 1 to 31, which the instruction does as well. */
#if CCML_GNU && defined(__thumb2__)
#define ccml_i32_saturate8_shifted(x, count) \
    (__extension__({ \
        int32_t ccml_saturated; \
        __asm__("ssat %0, #8, %1, asr %2" : "=r"(ccml_saturated) : "r"(x), "i"(count)); \
        ccml_saturated; \
    }))
#else
static inline int32_t ccml_i32_saturate8_shifted(int32_t x, int32_t count)
{
    return ccml_i32_saturate8(x >> count);
}
#endif

#endif

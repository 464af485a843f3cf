/* Part of the ccml runtime: signed bytes of a 32-bit word as pairs of halfwords.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_WIDEN_H
#define CCML_WIDEN_H

#include "ccml_naked.h"

/* The hand-written routines are for Armv7E-M and Armv8-M with DSP and FPU; all else takes their C twins. */
#if CCML_GNU && defined(__ARM_FEATURE_DSP) && defined(__thumb2__) && defined(__ARM_ARCH_PROFILE) && defined(__ARM_FP)
#if __ARM_ARCH_PROFILE == 'M' && (__ARM_FP & 4)
#define CCML_ARM_DSP 1
#endif
#endif
#if !defined(CCML_ARM_DSP)
#define CCML_ARM_DSP 0
#endif

static inline int32_t ccml_halfwords(uint32_t low, uint32_t high)
{
    return (int32_t)(((uint32_t)(int8_t)(low & 255u) & 65535u) | (uint32_t)(int8_t)(high & 255u) << 16);
}

#if CCML_ARM_DSP
#define CCML_WIDEN(op, operands) \
    static inline int32_t ccml_i32_##op(int32_t word) \
    { \
        int32_t result; \
        __asm__("sxtb16 " operands : "=r"(result) : "r"(word)); \
        return result; \
    }
#define CCML_WIDEN_ADD(op, operands) \
    static inline int32_t ccml_i32_##op(int32_t acc, int32_t word) \
    { \
        int32_t result; \
        __asm__("sxtab16 " operands : "=r"(result) : "r"(acc), "r"(word)); \
        return result; \
    }
CCML_WIDEN(widen_even, "%0, %1")
CCML_WIDEN(widen_odd, "%0, %1, ror #8")
CCML_WIDEN_ADD(widen_even_add, "%0, %1, %2")
CCML_WIDEN_ADD(widen_odd_add, "%0, %1, %2, ror #8")
#else
/* Bytes 0 and 2. */
static inline int32_t ccml_i32_widen_even(int32_t word)
{
    return ccml_halfwords((uint32_t)word, (uint32_t)word >> 16);
}

/* Bytes 1 and 3. */
static inline int32_t ccml_i32_widen_odd(int32_t word)
{
    return ccml_halfwords((uint32_t)word >> 8, (uint32_t)word >> 24);
}

/* The same, added to the halfwords of acc. */
static inline int32_t ccml_halfwords_add(int32_t x, int32_t y)
{
    const uint32_t low = ((uint32_t)x + (uint32_t)y) & 65535u;
    return (int32_t)(low | (((uint32_t)x >> 16) + ((uint32_t)y >> 16)) << 16);
}

static inline int32_t ccml_i32_widen_even_add(int32_t acc, int32_t word)
{
    return ccml_halfwords_add(acc, ccml_i32_widen_even(word));
}

static inline int32_t ccml_i32_widen_odd_add(int32_t acc, int32_t word)
{
    return ccml_halfwords_add(acc, ccml_i32_widen_odd(word));
}
#endif

#endif

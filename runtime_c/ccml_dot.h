/* Part of the ccml runtime: sums of products of the bytes or halfwords packed in 32-bit words, low bits first.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DOT_H
#define CCML_DOT_H

#include "ccml_base.h"

#if CCML_GNU && defined(__ARM_FEATURE_SIMD32) && (defined(__clang__) || __GNUC__ >= 10)
#include <arm_acle.h>
#define CCML_SIMD32 1
#else
#define CCML_SIMD32 0
#endif

/* acc + the sum of parts of x times parts of w; part(word, i) is the i-th as an int. The sum wraps around. */
#define CCML_DOT(name, parts, x_part, w_part) \
    static inline int32_t ccml_i32_##name(int32_t acc, int32_t x, int32_t w) \
    { \
        uint32_t sum = (uint32_t)acc; \
        for (int i = 0; i < (parts); ++i) { \
            sum += (uint32_t)(x_part(x, i) * w_part(w, i)); \
        } \
        return (int32_t)sum; \
    }

#define CCML_PART_U8(word, i) ((int32_t)((uint32_t)(word) >> (8 * (i)) & 255u))
#define CCML_PART_I8(word, i) ((int32_t)(int8_t)((uint32_t)(word) >> (8 * (i)) & 255u))
#define CCML_PART_I16(word, i) ((int32_t)(int16_t)((uint32_t)(word) >> (16 * (i)) & 65535u))

CCML_DOT(dot4_u8i8, 4, CCML_PART_U8, CCML_PART_I8)
CCML_DOT(dot4_i8i8, 4, CCML_PART_I8, CCML_PART_I8)

/* Both products of halfwords added to a sum of 64 bits. */
#if CCML_SIMD32 && defined(__ARM_FEATURE_DSP)
static inline int64_t ccml_i64_long_dot2_i16i16(int64_t acc, int32_t x, int32_t w)
{
    return __smlald(x, w, acc);
}
#else
static inline int64_t ccml_i64_long_dot2_i16i16(int64_t acc, int32_t x, int32_t w)
{
    const int64_t products[2] = {CCML_PART_I16(x, 0) * CCML_PART_I16(w, 0), CCML_PART_I16(x, 1) * CCML_PART_I16(w, 1)};
    return (int64_t)((uint64_t)acc + (uint64_t)products[0] + (uint64_t)products[1]);
}
#endif

#if CCML_SIMD32
static inline int32_t ccml_i32_dot2_i16i16(int32_t acc, int32_t x, int32_t w)
{
    return __smlad(x, w, acc);
}
#else
CCML_DOT(dot2_i16i16, 2, CCML_PART_I16, CCML_PART_I16)
#endif

/* Bytes 0 and 2, or 1 and 3, as unsigned halfwords. */
static inline int32_t ccml_i32_even_bytes(int32_t x)
{
    return x & 0x00FF00FF;
}

static inline int32_t ccml_i32_odd_bytes(int32_t x)
{
    return (int32_t)((uint32_t)x >> 8 & 0x00FF00FFu);
}

#undef CCML_DOT
#undef CCML_PART_U8
#undef CCML_PART_I8
#undef CCML_PART_I16

#endif

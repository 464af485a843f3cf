/* Part of the ccml runtime: dot products of the small integers packed in 32-bit words, low bits first, added to an
   accumulator that wraps around. dot4_u8i8 and dot4_i8i8 take four bytes, of x unsigned or signed and of w signed;
   dot2_i16i16 takes two halfwords. Here a word at a time, by SMLAD where the machine has it.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DOT_H
#define CCML_DOT_H

#include "ccml_base.h"

#if CCML_GNU && defined(__ARM_FEATURE_SIMD32) && (defined(__clang__) || __GNUC__ >= 10)
#include <arm_acle.h>
#define CCML_SMLAD 1
#else
#define CCML_SMLAD 0
#endif

/* The integer of type `part` that begins at that bit of a word. */
#define CCML_PART(word, part, bit) ((int32_t)(part)((uint32_t)(word) >> (bit)))

static inline int32_t ccml_i32_dot4_u8i8(int32_t acc, int32_t x, int32_t w)
{
    uint32_t sum = (uint32_t)acc;
    for (int bit = 0; bit < 32; bit += 8) {
        sum += (uint32_t)(CCML_PART(x, uint8_t, bit) * CCML_PART(w, int8_t, bit));
    }
    return (int32_t)sum;
}

static inline int32_t ccml_i32_dot4_i8i8(int32_t acc, int32_t x, int32_t w)
{
    uint32_t sum = (uint32_t)acc;
    for (int bit = 0; bit < 32; bit += 8) {
        sum += (uint32_t)(CCML_PART(x, int8_t, bit) * CCML_PART(w, int8_t, bit));
    }
    return (int32_t)sum;
}

static inline int32_t ccml_i32_dot2_i16i16(int32_t acc, int32_t x, int32_t w)
{
#if CCML_SMLAD
    return __smlad(x, w, acc);
#else
    uint32_t sum = (uint32_t)acc;
    for (int bit = 0; bit < 32; bit += 16) {
        sum += (uint32_t)(CCML_PART(x, int16_t, bit) * CCML_PART(w, int16_t, bit));
    }
    return (int32_t)sum;
#endif
}

/* Vectors lane by lane. */
#define CCML_LANES_DOT(vector, lanes, op) \
    static inline vector vector##_##op(vector acc, vector x, vector w) \
    { \
        int32_t sum[lanes]; \
        int32_t lhs[lanes]; \
        int32_t rhs[lanes]; \
        vector##_store(sum, acc); \
        vector##_store(lhs, x); \
        vector##_store(rhs, w); \
        for (int i = 0; i < (lanes); ++i) { \
            sum[i] = ccml_i32_##op(sum[i], lhs[i], rhs[i]); \
        } \
        return vector##_load(sum); \
    }

#define CCML_PORTABLE_DOT(lanes, op) CCML_PORTABLE_DOT_OF(ccml_i32x##lanes, lanes, op)
#define CCML_PORTABLE_DOT_OF(vector, lanes, op) CCML_LANES_DOT(vector, lanes, op)

/* acc + x . w as one instruction, or as products that are added. */
#define CCML_X86_DOT(vector, reg, op, intrinsic) \
    CCML_GNU3(vector, op, intrinsic((reg)x, (reg)y, (reg)z))
#define CCML_X86_MADD(vector, reg, intrinsic) \
    static inline vector vector##_dot2_i16i16(vector acc, vector x, vector w) \
    { \
        return vector##_add(acc, (vector)intrinsic((reg)x, (reg)w)); \
    }

#endif

/* Part of the ccml runtime: sums of products of bfloat16, two in each 32-bit word, the first in the low bits. Processors
   round sums in ways of their own, and some take what is subnormal for zero.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_BFLOAT_H
#define CCML_BFLOAT_H

#include "ccml_bits.h"
#include "ccml_x16.h"

#if CCML_NEON && defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#define CCML_NEON_BFLOAT 1
#else
#define CCML_NEON_BFLOAT 0
#endif

static inline float ccml_bfloat_of_word(int32_t word, int number)
{
    const uint32_t bits = (uint32_t)word;

    return ccml_u32_as_f32(number ? bits & 0xffff0000u : bits << 16);
}

/* acc + x . w */
static inline float ccml_f32_dot2_bf16(float acc, int32_t x, int32_t w)
{
    acc += ccml_bfloat_of_word(x, 1) * ccml_bfloat_of_word(w, 1);
    return acc + ccml_bfloat_of_word(x, 0) * ccml_bfloat_of_word(w, 0);
}

#define CCML_BFLOAT_LANES(lanes) \
    static inline ccml_f32x##lanes ccml_f32x##lanes##_dot2_bf16( \
        ccml_f32x##lanes acc, ccml_i32x##lanes x, ccml_i32x##lanes w) \
    { \
        float sums[lanes]; \
        int32_t factors[lanes]; \
        int32_t weights[lanes]; \
        ccml_f32x##lanes##_store(sums, acc); \
        ccml_i32x##lanes##_store(factors, x); \
        ccml_i32x##lanes##_store(weights, w); \
        for (int i = 0; i < (lanes); ++i) { \
            sums[i] = ccml_f32_dot2_bf16(sums[i], factors[i], weights[i]); \
        } \
        return ccml_f32x##lanes##_load(sums); \
    }
#define CCML_BFLOAT_X86(lanes, bits, floats, dot) \
    static inline ccml_f32x##lanes ccml_f32x##lanes##_dot2_bf16( \
        ccml_f32x##lanes acc, ccml_i32x##lanes x, ccml_i32x##lanes w) \
    { \
        return (ccml_f32x##lanes)dot((floats)acc, (__m##bits##bh)x, (__m##bits##bh)w); \
    }

#if CCML_X86 && defined(__AVX512BF16__) && defined(__AVX512VL__)
CCML_BFLOAT_X86(4, 128, __m128, _mm_dpbf16_ps)
CCML_BFLOAT_X86(8, 256, __m256, _mm256_dpbf16_ps)
CCML_BFLOAT_X86(16, 512, __m512, _mm512_dpbf16_ps)
#elif CCML_NEON_BFLOAT
static inline ccml_f32x4 ccml_f32x4_dot2_bf16(ccml_f32x4 acc, ccml_i32x4 x, ccml_i32x4 w)
{
    return (ccml_f32x4)vbfdotq_f32((float32x4_t)acc, (bfloat16x8_t)w, (bfloat16x8_t)x);
}
CCML_BFLOAT_LANES(8)
CCML_BFLOAT_LANES(16)
#else
CCML_BFLOAT_LANES(4)
CCML_BFLOAT_LANES(8)
CCML_BFLOAT_LANES(16)
#endif

#undef CCML_BFLOAT_LANES
#undef CCML_BFLOAT_X86

/* acc + x . w: two rows of four bfloat16 by two columns of four bfloat16. */
#if CCML_NEON_BFLOAT
static inline ccml_f32x4 ccml_f32x4_mmla_bf16(ccml_f32x4 acc, ccml_i32x4 x, ccml_i32x4 w)
{
    return (ccml_f32x4)vbfmmlaq_f32((float32x4_t)acc, (bfloat16x8_t)x, (bfloat16x8_t)w);
}
#else
static inline ccml_f32x4 ccml_f32x4_mmla_bf16(ccml_f32x4 acc, ccml_i32x4 x, ccml_i32x4 w)
{
    float sums[4];
    int32_t rows[4];
    int32_t columns[4];
    ccml_f32x4_store(sums, acc);
    ccml_i32x4_store(rows, x);
    ccml_i32x4_store(columns, w);
    for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < 4; ++k) {
            const float factor = ccml_bfloat_of_word(rows[2 * (i / 2) + k / 2], k % 2);
            sums[i] += factor * ccml_bfloat_of_word(columns[2 * (i % 2) + k / 2], k % 2);
        }
    }
    return ccml_f32x4_load(sums);
}
#endif

#endif

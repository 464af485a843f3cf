/* Part of the ccml runtime: f32, i32, u32 and bool vectors of sixteen lanes, by AVX-512 where the machine has it.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_X16_H
#define CCML_X16_H

#include "ccml_x8.h"

#if CCML_X86 && defined(__AVX512F__)

/* A mask is a bit a lane in a mask register. */
typedef __mmask16 ccml_boolx16;

static inline ccml_boolx16 ccml_boolx16_splat(int x)
{
    return (ccml_boolx16)(x ? 0xffff : 0);
}

static inline ccml_boolx16 ccml_boolx16_load_active(const uint8_t *from, ptrdiff_t active)
{
    unsigned bits = 0;
    for (int i = 0; i < 16 && i < active; ++i) {
        bits |= (unsigned)(from[i] != 0) << i;
    }
    return (ccml_boolx16)bits;
}

static inline void ccml_boolx16_store_active(uint8_t *to, ccml_boolx16 x, ptrdiff_t active)
{
    for (int i = 0; i < 16 && i < active; ++i) {
        to[i] = (uint8_t)(x >> i & 1);
    }
}

CCML_GNU_BOOL_MOVE(ccml_boolx16, 16)
CCML_GNU2(ccml_boolx16, and, x & y)
CCML_GNU2(ccml_boolx16, or, x | y)
CCML_GNU2(ccml_boolx16, xor, x ^ y)
CCML_GNU1(ccml_boolx16, not, ~x)

static inline ccml_boolx16 ccml_boolx16_select(ccml_boolx16 condition, ccml_boolx16 x, ccml_boolx16 y)
{
    return (ccml_boolx16)((x & condition) | (y & ~condition));
}

CCML_GNU_NUMBERS(16, 64)
#define CCML_X16_OF(vector, ...) ((vector){__VA_ARGS__})
CCML_GNU_ARITHMETIC(ccml_f32x16)
CCML_GNU_COMPARE(ccml_f32x16, ccml_boolx16, eq, _mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ))
CCML_GNU_COMPARE(ccml_f32x16, ccml_boolx16, ne, _mm512_cmp_ps_mask(x, y, _CMP_NEQ_UQ))
CCML_GNU_COMPARE(ccml_f32x16, ccml_boolx16, lt, _mm512_cmp_ps_mask(x, y, _CMP_LT_OQ))
CCML_GNU_COMPARE(ccml_f32x16, ccml_boolx16, le, _mm512_cmp_ps_mask(x, y, _CMP_LE_OQ))
CCML_GNU_COMPARE(ccml_f32x16, ccml_boolx16, gt, _mm512_cmp_ps_mask(x, y, _CMP_GT_OQ))
CCML_GNU_COMPARE(ccml_f32x16, ccml_boolx16, ge, _mm512_cmp_ps_mask(x, y, _CMP_GE_OQ))
CCML_GNU2(ccml_f32x16, min, _mm512_min_ps(x, y))
CCML_GNU2(ccml_f32x16, max, _mm512_max_ps(x, y))
CCML_GNU1(ccml_f32x16, sqrt, _mm512_sqrt_ps(x))
/* Without optimization these are macros of GCC's header, and their constants warn. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
CCML_GNU1(ccml_f32x16, floor, _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC))
CCML_GNU1(ccml_f32x16, ceil, _mm512_roundscale_ps(x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC))
CCML_GNU1(ccml_f32x16, trunc, _mm512_roundscale_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC))
CCML_GNU1(ccml_f32x16, round_even, _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
#pragma GCC diagnostic pop
CCML_GNU3(ccml_f32x16, fma, _mm512_fmadd_ps(x, y, z))

#define CCML_ORDER_16(vector, suffix) \
    CCML_GNU_COMPARE(vector, ccml_boolx16, eq, _mm512_cmpeq_##suffix##_mask((__m512i)x, (__m512i)y)) \
    CCML_GNU_COMPARE(vector, ccml_boolx16, ne, _mm512_cmpneq_##suffix##_mask((__m512i)x, (__m512i)y)) \
    CCML_GNU_COMPARE(vector, ccml_boolx16, lt, _mm512_cmplt_##suffix##_mask((__m512i)x, (__m512i)y)) \
    CCML_GNU_COMPARE(vector, ccml_boolx16, le, _mm512_cmple_##suffix##_mask((__m512i)x, (__m512i)y)) \
    CCML_GNU_COMPARE(vector, ccml_boolx16, gt, _mm512_cmpgt_##suffix##_mask((__m512i)x, (__m512i)y)) \
    CCML_GNU_COMPARE(vector, ccml_boolx16, ge, _mm512_cmpge_##suffix##_mask((__m512i)x, (__m512i)y)) \
    CCML_GNU2(vector, min, _mm512_min_##suffix((__m512i)x, (__m512i)y)) \
    CCML_GNU2(vector, max, _mm512_max_##suffix((__m512i)x, (__m512i)y))
CCML_ORDER_16(ccml_i32x16, epi32)
CCML_ORDER_16(ccml_u32x16, epu32)
#undef CCML_ORDER_16

#define CCML_SELECT_16(vector) \
    static inline vector vector##_select(ccml_boolx16 condition, vector x, vector y) \
    { \
        return (vector)_mm512_mask_blend_ps(condition, (__m512)y, (__m512)x); \
    }
CCML_SELECT_16(ccml_f32x16)
CCML_SELECT_16(ccml_i32x16)
CCML_SELECT_16(ccml_u32x16)
#undef CCML_SELECT_16

static inline __mmask16 ccml_x16_first(ptrdiff_t active)
{
    return (__mmask16)(((uint32_t)1 << active) - 1u);
}

#define CCML_MASK_LOAD(from, mask) _mm512_maskz_loadu_epi32(mask, (const void *)(from))
#define CCML_MASK_STORE(to, mask, x) _mm512_mask_storeu_epi32(to, mask, (__m512i)x)
CCML_GNU_MASKED(f32, float, 16, ccml_x16_first, CCML_MASK_LOAD, CCML_MASK_STORE)
CCML_GNU_MASKED(i32, int32_t, 16, ccml_x16_first, CCML_MASK_LOAD, CCML_MASK_STORE)
CCML_GNU_MASKED(u32, uint32_t, 16, ccml_x16_first, CCML_MASK_LOAD, CCML_MASK_STORE)
#undef CCML_MASK_LOAD
#undef CCML_MASK_STORE

#if defined(__AVX512VNNI__)
CCML_X86_DOT(ccml_i32x16, __m512i, dot4_u8i8, _mm512_dpbusd_epi32)
CCML_X86_DOT(ccml_i32x16, __m512i, dot2_i16i16, _mm512_dpwssd_epi32)
#elif defined(__AVX512BW__)
CCML_GNU_DOT(ccml_i32x16, 16, dot4_u8i8)
CCML_X86_PAIRS(ccml_i32x16, __m512i, _mm512_madd_epi16)
#else
CCML_GNU_DOT(ccml_i32x16, 16, dot4_u8i8)
CCML_GNU_DOT(ccml_i32x16, 16, dot2_i16i16)
#endif
CCML_GNU_DOT(ccml_i32x16, 16, dot4_i8i8)
#if defined(__AVX512BW__)
CCML_X86_APART(ccml_i32x16, __m512i, _mm512_srli_epi16, _mm512_srai_epi16, _mm512_slli_epi16)
#else
CCML_GNU_APART(ccml_i32x16, 16)
#endif

#define CCML_LOWER(x) (ccml_f32x8) _mm512_castps512_ps256(x)
#define CCML_UPPER(x) (ccml_f32x8) _mm512_extractf64x4_pd((__m512d)x, 1)
CCML_GNU_REDUCE_ALL(ccml_f32x16, float, ccml_f32x8)
#undef CCML_LOWER
#undef CCML_UPPER
#define CCML_LOWER(x) (ccml_i32x8) _mm512_castsi512_si256((__m512i)x)
#define CCML_UPPER(x) (ccml_i32x8) _mm512_extracti64x4_epi64((__m512i)x, 1)
CCML_GNU_REDUCE_ALL(ccml_i32x16, int32_t, ccml_i32x8)
#undef CCML_LOWER
#undef CCML_UPPER
#define CCML_LOWER(x) (ccml_u32x8) _mm512_castsi512_si256((__m512i)x)
#define CCML_UPPER(x) (ccml_u32x8) _mm512_extracti64x4_epi64((__m512i)x, 1)
CCML_GNU_REDUCE_ALL(ccml_u32x16, uint32_t, ccml_u32x8)
#undef CCML_LOWER
#undef CCML_UPPER

CCML_GNU_TO_BOOL(ccml_f32x16, ccml_boolx16)
CCML_GNU_TO_BOOL(ccml_i32x16, ccml_boolx16)
CCML_GNU_TO_BOOL(ccml_u32x16, ccml_boolx16)
#define CCML_FROM_BOOL_16(name) \
    static inline ccml_##name##x16 ccml_boolx16_to_##name(ccml_boolx16 x) \
    { \
        return ccml_##name##x16_select(x, ccml_##name##x16_splat(1), ccml_##name##x16_splat(0)); \
    }
CCML_FROM_BOOL_16(f32)
CCML_FROM_BOOL_16(i32)
CCML_FROM_BOOL_16(u32)
#undef CCML_FROM_BOOL_16

#else
CCML_PORTABLE_X32(16)
#define CCML_X16_OF(vector, ...) ((vector){{__VA_ARGS__}})
#endif

#if CCML_X86 && defined(__AVX512F__)
/* The upper words of products. */
static inline ccml_i32x16 ccml_i32x16_mul_high(ccml_i32x16 x, ccml_i32x16 y)
{
    const __m512i even = _mm512_mul_epi32((__m512i)x, (__m512i)y);
    const __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64((__m512i)x, 32), _mm512_srli_epi64((__m512i)y, 32));
    return (ccml_i32x16)_mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
}
#else
CCML_LANES_MUL_HIGH(ccml_i32x16, 16)
#endif

#endif

/* Part of the ccml runtime: the dot products of ccml_dot.h in four lanes, by VNNI, SSE2 or NEON.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DOT_X4_H
#define CCML_DOT_X4_H

#include "ccml_dot.h"
#include "ccml_x4.h"

#if CCML_X86 && defined(__AVX512VNNI__) && defined(__AVX512VL__)
CCML_X86_DOT(ccml_i32x4, __m128i, dot4_u8i8, _mm_dpbusd_epi32)
CCML_X86_DOT(ccml_i32x4, __m128i, dot2_i16i16, _mm_dpwssd_epi32)
#elif CCML_X86 && defined(__AVXVNNI__)
CCML_X86_DOT(ccml_i32x4, __m128i, dot4_u8i8, _mm_dpbusd_avx_epi32)
CCML_X86_DOT(ccml_i32x4, __m128i, dot2_i16i16, _mm_dpwssd_avx_epi32)
#elif CCML_X86
CCML_PORTABLE_DOT(4, dot4_u8i8)
CCML_X86_MADD(ccml_i32x4, __m128i, _mm_madd_epi16)
#else
CCML_PORTABLE_DOT(4, dot4_u8i8)
CCML_PORTABLE_DOT(4, dot2_i16i16)
#endif

#if CCML_NEON && defined(__ARM_FEATURE_DOTPROD)
CCML_GNU3(ccml_i32x4, dot4_i8i8, vdotq_s32((int32x4_t)x, (int8x16_t)y, (int8x16_t)z))
#else
CCML_PORTABLE_DOT(4, dot4_i8i8)
#endif

#endif

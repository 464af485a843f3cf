/* Part of the ccml runtime: the dot products of ccml_dot.h in eight lanes, by VNNI or AVX2.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DOT_X8_H
#define CCML_DOT_X8_H

#include "ccml_dot.h"
#include "ccml_x8.h"

#if CCML_X86 && defined(__AVX512VNNI__) && defined(__AVX512VL__)
CCML_X86_DOT(ccml_i32x8, __m256i, dot4_u8i8, _mm256_dpbusd_epi32)
CCML_X86_DOT(ccml_i32x8, __m256i, dot2_i16i16, _mm256_dpwssd_epi32)
#elif CCML_X86 && defined(__AVXVNNI__)
CCML_X86_DOT(ccml_i32x8, __m256i, dot4_u8i8, _mm256_dpbusd_avx_epi32)
CCML_X86_DOT(ccml_i32x8, __m256i, dot2_i16i16, _mm256_dpwssd_avx_epi32)
#elif CCML_X86 && defined(__AVX2__)
CCML_PORTABLE_DOT(8, dot4_u8i8)
CCML_X86_MADD(ccml_i32x8, __m256i, _mm256_madd_epi16)
#else
CCML_PORTABLE_DOT(8, dot4_u8i8)
CCML_PORTABLE_DOT(8, dot2_i16i16)
#endif

CCML_PORTABLE_DOT(8, dot4_i8i8)

#endif

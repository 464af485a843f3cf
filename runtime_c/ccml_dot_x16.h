/* Part of the ccml runtime: the dot products of ccml_dot.h in sixteen lanes, by VNNI or AVX-512BW.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DOT_X16_H
#define CCML_DOT_X16_H

#include "ccml_dot.h"
#include "ccml_x16.h"

#if CCML_X86 && defined(__AVX512VNNI__)
CCML_X86_DOT(ccml_i32x16, __m512i, dot4_u8i8, _mm512_dpbusd_epi32)
CCML_X86_DOT(ccml_i32x16, __m512i, dot2_i16i16, _mm512_dpwssd_epi32)
#elif CCML_X86 && defined(__AVX512BW__)
CCML_PORTABLE_DOT(16, dot4_u8i8)
CCML_X86_MADD(ccml_i32x16, __m512i, _mm512_madd_epi16)
#else
CCML_PORTABLE_DOT(16, dot4_u8i8)
CCML_PORTABLE_DOT(16, dot2_i16i16)
#endif

CCML_PORTABLE_DOT(16, dot4_i8i8)

#endif

/* Part of the ccml runtime: words of two vectors by number, and vectors of words from elements of any size, by which
   tables are looked up.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_LOOKUP_H
#define CCML_LOOKUP_H

#include "ccml_x16.h"

#if CCML_X86 && defined(__AVX512F__)
static inline ccml_i32x16 ccml_i32x16_pick_words(ccml_i32x16 number, ccml_i32x16 x, ccml_i32x16 y)
{
    return (ccml_i32x16)_mm512_permutex2var_epi32((__m512i)x, (__m512i)number, (__m512i)y);
}

static inline ccml_i32x16 ccml_i32x16_load_bytes(const void *from)
{
    return (ccml_i32x16)_mm512_loadu_si512(from);
}
#else
static inline ccml_i32x16 ccml_i32x16_pick_words(ccml_i32x16 number, ccml_i32x16 x, ccml_i32x16 y)
{
    int32_t words[32];
    int32_t lane[16];
    ccml_i32x16_store(words, x);
    ccml_i32x16_store(words + 16, y);
    ccml_i32x16_store(lane, number);
    for (int i = 0; i < 16; ++i) {
        lane[i] = words[lane[i] & 31];
    }
    return ccml_i32x16_load(lane);
}

static inline ccml_i32x16 ccml_i32x16_load_bytes(const void *from)
{
    int32_t lane[16];
    unsigned char *to = (unsigned char *)lane;
    for (int i = 0; i < 64; ++i) {
        to[i] = ((const unsigned char *)from)[i];
    }
    return ccml_i32x16_load(lane);
}
#endif

#endif

/* Part of the ccml runtime: words of two vectors by number, and vectors of words from elements of any size, by which
   tables are looked up.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_LOOKUP_H
#define CCML_LOOKUP_H

#include "ccml_x16.h"
#include "ccml_x4.h"

/* Byte by byte that of four vectors with this number below 64, else that of otherwise. */
#if CCML_NEON && defined(__aarch64__)
static inline ccml_i32x4 ccml_i32x4_pick_bytes(
    ccml_i32x4 otherwise, ccml_i32x4 number, ccml_i32x4 a, ccml_i32x4 b, ccml_i32x4 c, ccml_i32x4 d)
{
    uint8x16x4_t table;
    table.val[0] = (uint8x16_t)a;
    table.val[1] = (uint8x16_t)b;
    table.val[2] = (uint8x16_t)c;
    table.val[3] = (uint8x16_t)d;
    return (ccml_i32x4)vqtbx4q_u8((uint8x16_t)otherwise, table, (uint8x16_t)number);
}
#else
static inline ccml_i32x4 ccml_i32x4_pick_bytes(
    ccml_i32x4 otherwise, ccml_i32x4 number, ccml_i32x4 a, ccml_i32x4 b, ccml_i32x4 c, ccml_i32x4 d)
{
    int32_t words[16];
    int32_t numbers[4];
    int32_t picked[4];
    ccml_i32x4_store(words, a);
    ccml_i32x4_store(words + 4, b);
    ccml_i32x4_store(words + 8, c);
    ccml_i32x4_store(words + 12, d);
    ccml_i32x4_store(numbers, number);
    ccml_i32x4_store(picked, otherwise);
    for (int i = 0; i < 16; ++i) {
        const uint32_t place = (uint32_t)numbers[i / 4] >> (8 * (i % 4)) & 255u;
        const uint32_t byte = (uint32_t)words[place / 4 % 16] >> (8 * (place % 4)) & 255u;
        const uint32_t kept = (uint32_t)picked[i / 4] & ~(255u << (8 * (i % 4)));
        picked[i / 4] = place < 64 ? (int32_t)(kept | byte << (8 * (i % 4))) : picked[i / 4];
    }
    return ccml_i32x4_load(picked);
}
#endif

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

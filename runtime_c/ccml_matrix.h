/* Part of the ccml runtime: products of small matrices in vectors of four words, and halves of such vectors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_MATRIX_H
#define CCML_MATRIX_H

#include "ccml_x4.h"

#if CCML_NEON && defined(__ARM_FEATURE_MATMUL_INT8)
#define CCML_MATMUL_INT8 1
#else
#define CCML_MATMUL_INT8 0
#endif

/* The first halves of both vectors, and the second ones. */
#if CCML_NEON
static inline ccml_i32x4 ccml_i32x4_lower_halves(ccml_i32x4 x, ccml_i32x4 y)
{
    return (ccml_i32x4)vcombine_s32(vget_low_s32((int32x4_t)x), vget_low_s32((int32x4_t)y));
}
static inline ccml_i32x4 ccml_i32x4_upper_halves(ccml_i32x4 x, ccml_i32x4 y)
{
    return (ccml_i32x4)vcombine_s32(vget_high_s32((int32x4_t)x), vget_high_s32((int32x4_t)y));
}
#else
static inline ccml_i32x4 ccml_halves_of(ccml_i32x4 x, ccml_i32x4 y, int first)
{
    int32_t lane[8];
    int32_t half[4];
    ccml_i32x4_store(lane, x);
    ccml_i32x4_store(lane + 4, y);
    for (int i = 0; i < 4; ++i) {
        half[i] = lane[first + i + 2 * (i / 2)];
    }
    return ccml_i32x4_load(half);
}
static inline ccml_i32x4 ccml_i32x4_lower_halves(ccml_i32x4 x, ccml_i32x4 y)
{
    return ccml_halves_of(x, y, 0);
}
static inline ccml_i32x4 ccml_i32x4_upper_halves(ccml_i32x4 x, ccml_i32x4 y)
{
    return ccml_halves_of(x, y, 2);
}
#endif

/* acc + x . w: two rows of eight bytes by two columns of eight bytes. The sums wrap around. */
#if CCML_MATMUL_INT8
static inline ccml_i32x4 ccml_i32x4_mmla_i8i8(ccml_i32x4 acc, ccml_i32x4 x, ccml_i32x4 w)
{
    return (ccml_i32x4)vmmlaq_s32((int32x4_t)acc, (int8x16_t)x, (int8x16_t)w);
}
#else
static inline int32_t ccml_part_of_word(const int32_t *words, int number)
{
    return (int32_t)(int8_t)((uint32_t)words[number / 4] >> (8 * (number % 4)) & 255u);
}
static inline ccml_i32x4 ccml_i32x4_mmla_i8i8(ccml_i32x4 acc, ccml_i32x4 x, ccml_i32x4 w)
{
    int32_t sums[4];
    int32_t rows[4];
    int32_t columns[4];
    ccml_i32x4_store(sums, acc);
    ccml_i32x4_store(rows, x);
    ccml_i32x4_store(columns, w);
    for (int i = 0; i < 4; ++i) {
        uint32_t sum = (uint32_t)sums[i];
        for (int k = 0; k < 8; ++k) {
            sum += (uint32_t)(ccml_part_of_word(rows, 8 * (i / 2) + k) * ccml_part_of_word(columns, 8 * (i % 2) + k));
        }
        sums[i] = (int32_t)sum;
    }
    return ccml_i32x4_load(sums);
}
#endif

#endif

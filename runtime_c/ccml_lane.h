/* Part of the ccml runtime: multiply-adds of which one factor is a lane of a vector, for all lanes; `number`, a constant,
   says which.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_LANE_H
#define CCML_LANE_H

#include "ccml_x4.h"

/* x[number] * y + z. */
#if CCML_NEON && defined(__aarch64__)
#define ccml_f32x4_fma_lane(x, number, y, z) \
    ((ccml_f32x4)vfmaq_laneq_f32((float32x4_t)(z), (float32x4_t)(y), (float32x4_t)(x), number))
#else
static inline ccml_f32x4 ccml_f32x4_fma_lane(ccml_f32x4 x, int number, ccml_f32x4 y, ccml_f32x4 z)
{
    return ccml_f32x4_fma(ccml_f32x4_splat(ccml_f32x4_lane(x, number)), y, z);
}
#endif

/* acc + the four bytes of x[number] times those of w. */
#if CCML_NEON && defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#define ccml_i32x4_dot4_i8i8_lane(acc, x, number, w) \
    ((ccml_i32x4)vdotq_laneq_s32((int32x4_t)(acc), (int8x16_t)(w), (int8x16_t)(x), number))
#else
static inline ccml_i32x4 ccml_i32x4_dot4_i8i8_lane(ccml_i32x4 acc, ccml_i32x4 x, int number, ccml_i32x4 w)
{
    return ccml_i32x4_dot4_i8i8(acc, ccml_i32x4_splat(ccml_i32x4_lane(x, number)), w);
}
#endif

#endif

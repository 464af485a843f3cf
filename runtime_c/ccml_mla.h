/* Part of the ccml runtime: products of halfwords added to words, which wrap around.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_MLA_H
#define CCML_MLA_H

#include "ccml_narrow4.h"
#include "ccml_narrow8.h"

/* acc + x * w. */
#if CCML_NEON
static inline ccml_i32x4 ccml_i32x4_mla_i16i16(ccml_i32x4 acc, ccml_i16x4 x, ccml_i16x4 w)
{
    return (ccml_i32x4)vmlal_s16((int32x4_t)acc, (int16x4_t)x, (int16x4_t)w);
}
#else
static inline ccml_i32x4 ccml_i32x4_mla_i16i16(ccml_i32x4 acc, ccml_i16x4 x, ccml_i16x4 w)
{
    return ccml_i32x4_add(acc, ccml_i32x4_mul(ccml_i16x4_to_i32(x), ccml_i16x4_to_i32(w)));
}
#endif

#if CCML_NEON && defined(__aarch64__)
static inline ccml_i32x8 ccml_i32x8_mla_i16i16(ccml_i32x8 acc, ccml_i16x8 x, ccml_i16x8 w)
{
    const ccml_i32x8 result = {
        (ccml_i32x4)vmlal_s16((int32x4_t)acc.low, vget_low_s16((int16x8_t)x), vget_low_s16((int16x8_t)w)),
        (ccml_i32x4)vmlal_high_s16((int32x4_t)acc.high, (int16x8_t)x, (int16x8_t)w)};
    return result;
}
#elif CCML_NEON
static inline ccml_i32x8 ccml_i32x8_mla_i16i16(ccml_i32x8 acc, ccml_i16x8 x, ccml_i16x8 w)
{
    const ccml_i32x8 result = {
        (ccml_i32x4)vmlal_s16((int32x4_t)acc.low, vget_low_s16((int16x8_t)x), vget_low_s16((int16x8_t)w)),
        (ccml_i32x4)vmlal_s16((int32x4_t)acc.high, vget_high_s16((int16x8_t)x), vget_high_s16((int16x8_t)w))};
    return result;
}
#else
static inline ccml_i32x8 ccml_i32x8_mla_i16i16(ccml_i32x8 acc, ccml_i16x8 x, ccml_i16x8 w)
{
    return ccml_i32x8_add(acc, ccml_i32x8_mul(ccml_i16x8_to_i32(x), ccml_i16x8_to_i32(w)));
}
#endif

/* acc + x[number] * w, where `number` is a constant: the factor is one lane of eight for all. */
#if CCML_NEON && defined(__aarch64__)
#define ccml_i32x4_mla_i16i16_lane(acc, x, number, w) \
    ((ccml_i32x4)vmlal_laneq_s16((int32x4_t)(acc), (int16x4_t)(w), (int16x8_t)(x), number))
#define ccml_i32x8_mla_i16i16_lane(acc, x, number, w) \
    ((ccml_i32x8){ \
        (ccml_i32x4)vmlal_laneq_s16((int32x4_t)(acc).low, vget_low_s16((int16x8_t)(w)), (int16x8_t)(x), number), \
        (ccml_i32x4)vmlal_high_laneq_s16((int32x4_t)(acc).high, (int16x8_t)(w), (int16x8_t)(x), number)})
#else
static inline ccml_i32x4 ccml_i32x4_mla_i16i16_lane(ccml_i32x4 acc, ccml_i16x8 x, int number, ccml_i16x4 w)
{
    return ccml_i32x4_mla_i16i16(acc, ccml_i16x4_splat(ccml_i16x8_lane(x, number)), w);
}
static inline ccml_i32x8 ccml_i32x8_mla_i16i16_lane(ccml_i32x8 acc, ccml_i16x8 x, int number, ccml_i16x8 w)
{
    return ccml_i32x8_mla_i16i16(acc, ccml_i16x8_splat(ccml_i16x8_lane(x, number)), w);
}
#endif

#endif

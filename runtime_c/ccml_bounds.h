/* Part of the ccml runtime: the greater and the less of floats, NaN where one is.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_BOUNDS_H
#define CCML_BOUNDS_H

#include "ccml_x4.h"

/* GCC would keep the vector of a bound in a register all the time, which loops around lack then. */
#if CCML_NEON && defined(__aarch64__) && defined(__clang__)
static inline ccml_f32x4 ccml_f32x4_maximum(ccml_f32x4 x, ccml_f32x4 y)
{
    return (ccml_f32x4)vmaxq_f32((float32x4_t)x, (float32x4_t)y);
}
static inline ccml_f32x4 ccml_f32x4_minimum(ccml_f32x4 x, ccml_f32x4 y)
{
    return (ccml_f32x4)vminq_f32((float32x4_t)x, (float32x4_t)y);
}
#else
static inline ccml_f32x4 ccml_f32x4_maximum(ccml_f32x4 x, ccml_f32x4 y)
{
    return ccml_f32x4_select(ccml_f32x4_eq(x, x), ccml_f32x4_max(x, y), x);
}
static inline ccml_f32x4 ccml_f32x4_minimum(ccml_f32x4 x, ccml_f32x4 y)
{
    return ccml_f32x4_select(ccml_f32x4_eq(x, x), ccml_f32x4_min(x, y), x);
}
#endif

#endif

/* Part of the ccml runtime: accumulators [channel, lanes] as bytes of pixels that are `step` apart.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_REQUANTIZE_I8_H
#define CCML_REQUANTIZE_I8_H

#include "ccml_scale.h"
#include "ccml_thumb.h"

static inline int8_t ccml_i32_to_byte(int32_t value)
{
    return (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
}

CCML_OUT_OF_LINE void ccml_requantize_i8(
    const int32_t *a, const int32_t *s, int8_t *y, int32_t channels, int32_t pixels, int32_t lanes, int32_t step,
    int32_t zero_point)
{
    for (int32_t c = 0; c < channels; ++c) {
        const int32_t factor = s[0];
        const int32_t shift = s[1];
        if (shift > 0) {
            const int32_t half = (int32_t)(1u << (shift - 1));
            for (int32_t p = 0; p < pixels; ++p) {
                const int32_t steps = (ccml_i32_mul_high(a[p], factor) + half) >> shift;
                y[step * p] = ccml_i32_to_byte(zero_point + steps);
            }
        } else {
            for (int32_t p = 0; p < pixels; ++p) {
                y[step * p] = ccml_i32_to_byte(zero_point + ccml_i32_scale_float(a[p], factor, shift));
            }
        }
        a += lanes;
        s += 2;
        ++y;
    }
}

#endif

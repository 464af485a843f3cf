/* Part of the ccml runtime: accumulators [channel, lanes] times scales as bytes of pixels that are `step` apart.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_REQUANTIZE_I8_H
#define CCML_REQUANTIZE_I8_H

#include "ccml_requantize_fixed.h"

#if CCML_ARM_V6M || CCML_ARM_V7M
#define CCML_BLOCK_REQUANTIZE_I8 1
static inline int8_t ccml_i32_to_byte(int32_t value)
{
    return (int8_t)(value < -128 ? -128 : value > 127 ? 127 : value);
}

/* Channels with multipliers together, by assembly, the others one by one. */
CCML_OUT_OF_LINE void ccml_requantize_i8(
    const int32_t *a, const int32_t *s, int8_t *y, int32_t channels, int32_t pixels, int32_t lanes, int32_t step,
    int32_t zero_point)
{
    for (int32_t c = 0, next; c < channels; c = next) {
        next = c;
        while (next < channels && s[2 * next + 1] > 0) {
            ++next;
        }
        if (next > c) {
            ccml_requantize_fixed(&a[c * lanes], &s[2 * c], &y[c], next - c, pixels, lanes, step, zero_point);
            continue;
        }
        ++next;
        for (int32_t p = 0; p < pixels; ++p) {
            const int32_t steps = ccml_i32_scale_float(a[c * lanes + p], s[2 * c], s[2 * c + 1]);
            y[step * p + c] = ccml_i32_to_byte(zero_point + steps);
        }
    }
}
#endif

#endif

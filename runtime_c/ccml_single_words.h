/* Part of the ccml runtime: one pixel in words by all channels, whose weights are bytes plus 128, four side by side.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_SINGLE_WORDS_H
#define CCML_SINGLE_WORDS_H

#include "ccml_thumb.h"

static inline void ccml_single_words(
    const int32_t *b, const uint8_t *w, const int32_t *x, int32_t *y, int32_t steps, int32_t channels)
{
    for (int32_t first = 0; first < channels; first += 4) {
        int32_t acc0 = b[first] + x[0];
        int32_t acc1 = b[first + 1] + x[0];
        int32_t acc2 = b[first + 2] + x[0];
        int32_t acc3 = b[first + 3] + x[0];
        for (int32_t k = 1; k <= steps; ++k) {
            acc0 += x[k] * w[0];
            acc1 += x[k] * w[1];
            acc2 += x[k] * w[2];
            acc3 += x[k] * w[3];
            w += 4;
        }
        y[first] = acc0;
        y[first + 1] = acc1;
        y[first + 2] = acc2;
        y[first + 3] = acc3;
    }
}

#endif

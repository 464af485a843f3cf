/* Part of the ccml runtime: the same activation for one row of staged pairs of a depthwise 3x3 convolution of stride 2.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_FILL_STRIDE2_H
#define CCML_DEPTHWISE_FILL_STRIDE2_H

#include "ccml_widen.h"

static inline void ccml_depthwise_fill_stride2(int32_t *y, int32_t pairs, int32_t row, int32_t value)
{
    const uint32_t kept = row == 0 ? 0xFFFF0000u : row == 1 ? 0xFFFFu : 0;
    const uint32_t filled = (uint32_t)ccml_halfwords((uint32_t)value, (uint32_t)value) & ~kept;
    for (int32_t pair = 0; pair < pairs; ++pair) {
        for (int32_t i = row == 2 ? 8 : 0; i < (row == 2 ? 12 : 8); ++i) {
            y[12 * pair + i] = (int32_t)(((uint32_t)y[12 * pair + i] & kept) | filled);
        }
    }
}

#endif

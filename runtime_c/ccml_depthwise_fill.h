/* Part of the ccml runtime: the same activation for one row of staged columns of a depthwise convolution.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_FILL_H
#define CCML_DEPTHWISE_FILL_H

#include "ccml_base.h"

static inline void ccml_depthwise_fill(int32_t *y, int32_t columns, int32_t half, int32_t value)
{
    const uint32_t shift = 16u * (uint32_t)half;
    for (int32_t i = 0; i < 4 * columns; ++i) {
        y[2 * i] = (int32_t)(((uint32_t)y[2 * i] & ~(65535u << shift)) | ((uint32_t)value & 65535u) << shift);
    }
}

#endif

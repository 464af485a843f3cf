/* Part of the ccml runtime: the same activation for groups of four k of one of four pixels, for packed weights.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_QUAD_FILL_H
#define CCML_QUAD_FILL_H

#include "ccml_base.h"

static inline void ccml_quad_fill(int32_t *y, int32_t groups, int32_t value)
{
    const int32_t odd = (int32_t)(((uint32_t)(value - 127) & 65535u) * 65537u);
    const int32_t even = (int32_t)(((uint32_t)(255 * value + 127) & 65535u) * 65537u);
    for (int32_t g = 0; g < groups; ++g) {
        y[8 * g] = odd;
        y[8 * g + 4] = even;
    }
}

#endif

/* Part of the ccml runtime: the same activation for groups of four k of one of two pixels.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_STAGE_FILL_H
#define CCML_STAGE_FILL_H

#include "ccml_base.h"

static inline void ccml_stage_fill(int32_t *y, int32_t groups, int32_t value)
{
    const int32_t both = (int32_t)(((uint32_t)value & 65535u) | (uint32_t)value << 16);
    for (int32_t g = 0; g < groups; ++g) {
        y[4 * g] = both;
        y[4 * g + 1] = both;
    }
}

#endif

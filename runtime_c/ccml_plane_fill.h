/* Part of the ccml runtime: words of one value.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_PLANE_FILL_H
#define CCML_PLANE_FILL_H

#include "ccml_base.h"

static inline void ccml_plane_fill(int32_t *y, int32_t columns, int32_t value)
{
    for (int32_t i = 0; i < columns; ++i) {
        y[i] = value;
    }
}

#endif

/* Part of the ccml runtime: index arithmetic that C has no operator for.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_INDEX_H
#define CCML_INDEX_H

#include "ccml_base.h"

static inline ptrdiff_t ccml_index_min(ptrdiff_t x, ptrdiff_t y)
{
    return x < y ? x : y;
}

static inline ptrdiff_t ccml_index_max(ptrdiff_t x, ptrdiff_t y)
{
    return x > y ? x : y;
}

static inline ptrdiff_t ccml_index_abs(ptrdiff_t x)
{
    return x < 0 ? -x : x;
}

/* x / y rounded toward minus infinity. */
static inline ptrdiff_t ccml_index_floordiv(ptrdiff_t x, ptrdiff_t y)
{
    return x / y - (x % y != 0 && (x % y < 0) != (y < 0));
}

/* The remainder that goes with ccml_index_floordiv: 0, or of the sign of y. */
static inline ptrdiff_t ccml_index_floormod(ptrdiff_t x, ptrdiff_t y)
{
    return x % y + (x % y != 0 && (x % y < 0) != (y < 0) ? y : 0);
}

#endif

/* Part of the ccml runtime: pixels of few channels by all channels of the output; two words each.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_POINTWISE_8_H
#define CCML_POINTWISE_8_H

#include "ccml_pointwise.h"

#if CCML_ARM_DSP
#define CCML_BLOCK_POINTWISE_8 1
CCML_NAKED ccml_pointwise_8(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t results CCML_UNUSED,
    int32_t step_x CCML_UNUSED, int32_t step_y CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    CCML_POINTWISE_SINGLE(CCML_POINTWISE_8, "2");
}
#endif

#endif

/* Part of the ccml runtime: ccml_winograd_fixed for a shift of 6.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_WINOGRAD_FIXED6_H
#define CCML_WINOGRAD_FIXED6_H

#include "ccml_winograd.h"

#if CCML_ARM_DSP

#define CCML_BLOCK_WINOGRAD_FIXED6 1
CCML_NAKED ccml_winograd_fixed6(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *m CCML_UNUSED, int8_t *y0 CCML_UNUSED,
    int8_t *y1 CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t step CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    CCML_WINOGRAD(CCML_WINOGRAD_SIXTEEN, CCML_WINOGRAD_FIXED6_SETUP, CCML_WINOGRAD_FIXED6_BYTES);
}
#endif

#endif

/* Part of the ccml runtime: depthwise convolution, two rows of the output at a time, requantized by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_ROWS_FIXED_H
#define CCML_HELIUM_DEPTHWISE_ROWS_FIXED_H

#include "ccml_helium_depthwise_rows.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_DEPTHWISE_ROWS_FIXED 1
CCML_NAKED ccml_helium_depthwise_rows_fixed(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int32_t pixels CCML_UNUSED, int32_t pixel_step CCML_UNUSED, int32_t tap_step CCML_UNUSED,
    int32_t taps CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    CCML_HELIUM_DEPTHWISE(
        CCML_HELIUM_ROWS_SETUP, "128", "132", CCML_HELIUM_ROWS_BEGIN, CCML_HELIUM_ROWS_CHANNEL,
        CCML_HELIUM_DEPTHWISE_FIXED, CCML_HELIUM_ROWS_BEHIND);
}
#endif

#endif

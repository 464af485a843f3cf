/* Part of the ccml runtime: depthwise convolution, pixels of a row, requantized by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_PIXELS_FIXED_H
#define CCML_HELIUM_DEPTHWISE_PIXELS_FIXED_H

#include "ccml_helium_depthwise_columns.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_DEPTHWISE_PIXELS_FIXED 1
CCML_NAKED ccml_helium_depthwise_pixels_fixed(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t tap_step CCML_UNUSED, int32_t taps CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    CCML_HELIUM_DEPTHWISE_COLUMNS(
        CCML_HELIUM_COLUMNS_TAPS("0"), CCML_HELIUM_COLUMNS_TAPS("4"), CCML_HELIUM_COLUMNS_TAPS("8"),
        CCML_HELIUM_COLUMNS_TAPS("12"), "16");
}
#endif

#endif

/* Part of the ccml runtime: depthwise convolution, two pixels of a row at a time, requantized by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_PIXELS_FIXED_H
#define CCML_HELIUM_DEPTHWISE_PIXELS_FIXED_H

#include "ccml_helium_depthwise_pixels.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_DEPTHWISE_PIXELS_FIXED 1
CCML_NAKED ccml_helium_depthwise_pixels_fixed(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t tap_step CCML_UNUSED, int32_t taps CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    CCML_HELIUM_DEPTHWISE(
        CCML_HELIUM_PAIRS_SETUP, "124", "128", CCML_HELIUM_PAIRS_BEGIN, CCML_HELIUM_PAIRS_CHANNEL,
        CCML_HELIUM_DEPTHWISE_FIXED, CCML_HELIUM_PAIRS_BEHIND);
}
#endif

#endif

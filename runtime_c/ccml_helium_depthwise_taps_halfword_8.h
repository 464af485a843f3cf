/* Part of the ccml runtime: depthwise convolution with up to three taps, in halfwords shifted by 8 bits.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_TAPS_HALFWORD_8_H
#define CCML_HELIUM_DEPTHWISE_TAPS_HALFWORD_8_H

#include "ccml_helium_depthwise_taps_halfword.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_DEPTHWISE_TAPS_HALFWORD_8 1
CCML_NAKED ccml_helium_depthwise_taps_halfword_8(
    const int32_t *w CCML_UNUSED, const int8_t *x0 CCML_UNUSED, const int8_t *x1 CCML_UNUSED,
    const int8_t *x2 CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t pixels CCML_UNUSED, int32_t pixel_step CCML_UNUSED,
    int32_t channels CCML_UNUSED)
{
    CCML_HELIUM_DEPTHWISE_TAPS_HALFWORD("8");
}
#endif

#endif

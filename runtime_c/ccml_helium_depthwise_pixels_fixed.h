/* Part of the ccml runtime: depthwise convolution, pixels of a row, requantized by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_PIXELS_FIXED_H
#define CCML_HELIUM_DEPTHWISE_PIXELS_FIXED_H

#include "ccml_helium_depthwise_columns.h"

#if CCML_HELIUM
#define CCML_HELIUM_COLUMNS_LOOP \
    CCML_HELIUM_COLUMNS_TAPS("0") CCML_HELIUM_COLUMNS_MOVE0 CCML_HELIUM_COLUMNS_MOVE1 CCML_HELIUM_COLUMNS_BIASES \
    CCML_HELIUM_DOT("r0", "q0", "q4") CCML_HELIUM_COLUMNS_TAPS("4") CCML_HELIUM_COLUMNS_SCALE \
    CCML_HELIUM_DOT("r2", "q0", "q5") CCML_HELIUM_COLUMNS_TAPS("8") "vqmovnb.s32 q1, q1\n" \
    CCML_HELIUM_DOT("r4", "q0", "q6") "vqmovnb.s16 q1, q1\n" CCML_HELIUM_COLUMNS_TAPS("12") CCML_HELIUM_COLUMNS_NEXT \
    CCML_HELIUM_DOT("r6", "q0", "q7") CCML_HELIUM_COLUMNS_STORE "add r7, r7, r8\n"
#define CCML_BLOCK_HELIUM_DEPTHWISE_PIXELS_FIXED 1
CCML_NAKED ccml_helium_depthwise_pixels_fixed(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t tap_step CCML_UNUSED, int32_t taps CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    CCML_HELIUM_DEPTHWISE_COLUMNS(
        CCML_HELIUM_COLUMNS_TAPS("0"), CCML_HELIUM_COLUMNS_TAPS("4"), CCML_HELIUM_COLUMNS_TAPS("8"),
        CCML_HELIUM_COLUMNS_TAPS("12"), CCML_HELIUM_COLUMNS_LOOP, "4");
}
#endif

#endif

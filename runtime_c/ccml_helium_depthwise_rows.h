/* Part of the ccml runtime: depthwise convolution, two rows of the output at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_ROWS_H
#define CCML_HELIUM_DEPTHWISE_ROWS_H

#include "ccml_helium_depthwise.h"

#if CCML_HELIUM
#define CCML_HELIUM_ROWS_SETUP \
    "mov r1, r3\n" \
    "ldr r4, [sp, #120]\n" \
    "ldr r3, [sp, #140]\n"

#define CCML_HELIUM_ROWS_BEGIN \
    "ldr r11, [sp, #124]\n" \
    "lsl r11, r11, #2\n" \
    "vadd.i32 q0, q3, r11\n" \
    "ldr r11, [sp, #136]\n" \
    "vstrw.32 q0, [sp]\n"

/* What the second output takes is one byte further up. */
#define CCML_HELIUM_ROWS_CHANNEL(at, sum0, sum1, w, early, load) \
    "vldrw.u32 q6, [q3, " at "\n" \
    early \
    CCML_HELIUM_DOT(sum0, "q6", w) \
    "vshr.u32 q7, q6, #8\n" \
    load \
    CCML_HELIUM_DOT(sum1, "q7", w)

#define CCML_HELIUM_ROWS_BEHIND \
    "add r7, r7, r11\n" \
    "add r1, r1, r11\n" \
    "ldr r11, [sp, #16]\n" \
    "subs r11, r11, #1\n" \
    "str r11, [sp, #16]\n"

#define CCML_BLOCK_HELIUM_DEPTHWISE_ROWS 1
CCML_NAKED ccml_helium_depthwise_rows(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int32_t pixels CCML_UNUSED, int32_t pixel_step CCML_UNUSED, int32_t tap_step CCML_UNUSED,
    int32_t taps CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED,
    int32_t lo CCML_UNUSED)
{
    CCML_HELIUM_DEPTHWISE(
        CCML_HELIUM_ROWS_SETUP, "128", "132", CCML_HELIUM_ROWS_BEGIN,
        CCML_HELIUM_DEPTHWISE_TILE(CCML_HELIUM_ROWS_CHANNEL, CCML_HELIUM_DEPTHWISE_SCALED("144")),
        CCML_HELIUM_ROWS_BEHIND);
}
#endif

#endif

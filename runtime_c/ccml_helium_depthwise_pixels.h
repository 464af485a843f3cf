/* Part of the ccml runtime: depthwise convolution, two pixels of a row at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_PIXELS_H
#define CCML_HELIUM_DEPTHWISE_PIXELS_H

#include "ccml_helium_depthwise.h"

#if CCML_HELIUM
#define CCML_HELIUM_PAIRS_SETUP \
    "mov r4, r3\n" \
    "ldr r3, [sp, #136]\n"

/* The taps of the second output are in q7; where there is none, it is the first again. */
#define CCML_HELIUM_PAIRS_BEGIN \
    "ldr r1, [sp, #120]\n" \
    "lsl r1, r1, #2\n" \
    "vadd.i32 q0, q3, r1\n" \
    "vadd.i32 q0, q0, r1\n" \
    "vstrw.32 q0, [sp]\n" \
    "ldr r11, [sp, #16]\n" \
    "cmp r11, #1\n" \
    "ldr r11, [sp, #132]\n" \
    "ite eq\n" \
    "moveq r1, #0\n" \
    "addne r11, r7, r11\n" \
    "vadd.i32 q7, q3, r1\n" \
    "csel r1, r7, r11, eq\n" \
    "ldr r11, [sp, #132]\n"

#define CCML_HELIUM_PAIRS_CHANNEL(at, sum0, sum1, w, early, load) \
    "vldrw.u32 q6, [q3, " at "\n" \
    early \
    CCML_HELIUM_DOT(sum0, "q6", w) \
    "vldrw.u32 q6, [q7, " at "\n" \
    CCML_HELIUM_DOT(sum1, "q6", w) \
    load

#define CCML_HELIUM_PAIRS_BEHIND \
    "add r7, r1, r11\n" \
    "ldr r1, [sp, #16]\n" \
    "subs r1, r1, #2\n" \
    "str r1, [sp, #16]\n"

#define CCML_BLOCK_HELIUM_DEPTHWISE_PIXELS 1
CCML_NAKED ccml_helium_depthwise_pixels(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t tap_step CCML_UNUSED, int32_t taps CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED, int32_t lo CCML_UNUSED)
{
    CCML_HELIUM_DEPTHWISE(
        CCML_HELIUM_PAIRS_SETUP, "124", "128", CCML_HELIUM_PAIRS_BEGIN,
        CCML_HELIUM_DEPTHWISE_TILE(CCML_HELIUM_PAIRS_CHANNEL, CCML_HELIUM_DEPTHWISE_SCALED("140")),
        CCML_HELIUM_PAIRS_BEHIND);
}
#endif

#endif

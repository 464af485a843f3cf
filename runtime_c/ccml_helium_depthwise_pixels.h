/* Part of the ccml runtime: depthwise convolution, two pixels of a row at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_PIXELS_H
#define CCML_HELIUM_DEPTHWISE_PIXELS_H

#include "ccml_helium_depthwise.h"

#if CCML_HELIUM
#define CCML_HELIUM_PAIRS_SETUP \
    "mov r4, r3\n" \
    "ldr r5, [sp, #116]\n"

#define CCML_HELIUM_PAIRS_BEGIN \
    "ldrd r1, r6, [sp]\n" \
    "ldr r4, [sp, #12]\n" \
    "ldr r9, [sp, #128]\n" \
    "cmp r6, #1\n" \
    "itt eq\n" \
    "moveq r4, #0\n" \
    "moveq r9, #0\n" \
    "add r3, r1, r4\n"

#define CCML_HELIUM_PAIRS_CHANNEL(offsets, sum0, sum1) \
    "vldrw.u32 q0, [r1, " offsets "]\n" \
    CCML_HELIUM_LOAD("q1", "r5") \
    CCML_HELIUM_DOT(sum0, "q0", "q1") \
    "vldrw.u32 q2, [r3, " offsets "]\n" \
    CCML_HELIUM_DOT(sum1, "q2", "q1")

#define CCML_HELIUM_PAIRS_MOVE \
    "add r1, r1, #16\n" \
    "add r3, r3, #16\n"

#define CCML_HELIUM_PAIRS_BEHIND \
    "ldr r4, [sp, #128]\n" \
    "add r7, r7, r4\n" \
    "ldrd r1, r6, [sp]\n" \
    "ldr r4, [sp, #12]\n" \
    "add r1, r1, r4, lsl #1\n" \
    "subs r6, r6, #2\n" \
    "strd r1, r6, [sp]\n"

#define CCML_BLOCK_HELIUM_DEPTHWISE_PIXELS 1
CCML_NAKED ccml_helium_depthwise_pixels(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t pixels CCML_UNUSED,
    int32_t pixel_step CCML_UNUSED, int32_t tap_step CCML_UNUSED, int32_t taps CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED, int32_t lo CCML_UNUSED)
{
    CCML_HELIUM_DEPTHWISE(
        CCML_HELIUM_PAIRS_SETUP, "120", "124", "128", CCML_HELIUM_LEAST("136"), CCML_HELIUM_PAIRS_BEGIN, CCML_HELIUM_PAIRS_CHANNEL,
        CCML_HELIUM_PAIRS_MOVE, "ldr r2, [sp, #132]\n", CCML_HELIUM_REQUANTIZE, "r2", CCML_HELIUM_PAIRS_BEHIND);
}
#endif

#endif

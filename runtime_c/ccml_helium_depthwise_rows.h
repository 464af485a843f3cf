/* Part of the ccml runtime: depthwise convolution, two rows of the output at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_ROWS_H
#define CCML_HELIUM_DEPTHWISE_ROWS_H

#include "ccml_helium_depthwise.h"

#if CCML_HELIUM
#define CCML_HELIUM_ROWS_SETUP \
    "sub r9, r3, r2\n" \
    "ldrd r4, r5, [sp, #116]\n" \
    "ldr r3, [sp, #136]\n"

#define CCML_HELIUM_ROWS_CHANNEL(offsets, sum0, sum1) \
    "vldrw.u32 q0, [r1, " offsets "]\n" \
    CCML_HELIUM_LOAD("q1", "r5") \
    CCML_HELIUM_DOT(sum0, "q0", "q1") \
    "vshl.i32 q1, q1, #8\n" \
    CCML_HELIUM_DOT(sum1, "q0", "q1")

#define CCML_HELIUM_ROWS_BEHIND \
    "ldrd r1, r6, [sp]\n" \
    "ldr r4, [sp, #12]\n" \
    "add r1, r1, r4\n" \
    "subs r6, r6, #1\n" \
    "strd r1, r6, [sp]\n"

#define CCML_BLOCK_HELIUM_DEPTHWISE_ROWS 1
CCML_NAKED ccml_helium_depthwise_rows(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int32_t pixels CCML_UNUSED, int32_t pixel_step CCML_UNUSED, int32_t tap_step CCML_UNUSED,
    int32_t taps CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED,
    int32_t lo CCML_UNUSED)
{
    CCML_HELIUM_DEPTHWISE(
        CCML_HELIUM_ROWS_SETUP, "124", "128", "132", CCML_HELIUM_LEAST("140"), "", CCML_HELIUM_ROWS_CHANNEL, "add r1, r1, #16\n", "",
        CCML_HELIUM_REQUANTIZE, "r3", CCML_HELIUM_ROWS_BEHIND);
}
#endif

#endif

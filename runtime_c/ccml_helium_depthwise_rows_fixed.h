/* Part of the ccml runtime: depthwise convolution, two rows of the output at a time, requantized by factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_ROWS_FIXED_H
#define CCML_HELIUM_DEPTHWISE_ROWS_FIXED_H

#include "ccml_helium_depthwise_rows.h"

#if CCML_HELIUM
/* The channels and the results in an order in which units are seldom waited for. */
#define CCML_HELIUM_ROWS_TAPS(at) "vldrw.u32 q6, [q3, " at "\n"
#define CCML_HELIUM_ROWS_BELOW "vshr.u32 q7, q6, #8\n"
#define CCML_HELIUM_ROWS_TILE_FIXED \
    CCML_HELIUM_ROWS_TAPS("#16]!") \
    "vctp.32 r11\n" \
    "subs r11, r11, #4\n" \
    CCML_HELIUM_DOT("r0", "q6", "q4") \
    "vldrw.u32 q2, [r5, #48]\n" CCML_HELIUM_ROWS_BELOW CCML_HELIUM_ROWS_TAPS("#8]") \
    CCML_HELIUM_DOT("r8", "q7", "q4") CCML_HELIUM_ROWS_BELOW \
    CCML_HELIUM_DOT("r4", "q6", "q5") \
    "vldrb.u8 q4, [r5], #32\n" \
    "vmov q0[2], q0[0], r0, r4\n" CCML_HELIUM_ROWS_TAPS("#4]") \
    CCML_HELIUM_DOT("r12", "q7", "q5") CCML_HELIUM_ROWS_BELOW \
    CCML_HELIUM_DOT("r10", "q7", "q4") \
    "vldrb.u8 q5, [r5], #32\n" \
    CCML_HELIUM_DOT("r2", "q6", "q4") CCML_HELIUM_ROWS_TAPS("#12]") \
    "vmov q1[2], q1[0], r8, r12\n" \
    CCML_HELIUM_DOT("r6", "q6", "q5") \
    "csel r5, r9, r5, le\n" \
    "vmov q0[3], q0[1], r2, r6\n" \
    "vqrdmlash.s32 q0, q2, r3\n" CCML_HELIUM_ROWS_BELOW \
    CCML_HELIUM_DOT("lr", "q7", "q5") \
    "vqmovnb.s32 q0, q0\n" CCML_HELIUM_DEPTHWISE_AHEAD0 \
    "vmov q1[3], q1[1], r10, lr\n" \
    "vqrdmlash.s32 q1, q2, r3\n" CCML_HELIUM_DEPTHWISE_AHEAD1 \
    "vqmovnt.s32 q0, q1\n" CCML_HELIUM_DEPTHWISE_AHEAD2 \
    "vqmovnb.s16 q0, q0\n" CCML_HELIUM_DEPTHWISE_AHEAD3
#define CCML_BLOCK_HELIUM_DEPTHWISE_ROWS_FIXED 1
CCML_NAKED ccml_helium_depthwise_rows_fixed(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int32_t pixels CCML_UNUSED, int32_t pixel_step CCML_UNUSED, int32_t tap_step CCML_UNUSED,
    int32_t taps CCML_UNUSED, int32_t channels CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    CCML_HELIUM_DEPTHWISE(
        CCML_HELIUM_ROWS_SETUP, "128", "132", CCML_HELIUM_ROWS_BEGIN, CCML_HELIUM_ROWS_TILE_FIXED,
        CCML_HELIUM_ROWS_BEHIND);
}
#endif

#endif

/* Part of the ccml runtime: four staged pixels by all channels, requantized to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_QUAD_I8_H
#define CCML_QUAD_I8_H

#include "ccml_quad.h"

#if CCML_ARM_DSP

/* The zero point + 128 twice at sp + 32; 1.5 * 2^23 in s10. */
#define CCML_QUAD_SETUP \
    "ldr r6, [sp, #100]\n" \
    "movw r7, #0\n" \
    "movt r7, #0x4b40\n" \
    "vmov s10, r7\n" \
    "add r6, r6, #128\n" \
    "pkhbt r6, r6, r6, lsl #16\n" \
    "str r6, [sp, #32]\n"

/* Two channels in a and b of each of two pixels to *y0++ and *y1++; r1 has the zero point + 128 twice. */
#define CCML_QUAD_BYTES(a0, a1, b0, b1, y0, y1) \
    "pkhbt " a0 ", " a0 ", " a1 ", lsl #16\n" \
    "pkhbt " b0 ", " b0 ", " b1 ", lsl #16\n" \
    "qadd16 " a0 ", " a0 ", r1\n" \
    "qadd16 " b0 ", " b0 ", r1\n" \
    CCML_QUAD_STORE_BYTES(a0, b0, y0, y1)

#define CCML_QUAD_FINISH \
    "vldm r0!, {s8-s9}\n" \
    "vmov s0, s1, r2, r3\n" \
    "vmov s2, s3, r4, r5\n" \
    "vmov s4, s5, r6, r7\n" \
    "vmov s6, s7, r8, r9\n" \
    CCML_QUAD_SCALE("s0", "s8") \
    CCML_QUAD_SCALE("s1", "s8") \
    CCML_QUAD_SCALE("s2", "s8") \
    CCML_QUAD_SCALE("s3", "s8") \
    CCML_QUAD_SCALE("s4", "s9") \
    CCML_QUAD_SCALE("s5", "s9") \
    CCML_QUAD_SCALE("s6", "s9") \
    CCML_QUAD_SCALE("s7", "s9") \
    "ldr r1, [sp, #32]\n" \
    "ldm sp, {r10, r11, r12, lr}\n" \
    "vmov r2, r3, s0, s1\n" \
    "vmov r4, r5, s2, s3\n" \
    "vmov r6, r7, s4, s5\n" \
    "vmov r8, r9, s6, s7\n" \
    CCML_QUAD_BYTES("r2", "r3", "r6", "r7", "r10", "r11") \
    CCML_QUAD_BYTES("r4", "r5", "r8", "r9", "r12", "lr") \
    "stm sp, {r10, r11, r12, lr}\n"

CCML_NAKED ccml_quad_i8(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int8_t *y2 CCML_UNUSED, int8_t *y3 CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    CCML_QUAD(0, CCML_QUAD_SETUP, CCML_QUAD_FINISH);
}
#else
static inline void ccml_quad_i8(
    const int32_t *w, const int32_t *x, int8_t *y0, int8_t *y1, int8_t *y2, int8_t *y3, int32_t groups,
    int32_t channels, int32_t zero_point)
{
    ccml_lone_bytes(w, x, y0, groups, channels, zero_point);
    ccml_lone_bytes(w, x + 1, y1, groups, channels, zero_point);
    ccml_lone_bytes(w, x + 2, y2, groups, channels, zero_point);
    ccml_lone_bytes(w, x + 3, y3, groups, channels, zero_point);
}
#endif

#endif

/* Part of the ccml runtime: four groups of activations, of pixels that lie `step` bytes apart, for packed weights.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_IM2COL_X4_H
#define CCML_IM2COL_X4_H

#include "ccml_im2col_x4_pixel.h"

#if CCML_ARM_DSP
/* The activations in x to the words at y and y + 16 bytes. */
#define CCML_IM2COL_X4_STORE(x, at, at_even) \
    "eor " x ", " x ", #0x800080\n" \
    "uxtb16 r12, " x ", ror #16\n" \
    "str " x ", [r1, #" at_even "]\n" \
    "str r12, [r1" at "\n"

#define CCML_IM2COL_X4_GROUP \
    "ldr r6, [r0], #4\n" \
    "ldr r7, [r3], #4\n" \
    "ldr r8, [r4], #4\n" \
    "ldr r9, [r5], #4\n" \
    CCML_IM2COL_X4_STORE("r7", ", #4]", "20") \
    CCML_IM2COL_X4_STORE("r8", ", #8]", "24") \
    CCML_IM2COL_X4_STORE("r9", ", #12]", "28") \
    CCML_IM2COL_X4_STORE("r6", "], #32", "16")

/* The end of y in r2; x of each pixel in r0, r3, r4 and r5. The caller's registers are kept in s0 to s5. */
#define CCML_BLOCK_IM2COL_X4 1
CCML_NAKED ccml_im2col_x4(
    const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t step CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "vmov s0, s1, r4, r5\n"
        "vmov s2, s3, r6, r7\n"
        "vmov s4, s5, r8, r9\n"
        "add r4, r0, r3, lsl #1\n"
        "add r5, r4, r3\n"
        "add r3, r0, r3\n"
        "add r2, r1, r2, lsl #5\n"
        "1:\n" CCML_IM2COL_X4_GROUP
        "cmp r1, r2\n"
        "bne 1b\n"
        "vmov r4, r5, s0, s1\n"
        "vmov r6, r7, s2, s3\n"
        "vmov r8, r9, s4, s5\n"
        "bx lr\n");
}
#endif

#endif

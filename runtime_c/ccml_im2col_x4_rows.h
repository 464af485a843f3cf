/* Part of the ccml runtime: rows of groups of activations, of pixels that lie `step` bytes apart, for packed weights.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_IM2COL_X4_ROWS_H
#define CCML_IM2COL_X4_ROWS_H

#include "ccml_im2col_x4.h"

#if CCML_ARM_DSP
/* As ccml_im2col_x4, whose registers these are, with the end of a row of y in r2. In s8 the bytes from the end of a row of
   x to the next, s9 those of a row of y, s10 the end of y. */
#define CCML_BLOCK_IM2COL_X4_ROWS 1
CCML_NAKED ccml_im2col_x4_rows(
    const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t step CCML_UNUSED,
    int32_t rows CCML_UNUSED, int32_t pitch CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "vmov s0, s1, r4, r5\n"
        "vmov s2, s3, r6, r7\n"
        "vmov s4, s5, r8, r9\n"
        "ldrd r6, r7, [sp]\n"
        "sub r7, r7, r2, lsl #2\n"
        "lsl r8, r2, #5\n"
        "mla r6, r6, r8, r1\n"
        "vmov s8, s9, r7, r8\n"
        "vmov s10, r6\n"
        "add r4, r0, r3, lsl #1\n"
        "add r5, r4, r3\n"
        "add r3, r0, r3\n"
        "1:\n"
        "add r2, r1, r8\n"
        "2:\n" CCML_IM2COL_X4_GROUP
        "cmp r1, r2\n"
        "bne 2b\n"
        "vmov r7, r8, s8, s9\n"
        "vmov r6, s10\n"
        "add r0, r0, r7\n"
        "add r3, r3, r7\n"
        "add r4, r4, r7\n"
        "add r5, r5, r7\n"
        "cmp r1, r6\n"
        "bne 1b\n"
        "vmov r4, r5, s0, s1\n"
        "vmov r6, r7, s2, s3\n"
        "vmov r8, r9, s4, s5\n"
        "bx lr\n");
}
#endif

#endif

/* Part of the ccml runtime: activations of one of four pixels for packed weights, four at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_IM2COL_X4_PIXEL_H
#define CCML_IM2COL_X4_PIXEL_H

#include "ccml_widen.h"

#if CCML_ARM_DSP
#define CCML_IM2COL_X4_WORD \
    "ldr r3, [r0], #4\n" \
    "eor r3, r3, #0x800080\n" \
    "uxtb16 r12, r3, ror #16\n" \
    "str r3, [r1, #16]\n" \
    "str r12, [r1], #32\n"

#define CCML_BLOCK_IM2COL_X4_PIXEL 1
CCML_NAKED ccml_im2col_x4_pixel(const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "lsrs r2, r2, #1\n"
        "bcc 1f\n" CCML_IM2COL_X4_WORD
        "1:\n"
        "cbz r2, 3f\n"
        "2:\n" CCML_IM2COL_X4_WORD CCML_IM2COL_X4_WORD
        "subs r2, r2, #1\n"
        "bne 2b\n"
        "3:\n"
        "bx lr\n");
}

#undef CCML_IM2COL_X4_WORD
#endif

#endif

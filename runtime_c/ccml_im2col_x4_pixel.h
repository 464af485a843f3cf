/* Part of the ccml runtime: activations of one of four pixels for packed weights, four at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_IM2COL_X4_PIXEL_H
#define CCML_IM2COL_X4_PIXEL_H

#include "ccml_widen.h"

#if CCML_ARM_DSP
#define CCML_IM2COL_X4_WORD \
    "ldr r3, [r0], #4\n" \
    "sxtab16 r12, r4, r3, ror #8\n" \
    "and r3, r5, r3, lsl #8\n" \
    "ssub16 r3, r3, r12\n" \
    "str r3, [r1, #16]\n" \
    "str r12, [r1], #32\n"

/* -127 twice in r4, a mask of odd bytes in r5. */
#define CCML_BLOCK_IM2COL_X4_PIXEL 1
CCML_NAKED ccml_im2col_x4_pixel(const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5}\n"
        "movw r4, #0xff81\n"
        "movt r4, #0xff81\n"
        "mov r5, #0xff00ff00\n"
        "lsrs r2, r2, #1\n"
        "bcc 1f\n" CCML_IM2COL_X4_WORD
        "1:\n"
        "cbz r2, 3f\n"
        "2:\n" CCML_IM2COL_X4_WORD CCML_IM2COL_X4_WORD
        "subs r2, r2, #1\n"
        "bne 2b\n"
        "3:\n"
        "pop {r4, r5}\n"
        "bx lr\n");
}

#undef CCML_IM2COL_X4_WORD
#endif

#endif

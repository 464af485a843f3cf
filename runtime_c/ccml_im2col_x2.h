/* Part of the ccml runtime: activations of one pixel widened to halfwords, four at a time, for one of two pixels.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_IM2COL_X2_H
#define CCML_IM2COL_X2_H

#include "ccml_widen.h"

#if CCML_ARM_DSP
#define CCML_IM2COL_X2_WORD \
    "ldr r3, [r0], #4\n" \
    "sxtb16 r12, r3\n" \
    "sxtb16 r3, r3, ror #8\n" \
    "strd r12, r3, [r1], #16\n"

#define CCML_BLOCK_IM2COL_X2 1
CCML_NAKED ccml_im2col_x2(const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "subs r2, r2, #4\n"
        "blt 2f\n"
        "1:\n" CCML_IM2COL_X2_WORD CCML_IM2COL_X2_WORD CCML_IM2COL_X2_WORD CCML_IM2COL_X2_WORD
        "subs r2, r2, #4\n"
        "bge 1b\n"
        "2:\n"
        "adds r2, r2, #4\n"
        "beq 4f\n"
        "3:\n" CCML_IM2COL_X2_WORD
        "subs r2, r2, #1\n"
        "bne 3b\n"
        "4:\n"
        "bx lr\n");
}

#undef CCML_IM2COL_X2_WORD
#endif

#endif

/* Part of the ccml runtime: the same activation for one row of staged columns of a depthwise convolution.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_FILL_H
#define CCML_DEPTHWISE_FILL_H

#include "ccml_widen.h"

#if CCML_ARM_DSP
#define CCML_BLOCK_DEPTHWISE_FILL 1
CCML_NAKED ccml_depthwise_fill(
    int32_t *y CCML_UNUSED, int32_t columns CCML_UNUSED, int32_t half CCML_UNUSED, int32_t value CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "add r0, r0, r2, lsl #1\n"
        "1:\n"
        "strh r3, [r0, #8]\n"
        "strh r3, [r0, #16]\n"
        "strh r3, [r0, #24]\n"
        "strh r3, [r0], #32\n"
        "subs r1, r1, #1\n"
        "bne 1b\n"
        "bx lr\n");
}
#endif

#endif

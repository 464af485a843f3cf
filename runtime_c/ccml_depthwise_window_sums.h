/* Part of the ccml runtime: sums of a depthwise convolution with any kernel, four channels of staged windows.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_WINDOW_SUMS_H
#define CCML_DEPTHWISE_WINDOW_SUMS_H

#include "ccml_depthwise_window.h"

#if CCML_ARM_DSP

/* In s1 and s2 bytes of the weights and from the last tap of a window to the next window, s3 the outputs left, s4 the
   place in y. */
#define CCML_BLOCK_DEPTHWISE_WINDOW_SUMS 1
CCML_NAKED ccml_depthwise_window_sums(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t outputs CCML_UNUSED,
    int32_t pairs CCML_UNUSED, int32_t advance CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        ".p2align 2\n"
        "push {r4-r11, lr}\n"
        "ldrd r5, r6, [sp, #36]\n"
        CCML_DEPTHWISE_WINDOW_ENTRY
        "sub r6, r6, r9, lsl #7\n"
        "lsl r5, r5, #4\n"
        "add r5, r5, #24\n"
        "vmov s1, s2, r5, r6\n"
        "vmov s3, s4, r3, r2\n"
        "1:\n"
        CCML_DEPTHWISE_WINDOW_SUMS
        "vmov r8, r9, s1, s2\n"
        "vmov r10, r2, s3, s4\n"
        "str r5, [r2, #8]\n"
        "str r6, [r2, #16]\n"
        "str r7, [r2, #24]\n"
        "str r4, [r2], #32\n"
        "sub r0, r0, r8\n"
        "add r1, r1, r9\n"
        "subs r10, r10, #1\n"
        "vmov s3, s4, r10, r2\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}
#endif

#endif

/* Part of the ccml runtime: accumulators of four channels of one row of outputs of a depthwise convolution with any
   kernel, from staged rows; a multiple of four outputs.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_WINDOW_SUMS_H
#define CCML_DEPTHWISE_WINDOW_SUMS_H

#include "ccml_depthwise_window.h"

#if CCML_ARM_DSP

#define CCML_DEPTHWISE_WINDOW_FOUR \
    "vmov r2, s8\n" \
    "str r5, [r2, #32]\n" \
    "str r6, [r2, #64]\n" \
    "str r7, [r2, #96]\n" \
    "str r4, [r2], #128\n"

#define CCML_BLOCK_DEPTHWISE_WINDOW_SUMS 1
CCML_NAKED ccml_depthwise_window_sums(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t outputs CCML_UNUSED,
    int32_t rows CCML_UNUSED, int32_t words CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "mov r5, r3\n"
        "mov r3, #1\n"
        "ldrd r8, r9, [sp, #36]\n"
        CCML_DEPTHWISE_WINDOW(
            CCML_DEPTHWISE_WINDOW_FOUR
            "str r9, [r2, #32]\n"
            "str r10, [r2, #64]\n"
            "str r11, [r2, #96]\n"
            "str r8, [r2], #128\n"
            "vmov s8, r2\n",
            CCML_DEPTHWISE_WINDOW_FOUR,
            "vmov r12, s14\n"
            "vmov s0, r12\n"
            "add r1, r1, #8\n")
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_WINDOW_FOUR
#endif

#endif

/* Part of the ccml runtime: outputs of a depthwise convolution with nine taps, from staged windows to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_WINDOW_BYTES_9_H
#define CCML_DEPTHWISE_WINDOW_BYTES_9_H

#include "ccml_depthwise_window_rounded.h"

#if CCML_ARM_DSP
/* 26 words of weights a group. In s0 minus the bytes of y from the first output behind the last, which lr counts up to 0.
   On the stack: weights of the group, distances of outputs (the upper half) and of windows, end of y, zero point, groups
   left, first window of the group; r0, r2, r3 and r8 have the first four where a group begins. */
#define CCML_BLOCK_DEPTHWISE_WINDOW_BYTES_9 1
CCML_NAKED ccml_depthwise_window_bytes_9(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t outputs CCML_UNUSED, int32_t advance CCML_UNUSED, int32_t step CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #24\n"
        "mov r9, r3\n"
        "ldrd r4, r5, [sp, #60]\n"
        "ldrd r6, r8, [sp, #68]\n"
        "mul r4, r4, r6\n"
        "add r3, r2, r4\n"
        "orr r2, r5, r6, lsl #16\n"
        "rsb r4, r4, #0\n"
        "vmov s0, r4\n"
        "5:\n"
        "vmov lr, s0\n"
        "stm sp, {r0, r2, r3, r8}\n"
        "strd r9, r1, [sp, #16]\n"
        "1:\n" CCML_DEPTHWISE_WINDOW_SUMS_OF_9
        "ldm sp, {r0, r2, r3, r8}\n"
        CCML_DEPTHWISE_WINDOW_BYTE("r4", "r9", "r8") CCML_DEPTHWISE_WINDOW_BYTE("r5", "r10", "r8")
        CCML_DEPTHWISE_WINDOW_BYTE("r6", "r11", "r8") CCML_DEPTHWISE_WINDOW_BYTE("r7", "r12", "r8")
        "bfi r4, r5, #8, #8\n"
        "bfi r6, r7, #8, #8\n"
        "pkhbt r4, r4, r6, lsl #16\n"
        "str r4, [r3, lr]\n"
        "uxtah r1, r1, r2\n"
        "adds lr, lr, r2, lsr #16\n"
        "bne 1b\n"
        "ldrd r9, r1, [sp, #16]\n"
        "add r0, r0, #104\n"
        "add r3, r3, #4\n"
        "add r1, r1, #4\n"
        "subs r9, r9, #1\n"
        "bne 5b\n"
        "add sp, sp, #24\n"
        "pop {r4-r11, pc}\n");
}
#endif

#endif

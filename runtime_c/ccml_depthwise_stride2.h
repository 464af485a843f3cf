/* Part of the ccml runtime: one row of a depthwise 3x3 convolution of stride 2.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_STRIDE2_H
#define CCML_DEPTHWISE_STRIDE2_H

#include "ccml_depthwise.h"

#if CCML_ARM_DSP

#define CCML_DEPTHWISE_TAPS(a, b, w01, w12) \
    "smlad r12, " a ", " w01 ", r12\n" \
    "smlabt r12, " b ", " w12 ", r12\n"

/* On the stack: x, its end for one channel, the end of the first channels of four. */
#define CCML_BLOCK_DEPTHWISE_STRIDE2 1
CCML_NAKED ccml_depthwise_stride2(const int32_t *w CCML_UNUSED, int32_t *x CCML_UNUSED, int32_t outputs CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #12\n"
        "add r2, r1, r2, lsl #6\n"
        "add r3, r1, #32\n"
        "strd r1, r2, [sp]\n"
        "str r3, [sp, #8]\n"
        "1:\n" CCML_DEPTHWISE_CHANNEL
        "ldr r1, [sp]\n"
        "mov lr, r1\n"
        "ldrd r2, r3, [r1]\n"
        "2:\n"
        "vmov r12, s0\n"
        CCML_DEPTHWISE_TAPS("r2", "r3", "r4", "r5")
        "ldrd r10, r11, [r1, #32]\n"
        "ldrd r2, r3, [r1, #64]!\n"
        CCML_DEPTHWISE_TAPS("r10", "r11", "r6", "r7")
        CCML_DEPTHWISE_TAPS("r2", "r3", "r8", "r9")
        "str r12, [lr], #32\n"
        "ldr r12, [sp, #4]\n"
        "cmp r1, r12\n"
        "bne 2b\n"
        "ldrd r1, r2, [sp]\n"
        "ldr r3, [sp, #8]\n"
        "add r1, r1, #8\n"
        "add r2, r2, #8\n"
        "strd r1, r2, [sp]\n"
        "cmp r1, r3\n"
        "bne 1b\n"
        "add sp, sp, #12\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_TAPS
#endif

#endif

/* Part of the ccml runtime: two rows of a depthwise 3x3 convolution of stride 1.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_TWO_ROWS_H
#define CCML_DEPTHWISE_TWO_ROWS_H

#include "ccml_depthwise.h"

#if CCML_ARM_DSP

/* One column of the kernel: rows 0 and 1 of the input in `a`, 2 and 3 in `b`; outputs in r12 and lr. */
#define CCML_DEPTHWISE_TAPS(a, b, w01, w12) \
    "smlad r12, " a ", " w01 ", r12\n" \
    "smlatb lr, " a ", " w01 ", lr\n" \
    "smlabt r12, " b ", " w12 ", r12\n" \
    "smlad lr, " b ", " w12 ", lr\n"

/* One output of each row. The first column is in a0 and b0, the second in a1 and b1; the third replaces the first. */
#define CCML_DEPTHWISE_OUTPUTS(a0, b0, a1, b1) \
    "vmov r12, lr, s0, s1\n" \
    CCML_DEPTHWISE_TAPS(a0, b0, "r4", "r5") \
    "ldrd " a0 ", " b0 ", [r1, #64]\n" \
    CCML_DEPTHWISE_TAPS(a1, b1, "r6", "r7") \
    CCML_DEPTHWISE_TAPS(a0, b0, "r8", "r9") \
    "strd r12, lr, [r1], #32\n"

/* On the stack: weights, bytes from the first output of the next channel to behind the last of this, end of the first
   channels of four. */
#define CCML_BLOCK_DEPTHWISE_TWO_ROWS 1
CCML_NAKED ccml_depthwise_two_rows(const int32_t *w CCML_UNUSED, int32_t *x CCML_UNUSED, int32_t outputs CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #12\n"
        "lsl r2, r2, #5\n"
        "sub r2, r2, #8\n"
        "add r3, r1, #32\n"
        "strd r2, r3, [sp, #4]\n"
        "1:\n" CCML_DEPTHWISE_CHANNEL
        "str r0, [sp]\n"
        "ldr r0, [sp, #4]\n"
        "tst r0, #32\n"
        "add r0, r0, r1\n"
        "add r0, r0, #8\n"
        "beq 3f\n"
        "ldrd r2, r3, [r1]\n"
        "ldrd r10, r11, [r1, #32]\n"
        "2:\n" CCML_DEPTHWISE_OUTPUTS("r2", "r3", "r10", "r11")
        "4:\n" CCML_DEPTHWISE_OUTPUTS("r10", "r11", "r2", "r3")
        "cmp r1, r0\n"
        "bne 2b\n"
        "ldrd r0, r2, [sp]\n"
        "ldr r3, [sp, #8]\n"
        "sub r1, r1, r2\n"
        "cmp r1, r3\n"
        "bne 1b\n"
        "add sp, sp, #12\n"
        "pop {r4-r11, pc}\n"
        "3:\n"
        "ldrd r10, r11, [r1]\n"
        "ldrd r2, r3, [r1, #32]\n"
        "b.n 4b\n");
}

#undef CCML_DEPTHWISE_TAPS
#undef CCML_DEPTHWISE_OUTPUTS
#endif

#endif

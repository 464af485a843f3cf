/* Part of the ccml runtime: one row of outputs of a depthwise convolution with any kernel, from staged rows to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_WINDOW_BYTES_H
#define CCML_DEPTHWISE_WINDOW_BYTES_H

#include "ccml_depthwise_window.h"

#if CCML_ARM_DSP

/* The factor in r0, the distance of pixels in r3, the zero point in lr, the place in y in r2. */
#define CCML_DEPTHWISE_WINDOW_OUTPUT \
    "ldr r0, [r0]\n" \
    "ldrd r3, lr, [sp, #48]\n" \
    "vmov r2, s8\n"

/* Four pixels; r12 is three times their distance. */
#define CCML_DEPTHWISE_WINDOW_FOUR(a, b, c, d) \
    CCML_DEPTHWISE_BYTE(a) CCML_DEPTHWISE_BYTE(b) CCML_DEPTHWISE_BYTE(c) CCML_DEPTHWISE_BYTE(d) \
    "strb " a ", [r2]\n" \
    "strb " b ", [r2, r3]\n" \
    "strb " c ", [r2, r3, lsl #1]\n" \
    "strb " d ", [r2, r12]\n" \
    "add r2, r2, r3, lsl #2\n"

/* The next pixel, if there are some of r1 left. */
#define CCML_DEPTHWISE_WINDOW_ONE(acc) \
    CCML_DEPTHWISE_BYTE(acc) \
    "add r2, r2, r3\n" \
    "subs r1, r1, #1\n" \
    "it gt\n" \
    "strbgt " acc ", [r2]\n"

#define CCML_BLOCK_DEPTHWISE_WINDOW_BYTES 1
CCML_NAKED ccml_depthwise_window_bytes(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t outputs CCML_UNUSED, int32_t rows CCML_UNUSED, int32_t words CCML_UNUSED, int32_t step CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldr r5, [sp, #36]\n"
        "ldrd r8, r9, [sp, #40]\n"
        CCML_DEPTHWISE_WINDOW(
            "vmov r1, s3\n"
            "cmp r1, #8\n"
            "blt 6f\n"
            CCML_DEPTHWISE_WINDOW_OUTPUT
            "add r12, r3, r3, lsl #1\n"
            CCML_DEPTHWISE_WINDOW_FOUR("r4", "r5", "r6", "r7") CCML_DEPTHWISE_WINDOW_FOUR("r8", "r9", "r10", "r11")
            "vmov s8, r2\n",
            "vmov r1, s3\n"
            "6:\n" CCML_DEPTHWISE_WINDOW_OUTPUT CCML_DEPTHWISE_BYTE("r4")
            "strb r4, [r2]\n" CCML_DEPTHWISE_WINDOW_ONE("r5") CCML_DEPTHWISE_WINDOW_ONE("r6")
            CCML_DEPTHWISE_WINDOW_ONE("r7")
            "ble 9f\n" CCML_DEPTHWISE_WINDOW_ONE("r8") CCML_DEPTHWISE_WINDOW_ONE("r9") CCML_DEPTHWISE_WINDOW_ONE("r10"),
            "vmov r12, s14\n"
            "add r12, r12, #4\n"
            "vmov s0, r12\n"
            "add r1, r1, #1\n")
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_WINDOW_OUTPUT
#undef CCML_DEPTHWISE_WINDOW_FOUR
#undef CCML_DEPTHWISE_WINDOW_ONE
#endif

#endif

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

#define CCML_DEPTHWISE_WINDOW_BYTE(acc) \
    CCML_DEPTHWISE_BYTE(acc) \
    "strb " acc ", [r2]\n" \
    "add r2, r2, r3\n"

#define CCML_DEPTHWISE_WINDOW_FOUR \
    CCML_DEPTHWISE_WINDOW_OUTPUT CCML_DEPTHWISE_WINDOW_BYTE("r4") CCML_DEPTHWISE_WINDOW_BYTE("r5") \
    CCML_DEPTHWISE_WINDOW_BYTE("r6") CCML_DEPTHWISE_WINDOW_BYTE("r7")

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
            CCML_DEPTHWISE_WINDOW_FOUR CCML_DEPTHWISE_WINDOW_BYTE("r8") CCML_DEPTHWISE_WINDOW_BYTE("r9")
            CCML_DEPTHWISE_WINDOW_BYTE("r10") CCML_DEPTHWISE_WINDOW_BYTE("r11")
            "vmov s8, r2\n",
            CCML_DEPTHWISE_WINDOW_FOUR
            "vmov s8, r2\n",
            CCML_DEPTHWISE_WINDOW_OUTPUT CCML_DEPTHWISE_WINDOW_BYTE("r4") CCML_DEPTHWISE_BYTE("r5")
            "it gt\n"
            "strbgt r5, [r2]\n"
            "add r2, r2, r3\n"
            "vmov s8, r2\n",
            "vmov r12, s14\n"
            "add r12, r12, #4\n"
            "vmov s0, r12\n"
            "add r1, r1, #1\n")
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_WINDOW_OUTPUT
#undef CCML_DEPTHWISE_WINDOW_BYTE
#undef CCML_DEPTHWISE_WINDOW_FOUR
#else
static inline void ccml_depthwise_window_bytes(
    const int32_t *w, const int32_t *x, int8_t *y, int32_t groups, int32_t outputs, int32_t rows, int32_t words,
    int32_t step, int32_t zero_point)
{
    const int32_t pairs = (outputs + 1) / 2 + words - 1;
    for (int32_t channel = 0; channel < 4 * groups; ++channel) {
        const int32_t *of = &w[(rows * words + 2) * channel];
        const int32_t *at = &x[4 * pairs * (channel / 4) + channel % 4];
        for (int32_t column = 0; column < outputs; ++column) {
            const int32_t acc = ccml_depthwise_window_sum(of, at, column, rows, words, 4 * pairs * groups);
            y[column * step + channel] = ccml_requantize_rounded(acc, of[rows * words + 1], zero_point);
        }
    }
}
#endif

#endif

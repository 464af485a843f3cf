/* Part of the ccml runtime: accumulators of four channels of one row of outputs of a depthwise convolution with any
   kernel, from staged rows.
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
            CCML_DEPTHWISE_WINDOW_FOUR
            "vmov s8, r2\n",
            "vmov r2, s8\n"
            "it gt\n"
            "strgt r5, [r2, #32]\n"
            "str r4, [r2], #64\n"
            "vmov s8, r2\n",
            "vmov r12, s14\n"
            "vmov s0, r12\n"
            "add r1, r1, #8\n")
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_WINDOW_FOUR
#else
static inline void ccml_depthwise_window_sums(
    const int32_t *w, const int32_t *x, int32_t *y, int32_t outputs, int32_t rows, int32_t words)
{
    const int32_t pitch = 4 * ((outputs + 1) / 2 + words - 1);
    for (int32_t lane = 0; lane < 4; ++lane) {
        for (int32_t column = 0; column < outputs; ++column) {
            const int32_t *of = &w[(rows * words + 1) * lane];
            y[8 * column + 2 * lane] = ccml_depthwise_window_sum(of, &x[lane], column, rows, words, pitch);
        }
    }
}
#endif

#endif

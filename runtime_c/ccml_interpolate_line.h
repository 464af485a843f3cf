/* Part of the ccml runtime: linear interpolation between two rows of bytes plus 128, two channels in a word.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_INTERPOLATE_LINE_H
#define CCML_INTERPOLATE_LINE_H

#include "ccml_widen.h"

#if CCML_ARM_DSP
/* Weights in r4 and r5, 128 twice in lr. */
#define CCML_INTERPOLATE_LINE_WORD \
    "ldr r6, [r0], #4\n" \
    "ldr r7, [r1], #4\n" \
    "sxtab16 r8, lr, r6\n" \
    "sxtab16 r9, lr, r6, ror #8\n" \
    "sxtab16 r6, lr, r7\n" \
    "sxtab16 r7, lr, r7, ror #8\n" \
    "mul r8, r8, r4\n" \
    "mul r9, r9, r4\n" \
    "mla r8, r6, r5, r8\n" \
    "mla r9, r7, r5, r9\n" \
    "strd r8, r9, [r3], #8\n"

#define CCML_BLOCK_INTERPOLATE_LINE 1
CCML_NAKED ccml_interpolate_line(
    const int8_t *x0 CCML_UNUSED, const int8_t *x1 CCML_UNUSED, const int32_t *down CCML_UNUSED,
    int32_t *line CCML_UNUSED, int32_t words CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r9, lr}\n"
        "ldr r12, [sp, #28]\n"
        "ldrd r4, r5, [r2]\n"
        "mov lr, #0x00800080\n"
        "add r2, r3, r12, lsl #3\n"
        "tst r12, #1\n"
        "bne 2f\n"
        "1:\n" CCML_INTERPOLATE_LINE_WORD
        "2:\n" CCML_INTERPOLATE_LINE_WORD
        "cmp r3, r2\n"
        "bne 1b\n"
        "pop {r4-r9, pc}\n");
}

#undef CCML_INTERPOLATE_LINE_WORD
#endif

#endif

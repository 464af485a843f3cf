/* Part of the ccml runtime: two runs of bytes by a factor each, their sums shifted by 20 and saturated.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_RESCALE_RUN_H
#define CCML_RESCALE_RUN_H

#include "ccml_widen.h"

#if CCML_ARM_DSP

/* An element whose operands are in the words `a` and `b`, turned by `rotation`. */
#define CCML_RESCALE_BYTE(a, b, rotation, at) \
    "sxtb r10, " a rotation "\n" \
    "sxtb r11, " b rotation "\n" \
    "mla r10, r10, r4, r12\n" \
    "mla r10, r11, r5, r10\n" \
    "ssat r10, #8, r10, asr #20\n" \
    "strb r10, " at "\n"

/* The factors in r4 and r5, the bias in r12; eight elements at a time, of which the first is written last. */
#define CCML_BLOCK_RESCALE_RUN 1
CCML_NAKED ccml_rescale_run(
    const int8_t *x1 CCML_UNUSED, const int8_t *x2 CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t count CCML_UNUSED,
    int32_t m1 CCML_UNUSED, int32_t m2 CCML_UNUSED, int32_t bias CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11}\n"
        "ldrd r4, r5, [sp, #32]\n"
        "ldr r12, [sp, #40]\n"
        "1:\n"
        "ldr r7, [r0, #4]\n"
        "ldr r6, [r0], #8\n"
        "ldr r9, [r1, #4]\n"
        "ldr r8, [r1], #8\n"
        CCML_RESCALE_BYTE("r6", "r8", ", ror #8", "[r2, #1]")
        CCML_RESCALE_BYTE("r6", "r8", ", ror #16", "[r2, #2]")
        CCML_RESCALE_BYTE("r6", "r8", ", ror #24", "[r2, #3]")
        CCML_RESCALE_BYTE("r7", "r9", "", "[r2, #4]")
        CCML_RESCALE_BYTE("r7", "r9", ", ror #8", "[r2, #5]")
        CCML_RESCALE_BYTE("r7", "r9", ", ror #16", "[r2, #6]")
        CCML_RESCALE_BYTE("r7", "r9", ", ror #24", "[r2, #7]")
        CCML_RESCALE_BYTE("r6", "r8", "", "[r2], #8")
        "subs r3, r3, #8\n"
        "bne.w 1b\n"
        "pop {r4-r11}\n"
        "bx lr\n");
}

#undef CCML_RESCALE_BYTE
#endif

#endif

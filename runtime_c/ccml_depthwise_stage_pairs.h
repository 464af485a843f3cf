/* Part of the ccml runtime: four channels of pairs of rows as pairs of halfwords.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_STAGE_PAIRS_H
#define CCML_DEPTHWISE_STAGE_PAIRS_H

#include "ccml_widen.h"

#if CCML_ARM_DSP

/* Pixels of the upper row in r0, of the lower one in r1, their distances in r11 and r12, from the end of a pair to the
   next in r8, r9 and r10; columns left in lr. */
#define CCML_BLOCK_DEPTHWISE_STAGE_PAIRS 1
CCML_NAKED ccml_depthwise_stage_pairs(
    const int8_t *x0 CCML_UNUSED, const int8_t *x1 CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t pairs CCML_UNUSED,
    int32_t columns CCML_UNUSED, int32_t step0 CCML_UNUSED, int32_t step1 CCML_UNUSED, int32_t apart CCML_UNUSED,
    int32_t width CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldrd r4, r11, [sp, #36]\n"
        "ldrd r12, r9, [sp, #44]\n"
        "ldr r10, [sp, #52]\n"
        "mls r8, r4, r11, r9\n"
        "mls r9, r4, r12, r9\n"
        "subs r10, r10, r4\n"
        "lsl r10, r10, #4\n"
        "1:\n"
        "ldr lr, [sp, #36]\n"
        "2:\n"
        "ldr r4, [r0]\n"
        "ldr r5, [r1]\n"
        "add r0, r0, r11\n"
        "add r1, r1, r12\n"
        "pkhbt r6, r4, r5, lsl #16\n"
        "pkhtb r7, r5, r4, asr #16\n"
        "sxtb16 r4, r6\n"
        "sxtb16 r5, r6, ror #8\n"
        "sxtb16 r6, r7\n"
        "sxtb16 r7, r7, ror #8\n"
        "stm r2!, {r4-r7}\n"
        "subs lr, lr, #1\n"
        "bne 2b\n"
        "add r0, r0, r8\n"
        "add r1, r1, r9\n"
        "add r2, r2, r10\n"
        "subs r3, r3, #1\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}
#endif

#endif

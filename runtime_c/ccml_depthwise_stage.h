/* Part of the ccml runtime: channels of four rows as columns of pairs of halfwords.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_STAGE_H
#define CCML_DEPTHWISE_STAGE_H

#include "ccml_widen.h"

#if CCML_ARM_DSP

/* `columns` columns of the zero point, of which there may be none. */
#define CCML_DEPTHWISE_BORDER(columns) \
    "vmov r10, s2\n" \
    "cbz " columns ", 2f\n" \
    "1:\n" \
    "strd r10, r10, [r12], #8\n" \
    "strd r10, r10, [r12], #8\n" \
    "strd r10, r10, [r12], #8\n" \
    "strd r10, r10, [r12], #8\n" \
    "subs " columns ", " columns ", #1\n" \
    "bne 1b\n" \
    "2:\n"

/* The column at lr, behind which flags say whether it was the last. */
#define CCML_DEPTHWISE_COLUMN \
    "ldr r4, [r0, lr]\n" \
    "ldr r8, [r1, lr]\n" \
    "ldr r5, [r2, lr]\n" \
    "ldr r9, [r3, lr]\n" \
    "pkhbt r6, r4, r8, lsl #16\n" \
    "pkhtb r8, r8, r4, asr #16\n" \
    "pkhbt r7, r5, r9, lsl #16\n" \
    "pkhtb r9, r9, r5, asr #16\n" \
    "sxtb16 r4, r6\n" \
    "sxtb16 r5, r7\n" \
    "sxtb16 r6, r6, ror #8\n" \
    "sxtb16 r7, r7, ror #8\n" \
    "sxtb16 r10, r8, ror #8\n" \
    "sxtb16 r11, r9, ror #8\n" \
    "sxtb16 r8, r8\n" \
    "sxtb16 r9, r9\n" \
    "stm r12!, {r4-r11}\n" \
    "vmov r4, s0\n" \
    "adds lr, lr, r4\n"

/* In s0 the distance of columns, s1 minus that of both ends, s2 the zero point twice, s3 the groups left. */
#define CCML_BLOCK_DEPTHWISE_STAGE 1
CCML_NAKED ccml_depthwise_stage(
    const int8_t *x0 CCML_UNUSED, const int8_t *x1 CCML_UNUSED, const int8_t *x2 CCML_UNUSED,
    const int8_t *x3 CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t columns CCML_UNUSED,
    int32_t step CCML_UNUSED, int32_t left CCML_UNUSED, int32_t right CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldrd r12, r9, [sp, #36]\n"
        "ldrd r4, r5, [sp, #44]\n"
        "ldr r10, [sp, #60]\n"
        "pkhbt r10, r10, r10, lsl #16\n"
        "vmov s2, s3, r10, r9\n"
        "mul r4, r4, r5\n"
        "add r0, r0, r4\n"
        "add r1, r1, r4\n"
        "add r2, r2, r4\n"
        "add r3, r3, r4\n"
        "rsb r4, r4, #0\n"
        "vmov s0, s1, r5, r4\n"
        "3:\n"
        "ldr r6, [sp, #52]\n"
        CCML_DEPTHWISE_BORDER("r6")
        "vmov lr, s1\n"
        "ldr r4, [sp, #44]\n"
        "tst r4, #1\n"
        "bne 5f\n"
        "4:\n" CCML_DEPTHWISE_COLUMN
        "5:\n" CCML_DEPTHWISE_COLUMN
        "bne 4b\n"
        "ldr r6, [sp, #56]\n"
        CCML_DEPTHWISE_BORDER("r6")
        "vmov r4, s3\n"
        "add r0, r0, #4\n"
        "add r1, r1, #4\n"
        "add r2, r2, #4\n"
        "add r3, r3, #4\n"
        "subs r4, r4, #1\n"
        "vmov s3, r4\n"
        "bne 3b\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_BORDER
#undef CCML_DEPTHWISE_COLUMN
#endif

#endif

/* Part of the ccml runtime: channels of one row as pairs of neighbouring columns, which are halfwords.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_STAGE_ROW_H
#define CCML_DEPTHWISE_STAGE_ROW_H

#include "ccml_widen.h"

#if CCML_ARM_DSP

/* Four channels of the columns in r4 and r5. */
#define CCML_DEPTHWISE_PAIR_OF_COLUMNS \
    "pkhbt r6, r4, r5, lsl #16\n" \
    "pkhtb r7, r5, r4, asr #16\n" \
    "sxtb16 r4, r6\n" \
    "sxtb16 r5, r6, ror #8\n" \
    "sxtb16 r6, r7\n" \
    "sxtb16 r7, r7, ror #8\n" \
    "stm r1!, {r4-r7}\n"

/* As many pairs of borders as r6 says. */
#define CCML_DEPTHWISE_BORDERS \
    "cbz r6, 8f\n" \
    "sxtb16 r4, r10\n" \
    "7:\n" \
    "strd r4, r4, [r1], #8\n" \
    "strd r4, r4, [r1], #8\n" \
    "subs r6, r6, #1\n" \
    "bne 7b\n" \
    "8:\n"

/* In r10 the zero point four times, r11 and r8 the distance of columns and of pairs. */
#define CCML_BLOCK_DEPTHWISE_STAGE_ROW 1
CCML_NAKED ccml_depthwise_stage_row(
    const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t columns CCML_UNUSED,
    int32_t step CCML_UNUSED, int32_t left CCML_UNUSED, int32_t right CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldr r11, [sp, #36]\n"
        "ldrb r10, [sp, #48]\n"
        "orr r10, r10, r10, lsl #8\n"
        "orr r10, r10, r10, lsl #16\n"
        "lsl r8, r11, #1\n"
        "1:\n"
        "ldr r6, [sp, #40]\n"
        "mov r12, r0\n"
        "mov lr, r3\n"
        "cbz r6, 3f\n"
        "and r9, r6, #1\n"
        "lsr r6, r6, #1\n"
        CCML_DEPTHWISE_BORDERS
        "cmp r9, #0\n"
        "beq 3f\n"
        "mov r4, r10\n"
        "ldr r5, [r12]\n"
        "add r12, r12, r11\n"
        "sub lr, lr, #1\n"
        CCML_DEPTHWISE_PAIR_OF_COLUMNS
        "3:\n"
        "lsrs lr, lr, #1\n"
        "beq 5f\n"
        "mul lr, lr, r8\n"
        "add r12, r12, lr\n"
        "add r9, r12, r11\n"
        "rsb lr, lr, #0\n"
        "4:\n"
        "ldr r4, [r12, lr]\n"
        "ldr r5, [r9, lr]\n"
        CCML_DEPTHWISE_PAIR_OF_COLUMNS
        "adds lr, lr, r8\n"
        "bne 4b\n"
        "5:\n"
        "ldrd r6, r9, [sp, #40]\n"
        "add r6, r6, r3\n"
        "tst r6, #1\n"
        "beq 6f\n"
        "ldr r4, [r12]\n"
        "mov r5, r10\n"
        "sub r9, r9, #1\n"
        CCML_DEPTHWISE_PAIR_OF_COLUMNS
        "6:\n"
        "adds r6, r9, #1\n"
        "asr r6, r6, #1\n"
        CCML_DEPTHWISE_BORDERS
        "add r0, r0, #4\n"
        "subs r2, r2, #1\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_PAIR_OF_COLUMNS
#undef CCML_DEPTHWISE_BORDERS
#endif

#endif

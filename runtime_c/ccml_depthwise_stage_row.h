/* Part of the ccml runtime: one row of pixels, borders included, as cells of sixteen channels.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_STAGE_ROW_H
#define CCML_DEPTHWISE_STAGE_ROW_H

#include "ccml_widen.h"

#if CCML_ARM_DSP

/* As many cells of the zero point as r4 says. */
#define CCML_DEPTHWISE_BORDER \
    "cbz r4, 8f\n" \
    "7:\n" \
    "strd r6, r6, [r1]\n" \
    "strd r6, r6, [r1, #8]\n" \
    "add r1, r1, r12\n" \
    "subs r4, r4, #1\n" \
    "bne 7b\n" \
    "8:\n"

/* r3 pixels; `loads` and `stored` are of the words of one. */
#define CCML_DEPTHWISE_PIXEL(loads, stored) \
    loads \
    "add r0, r0, lr\n" \
    stored \
    "add r1, r1, r12\n"
#define CCML_DEPTHWISE_PIXELS(pixel) \
    "6:\n" pixel \
    "subs r3, r3, #1\n" \
    "bne 6b\n"

/* The same, two at a time. */
#define CCML_DEPTHWISE_TWO_PIXELS(pixel) \
    "add r3, r3, #1\n" \
    "lsrs r3, r3, #1\n" \
    "bcc 9f\n" CCML_DEPTHWISE_PIXELS(pixel "9:\n" pixel)

/* In lr and r12 the distances of pixels and of cells, r4 and r5 the borders before and behind. Pixels may be at any
   address. */
#define CCML_BLOCK_DEPTHWISE_STAGE_ROW 1
CCML_NAKED ccml_depthwise_stage_row(
    const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t columns CCML_UNUSED,
    int32_t step CCML_UNUSED, int32_t left CCML_UNUSED, int32_t right CCML_UNUSED, int32_t apart CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldrd lr, r4, [sp, #36]\n"
        "ldrd r5, r12, [sp, #44]\n"
        "ldrb r6, [sp, #52]\n"
        "orr r6, r6, r6, lsl #8\n"
        "orr r6, r6, r6, lsl #16\n"
        CCML_DEPTHWISE_BORDER
        "mov r4, r5\n"
        "cbz r3, 9f\n"
        "cmp r2, #3\n"
        "bgt 4f\n"
        "beq 3f\n"
        "cmp r2, #2\n"
        "beq 2f\n"
        CCML_DEPTHWISE_PIXELS(CCML_DEPTHWISE_PIXEL("ldr r2, [r0]\n", "str r2, [r1]\n"))
        "9:\n"
        "b 5f\n"
        "2:\n"
        CCML_DEPTHWISE_PIXELS(CCML_DEPTHWISE_PIXEL("ldr r2, [r0]\n" "ldr r5, [r0, #4]\n", "strd r2, r5, [r1]\n"))
        "b 5f\n"
        "3:\n"
        CCML_DEPTHWISE_PIXELS(CCML_DEPTHWISE_PIXEL(
            "ldr r2, [r0]\n" "ldr r5, [r0, #4]\n" "ldr r10, [r0, #8]\n", "stm r1, {r2, r5, r10}\n"))
        "b 5f\n"
        "1:\n"
        CCML_DEPTHWISE_PIXELS(CCML_DEPTHWISE_PIXEL(
            "ldr r2, [r0]\n" "ldr r5, [r0, #4]\n" "ldr r10, [r0, #8]\n" "ldr r11, [r0, #12]\n",
            "stm r1, {r2, r5, r10, r11}\n"))
        "b 5f\n"
        "4:\n"
        "orr r2, r0, lr\n"
        "tst r2, #3\n"
        "bne 1b\n"
        CCML_DEPTHWISE_TWO_PIXELS(CCML_DEPTHWISE_PIXEL("ldm r0, {r2, r5, r10, r11}\n", "stm r1, {r2, r5, r10, r11}\n"))
        "5:\n"
        CCML_DEPTHWISE_BORDER
        "pop {r4-r11, pc}\n");
}

#undef CCML_DEPTHWISE_BORDER
#undef CCML_DEPTHWISE_PIXEL
#undef CCML_DEPTHWISE_PIXELS
#undef CCML_DEPTHWISE_TWO_PIXELS
#endif

#endif

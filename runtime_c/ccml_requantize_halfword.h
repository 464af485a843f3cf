/* Part of the ccml runtime: accumulators [channel, lanes] times factors of 15 bits as bytes of pixels that are `step`
   apart: clamp(zero_point + (a * s / 2^(16 + shift))), halves up, the same shift for all channels.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_REQUANTIZE_HALFWORD_H
#define CCML_REQUANTIZE_HALFWORD_H

#include "ccml_requantize_fixed.h"

#if CCML_ARM_V6M
/* The accumulator at r6 times r3, the upper 32 of 48 bits from halfwords; with r4 added and shifted by r5 in r0, and its
   low byte in r1, which is the result where both are equal. */
#define CCML_REQUANTIZE_HALFWORD_ONE \
    "ldmia r6!, {r0}\n" \
    "asrs r1, r0, #16\n" \
    "uxth r0, r0\n" \
    "muls r0, r3, r0\n" \
    "lsrs r0, r0, #16\n" \
    "muls r1, r3, r1\n" \
    "adds r0, r0, r1\n" \
    "adds r0, r0, r4\n" \
    "asrs r0, r5\n" \
    "sxtb r1, r0\n" \
    "cmp r1, r0\n"

/* 127 or -128 in r1 for a number without bounds in r0. */
#define CCML_REQUANTIZE_HALFWORD_END \
    "asrs r0, r0, #31\n" \
    "movs r1, #127\n" \
    "eors r1, r0\n"

/* The next factor to r3; s is in r8. */
#define CCML_REQUANTIZE_HALFWORD_NEXT \
    "mov r0, r8\n" \
    "ldrh r3, [r0]\n" \
    "adds r0, #2\n" \
    "mov r8, r0\n"

/* s is in r8, pixels * 4 in r9, lanes * 4 in lr, step in r2, the accumulators of a channel from r12 to r11. On the
   stack: y, end of a. Four pixels of four lanes have a loop of their own, with y of the channel in r12 and its end in lr,
   and so has a single lane, with s in r2 and the end of y in r12. */
#define CCML_BLOCK_REQUANTIZE_HALFWORD 1
CCML_NAKED ccml_requantize_halfword(
    const int32_t *a CCML_UNUSED, const int16_t *s CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t pixels CCML_UNUSED, int32_t lanes CCML_UNUSED, int32_t step CCML_UNUSED, int32_t zero_point CCML_UNUSED,
    int32_t shift CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r11\n"
        "push {r4-r6}\n"
        "sub sp, #8\n"
        "mov r6, r0\n"
        "mov r7, r2\n"
        "mov r8, r1\n"
        "ldr r4, [sp, #52]\n"
        "ldr r5, [sp, #56]\n"
        "lsls r4, r4, #1\n"
        "adds r4, #1\n"
        "lsls r4, r5\n"
        "asrs r4, r4, #1\n"
        "ldr r0, [sp, #44]\n"
        "cmp r0, #1\n"
        "beq 5f\n"
        "ldr r1, [sp, #40]\n"
        "ldr r2, [sp, #48]\n"
        "cmp r0, #4\n"
        "bne 9f\n"
        "cmp r1, #4\n"
        "beq 10f\n"
        "9:\n"
        "lsls r1, r1, #2\n"
        "mov r9, r1\n"
        "str r7, [sp, #0]\n"
        "lsls r0, r0, #2\n"
        "mov lr, r0\n"
        "muls r3, r0, r3\n"
        "adds r3, r3, r6\n"
        "str r3, [sp, #4]\n"
        "mov r12, r6\n"
        "1:\n" CCML_REQUANTIZE_HALFWORD_NEXT
        "mov r6, r12\n"
        "mov r11, r9\n"
        "add r11, r6\n"
        "ldr r7, [sp, #0]\n"
        "2:\n" CCML_REQUANTIZE_HALFWORD_ONE
        "bne 4f\n"
        "3:\n"
        "strb r1, [r7]\n"
        "adds r7, r7, r2\n"
        "cmp r6, r11\n"
        "bne 2b\n"
        "ldr r0, [sp, #0]\n"
        "adds r0, #1\n"
        "str r0, [sp, #0]\n"
        "add r12, lr\n"
        "ldr r0, [sp, #4]\n"
        "cmp r0, r12\n"
        "bne 1b\n"
        "b 20f\n"
        "4:\n" CCML_REQUANTIZE_HALFWORD_END
        "b 3b\n"
        "5:\n"
        "adds r0, r7, r3\n"
        "mov r12, r0\n"
        "mov r2, r8\n"
        "6:\n"
        "ldrh r3, [r2]\n" CCML_REQUANTIZE_HALFWORD_ONE
        "bne 8f\n"
        "7:\n"
        "strb r1, [r7]\n"
        "adds r2, #2\n"
        "adds r7, #1\n"
        "cmp r7, r12\n"
        "bne 6b\n"
        "b 20f\n"
        "8:\n" CCML_REQUANTIZE_HALFWORD_END
        "b 7b\n"
        "10:\n"
        "mov r12, r7\n"
        "adds r3, r3, r7\n"
        "mov lr, r3\n"
        "movs r0, #1\n"
        "mov r9, r0\n"
        "11:\n" CCML_REQUANTIZE_HALFWORD_NEXT
        "mov r7, r12\n" CCML_REQUANTIZE_HALFWORD_ONE
        "bne 16f\n"
        "12:\n"
        "strb r1, [r7]\n"
        "adds r7, r7, r2\n" CCML_REQUANTIZE_HALFWORD_ONE
        "bne 17f\n"
        "13:\n"
        "strb r1, [r7]\n"
        "adds r7, r7, r2\n" CCML_REQUANTIZE_HALFWORD_ONE
        "bne 18f\n"
        "14:\n"
        "strb r1, [r7]\n"
        "adds r7, r7, r2\n" CCML_REQUANTIZE_HALFWORD_ONE
        "bne 19f\n"
        "15:\n"
        "strb r1, [r7]\n"
        "add r12, r9\n"
        "cmp r12, lr\n"
        "bne 11b\n"
        "20:\n"
        "add sp, #8\n"
        "pop {r4-r6}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r11, r6\n"
        "pop {r4-r7, pc}\n"
        "16:\n" CCML_REQUANTIZE_HALFWORD_END
        "b 12b\n"
        "17:\n" CCML_REQUANTIZE_HALFWORD_END
        "b 13b\n"
        "18:\n" CCML_REQUANTIZE_HALFWORD_END
        "b 14b\n"
        "19:\n" CCML_REQUANTIZE_HALFWORD_END
        "b 15b\n");
}

#undef CCML_REQUANTIZE_HALFWORD_NEXT
#undef CCML_REQUANTIZE_HALFWORD_ONE
#undef CCML_REQUANTIZE_HALFWORD_END
#elif CCML_ARM_V7M
/* An accumulator times the factor in the upper half of r4, requantized; r8 is lost. */
#define CCML_REQUANTIZE_HALFWORD_ONE(acc) \
    "smull r8, " acc ", " acc ", r4\n" \
    "add " acc ", " acc ", r6\n" \
    "asr " acc ", " acc ", r5\n" \
    "ssat " acc ", #8, " acc "\n"

/* What is added before the shift in r6, step in r12, the end of the accumulators of a channel in lr, bytes from there to
   the next channel in r10. On the stack: pixels * 4. Four pixels of four lanes have a loop of their own, with 3 * step in
   lr, and so has a single lane. */
#define CCML_BLOCK_REQUANTIZE_HALFWORD 1
CCML_NAKED ccml_requantize_halfword(
    const int32_t *a CCML_UNUSED, const int16_t *s CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t pixels CCML_UNUSED, int32_t lanes CCML_UNUSED, int32_t step CCML_UNUSED, int32_t zero_point CCML_UNUSED,
    int32_t shift CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #4\n"
        "ldrd r4, r10, [sp, #40]\n"
        "ldrd r12, r6, [sp, #48]\n"
        "ldr r5, [sp, #56]\n"
        "lsl r6, r6, #1\n"
        "add r6, r6, #1\n"
        "lsl r6, r6, r5\n"
        "asr r6, r6, #1\n"
        "cmp r10, #1\n"
        "beq 3f\n"
        "add lr, r12, r12, lsl #1\n"
        "subs r10, r10, r4\n"
        "it eq\n"
        "cmpeq r4, #4\n"
        "beq 4f\n"
        "lsl r10, r10, #2\n"
        "lsl r4, r4, #2\n"
        "str r4, [sp]\n"
        "1:\n"
        "ldrh r4, [r1], #2\n"
        "lsl r4, r4, #16\n"
        "ldr r7, [sp]\n"
        "add lr, r0, r7\n"
        "mov r11, r2\n"
        "2:\n"
        "ldr r9, [r0], #4\n" CCML_REQUANTIZE_HALFWORD_ONE("r9")
        "strb r9, [r11]\n"
        "add r11, r11, r12\n"
        "cmp r0, lr\n"
        "bne 2b\n"
        "add r0, r0, r10\n"
        "adds r2, r2, #1\n"
        "subs r3, r3, #1\n"
        "bne 1b\n"
        "b 5f\n"
        "3:\n"
        "ldrh r4, [r1], #2\n"
        "lsl r4, r4, #16\n"
        "ldr r9, [r0], #4\n" CCML_REQUANTIZE_HALFWORD_ONE("r9")
        "strb r9, [r2], #1\n"
        "subs r3, r3, #1\n"
        "bne 3b\n"
        "b 5f\n"
        "4:\n"
        "ldrh r4, [r1], #2\n"
        "lsl r4, r4, #16\n"
        "ldm r0!, {r7, r9, r10, r11}\n" CCML_REQUANTIZE_HALFWORD_ONE("r7") CCML_REQUANTIZE_HALFWORD_ONE("r9")
        CCML_REQUANTIZE_HALFWORD_ONE("r10") CCML_REQUANTIZE_HALFWORD_ONE("r11")
        "strb r7, [r2]\n"
        "strb r9, [r2, r12]\n"
        "strb r10, [r2, r12, lsl #1]\n"
        "strb r11, [r2, lr]\n"
        "adds r2, r2, #1\n"
        "subs r3, r3, #1\n"
        "bne 4b\n"
        "5:\n"
        "add sp, sp, #4\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_REQUANTIZE_HALFWORD_ONE
#endif

#endif

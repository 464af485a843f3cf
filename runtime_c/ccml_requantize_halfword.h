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

/* s is in r8, pixels * 4 in r9, lanes * 4 in lr, step in r2, the accumulators of a channel from r12 to r11. On the
   stack: y, end of a. A single lane has a loop of its own: there, s is in r2, and the end of y in r12. */
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
        "ldr r4, [sp, #52]\n"
        "ldr r5, [sp, #56]\n"
        "lsls r4, r4, #1\n"
        "adds r4, #1\n"
        "lsls r4, r5\n"
        "asrs r4, r4, #1\n"
        "ldr r0, [sp, #44]\n"
        "cmp r0, #1\n"
        "beq 5f\n"
        "mov r8, r1\n"
        "ldr r1, [sp, #40]\n"
        "lsls r1, r1, #2\n"
        "mov r9, r1\n"
        "str r2, [sp, #0]\n"
        "lsls r0, r0, #2\n"
        "mov lr, r0\n"
        "muls r3, r0, r3\n"
        "adds r3, r3, r6\n"
        "str r3, [sp, #4]\n"
        "ldr r2, [sp, #48]\n"
        "mov r12, r6\n"
        "1:\n"
        "mov r0, r8\n"
        "ldrh r3, [r0]\n"
        "adds r0, #2\n"
        "mov r8, r0\n"
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
        "b 9f\n"
        "4:\n" CCML_REQUANTIZE_HALFWORD_END
        "b 3b\n"
        "5:\n"
        "adds r0, r7, r3\n"
        "mov r12, r0\n"
        "mov r2, r1\n"
        "6:\n"
        "ldrh r3, [r2]\n" CCML_REQUANTIZE_HALFWORD_ONE
        "bne 8f\n"
        "7:\n"
        "strb r1, [r7]\n"
        "adds r2, #2\n"
        "adds r7, #1\n"
        "cmp r7, r12\n"
        "bne 6b\n"
        "9:\n"
        "add sp, #8\n"
        "pop {r4-r6}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r11, r6\n"
        "pop {r4-r7, pc}\n"
        "8:\n" CCML_REQUANTIZE_HALFWORD_END
        "b 7b\n");
}

#undef CCML_REQUANTIZE_HALFWORD_ONE
#undef CCML_REQUANTIZE_HALFWORD_END
#elif CCML_ARM_V7M
/* The accumulator in r7 times the factor in the upper half of r4, requantized in r9. */
#define CCML_REQUANTIZE_HALFWORD_ONE \
    "smull r8, r9, r7, r4\n" \
    "add r9, r9, r6\n" \
    "asr r9, r9, r5\n" \
    "ssat r9, #8, r9\n"

/* What is added before the shift in r6, step in r12, the end of the accumulators of a channel in lr, bytes from there to
   the next channel in r10. On the stack: pixels * 4. A single lane has a loop of its own. */
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
        "subs r10, r10, r4\n"
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
        "ldr r7, [r0], #4\n" CCML_REQUANTIZE_HALFWORD_ONE
        "strb r9, [r11]\n"
        "add r11, r11, r12\n"
        "cmp r0, lr\n"
        "bne 2b\n"
        "add r0, r0, r10\n"
        "adds r2, r2, #1\n"
        "subs r3, r3, #1\n"
        "bne 1b\n"
        "b 4f\n"
        "3:\n"
        "ldrh r4, [r1], #2\n"
        "lsl r4, r4, #16\n"
        "ldr r7, [r0], #4\n" CCML_REQUANTIZE_HALFWORD_ONE
        "strb r9, [r2], #1\n"
        "subs r3, r3, #1\n"
        "bne 3b\n"
        "4:\n"
        "add sp, sp, #4\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_REQUANTIZE_HALFWORD_ONE
#else
static inline void ccml_requantize_halfword(
    const int32_t *a, const int16_t *s, int8_t *y, int32_t channels, int32_t pixels, int32_t lanes, int32_t step,
    int32_t zero_point, int32_t shift)
{
    const int32_t half = 1 << (shift - 1);
    for (int32_t c = 0; c < channels; ++c) {
        for (int32_t p = 0; p < pixels; ++p) {
            const int32_t steps = (ccml_i32_mul_high(a[c * lanes + p], s[c] * 65536) + half) >> shift;
            y[step * p + c] = ccml_i32_to_byte(zero_point + steps);
        }
    }
}
#endif

#endif

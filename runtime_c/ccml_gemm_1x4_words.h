/* Part of the ccml runtime: four pixels in words by all channels, whose weights are bytes plus 128.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_1X4_WORDS_H
#define CCML_GEMM_1X4_WORDS_H

#include "ccml_thumb.h"

#if CCML_ARM_V6M
/* One k: 10 instructions of two bytes each. */
#define CCML_WORDS_1X4_STEP(number) \
    "ldrb r2, [r1, #" number "]\n" \
    "ldmia r0!, {r3-r6}\n" \
    "muls r3, r2, r3\n" \
    "muls r4, r2, r4\n" \
    "muls r5, r2, r5\n" \
    "muls r6, r2, r6\n" \
    "add r8, r3\n" \
    "add r9, r4\n" \
    "add r10, r5\n" \
    "add r11, r6\n"

/* The accumulators are in r8 to r11, the end of x in r7, where a channel enters the 16 steps in r12, and how many it
   skips there in lr. On the stack: b, x, the end of y, y. */
#define CCML_BLOCK_GEMM_1X4_WORDS 1
CCML_NAKED ccml_gemm_1x4_words(
    const int32_t *b CCML_UNUSED, const uint8_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *y CCML_UNUSED,
    int32_t steps CCML_UNUSED, int32_t channels CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        ".p2align 2\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r4-r7}\n"
        "sub sp, #16\n"
        "str r0, [sp, #0]\n"
        "str r2, [sp, #4]\n"
        "str r3, [sp, #12]\n"
        "ldr r5, [sp, #56]\n"
        "lsls r5, r5, #4\n"
        "adds r5, r5, r3\n"
        "str r5, [sp, #8]\n"
        "ldr r4, [sp, #52]\n"
        "lsls r7, r4, #4\n"
        "adds r7, #16\n"
        "adds r7, r7, r2\n"
        "subs r4, #1\n"
        "movs r6, #15\n"
        "bics r6, r4\n"
        "mov lr, r6\n"
        "movs r5, #20\n"
        "muls r6, r5, r6\n"
        "adr r5, 2f\n"
        "adds r5, r5, r6\n"
        "adds r5, #1\n"
        "mov r12, r5\n"
        "1:\n"
        "ldr r0, [sp, #0]\n"
        "ldmia r0!, {r2}\n"
        "str r0, [sp, #0]\n"
        "ldr r0, [sp, #4]\n"
        "ldmia r0!, {r3-r6}\n"
        "adds r3, r3, r2\n"
        "adds r4, r4, r2\n"
        "adds r5, r5, r2\n"
        "adds r6, r6, r2\n"
        "mov r8, r3\n"
        "mov r9, r4\n"
        "mov r10, r5\n"
        "mov r11, r6\n"
        "mov r2, lr\n"
        "subs r1, r1, r2\n"
        "bx r12\n"
        ".p2align 2\n"
        "2:\n" CCML_WORDS_1X4_STEP("0") CCML_WORDS_1X4_STEP("1") CCML_WORDS_1X4_STEP("2") CCML_WORDS_1X4_STEP("3")
        CCML_WORDS_1X4_STEP("4")
        CCML_WORDS_1X4_STEP("5") CCML_WORDS_1X4_STEP("6") CCML_WORDS_1X4_STEP("7") CCML_WORDS_1X4_STEP("8")
        CCML_WORDS_1X4_STEP("9")
        CCML_WORDS_1X4_STEP("10") CCML_WORDS_1X4_STEP("11") CCML_WORDS_1X4_STEP("12") CCML_WORDS_1X4_STEP("13")
        CCML_WORDS_1X4_STEP("14")
        CCML_WORDS_1X4_STEP("15")
        "adds r1, #16\n"
        "cmp r0, r7\n"
        "beq 3f\n"
        "b 2b\n"
        "3:\n"
        "ldr r2, [sp, #12]\n"
        "mov r3, r8\n"
        "mov r4, r9\n"
        "mov r5, r10\n"
        "mov r6, r11\n"
        "stmia r2!, {r3-r6}\n"
        "str r2, [sp, #12]\n"
        "ldr r3, [sp, #8]\n"
        "cmp r2, r3\n"
        "beq 4f\n"
        "b 1b\n"
        "4:\n"
        "add sp, #16\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}

#undef CCML_WORDS_1X4_STEP
#endif

#endif

/* Part of the ccml runtime: four pixels, two in a word, by all channels, whose weights are bytes plus 128.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_1X4_PAIRS_H
#define CCML_GEMM_1X4_PAIRS_H

#include "ccml_thumb.h"

#if CCML_ARM_V6M
/* A product of two pixels to a sum of words and a sum of their upper halves. */
#define CCML_PAIRS_1X4_ADD(word, sum, upper) \
    "add " sum ", " word "\n" \
    "lsrs " word ", " word ", #16\n" \
    "add " upper ", " word "\n"

/* One k: 10 instructions of two bytes each. */
#define CCML_PAIRS_1X4_STEP(number) \
    "ldrb r2, [r1, #" number "]\n" \
    "ldmia r0!, {r3, r4}\n" \
    "muls r3, r2, r3\n" CCML_PAIRS_1X4_ADD("r3", "r8", "r9") \
    "muls r4, r2, r4\n" CCML_PAIRS_1X4_ADD("r4", "r10", "r11")

/* The sums are in r8 to r11, the end of x in r7, where a channel enters the 32 steps in r12, and how many it skips there
   in lr. On the stack: for each pixel -128 times the sum of its activations, in those of words with the upper one times
   2^16; b, x, the end of y, y. */
#define CCML_BLOCK_GEMM_1X4_PAIRS 1
CCML_NAKED ccml_gemm_1x4_pairs(
    const int32_t *b CCML_UNUSED, const uint8_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED,
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
        "sub sp, #32\n"
        "str r0, [sp, #16]\n"
        "str r2, [sp, #20]\n"
        "str r3, [sp, #28]\n"
        "ldr r5, [sp, #72]\n"
        "lsls r5, r5, #4\n"
        "adds r5, r5, r3\n"
        "str r5, [sp, #24]\n"
        "ldr r4, [sp, #68]\n"
        "lsls r7, r4, #3\n"
        "adds r7, r7, r2\n"
        "movs r6, #0\n"
        "mov r8, r6\n"
        "mov r9, r6\n"
        "mov r10, r6\n"
        "mov r11, r6\n"
        "lsrs r3, r4, #1\n"
        "bcc 7f\n"
        "ldmia r2!, {r3, r5}\n" CCML_PAIRS_1X4_ADD("r3", "r8", "r9") CCML_PAIRS_1X4_ADD("r5", "r10", "r11")
        "b 7f\n"
        "6:\n"
        "ldmia r2!, {r0, r3, r5, r6}\n" CCML_PAIRS_1X4_ADD("r0", "r8", "r9") CCML_PAIRS_1X4_ADD("r3", "r10", "r11")
        CCML_PAIRS_1X4_ADD("r5", "r8", "r9") CCML_PAIRS_1X4_ADD("r6", "r10", "r11")
        "7:\n"
        "cmp r2, r7\n"
        "bne 6b\n"
        "mov r0, r8\n"
        "mov r3, r9\n"
        "mov r5, r10\n"
        "mov r6, r11\n"
        "lsls r0, r0, #7\n"
        "lsls r3, r3, #7\n"
        "lsls r5, r5, #7\n"
        "lsls r6, r6, #7\n"
        "rsbs r0, r0, #0\n"
        "rsbs r3, r3, #0\n"
        "rsbs r5, r5, #0\n"
        "rsbs r6, r6, #0\n"
        "mov r2, sp\n"
        "stmia r2!, {r0, r3, r5, r6}\n"
        "subs r4, #1\n"
        "movs r6, #31\n"
        "bics r6, r4\n"
        "mov lr, r6\n"
        "movs r5, #20\n"
        "muls r6, r5, r6\n"
        "adr r5, 2f\n"
        "adds r5, r5, r6\n"
        "adds r5, #1\n"
        "mov r12, r5\n"
        "1:\n"
        "ldr r0, [sp, #16]\n"
        "ldmia r0!, {r2}\n"
        "str r0, [sp, #16]\n"
        "mov r0, sp\n"
        "ldmia r0!, {r3-r6}\n"
        "lsls r0, r2, #16\n"
        "adds r0, r0, r2\n"
        "adds r3, r3, r0\n"
        "adds r4, r4, r2\n"
        "adds r5, r5, r0\n"
        "adds r6, r6, r2\n"
        "mov r8, r3\n"
        "mov r9, r4\n"
        "mov r10, r5\n"
        "mov r11, r6\n"
        "ldr r0, [sp, #20]\n"
        "mov r2, lr\n"
        "subs r1, r1, r2\n"
        "bx r12\n"
        ".p2align 2\n"
        "2:\n" CCML_PAIRS_1X4_STEP("0") CCML_PAIRS_1X4_STEP("1") CCML_PAIRS_1X4_STEP("2") CCML_PAIRS_1X4_STEP("3")
        CCML_PAIRS_1X4_STEP("4") CCML_PAIRS_1X4_STEP("5") CCML_PAIRS_1X4_STEP("6") CCML_PAIRS_1X4_STEP("7")
        CCML_PAIRS_1X4_STEP("8") CCML_PAIRS_1X4_STEP("9") CCML_PAIRS_1X4_STEP("10") CCML_PAIRS_1X4_STEP("11")
        CCML_PAIRS_1X4_STEP("12") CCML_PAIRS_1X4_STEP("13") CCML_PAIRS_1X4_STEP("14") CCML_PAIRS_1X4_STEP("15")
        CCML_PAIRS_1X4_STEP("16") CCML_PAIRS_1X4_STEP("17") CCML_PAIRS_1X4_STEP("18") CCML_PAIRS_1X4_STEP("19")
        CCML_PAIRS_1X4_STEP("20") CCML_PAIRS_1X4_STEP("21") CCML_PAIRS_1X4_STEP("22") CCML_PAIRS_1X4_STEP("23")
        CCML_PAIRS_1X4_STEP("24") CCML_PAIRS_1X4_STEP("25") CCML_PAIRS_1X4_STEP("26") CCML_PAIRS_1X4_STEP("27")
        CCML_PAIRS_1X4_STEP("28") CCML_PAIRS_1X4_STEP("29") CCML_PAIRS_1X4_STEP("30") CCML_PAIRS_1X4_STEP("31")
        "adds r1, #32\n"
        "cmp r0, r7\n"
        "beq 3f\n"
        "b 2b\n"
        "3:\n"
        "ldr r2, [sp, #28]\n"
        "mov r3, r8\n"
        "mov r4, r9\n"
        "mov r5, r10\n"
        "mov r6, r11\n"
        "lsls r0, r4, #16\n"
        "subs r3, r3, r0\n"
        "lsls r0, r6, #16\n"
        "subs r5, r5, r0\n"
        "stmia r2!, {r3-r6}\n"
        "str r2, [sp, #28]\n"
        "ldr r3, [sp, #24]\n"
        "cmp r2, r3\n"
        "beq 4f\n"
        "b 1b\n"
        "4:\n"
        "add sp, #32\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}

#undef CCML_PAIRS_1X4_ADD
#undef CCML_PAIRS_1X4_STEP
#endif

#endif

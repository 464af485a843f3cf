/* Part of the ccml runtime: one pixel in words by all channels, whose weights are bytes plus 128, four side by side.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_4X1_WORDS_H
#define CCML_GEMM_4X1_WORDS_H

#include "ccml_thumb.h"

#if CCML_ARM_V6M
/* A word in r3 to r6 times four weights. */
#define CCML_WORDS_4X1_WEIGHT(number, word, acc) \
    "ldrb r2, [r1, #" number "]\n" \
    "muls r2, " word ", r2\n" \
    "add " acc ", r2\n"
#define CCML_WORDS_4X1_FOUR(n0, n1, n2, n3, word) \
    CCML_WORDS_4X1_WEIGHT(n0, word, "r8") CCML_WORDS_4X1_WEIGHT(n1, word, "r9") CCML_WORDS_4X1_WEIGHT(n2, word, "r10") \
    CCML_WORDS_4X1_WEIGHT(n3, word, "r11")

/* The accumulators are in r8 to r11, the end of eights of x in r7, that of x in r12. On the stack: b, x, end of y, y. */
#define CCML_BLOCK_GEMM_4X1_WORDS 1
CCML_NAKED ccml_gemm_4x1_words(
    const int32_t *b CCML_UNUSED, const uint8_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *y CCML_UNUSED,
    int32_t steps CCML_UNUSED, int32_t channels CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
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
        "lsls r5, r5, #2\n"
        "adds r5, r5, r3\n"
        "str r5, [sp, #8]\n"
        "ldr r4, [sp, #52]\n"
        "lsls r5, r4, #2\n"
        "adds r5, r5, r2\n"
        "adds r5, #4\n"
        "mov r12, r5\n"
        "lsrs r7, r4, #3\n"
        "lsls r7, r7, #5\n"
        "adds r7, r7, r2\n"
        "adds r7, #4\n"
        "1:\n"
        "ldr r0, [sp, #0]\n"
        "ldmia r0!, {r3-r6}\n"
        "str r0, [sp, #0]\n"
        "ldr r0, [sp, #4]\n"
        "ldmia r0!, {r2}\n"
        "adds r3, r3, r2\n"
        "adds r4, r4, r2\n"
        "adds r5, r5, r2\n"
        "adds r6, r6, r2\n"
        "mov r8, r3\n"
        "mov r9, r4\n"
        "mov r10, r5\n"
        "mov r11, r6\n"
        "cmp r0, r7\n"
        "beq 3f\n"
        "2:\n"
        "ldmia r0!, {r3-r6}\n"
        CCML_WORDS_4X1_FOUR("0", "1", "2", "3", "r3") CCML_WORDS_4X1_FOUR("4", "5", "6", "7", "r4")
        CCML_WORDS_4X1_FOUR("8", "9", "10", "11", "r5") CCML_WORDS_4X1_FOUR("12", "13", "14", "15", "r6")
        "ldmia r0!, {r3-r6}\n"
        CCML_WORDS_4X1_FOUR("16", "17", "18", "19", "r3") CCML_WORDS_4X1_FOUR("20", "21", "22", "23", "r4")
        CCML_WORDS_4X1_FOUR("24", "25", "26", "27", "r5") CCML_WORDS_4X1_FOUR("28", "29", "30", "31", "r6")
        "adds r1, #32\n"
        "cmp r0, r7\n"
        "bne 2b\n"
        "3:\n"
        "cmp r0, r12\n"
        "beq 5f\n"
        "4:\n"
        "ldmia r0!, {r3}\n" CCML_WORDS_4X1_FOUR("0", "1", "2", "3", "r3")
        "adds r1, #4\n"
        "cmp r0, r12\n"
        "bne 4b\n"
        "5:\n"
        "ldr r2, [sp, #12]\n"
        "mov r3, r8\n"
        "mov r4, r9\n"
        "mov r5, r10\n"
        "mov r6, r11\n"
        "stmia r2!, {r3-r6}\n"
        "str r2, [sp, #12]\n"
        "ldr r3, [sp, #8]\n"
        "cmp r2, r3\n"
        "beq 6f\n"
        "b 1b\n"
        "6:\n"
        "add sp, #16\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}

#undef CCML_WORDS_4X1_WEIGHT
#undef CCML_WORDS_4X1_FOUR
#elif CCML_ARM_V7M
/* A word times four weights, whose loads follow each other, for then all but the first take one cycle. */
#define CCML_WORDS_4X1_FOUR(word) \
    "ldrb r2, [r1, #1]\n" \
    "ldrb r3, [r1, #2]\n" \
    "ldrb lr, [r1, #3]\n" \
    "ldrb r12, [r1], #4\n" \
    "mla r5, " word ", r2, r5\n" \
    "mla r6, " word ", r3, r6\n" \
    "mla r7, " word ", lr, r7\n" \
    "mla r4, " word ", r12, r4\n"

/* The accumulators are in r4 to r7. On the stack: b, x, y, end of y, end of x, that of fours of x. */
#define CCML_BLOCK_GEMM_4X1_WORDS 1
CCML_NAKED ccml_gemm_4x1_words(
    const int32_t *b CCML_UNUSED, const uint8_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *y CCML_UNUSED,
    int32_t steps CCML_UNUSED, int32_t channels CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #24\n"
        "ldrd r4, r5, [sp, #60]\n"
        "strd r0, r2, [sp]\n"
        "add r5, r3, r5, lsl #2\n"
        "strd r3, r5, [sp, #8]\n"
        "adds r2, r2, #4\n"
        "add r5, r2, r4, lsl #2\n"
        "lsrs r4, r4, #2\n"
        "add r6, r2, r4, lsl #4\n"
        "strd r5, r6, [sp, #16]\n"
        "1:\n"
        "ldrd r2, r0, [sp]\n"
        "ldm r2!, {r4-r7}\n"
        "str r2, [sp, #0]\n"
        "ldr r2, [r0], #4\n"
        "ldr r3, [sp, #20]\n"
        "adds r4, r4, r2\n"
        "adds r5, r5, r2\n"
        "adds r6, r6, r2\n"
        "adds r7, r7, r2\n"
        "cmp r0, r3\n"
        "beq.w 3f\n"
        "2:\n"
        "ldm r0!, {r8-r11}\n"
        CCML_WORDS_4X1_FOUR("r8") CCML_WORDS_4X1_FOUR("r9") CCML_WORDS_4X1_FOUR("r10") CCML_WORDS_4X1_FOUR("r11")
        "ldr r2, [sp, #20]\n"
        "cmp r0, r2\n"
        "bne 2b\n"
        "3:\n"
        "ldr r9, [sp, #16]\n"
        "cmp r0, r9\n"
        "beq 5f\n"
        "4:\n"
        "ldr r8, [r0], #4\n" CCML_WORDS_4X1_FOUR("r8")
        "cmp r0, r9\n"
        "bne 4b\n"
        "5:\n"
        "ldrd r2, r3, [sp, #8]\n"
        "stm r2!, {r4-r7}\n"
        "str r2, [sp, #8]\n"
        "cmp r2, r3\n"
        "bne 1b\n"
        "add sp, sp, #24\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_WORDS_4X1_FOUR
#endif

#endif

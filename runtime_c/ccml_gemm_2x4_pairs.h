/* Part of the ccml runtime: four pixels, two in a word, by all channels, two channels at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_2X4_PAIRS_H
#define CCML_GEMM_2X4_PAIRS_H

#include "ccml_thumb.h"

#if CCML_ARM_V7M
/* A word of two pixels times a weight: both products are below 2^16. One sum takes the words, one their upper halves. */
#define CCML_PAIRS_WORD(word, weight, product, sum, upper) \
    "mul " product ", " word ", " weight "\n" \
    "add " sum ", " sum ", " product "\n" \
    "add " upper ", " upper ", " product ", lsr #16\n"

/* Single loads that follow each other take less time than pairs. */
#define CCML_PAIRS_LOAD \
    "ldr r3, [r0, #4]\n" \
    "ldr r2, [r0], #8\n" \
    "ldrb r12, [r1], #1\n"
#define CCML_PAIRS_TWO \
    CCML_PAIRS_LOAD CCML_PAIRS_WORD("r2", "r12", "lr", "r4", "r5") CCML_PAIRS_WORD("r3", "r12", "lr", "r6", "r7") \
    "ldrb r12, [r1], #1\n" \
    CCML_PAIRS_WORD("r2", "r12", "r2", "r8", "r9") CCML_PAIRS_WORD("r3", "r12", "r3", "r10", "r11")
#define CCML_PAIRS_ONE \
    CCML_PAIRS_LOAD CCML_PAIRS_WORD("r2", "r12", "r2", "r4", "r5") CCML_PAIRS_WORD("r3", "r12", "r3", "r6", "r7")

/* Sums of a channel begin with those of the pixels in c0 to c3 and with its bias; r12 is lost. */
#define CCML_PAIRS_START(y0, y1, y2, y3, c0, c1, c2, c3, bias) \
    "add r12, " bias ", " bias ", lsl #16\n" \
    "add " y0 ", " c0 ", r12\n" \
    "add " y1 ", " c1 ", " bias "\n" \
    "add " y2 ", " c2 ", r12\n" \
    "add " y3 ", " c3 ", " bias "\n"

/* The place from which `steps` (in r4) leave (steps - 1) % 8 + 1 of 8 copies from `begin` to `end`, in r7. */
#define CCML_PAIRS_ENTRY(begin, end) \
    "sub r6, r4, #1\n" \
    "and r6, r6, #7\n" \
    "add r6, r6, #1\n" \
    "mov r7, #(" end " - " begin ") / 8\n" \
    "mul r6, r6, r7\n" \
    "adr.w r7, " end "\n" \
    "sub r7, r7, r6\n" \
    "orr r7, r7, #1\n"

/* Two words of activations in r8 and r9 added to the sums of all: r4 to r7. */
#define CCML_PAIRS_ADD(w0, w1) \
    "add r4, r4, " w0 "\n" \
    "add r5, r5, " w0 ", lsr #16\n" \
    "add r6, r6, " w1 "\n" \
    "add r7, r7, " w1 ", lsr #16\n"

/* On the stack: for each pixel -128 times the sum of its activations, in those of words with the upper one times 2^16;
   b, y, x, its end, entry of two channels, pairs of channels left, channels, entry of one channel. */
#define CCML_BLOCK_GEMM_2X4_PAIRS 1
CCML_NAKED ccml_gemm_2x4_pairs(
    const int32_t *b CCML_UNUSED, const uint8_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED,
    int32_t steps CCML_UNUSED, int32_t channels CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        ".p2align 2\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #48\n"
        "strd r0, r3, [sp, #16]\n"
        "ldrd r4, r12, [sp, #84]\n"
        "add r5, r2, r4, lsl #3\n"
        "strd r2, r5, [sp, #24]\n"
        "mov r0, r5\n"
        CCML_PAIRS_ENTRY("2f", "3f")
        "lsr r6, r12, #1\n"
        "strd r7, r6, [sp, #32]\n"
        CCML_PAIRS_ENTRY("6f", "7f")
        "strd r12, r7, [sp, #40]\n"
        "lsrs r3, r4, #1\n"
        "mov r4, #0\n"
        "mov r5, #0\n"
        "mov r6, #0\n"
        "mov r7, #0\n"
        "bcc 9f\n"
        "ldrd r8, r9, [r2], #8\n" CCML_PAIRS_ADD("r8", "r9")
        "b 9f\n"
        "8:\n"
        "ldm r2!, {r8-r11}\n" CCML_PAIRS_ADD("r8", "r9") CCML_PAIRS_ADD("r10", "r11")
        "9:\n"
        "cmp r2, r0\n"
        "bne 8b\n"
        "rsb r4, r4, #0\n"
        "rsb r5, r5, #0\n"
        "rsb r6, r6, #0\n"
        "rsb r7, r7, #0\n"
        "lsl r4, r4, #7\n"
        "lsl r5, r5, #7\n"
        "lsl r6, r6, #7\n"
        "lsl r7, r7, #7\n"
        "stm sp, {r4-r7}\n"
        "ldr r2, [sp, #36]\n"
        "cmp r2, #0\n"
        "beq.w 4f\n"
        "1:\n"
        "ldr lr, [sp, #16]\n"
        "ldm lr!, {r2, r3}\n"
        "str lr, [sp, #16]\n"
        "ldm sp, {r4-r7}\n"
        CCML_PAIRS_START("r8", "r9", "r10", "r11", "r4", "r5", "r6", "r7", "r3")
        CCML_PAIRS_START("r4", "r5", "r6", "r7", "r4", "r5", "r6", "r7", "r2")
        "ldr r12, [sp, #32]\n"
        "ldr r0, [sp, #24]\n"
        "bx r12\n"
        ".p2align 2\n"
        "2:\n" CCML_REPEAT_TEXT("8", CCML_PAIRS_TWO)
        "3:\n"
        "ldr r12, [sp, #28]\n"
        "cmp r0, r12\n"
        "bne.w 2b\n"
        "sub r4, r4, r5, lsl #16\n"
        "sub r6, r6, r7, lsl #16\n"
        "sub r8, r8, r9, lsl #16\n"
        "sub r10, r10, r11, lsl #16\n"
        "ldr r2, [sp, #36]\n"
        "ldr lr, [sp, #20]\n"
        "stm lr!, {r4-r11}\n"
        "str lr, [sp, #20]\n"
        "subs r2, r2, #1\n"
        "str r2, [sp, #36]\n"
        "bne.w 1b\n"
        "4:\n"
        "ldr r2, [sp, #40]\n"
        "lsrs r2, r2, #1\n"
        "bcc.w 8f\n"
        "ldr lr, [sp, #16]\n"
        "ldr r2, [lr]\n"
        "ldm sp, {r4-r7}\n"
        CCML_PAIRS_START("r4", "r5", "r6", "r7", "r4", "r5", "r6", "r7", "r2")
        "ldr r12, [sp, #44]\n"
        "ldr r0, [sp, #24]\n"
        "bx r12\n"
        ".p2align 2\n"
        "6:\n" CCML_REPEAT_TEXT("8", CCML_PAIRS_ONE)
        "7:\n"
        "ldr r12, [sp, #28]\n"
        "cmp r0, r12\n"
        "bne.w 6b\n"
        "sub r4, r4, r5, lsl #16\n"
        "sub r6, r6, r7, lsl #16\n"
        "ldr lr, [sp, #20]\n"
        "stm lr, {r4-r7}\n"
        "8:\n"
        "add sp, sp, #48\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_PAIRS_WORD
#undef CCML_PAIRS_LOAD
#undef CCML_PAIRS_TWO
#undef CCML_PAIRS_ONE
#undef CCML_PAIRS_START
#undef CCML_PAIRS_ENTRY
#undef CCML_PAIRS_ADD
#endif

#endif

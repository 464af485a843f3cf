/* Part of the ccml runtime: products of Winograd's algorithm F(2x2, 3x3), for four tiles and a channel.

   u has for each of the 16 places of a tile a word of halfwords for each two channels of the input, v for each place and
   channel a word for each tile, m gets the sums over the channels, place by place.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_WINOGRAD_WORDS_H
#define CCML_WINOGRAD_WORDS_H

#include "ccml_thumb.h"

#if CCML_ARM_V6M || CCML_ARM_V7M
/* A channel of the input, whose filter is in r7, of four tiles. */
#define CCML_WINOGRAD_WORDS_CHANNEL \
    "ldmia r1!, {r2-r5}\n" \
    "muls r2, r7, r2\n" \
    "muls r3, r7, r3\n" \
    "muls r4, r7, r4\n" \
    "muls r5, r7, r5\n" \
    "add r8, r2\n" \
    "add r9, r3\n" \
    "add r10, r4\n" \
    "add r11, r5\n"

/* 21 instructions of two bytes each. */
#define CCML_WINOGRAD_WORDS_PAIR \
    "ldmia r0!, {r6}\n" \
    "sxth r7, r6\n" CCML_WINOGRAD_WORDS_CHANNEL \
    "asrs r7, r6, #16\n" CCML_WINOGRAD_WORDS_CHANNEL

/* The sums are in r8 to r11, in r12 where a place enters the eight steps, in lr where its filters end. On the stack: m,
   its end, the bytes of a place's filters. */
#define CCML_BLOCK_WINOGRAD_WORDS 1
CCML_NAKED ccml_winograd_words(
    const int32_t *u CCML_UNUSED, const int32_t *v CCML_UNUSED, int32_t *m CCML_UNUSED, int32_t pairs CCML_UNUSED)
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
        "sub sp, #12\n"
        "str r2, [sp]\n"
        "movs r4, #255\n"
        "adds r2, r2, r4\n"
        "adds r2, #1\n"
        "str r2, [sp, #4]\n"
        "lsls r4, r3, #2\n"
        "str r4, [sp, #8]\n"
        "adds r4, r4, r0\n"
        "mov lr, r4\n"
        "rsbs r4, r3, #0\n"
        "movs r5, #7\n"
        "ands r4, r5\n"
        "movs r5, #42\n"
        "muls r4, r5, r4\n"
        "adr r5, 2f\n"
        "adds r4, r4, r5\n"
        "adds r4, #1\n"
        "mov r12, r4\n"
        "1:\n"
        "movs r3, #0\n"
        "mov r8, r3\n"
        "mov r9, r3\n"
        "mov r10, r3\n"
        "mov r11, r3\n"
        "bx r12\n"
        ".p2align 2\n"
        "2:\n" CCML_WINOGRAD_WORDS_PAIR CCML_WINOGRAD_WORDS_PAIR CCML_WINOGRAD_WORDS_PAIR CCML_WINOGRAD_WORDS_PAIR
        CCML_WINOGRAD_WORDS_PAIR CCML_WINOGRAD_WORDS_PAIR CCML_WINOGRAD_WORDS_PAIR CCML_WINOGRAD_WORDS_PAIR
        "cmp r0, lr\n"
        "beq 3f\n"
        "b 2b\n"
        "3:\n"
        "ldr r2, [sp]\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "stmia r2!, {r4-r7}\n"
        "str r2, [sp]\n"
        "ldr r3, [sp, #8]\n"
        "add lr, r3\n"
        "ldr r4, [sp, #4]\n"
        "cmp r2, r4\n"
        "beq 4f\n"
        "b 1b\n"
        "4:\n"
        "add sp, #12\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}

#undef CCML_WINOGRAD_WORDS_CHANNEL
#undef CCML_WINOGRAD_WORDS_PAIR
#endif

#endif

/* Part of the ccml runtime: sums of outputs from what ccml_winograd_words leaves, for four tiles of two rows and columns.

   m has for each of the 16 places of a tile a word for each tile, four times what it stands for, b a bias; y0 and y1 get
   the rows of outputs.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_WINOGRAD_WORDS_OUTPUT_H
#define CCML_WINOGRAD_WORDS_OUTPUT_H

#include "ccml_thumb.h"

#if CCML_ARM_V6M || CCML_ARM_V7M
/* A column of places: m0 + m1 + m2 to r4 and m1 - m2 - m3 to r5. */
#define CCML_WINOGRAD_WORDS_COLUMN(upper, lower) \
    "ldr r4, [r0, #" upper "]\n" \
    "ldr r5, [r0, #" lower "]\n" \
    "ldr r6, [r1, #" upper "]\n" \
    "ldr r7, [r1, #" lower "]\n" \
    "adds r4, r4, r5\n" \
    "adds r4, r4, r6\n" \
    "subs r5, r5, r6\n" \
    "subs r5, r5, r7\n"

/* The first row of outputs is in r2 and r3, of the second one in r8, of the other in r12 what r9 is taken from; in r10
   and r11 where rows go, in lr the bias, on the stack where the words of the first place end. */
#define CCML_BLOCK_WINOGRAD_WORDS_OUTPUT 1
CCML_NAKED ccml_winograd_words_output(
    const int32_t *m CCML_UNUSED, const int32_t *b CCML_UNUSED, int32_t *y0 CCML_UNUSED, int32_t *y1 CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r4-r7}\n"
        "mov r10, r2\n"
        "mov r11, r3\n"
        "ldr r1, [r1]\n"
        "mov lr, r1\n"
        "mov r4, r0\n"
        "adds r4, #16\n"
        "push {r4}\n"
        "mov r1, r0\n"
        "adds r1, #128\n"
        "1:\n" CCML_WINOGRAD_WORDS_COLUMN("0", "64")
        "mov r2, r4\n"
        "mov r8, r5\n" CCML_WINOGRAD_WORDS_COLUMN("16", "80")
        "adds r2, r2, r4\n"
        "mov r3, r4\n"
        "add r8, r5\n"
        "mov r12, r5\n" CCML_WINOGRAD_WORDS_COLUMN("32", "96")
        "adds r2, r2, r4\n"
        "subs r3, r3, r4\n"
        "add r8, r5\n"
        "mov r9, r5\n" CCML_WINOGRAD_WORDS_COLUMN("48", "112")
        "subs r3, r3, r4\n"
        "add r9, r5\n"
        "asrs r2, r2, #2\n"
        "asrs r3, r3, #2\n"
        "add r2, lr\n"
        "add r3, lr\n"
        "mov r4, r10\n"
        "stmia r4!, {r2, r3}\n"
        "mov r10, r4\n"
        "mov r2, r8\n"
        "mov r3, r12\n"
        "mov r4, r9\n"
        "subs r3, r3, r4\n"
        "asrs r2, r2, #2\n"
        "asrs r3, r3, #2\n"
        "add r2, lr\n"
        "add r3, lr\n"
        "mov r4, r11\n"
        "stmia r4!, {r2, r3}\n"
        "mov r11, r4\n"
        "adds r0, #4\n"
        "adds r1, #4\n"
        "ldr r4, [sp]\n"
        "cmp r0, r4\n"
        "bne 1b\n"
        "pop {r3-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}

#undef CCML_WINOGRAD_WORDS_COLUMN
#endif

#endif

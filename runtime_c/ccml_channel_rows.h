/* Part of the ccml runtime: rows of bytes that are `step` apart as words.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_CHANNEL_ROWS_H
#define CCML_CHANNEL_ROWS_H

#include "ccml_thumb.h"

#if CCML_ARM_V6M || CCML_ARM_V7M
/* Offsets from x: the next in r2, where groups of four end in r12 and all in lr. On the stack: rows left, and behind the
   registers step, the distance of rows of x, and the bytes from the end of a row of y to the next. */
#define CCML_BLOCK_CHANNEL_ROWS 1
CCML_NAKED ccml_channel_rows(
    const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t rows CCML_UNUSED, int32_t columns CCML_UNUSED,
    int32_t step CCML_UNUSED, int32_t apart CCML_UNUSED, int32_t row CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r2, r4-r7, lr}\n"
        "ldr r4, [sp, #32]\n"
        "subs r4, r4, r3\n"
        "lsls r4, r4, #2\n"
        "str r4, [sp, #32]\n"
        "ldr r4, [sp, #24]\n"
        "muls r3, r4, r3\n"
        "mov lr, r3\n"
        "lsls r5, r4, #1\n"
        "adds r5, r5, r4\n"
        "subs r3, r3, r5\n"
        "mov r12, r3\n"
        "mov r3, r4\n"
        "1:\n"
        "movs r2, #0\n"
        "cmp r2, r12\n"
        "bge 3f\n"
        "2:\n"
        "ldrsb r4, [r0, r2]\n"
        "adds r2, r2, r3\n"
        "ldrsb r5, [r0, r2]\n"
        "adds r2, r2, r3\n"
        "ldrsb r6, [r0, r2]\n"
        "adds r2, r2, r3\n"
        "ldrsb r7, [r0, r2]\n"
        "adds r2, r2, r3\n"
        "stmia r1!, {r4-r7}\n"
        "cmp r2, r12\n"
        "blt 2b\n"
        "3:\n"
        "cmp r2, lr\n"
        "bge 5f\n"
        "4:\n"
        "ldrsb r4, [r0, r2]\n"
        "adds r2, r2, r3\n"
        "stmia r1!, {r4}\n"
        "cmp r2, lr\n"
        "blt 4b\n"
        "5:\n"
        "ldr r4, [sp, #28]\n"
        "adds r0, r0, r4\n"
        "ldr r4, [sp, #32]\n"
        "adds r1, r1, r4\n"
        "ldr r4, [sp]\n"
        "subs r4, r4, #1\n"
        "str r4, [sp]\n"
        "bne 1b\n"
        "pop {r2, r4-r7, pc}\n");
}
#endif

#endif

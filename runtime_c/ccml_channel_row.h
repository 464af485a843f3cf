/* Part of the ccml runtime: bytes that are `step` apart as words.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_CHANNEL_ROW_H
#define CCML_CHANNEL_ROW_H

#include "ccml_thumb.h"

#if CCML_ARM_V6M || CCML_ARM_V7M
/* Offsets from x: the next in r2, where groups of four end in r12. */
#define CCML_BLOCK_CHANNEL_ROW 1
CCML_NAKED ccml_channel_row(
    const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t columns CCML_UNUSED, int32_t step CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "muls r2, r3, r2\n"
        "mov lr, r2\n"
        "lsls r4, r3, #1\n"
        "adds r4, r4, r3\n"
        "subs r2, r2, r4\n"
        "mov r12, r2\n"
        "movs r2, #0\n"
        "b 2f\n"
        "1:\n"
        "ldrsb r4, [r0, r2]\n"
        "adds r2, r2, r3\n"
        "ldrsb r5, [r0, r2]\n"
        "adds r2, r2, r3\n"
        "ldrsb r6, [r0, r2]\n"
        "adds r2, r2, r3\n"
        "ldrsb r7, [r0, r2]\n"
        "adds r2, r2, r3\n"
        "stmia r1!, {r4-r7}\n"
        "2:\n"
        "cmp r2, r12\n"
        "blt 1b\n"
        "b 4f\n"
        "3:\n"
        "ldrsb r4, [r0, r2]\n"
        "adds r2, r2, r3\n"
        "stmia r1!, {r4}\n"
        "4:\n"
        "cmp r2, lr\n"
        "blt 3b\n"
        "pop {r4-r7, pc}\n");
}
#endif

#endif

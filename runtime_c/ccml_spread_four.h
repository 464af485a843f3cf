/* Part of the ccml runtime: bytes as words that are four words apart, and their sum times -128 added to *total.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_SPREAD_FOUR_H
#define CCML_SPREAD_FOUR_H

#include "ccml_thumb.h"

#if CCML_ARM_V6M
#define CCML_SPREAD_BYTE(number, offset) \
    "ldrb r4, [r0, #" number "]\n" \
    "sxtb r4, r4\n" \
    "str r4, [r1, #" offset "]\n" \
    "adds r5, r5, r4\n"

#define CCML_BLOCK_SPREAD_FOUR 1
CCML_NAKED ccml_spread_four(
    const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t *total CCML_UNUSED, int32_t count CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, lr}\n"
        "movs r5, #0\n"
        "subs r3, #8\n"
        "blt 2f\n"
        "1:\n" CCML_SPREAD_BYTE("0", "0") CCML_SPREAD_BYTE("1", "16") CCML_SPREAD_BYTE("2", "32")
        CCML_SPREAD_BYTE("3", "48") CCML_SPREAD_BYTE("4", "64") CCML_SPREAD_BYTE("5", "80")
        CCML_SPREAD_BYTE("6", "96") CCML_SPREAD_BYTE("7", "112")
        "adds r0, #8\n"
        "adds r1, #128\n"
        "subs r3, #8\n"
        "bge 1b\n"
        "2:\n"
        "adds r3, #8\n"
        "beq 4f\n"
        "3:\n" CCML_SPREAD_BYTE("0", "0")
        "adds r0, #1\n"
        "adds r1, #16\n"
        "subs r3, #1\n"
        "bne 3b\n"
        "4:\n"
        "lsls r5, r5, #7\n"
        "ldr r4, [r2]\n"
        "subs r4, r4, r5\n"
        "str r4, [r2]\n"
        "pop {r4, r5, pc}\n");
}

#undef CCML_SPREAD_BYTE
#endif

#endif

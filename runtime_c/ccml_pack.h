/* Part of the ccml runtime: bytes plus 128 into one byte of every second word.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_PACK_H
#define CCML_PACK_H

#include "ccml_thumb.h"

#if CCML_ARM_V7M
#define CCML_PACK_BYTE \
    "ldrb r12, [r0], #1\n" \
    "eor r12, r12, #128\n" \
    "strb r12, [r1], #8\n"

#define CCML_BLOCK_PACK 1
CCML_NAKED ccml_pack(const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t count CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "subs r2, r2, #8\n"
        "blt 2f\n"
        "1:\n" CCML_REPEAT_TEXT("8", CCML_PACK_BYTE)
        "subs r2, r2, #8\n"
        "bge 1b\n"
        "2:\n"
        "adds r2, r2, #8\n"
        "beq 4f\n"
        "3:\n" CCML_PACK_BYTE
        "subs r2, r2, #1\n"
        "bne 3b\n"
        "4:\n"
        "bx lr\n");
}

#undef CCML_PACK_BYTE
#endif

#endif

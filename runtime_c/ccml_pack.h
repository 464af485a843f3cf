/* Part of the ccml runtime: bytes plus 128 into one byte of every second word.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_PACK_H
#define CCML_PACK_H

#include "ccml_thumb.h"

#if CCML_ARM_V6M
#define CCML_PACK_BYTE(number, offset) \
    "ldrb r4, [r0, #" number "]\n" \
    "eors r4, r3\n" \
    "strb r4, [r1, #" offset "]\n"

#define CCML_BLOCK_PACK 1
CCML_NAKED ccml_pack(const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t count CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, lr}\n"
        "movs r3, #128\n"
        "subs r2, #8\n"
        "blt 2f\n"
        "1:\n" CCML_PACK_BYTE("0", "0") CCML_PACK_BYTE("1", "8") CCML_PACK_BYTE("2", "16") CCML_PACK_BYTE("3", "24")
        "adds r1, #32\n"
        CCML_PACK_BYTE("4", "0") CCML_PACK_BYTE("5", "8") CCML_PACK_BYTE("6", "16") CCML_PACK_BYTE("7", "24")
        "adds r0, #8\n"
        "adds r1, #32\n"
        "subs r2, #8\n"
        "bge 1b\n"
        "2:\n"
        "adds r2, #8\n"
        "beq 4f\n"
        "3:\n" CCML_PACK_BYTE("0", "0")
        "adds r0, #1\n"
        "adds r1, #8\n"
        "subs r2, #1\n"
        "bne 3b\n"
        "4:\n"
        "pop {r4, pc}\n");
}

#undef CCML_PACK_BYTE
#elif CCML_ARM_V7M
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

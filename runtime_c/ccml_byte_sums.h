/* Part of the ccml runtime: the sum of the bytes of a line, and that of their squares.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_BYTE_SUMS_H
#define CCML_BYTE_SUMS_H

#include "ccml_helium.h"
#include "ccml_thumb.h"

#if CCML_HELIUM
#define CCML_BLOCK_BYTE_SUMS 1
CCML_NAKED ccml_byte_sums(const int8_t *x CCML_UNUSED, int32_t *sums CCML_UNUSED, int32_t size CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, lr}\n"
        "mov r4, #0\n"
        "mov r12, #0\n"
        "wlstp.8 lr, r2, 2f\n"
        "1:\n"
        "vldrb.u8 q0, [r0], #16\n"
        "vaddva.s8 r4, q0\n"
        "vmladava.s8 r12, q0, q0\n"
        "letp lr, 1b\n"
        "2:\n"
        "strd r4, r12, [r1]\n"
        "pop {r4, pc}\n");
}
#elif CCML_ARM_DSP
#define CCML_BLOCK_BYTE_SUMS 1
/* Four bytes as halfwords; r7 has two ones. */
#define CCML_BYTE_SUMS_WORD \
    "ldr r4, [r0], #4\n" \
    "sxtb16 r5, r4\n" \
    "sxtb16 r6, r4, ror #8\n" \
    "smlad r12, r5, r5, r12\n" \
    "smlad r12, r6, r6, r12\n" \
    "sadd16 r5, r5, r6\n" \
    "smlad r3, r5, r7, r3\n"
CCML_NAKED ccml_byte_sums(const int8_t *x CCML_UNUSED, int32_t *sums CCML_UNUSED, int32_t size CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r3, #0\n"
        "mov r12, #0\n"
        "mov r7, #0x00010001\n"
        "subs r2, r2, #16\n"
        "blt 2f\n"
        "1:\n"
        CCML_REPEAT_TEXT("4", CCML_BYTE_SUMS_WORD)
        "subs r2, r2, #16\n"
        "bge 1b\n"
        "2:\n"
        "adds r2, r2, #12\n"
        "blt 4f\n"
        "3:\n"
        CCML_BYTE_SUMS_WORD
        "subs r2, r2, #4\n"
        "bge 3b\n"
        "4:\n"
        "adds r2, r2, #4\n"
        "beq 6f\n"
        "5:\n"
        "ldrsb r4, [r0], #1\n"
        "add r3, r3, r4\n"
        "mla r12, r4, r4, r12\n"
        "subs r2, r2, #1\n"
        "bne 5b\n"
        "6:\n"
        "strd r3, r12, [r1]\n"
        "pop {r4-r7, pc}\n");
}
#endif

#endif

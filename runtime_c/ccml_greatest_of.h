/* Part of the ccml runtime: the greatest of all bytes of a line.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GREATEST_OF_H
#define CCML_GREATEST_OF_H

#include "ccml_helium.h"
#include "ccml_thumb.h"

#if CCML_HELIUM
#define CCML_BLOCK_GREATEST_OF 1
CCML_NAKED ccml_greatest_of(const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, lr}\n"
        "mvn r3, #127\n"
        "wlstp.8 lr, r2, 2f\n"
        "1:\n"
        "vldrb.u8 q0, [r0], #16\n"
        "vmaxv.s8 r3, q0\n"
        "letp lr, 1b\n"
        "2:\n"
        "strb r3, [r1]\n"
        "pop {r4, pc}\n");
}
#elif CCML_ARM_DSP
/* SSUB8 notes for each of four bytes which is greater, and SEL takes that. In the end those of a word are compared with
   its halves and bytes exchanged. */
#define CCML_BLOCK_GREATEST_OF 1
#define CCML_GREATEST_OF_R4 "ssub8 lr, r3, r4\n" "sel r3, r3, r4\n"
#define CCML_GREATEST_OF_WORD "ldr r4, [r0], #4\n" CCML_GREATEST_OF_R4
CCML_NAKED ccml_greatest_of(const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, lr}\n"
        "mov r3, #0x80808080\n"
        "subs r2, r2, #16\n"
        "blt 2f\n"
        "1:\n"
        CCML_REPEAT_TEXT("4", CCML_GREATEST_OF_WORD)
        "subs r2, r2, #16\n"
        "bge 1b\n"
        "2:\n"
        "adds r2, r2, #12\n"
        "blt 4f\n"
        "3:\n"
        CCML_GREATEST_OF_WORD
        "subs r2, r2, #4\n"
        "bge 3b\n"
        "4:\n"
        "ror r4, r3, #16\n"
        CCML_GREATEST_OF_R4
        "ror r4, r3, #8\n"
        CCML_GREATEST_OF_R4
        "adds r2, r2, #4\n"
        "beq 6f\n"
        "5:\n"
        "ldrsb r4, [r0], #1\n"
        CCML_GREATEST_OF_R4
        "subs r2, r2, #1\n"
        "bne 5b\n"
        "6:\n"
        "strb r3, [r1]\n"
        "pop {r4, pc}\n");
}
#endif

#endif

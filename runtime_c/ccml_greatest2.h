/* Part of the ccml runtime: the greatest of the bytes of two lines, byte by byte.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GREATEST2_H
#define CCML_GREATEST2_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_GREATEST2 1
CCML_NAKED ccml_greatest2(
    const int8_t *x0 CCML_UNUSED, const int8_t *x1 CCML_UNUSED, int8_t *y CCML_UNUSED,
    int32_t size CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, lr}\n"
        "wlstp.8 lr, r3, 2f\n"
        "1:\n"
        "vldrb.u8 q0, [r0], #16\n"
        "vldrb.u8 q1, [r1], #16\n"
        "vmax.s8 q0, q0, q1\n"
        "vstrb.8 q0, [r2], #16\n"
        "letp lr, 1b\n"
        "2:\n"
        "pop {r4, pc}\n");
}
#elif CCML_ARM_DSP
/* Eight bytes at a time: SSUB8 notes for each byte which is greater, and SEL takes that. */
#define CCML_BLOCK_GREATEST2 1
CCML_NAKED ccml_greatest2(
    const int8_t *x0 CCML_UNUSED, const int8_t *x1 CCML_UNUSED, int8_t *y CCML_UNUSED,
    int32_t size CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r6, lr}\n"
        "subs r3, r3, #8\n"
        "blt 2f\n"
        "1:\n"
        "ldr r4, [r0], #4\n"
        "ldr r5, [r1], #4\n"
        "ssub8 lr, r4, r5\n"
        "sel r4, r4, r5\n"
        "str r4, [r2], #4\n"
        "ldr r4, [r0], #4\n"
        "ldr r5, [r1], #4\n"
        "ssub8 lr, r4, r5\n"
        "sel r4, r4, r5\n"
        "str r4, [r2], #4\n"
        "subs r3, r3, #8\n"
        "bge 1b\n"
        "2:\n"
        "adds r3, r3, #8\n"
        "beq 4f\n"
        "3:\n"
        "ldrsb r4, [r0], #1\n"
        "ldrsb r5, [r1], #1\n"
        "cmp r4, r5\n"
        "it lt\n"
        "movlt r4, r5\n"
        "strb r4, [r2], #1\n"
        "subs r3, r3, #1\n"
        "bne 3b\n"
        "4:\n"
        "pop {r4-r6, pc}\n");
}
#endif

#endif

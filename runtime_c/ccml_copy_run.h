/* Part of the ccml runtime: a run of many bytes, sixteen at a time wherever they begin.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_COPY_RUN_H
#define CCML_COPY_RUN_H

#include "ccml_widen.h"

#if CCML_ARM_DSP
#define CCML_BLOCK_COPY_RUN 1
CCML_NAKED ccml_copy_run(const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t count CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, lr}\n"
        "subs r2, r2, #16\n"
        "blt 2f\n"
        "1:\n"
        "ldr r3, [r0]\n"
        "ldr r4, [r0, #4]\n"
        "ldr r5, [r0, #8]\n"
        "ldr r6, [r0, #12]\n"
        "adds r0, r0, #16\n"
        "str r3, [r1]\n"
        "str r4, [r1, #4]\n"
        "str r5, [r1, #8]\n"
        "str r6, [r1, #12]\n"
        "adds r1, r1, #16\n"
        "subs r2, r2, #16\n"
        "bge 1b\n"
        "2:\n"
        "adds r2, r2, #12\n"
        "blt 4f\n"
        "3:\n"
        "ldr r3, [r0], #4\n"
        "str r3, [r1], #4\n"
        "subs r2, r2, #4\n"
        "bge 3b\n"
        "4:\n"
        "adds r2, r2, #4\n"
        "ble 6f\n"
        "5:\n"
        "ldrb r3, [r0], #1\n"
        "strb r3, [r1], #1\n"
        "subs r2, r2, #1\n"
        "bgt 5b\n"
        "6:\n"
        "pop {r4, r5, r6, pc}\n");
}
#endif

#endif

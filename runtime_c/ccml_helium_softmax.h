/* Part of the ccml runtime: softmax of a row of bytes, by a table of exponentials.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_SOFTMAX_H
#define CCML_HELIUM_SOFTMAX_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_SOFTMAX 1
/* The exponentials of four bytes in q1; q2 has the greatest byte of the row four times. */
#define CCML_HELIUM_SOFTMAX_TERMS(x) \
    "vldrb.s32 q0, [" x "], #4\n" \
    "vsub.i32 q0, q2, q0\n" \
    "vldrw.u32 q1, [r1, q0, uxtw #2]\n"
CCML_NAKED ccml_helium_softmax(
    const int8_t *x CCML_UNUSED, const int32_t *table CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t count CCML_UNUSED,
    int32_t step CCML_UNUSED, int32_t start CCML_UNUSED, int32_t digits CCML_UNUSED, int32_t shift CCML_UNUSED,
    int32_t rounding CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r9, r10, lr}\n"
        "mov r4, r0\n"
        "mvn r5, #127\n"
        "wlstp.8 lr, r3, 2f\n"
        "1:\n"
        "vldrb.u8 q0, [r4], #16\n"
        "vmaxv.s8 r5, q0\n"
        "letp lr, 1b\n"
        "2:\n"
        "vdup.32 q2, r5\n"
        "mov r4, r0\n"
        "mov r6, #0\n"
        "wlstp.32 lr, r3, 4f\n"
        "3:\n"
        CCML_HELIUM_SOFTMAX_TERMS("r4")
        "vaddva.u32 r6, q1\n"
        "letp lr, 3b\n"
        "4:\n"
        /* the sum times step / 2^32, rounded, divides start, and what is left, eight bits at a time */
        "ldrd r7, r8, [sp, #32]\n"
        "umull r9, r10, r6, r7\n"
        "adds r9, r9, #0x80000000\n"
        "adc r10, r10, #0\n"
        "udiv r6, r8, r10\n"
        "mls r8, r6, r10, r8\n"
        "ldrd r7, r9, [sp, #40]\n"
        "ldr r12, [sp, #48]\n"
        "rsb r9, r9, #0\n"
        "wls lr, r7, 6f\n"
        "5:\n"
        "lsl r8, r8, #8\n"
        "udiv r7, r8, r10\n"
        "mls r8, r7, r10, r8\n"
        "add r6, r7, r6, lsl #8\n"
        "le lr, 5b\n"
        "6:\n"
        "vdup.32 q3, r6\n"
        "wlstp.32 lr, r3, 8f\n"
        "7:\n"
        CCML_HELIUM_SOFTMAX_TERMS("r0")
        "vmulh.s32 q1, q1, q3\n"
        "vadd.i32 q1, q1, r12\n"
        "vshl.s32 q1, r9\n"
        "vqmovnb.s32 q1, q1\n"
        "vqmovnb.s16 q1, q1\n"
        "vstrb.32 q1, [r2], #4\n"
        "letp lr, 7b\n"
        "8:\n"
        "pop {r4-r9, r10, pc}\n");
}
#endif

#endif

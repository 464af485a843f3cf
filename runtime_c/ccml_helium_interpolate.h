/* Part of the ccml runtime: pixels between two rows of bytes, requantized.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_INTERPOLATE_H
#define CCML_HELIUM_INTERPOLATE_H

#include "ccml_helium_halves.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_INTERPOLATE 1
/* r4 to r7 are the four pixels around one, with the weights q4, r12, r9, r11; r0 is y, r1 the zero point, r2 are places,
   r3 the weights across, r8 is the offset, q3 the factor. On the stack: the rows, their weights, from the end of a pixel
   to the next one; the arguments from sp + 72 on: across, y, pixels (then the end of their places), last, pairs (then
   channels), offset, factor, zero_point. */
CCML_NAKED ccml_helium_interpolate(
    const int8_t *x0 CCML_UNUSED, const int8_t *x1 CCML_UNUSED, const int32_t *down CCML_UNUSED,
    const int32_t *places CCML_UNUSED, const int32_t *across CCML_UNUSED, int8_t *y CCML_UNUSED,
    int32_t pixels CCML_UNUSED, int32_t last CCML_UNUSED, int32_t pairs CCML_UNUSED, int32_t offset CCML_UNUSED,
    int32_t factor CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "vpush {d8-d9}\n"
        "sub sp, sp, #20\n"
        "ldrd r4, r5, [r2]\n"
        "strd r0, r1, [sp]\n"
        "strd r4, r5, [sp, #8]\n"
        "ldr r2, [sp, #80]\n"
        "add r2, r3, r2, lsl #3\n"
        "str r2, [sp, #80]\n"
        "mov r2, r3\n"
        "ldrd r3, r0, [sp, #72]\n"
        "ldrd r12, r1, [sp, #96]\n"
        "vdup.32 q3, r12\n"
        "ldr r4, [sp, #88]\n"
        "lsl r4, r4, #1\n"
        "str r4, [sp, #88]\n"
        "add r5, r4, #7\n"
        "bic r5, r5, #7\n"
        "sub r4, r4, r5\n"
        "str r4, [sp, #16]\n"
        "1:\n"
        "ldrd r4, r5, [r2], #8\n"
        "ldrd r12, r10, [sp, #84]\n"
        "cmp r4, r12\n"
        "csel r4, r4, r12, ls\n"
        "cmp r5, r12\n"
        "csel r5, r5, r12, ls\n"
        "ldrd r8, r9, [sp]\n"
        "mla r6, r4, r10, r9\n"
        "mla r7, r5, r10, r9\n"
        "mla r4, r4, r10, r8\n"
        "mla r5, r5, r10, r8\n"
        "ldrd r9, r11, [r3], #8\n"
        "ldrd r12, lr, [sp, #8]\n"
        "mul r8, r12, r9\n"
        "mul r12, r12, r11\n"
        "mul r9, lr, r9\n"
        "mul r11, lr, r11\n"
        "vdup.16 q4, r8\n"
        "ldr r8, [sp, #92]\n"
        "wlstp.16 lr, r10, 3f\n"
        "2:\n"
        "vldrb.s16 q0, [r4], #8\n"
        "vmlas.s16 q0, q4, r8\n"
        "vldrb.s16 q1, [r5], #8\n"
        "vmla.s16 q0, q1, r12\n"
        "vldrb.s16 q2, [r6], #8\n"
        "vmla.s16 q0, q2, r9\n"
        "vldrb.s16 q1, [r7], #8\n"
        "vmla.s16 q0, q1, r11\n"
        CCML_HELIUM_HALVES("r1")
        "vstrb.16 q1, [r0], #8\n"
        "letp lr, 2b\n"
        "3:\n"
        "ldr r12, [sp, #16]\n"
        "add r0, r0, r12\n"
        "ldr r12, [sp, #80]\n"
        "cmp r2, r12\n"
        "bne 1b\n"
        "add sp, sp, #20\n"
        "vpop {d8-d9}\n"
        "pop {r4-r11, pc}\n");
}
#endif

#endif

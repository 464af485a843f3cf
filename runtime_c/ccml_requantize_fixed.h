/* Part of the ccml runtime: accumulators [channel, lanes] times multipliers as bytes of pixels that are `step` apart.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_REQUANTIZE_FIXED_H
#define CCML_REQUANTIZE_FIXED_H

#include "ccml_scale.h"
#include "ccml_thumb.h"

#if CCML_ARM_V6M
/* The upper word of a product with the factor r4:r3 from halfwords, with 2^28 (in r8) beside it so that sums have no
   sign; that is 2^12 too much, which r9 takes off with what else is added before the shift. The end of the accumulators
   of a channel is in r11. On the stack: s, y, end of a, lanes, step, zero point, pixels * 4. */
#define CCML_BLOCK_REQUANTIZE_FIXED 1
CCML_NAKED ccml_requantize_fixed(
    const int32_t *a CCML_UNUSED, const int32_t *s CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t pixels CCML_UNUSED, int32_t lanes CCML_UNUSED, int32_t step CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r4-r7}\n"
        "sub sp, #20\n"
        "str r1, [sp, #0]\n"
        "str r2, [sp, #4]\n"
        "ldr r4, [sp, #60]\n"
        "lsls r4, r4, #2\n"
        "str r4, [sp, #12]\n"
        "muls r4, r3, r4\n"
        "adds r4, r4, r0\n"
        "str r4, [sp, #8]\n"
        "ldr r4, [sp, #56]\n"
        "lsls r4, r4, #2\n"
        "str r4, [sp, #16]\n"
        "ldr r4, [sp, #64]\n"
        "mov r10, r4\n"
        "movs r4, #1\n"
        "lsls r4, r4, #28\n"
        "mov r8, r4\n"
        "mov r12, r0\n"
        "1:\n"
        "ldr r0, [sp, #0]\n"
        "ldmia r0!, {r4, r5}\n"
        "str r0, [sp, #0]\n"
        "uxth r3, r4\n"
        "lsrs r4, r4, #16\n"
        "movs r0, #1\n"
        "ldr r1, [sp, #68]\n"
        "lsls r1, r1, #1\n"
        "adds r0, r0, r1\n"
        "lsls r0, r5\n"
        "asrs r0, r0, #1\n"
        "movs r1, #1\n"
        "lsls r1, r1, #12\n"
        "subs r0, r0, r1\n"
        "mov r9, r0\n"
        "mov r6, r12\n"
        "ldr r0, [sp, #16]\n"
        "adds r0, r0, r6\n"
        "mov r11, r0\n"
        "ldr r7, [sp, #4]\n"
        "2:\n"
        "ldmia r6!, {r0}\n"
        "asrs r1, r0, #16\n"
        "uxth r0, r0\n"
        "mov r2, r0\n"
        "muls r2, r3, r2\n"
        "lsrs r2, r2, #16\n"
        "muls r0, r4, r0\n"
        "adds r0, r0, r2\n"
        "add r0, r8\n"
        "mov r2, r1\n"
        "muls r2, r3, r2\n"
        "adds r0, r0, r2\n"
        "lsrs r0, r0, #16\n"
        "muls r1, r4, r1\n"
        "adds r1, r1, r0\n"
        "add r1, r9\n"
        "asrs r1, r5\n"
        "sxtb r0, r1\n"
        "cmp r0, r1\n"
        "bne 4f\n"
        "3:\n"
        "strb r0, [r7]\n"
        "add r7, r10\n"
        "cmp r6, r11\n"
        "bne 2b\n"
        "ldr r0, [sp, #4]\n"
        "adds r0, #1\n"
        "str r0, [sp, #4]\n"
        "ldr r0, [sp, #12]\n"
        "add r12, r0\n"
        "ldr r0, [sp, #8]\n"
        "cmp r0, r12\n"
        "bne 1b\n"
        "add sp, #20\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n"
        "4:\n"
        "asrs r1, r1, #31\n"
        "movs r0, #127\n"
        "eors r0, r1\n"
        "b 3b\n");
}
#elif CCML_ARM_V7M
/* The end of the accumulators of a channel is in lr, what is added before the shift in r6, 2 * zero point + 1 in r10.
   On the stack: bytes from there to the next channel, pixels * 4. */
#define CCML_BLOCK_REQUANTIZE_FIXED 1
CCML_NAKED ccml_requantize_fixed(
    const int32_t *a CCML_UNUSED, const int32_t *s CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t pixels CCML_UNUSED, int32_t lanes CCML_UNUSED, int32_t step CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #12\n"
        "ldrd r4, r5, [sp, #48]\n"
        "subs r5, r5, r4\n"
        "lsls r4, r4, #2\n"
        "lsls r5, r5, #2\n"
        "strd r5, r4, [sp]\n"
        "ldrd r12, r10, [sp, #56]\n"
        "lsl r10, r10, #1\n"
        "add r10, r10, #1\n"
        "1:\n"
        "ldrd r4, r5, [r1], #8\n"
        "lsl r6, r10, r5\n"
        "asr r6, r6, #1\n"
        "ldr r7, [sp, #4]\n"
        "add lr, r0, r7\n"
        "mov r11, r2\n"
        "2:\n"
        "ldr r7, [r0], #4\n"
        "smull r8, r9, r7, r4\n"
        "add r9, r9, r6\n"
        "asr r9, r9, r5\n"
        "ssat r9, #8, r9\n"
        "strb r9, [r11]\n"
        "add r11, r11, r12\n"
        "cmp r0, lr\n"
        "bne 2b\n"
        "ldr r7, [sp, #0]\n"
        "add r0, r0, r7\n"
        "adds r2, r2, #1\n"
        "subs r3, r3, #1\n"
        "bne 1b\n"
        "add sp, sp, #12\n"
        "pop {r4-r11, pc}\n");
}
#endif

#endif

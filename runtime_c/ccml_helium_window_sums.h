/* Part of the ccml runtime: sums of windows of bytes, requantized.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_WINDOW_SUMS_H
#define CCML_HELIUM_WINDOW_SUMS_H

#include "ccml_helium_halves.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_WINDOW_SUMS 1
/* A tap is added, one for which no register is left by how far it is from the seventh. */
#define CCML_HELIUM_TAP(x) \
    "vldrb.s16 q1, [" x "], #8\n" \
    "vadd.i16 q0, q0, q1\n"
#define CCML_HELIUM_FAR_TAP(from) \
    "add.w r6, r6, " from "\n" \
    "vldrb.s16 q1, [r6]\n" \
    "sub.w r6, r6, " from "\n" \
    "vadd.i16 q0, q0, q1\n"
/* r0 to r6 are the first seven taps of a window, r9 and r8 how far the others are from the last of these; r7 is y, r10
   the zero point, r12 the offset, q3 the factor; r11 is the place where the last tap that there is is added. On the stack
   first where each tap is, then how far the taps of the next pixel are from the end of these, and its outputs; the
   arguments from sp + 72 on: row_step, column_step, pixels, pixel_step, pairs (then channels), offset, factor,
   zero_point. */
CCML_NAKED ccml_helium_window_sums(
    const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t kernel_rows CCML_UNUSED,
    int32_t kernel_columns CCML_UNUSED, int32_t row_step CCML_UNUSED, int32_t column_step CCML_UNUSED,
    int32_t pixels CCML_UNUSED, int32_t pixel_step CCML_UNUSED, int32_t pairs CCML_UNUSED,
    int32_t offset CCML_UNUSED, int32_t factor CCML_UNUSED, int32_t zero_point CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #36\n"
        "adr.w r11, 5f\n"
        "mul r12, r2, r3\n"
        "sub r11, r11, r12, lsl #3\n"
        "add r11, r11, #9\n"
        "subs r12, r12, #7\n"
        "it gt\n"
        "subgt r11, r11, r12, lsl #3\n"
        "ldrd r4, r5, [sp, #72]\n"
        "mov r6, sp\n"
        "1:\n"
        "mov r7, r0\n"
        "mov r8, r3\n"
        "2:\n"
        "str r7, [r6], #4\n"
        "add r7, r7, r5\n"
        "subs r8, r8, #1\n"
        "bne 2b\n"
        "add r0, r0, r4\n"
        "subs r2, r2, #1\n"
        "bne 1b\n"
        "mov r7, r1\n"
        "ldrd r12, r10, [sp, #96]\n"
        "vdup.32 q3, r12\n"
        "ldm sp, {r0-r6}\n"
        "ldrd r9, r8, [sp, #28]\n"
        "sub r8, r8, r6\n"
        "sub r9, r9, r6\n"
        "ldrd r12, lr, [sp, #84]\n"
        "lsl lr, lr, #1\n"
        "str lr, [sp, #88]\n"
        "str lr, [sp, #4]\n"
        "add lr, lr, #7\n"
        "bic lr, lr, #7\n"
        "sub r12, r12, lr\n"
        "str r12, [sp]\n"
        "ldr r12, [sp, #4]\n"
        "sub r12, r12, lr\n"
        "str r12, [sp, #4]\n"
        "3:\n"
        "ldrd lr, r12, [sp, #88]\n"
        "wlstp.16 lr, lr, 6f\n"
        "4:\n"
        "vldrb.s16 q0, [r0], #8\n"
        "vadd.i16 q0, q0, r12\n"
        "bx r11\n"
        CCML_HELIUM_FAR_TAP("r8") CCML_HELIUM_FAR_TAP("r9") CCML_HELIUM_TAP("r6") CCML_HELIUM_TAP("r5")
            CCML_HELIUM_TAP("r4") CCML_HELIUM_TAP("r3") CCML_HELIUM_TAP("r2") CCML_HELIUM_TAP("r1")
        "5:\n" CCML_HELIUM_HALVES("r10")
        "vstrb.16 q1, [r7], #8\n"
        "letp lr, 4b\n"
        "6:\n"
        "ldrd r12, lr, [sp]\n"
        "add r0, r0, r12\n"
        "add r1, r1, r12\n"
        "add r2, r2, r12\n"
        "add r3, r3, r12\n"
        "add r4, r4, r12\n"
        "add r5, r5, r12\n"
        "add r6, r6, r12\n"
        "add r7, r7, lr\n"
        "ldr r12, [sp, #80]\n"
        "subs r12, r12, #1\n"
        "str r12, [sp, #80]\n"
        "bne 3b\n"
        "add sp, sp, #36\n"
        "pop {r4-r11, pc}\n");
}
#endif

#endif

/* Part of the ccml runtime: linear interpolation between pixels of a line, two channels in a word, to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_INTERPOLATE_PIXELS_H
#define CCML_INTERPOLATE_PIXELS_H

#include "ccml_widen.h"

#if CCML_ARM_DSP
/* Four channels. r0 and r1 are in the line, with the weights r2 and r3; r11 has the factor, r10 the bias, lr a mask of
   odd bytes, r12 is in y. */
#define CCML_INTERPOLATE_PIXELS_FOUR \
    "ldrd r4, r5, [r0], #8\n" \
    "ldrd r6, r7, [r1], #8\n" \
    "mul r4, r4, r2\n" \
    "mul r5, r5, r2\n" \
    "mla r4, r6, r3, r4\n" \
    "mla r5, r7, r3, r5\n" \
    "smlawb r6, r11, r4, r10\n" \
    "smlawt r4, r11, r4, r10\n" \
    "smlawb r7, r11, r5, r10\n" \
    "smlawt r5, r11, r5, r10\n" \
    "pkhtb r4, r4, r6, asr #16\n" \
    "pkhtb r5, r5, r7, asr #16\n" \
    "ssat16 r4, #8, r4\n" \
    "ssat16 r5, #8, r5\n" \
    "and r5, lr, r5, lsl #8\n" \
    "uxtab16 r4, r5, r4\n" \
    "str r4, [r12], #4\n"

/* In s0 the places, s1 the weights, s2 the line, s3 its last pixel, s4 the bytes of a pixel of y, s5 the end of y. The
   end of the pixel in r9. */
#define CCML_BLOCK_INTERPOLATE_PIXELS 1
CCML_NAKED ccml_interpolate_pixels(
    const int32_t *line CCML_UNUSED, const int32_t *places CCML_UNUSED, const int32_t *across CCML_UNUSED,
    int8_t *y CCML_UNUSED, int32_t pixels CCML_UNUSED, int32_t last CCML_UNUSED, int32_t words CCML_UNUSED,
    int32_t factor CCML_UNUSED, int32_t bias CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldrd r4, r5, [sp, #36]\n"
        "ldrd r6, r11, [sp, #44]\n"
        "ldr r10, [sp, #52]\n"
        "vmov s0, s1, r1, r2\n"
        "vmov s2, s3, r0, r5\n"
        "lsl r6, r6, #2\n"
        "mla r4, r4, r6, r3\n"
        "vmov s4, s5, r6, r4\n"
        "mov r12, r3\n"
        "mov lr, #0xff00ff00\n"
        "1:\n"
        "vmov r4, r5, s0, s1\n"
        "ldrd r6, r7, [r4], #8\n"
        "ldrd r2, r3, [r5], #8\n"
        "vmov s0, s1, r4, r5\n"
        "vmov r4, r5, s2, s3\n"
        "vmov r8, s4\n"
        "cmp r6, r5\n"
        "it hi\n"
        "movhi r6, r5\n"
        "cmp r7, r5\n"
        "it hi\n"
        "movhi r7, r5\n"
        "add r9, r12, r8\n"
        "lsl r8, r8, #1\n"
        "mla r0, r6, r8, r4\n"
        "mla r1, r7, r8, r4\n"
        "tst r8, #8\n"
        "bne 3f\n"
        "2:\n" CCML_INTERPOLATE_PIXELS_FOUR
        "3:\n" CCML_INTERPOLATE_PIXELS_FOUR
        "cmp r12, r9\n"
        "bne 2b\n"
        "vmov r4, s5\n"
        "cmp r12, r4\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_INTERPOLATE_PIXELS_FOUR
#endif

#endif

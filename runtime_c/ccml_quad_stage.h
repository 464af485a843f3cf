/* Part of the ccml runtime: four groups of activations, of pixels that lie `step` bytes apart, for packed weights.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_QUAD_STAGE_H
#define CCML_QUAD_STAGE_H

#include "ccml_quad_stage_pixel.h"

#if CCML_ARM_DSP
/* Two pixels at a time. */
CCML_NAKED ccml_quad_stage(
    const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t step CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "movw r12, #0xff81\n"
        "movt r12, #0xff81\n"
        "mov lr, #0xff00ff00\n"
        "add r10, r0, r3, lsl #1\n"
        "1:\n"
        "mov r4, r0\n"
        "add r5, r0, r3\n"
        "add r9, r1, r2, lsl #5\n"
        "2:\n"
        "ldr r6, [r4], #4\n"
        "ldr r7, [r5], #4\n"
        "sxtab16 r8, r12, r6, ror #8\n"
        "and r6, lr, r6, lsl #8\n"
        "ssub16 r6, r6, r8\n"
        "sxtab16 r11, r12, r7, ror #8\n"
        "and r7, lr, r7, lsl #8\n"
        "ssub16 r7, r7, r11\n"
        "strd r6, r7, [r1, #16]\n"
        "strd r8, r11, [r1], #32\n"
        "cmp r1, r9\n"
        "bne 2b\n"
        "sub r1, r1, r2, lsl #5\n"
        "add r1, r1, #8\n"
        "cmp r0, r10\n"
        "mov r0, r10\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}
#else
static inline void ccml_quad_stage(const int8_t *x, int32_t *y, int32_t groups, int32_t step)
{
    for (int32_t pixel = 0; pixel < 4; ++pixel) {
        ccml_quad_stage_pixel(&x[pixel * step], &y[pixel], groups);
    }
}
#endif

#endif

/* Part of the ccml runtime: activations of one of four pixels for packed weights, four at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_QUAD_STAGE_PIXEL_H
#define CCML_QUAD_STAGE_PIXEL_H

#include "ccml_widen.h"

#if CCML_ARM_DSP
#define CCML_QUAD_STAGE_WORD \
    "ldr r3, [r0], #4\n" \
    "sxtab16 r12, r4, r3, ror #8\n" \
    "and r3, r5, r3, lsl #8\n" \
    "ssub16 r3, r3, r12\n" \
    "str r3, [r1, #16]\n" \
    "str r12, [r1], #32\n"

/* -127 twice in r4, a mask of odd bytes in r5. */
CCML_NAKED ccml_quad_stage_pixel(const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5}\n"
        "movw r4, #0xff81\n"
        "movt r4, #0xff81\n"
        "mov r5, #0xff00ff00\n"
        "lsrs r2, r2, #1\n"
        "bcc 1f\n" CCML_QUAD_STAGE_WORD
        "1:\n"
        "cbz r2, 3f\n"
        "2:\n" CCML_QUAD_STAGE_WORD CCML_QUAD_STAGE_WORD
        "subs r2, r2, #1\n"
        "bne 2b\n"
        "3:\n"
        "pop {r4, r5}\n"
        "bx lr\n");
}

#undef CCML_QUAD_STAGE_WORD
#else
static inline void ccml_quad_stage_pixel(const int8_t *x, int32_t *y, int32_t groups)
{
    for (int32_t g = 0; g < groups; ++g) {
        const int32_t odd1 = x[4 * g + 1] - 127;
        const int32_t odd3 = x[4 * g + 3] - 127;
        const int32_t even0 = 256 * x[4 * g] - odd1;
        const int32_t even2 = 256 * x[4 * g + 2] - odd3;
        y[8 * g] = (int32_t)(((uint32_t)odd1 & 65535u) | (uint32_t)odd3 << 16);
        y[8 * g + 4] = (int32_t)(((uint32_t)even0 & 65535u) | (uint32_t)even2 << 16);
    }
}
#endif

#endif

/* Part of the ccml runtime: normalization of a row of bytes, with a factor and a bias for each element.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_NORMALIZE_ROW_H
#define CCML_HELIUM_NORMALIZE_ROW_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_NORMALIZE_ROW 1
/* The bytes of eight elements of q0 in its halfwords: the even ones are made in q1, the odd ones in q2. */
#define CCML_HELIUM_NORMALIZE_EIGHT \
    "vmovlb.s16 q1, q0\n" \
    "vldrw.u32 q3, [r2], #16\n" \
    "vmovlt.s16 q2, q0\n" \
    "vmlas.s32 q1, q5, r5\n" \
    "vldrw.u32 q4, [r2], #16\n" \
    "vmlas.s32 q2, q5, r5\n" \
    "vshl.s32 q1, r6\n" \
    "vshl.s32 q2, r6\n" \
    "vmulh.s32 q1, q1, q3\n" \
    "vldrw.u32 q3, [r2], #16\n" \
    "vmulh.s32 q2, q2, q4\n" \
    "vldrw.u32 q4, [r2], #16\n" \
    "vadd.i32 q1, q1, q3\n" \
    "vadd.i32 q2, q2, q4\n" \
    "vshrnb.i32 q0, q1, #16\n" \
    "vshrnt.i32 q0, q2, #16\n" \
    "vqmovnb.s16 q0, q0\n"

/* r5 and r6 have the bias of the row and its shift, to the left; q5 the multiplier. */
CCML_NAKED ccml_helium_normalize_row(
    const int8_t *x CCML_UNUSED, const int32_t *scaling CCML_UNUSED, const int32_t *steps CCML_UNUSED,
    int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "vpush {d8-d11}\n"
        "ldm r1, {r4, r5, r6}\n"
        "ldr r7, [sp, #52]\n"
        "vdup.32 q5, r4\n"
        "and r6, r6, #31\n"
        "rsb r6, r6, #0\n"
        "lsr lr, r7, #3\n"
        "wls lr, lr, 2f\n"
        "1:\n"
        "vldrb.s16 q0, [r0], #8\n" CCML_HELIUM_NORMALIZE_EIGHT
        "vstrb.16 q0, [r3], #8\n"
        "le lr, 1b\n"
        "2:\n"
        "ands r7, r7, #7\n"
        "beq 3f\n"
        "vctp.16 r7\n"
        "vpst\n"
        "vldrbt.s16 q0, [r0]\n" CCML_HELIUM_NORMALIZE_EIGHT
        "vpst\n"
        "vstrbt.16 q0, [r3]\n"
        "3:\n"
        "vpop {d8-d11}\n"
        "pop {r4-r7, pc}\n");
}

#undef CCML_HELIUM_NORMALIZE_EIGHT
#endif

#endif

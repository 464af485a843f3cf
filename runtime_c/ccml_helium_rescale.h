/* Part of the ccml runtime: sums of two byte tensors in steps of a third.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_RESCALE_H
#define CCML_HELIUM_RESCALE_H

#include "ccml_helium.h"

#if CCML_HELIUM
/* Eight at a time where shifts are of at least sixteen: upper halfwords, which are shifted by the rest. */
#define CCML_BLOCK_HELIUM_RESCALE 1
CCML_NAKED ccml_helium_rescale(
    const int8_t *x1 CCML_UNUSED, const int8_t *x2 CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED,
    int32_t m1 CCML_UNUSED, int32_t m2 CCML_UNUSED, int32_t bias CCML_UNUSED, int32_t shift CCML_UNUSED,
    int32_t lo CCML_UNUSED, int32_t hi CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r8, lr}\n"
        "vpush {d8-d11}\n"
        "ldrd r4, r5, [sp, #56]\n"
        "ldrd r6, r7, [sp, #64]\n"
        "ldrd r8, r12, [sp, #72]\n"
        "lsr lr, r3, #3\n"
        "subs r7, r7, #16\n"
        "blt 2f\n"
        "and r3, r3, #7\n"
        "rsb r7, r7, #0\n"
        "vdup.16 q2, r8\n"
        "vdup.16 q3, r12\n"
        "vdup.32 q4, r4\n"
        "wls lr, lr, 3f\n"
        "1:\n"
        "vldrb.s32 q0, [r0], #4\n"
        "vldrb.s32 q1, [r1], #4\n"
        "vmlas.s32 q0, q4, r6\n"
        "vldrb.s32 q5, [r0], #4\n"
        "vmla.s32 q0, q1, r5\n"
        "vldrb.s32 q1, [r1], #4\n"
        "vmlas.s32 q5, q4, r6\n"
        "vmla.s32 q5, q1, r5\n"
        "vsri.32 q5, q0, #16\n"
        "vshl.s16 q5, r7\n"
        "vmax.s16 q5, q5, q2\n"
        "vmin.s16 q5, q5, q3\n"
        "vshr.u32 q0, q5, #16\n"
        "vstrb.32 q5, [r2], #8\n"
        "vstrb.32 q0, [r2, #-4]\n"
        "le lr, 1b\n"
        "3:\n"
        "rsb r7, r7, #0\n"
        "2:\n"
        "add r7, r7, #16\n"
        "rsb r7, r7, #0\n"
        "vdup.32 q2, r8\n"
        "vdup.32 q3, r12\n"
        "wlstp.32 lr, r3, 5f\n"
        "4:\n"
        "vldrb.s32 q0, [r0], #4\n"
        "vldrb.s32 q1, [r1], #4\n"
        "vmul.i32 q0, q0, r4\n"
        "vmla.s32 q0, q1, r5\n"
        "vadd.i32 q0, q0, r6\n"
        "vshl.s32 q0, r7\n"
        "vmax.s32 q0, q0, q2\n"
        "vmin.s32 q0, q0, q3\n"
        "vstrb.32 q0, [r2], #4\n"
        "letp lr, 4b\n"
        "5:\n"
        "vpop {d8-d11}\n"
        "pop {r4-r8, pc}\n");
}
#endif

#endif

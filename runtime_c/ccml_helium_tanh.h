/* Part of the ccml runtime: hyperbolic tangents of words, between entries of a table.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_TANH_H
#define CCML_HELIUM_TANH_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_TANH 1
/* q4 is the greatest argument, q5 the bits of one behind its place in the table, as many as r3 says (less than 0, for
   shifts to the right), r4 is half of what they count; r12 is the second entry. */
CCML_NAKED ccml_helium_tanh(
    int32_t *u CCML_UNUSED, const uint16_t *table CCML_UNUSED, int32_t count CCML_UNUSED, int32_t shift CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, lr}\n"
        "vpush {d8-d13}\n"
        "mov r12, #512\n"
        "lsl r12, r12, r3\n"
        "sub r12, r12, #1\n"
        "vdup.32 q4, r12\n"
        "mov r4, #1\n"
        "lsl r4, r4, r3\n"
        "sub r12, r4, #1\n"
        "vdup.32 q5, r12\n"
        "lsr r4, r4, #1\n"
        "rsb r3, r3, #0\n"
        "add r12, r1, #2\n"
        "wlstp.32 lr, r2, 2f\n"
        "1:\n"
        "vldrw.u32 q0, [r0]\n"
        "vabs.s32 q1, q0\n"
        "vmin.u32 q1, q1, q4\n"
        "vand q3, q1, q5\n"
        "vshl.s32 q1, r3\n"
        "vldrh.u32 q2, [r1, q1, uxtw #1]\n"
        "vldrh.u32 q6, [r12, q1, uxtw #1]\n"
        "vsub.i32 q6, q6, q2\n"
        "vmul.i32 q6, q6, q3\n"
        "vadd.i32 q6, q6, r4\n"
        "vshl.s32 q6, r3\n"
        "vadd.i32 q6, q6, q2\n"
        "vpt.s32 lt, q0, zr\n"
        "vnegt.s32 q6, q6\n"
        "vstrw.32 q6, [r0], #16\n"
        "letp lr, 1b\n"
        "2:\n"
        "vpop {d8-d13}\n"
        "pop {r4, pc}\n");
}
#endif

#endif

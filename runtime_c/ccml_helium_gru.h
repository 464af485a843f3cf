/* Part of the ccml runtime: a step of an integer GRU from the sums of its products, four units at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GRU_H
#define CCML_HELIUM_GRU_H

#include "ccml_helium_gates.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_GRU 1
/* q5 is the candidate, q6 the least state. Gates come in the order r, n, z. */
CCML_NAKED ccml_helium_gru(
    int16_t *state CCML_UNUSED, const int32_t *input CCML_UNUSED, const int32_t *past CCML_UNUSED,
    const int32_t *numbers CCML_UNUSED, const uint16_t *table CCML_UNUSED, int32_t units CCML_UNUSED,
    int32_t x_shift CCML_UNUSED, int32_t shift CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r9, lr}\n"
        "vpush {d8-d15}\n"
        "ldrd r4, r12, [sp, #92]\n"
        "ldrd r6, r8, [sp, #100]\n"
        "add r5, r4, #2\n"
        "rsb r8, r8, #23\n"
        "sub r7, r8, #1\n"
        "mov r9, #1 << 30\n"
        "movw lr, #32767\n"
        "rsb lr, lr, #0\n"
        "vdup.32 q6, lr\n"
        "lsr r12, r12, #2\n"
        "wls lr, r12, 2f\n"
        "1:\n"
        CCML_HELIUM_GATE("r1", "r2", "r3") CCML_HELIUM_ARGUMENT
        CCML_HELIUM_TANGENT_AND_GATE("q1, r7", "r1", "r2", "r3")
        "vadd.i32 q1, q1, q3\n"
        "vldrw.u32 q3, [r3], #16\n"
        CCML_HELIUM_LOGISTIC("q2")
        "vqdmulh.s32 q1, q1, q2\n"
        CCML_HELIUM_ARGUMENT
        CCML_HELIUM_TANGENT_AND_GATE("q1, r8", "r1", "r2", "r3")
        "vshl.i32 q5, q2, #11\n"
        CCML_HELIUM_ARGUMENT
        CCML_HELIUM_TANGENT("q1, r7", "vldrh.s32 q7, [r0]\n", "vshl.i32 q7, q7, #12\n", "", "vsub.i32 q7, q7, q5\n", "", "")
        CCML_HELIUM_LOGISTIC("q2")
        "vqdmulh.s32 q0, q7, q2\n"
        "vadd.i32 q0, q0, q5\n"
        "vrshr.s32 q0, q0, #12\n"
        "vmax.s32 q0, q0, q6\n"
        "vstrh.32 q0, [r0], #8\n"
        "le lr, 1b\n"
        "2:\n"
        "vpop {d8-d15}\n"
        "pop {r4-r9, pc}\n");
}
#endif

#endif

/* Part of the ccml runtime: a step of an integer LSTM from the sums of its products, four units at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_LSTM_H
#define CCML_HELIUM_LSTM_H

#include "ccml_helium_gates.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_LSTM 1
/* q6 is the greatest cell state, q5 what waits for the next gate. Gates come in the order i, c, f, o. */
CCML_NAKED ccml_helium_lstm(
    int16_t *state CCML_UNUSED, int32_t *cell CCML_UNUSED, const int32_t *input CCML_UNUSED,
    const int32_t *past CCML_UNUSED, const int32_t *numbers CCML_UNUSED, const uint16_t *table CCML_UNUSED,
    int32_t units CCML_UNUSED, int32_t x_shift CCML_UNUSED, int32_t shift CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r10, lr}\n"
        "vpush {d8-d15}\n"
        "ldrd r10, r4, [sp, #96]\n"
        "ldrd r12, r6, [sp, #104]\n"
        "ldr r8, [sp, #112]\n"
        "add r5, r4, #2\n"
        "rsb r8, r8, #23\n"
        "sub r7, r8, #1\n"
        "mov r9, #1 << 30\n"
        "sub lr, r9, #1\n"
        "vdup.32 q6, lr\n"
        "lsr r12, r12, #2\n"
        "wls lr, r12, 2f\n"
        "1:\n"
        CCML_HELIUM_GATE("r2", "r3", "r10") CCML_HELIUM_ARGUMENT
        CCML_HELIUM_TANGENT_AND_GATE("q1, r7", "r2", "r3", "r10")
        CCML_HELIUM_LOGISTIC("q5")
        CCML_HELIUM_ARGUMENT
        CCML_HELIUM_TANGENT_AND_GATE("q1, r8", "r2", "r3", "r10")
        "vshl.i32 q2, q2, #13\n"
        "vqdmulh.s32 q2, q2, q5\n"
        CCML_HELIUM_ARGUMENT
        "vrshr.s32 q5, q2, #9\n"
        CCML_HELIUM_TANGENT("q1, r7", "vldrw.u32 q7, [r1]\n", "", "", "", "", "")
        CCML_HELIUM_LOGISTIC("q2")
        "vqdmulh.s32 q7, q7, q2\n"
        "vneg.s32 q1, q6\n"
        "vadd.i32 q0, q7, q5\n"
        "vmin.s32 q0, q0, q6\n"
        "vmax.s32 q0, q0, q1\n"
        "vstrw.32 q0, [r1], #16\n"
        CCML_HELIUM_TANGENT_AND_GATE("q1, q1, #9", "r2", "r3", "r10")
        "vshl.i32 q5, q2, #13\n"
        CCML_HELIUM_ARGUMENT
        CCML_HELIUM_TANGENT("q1, r7", "", "", "", "", "", "")
        CCML_HELIUM_LOGISTIC("q2")
        "vqdmulh.s32 q2, q2, q5\n"
        "vrshr.s32 q2, q2, #14\n"
        "vstrh.32 q2, [r0], #8\n"
        "le lr, 1b\n"
        "2:\n"
        "vpop {d8-d15}\n"
        "pop {r4-r10, pc}\n");
}
#endif

#endif

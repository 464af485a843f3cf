/* Part of the ccml runtime: depthwise convolution with up to three taps, sixteen channels at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_DEPTHWISE_TAPS_H
#define CCML_HELIUM_DEPTHWISE_TAPS_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_DEPTHWISE_TAPS 1
/* A tile of channels: `load(q, from)` takes what a tap sees, the bytes are made in q2. Products of bytes at the bottom
   are those of even channels, the ones at the top those of odd channels; of either the sum of two taps and the third
   product are multiplied by factors, to words whose upper halves are put side by side again. r8 is the shift, to the
   left. Loads, products and the rest are in an order in which the unit of each is seldom waited for. */
#define CCML_HELIUM_TAPS_TILE(load) \
    load("q0", "r1") \
    "vldrw.u32 q1, [r0], #144\n" \
    "vmullb.s8 q2, q0, q1\n" \
    load("q3", "r3") \
    "vmullt.s8 q0, q0, q1\n" \
    "vldrw.u32 q1, [r0, #-112]\n" \
    "vmullb.s8 q4, q3, q1\n" \
    "vldrw.u32 q5, [r0, #-128]\n" \
    "vmullt.s8 q1, q3, q1\n" \
    load("q3", "r2") \
    "vmullb.s8 q6, q3, q5\n" \
    "vldrw.u32 q7, [r0, #-96]\n" \
    "vmullt.s8 q3, q3, q5\n" \
    "vadd.i16 q2, q2, q6\n" \
    "vmullb.s16 q5, q4, q7\n" \
    "vadd.i16 q0, q0, q3\n" \
    "vmullb.s16 q3, q2, q7\n" \
    "vldrw.u32 q6, [r0, #-16]\n" \
    "vadd.i32 q3, q3, q5\n" \
    "vmullt.s16 q4, q4, q7\n" \
    "vldrw.u32 q5, [r0, #-80]\n" \
    "vmullt.s16 q2, q2, q7\n" \
    "vldrw.u32 q7, [r0, #-32]\n" \
    "vadd.i32 q2, q2, q4\n" \
    "vldrw.u32 q4, [r0, #-64]\n" \
    "vqadd.s32 q3, q3, q5\n" \
    "vldrw.u32 q5, [r0, #-48]\n" \
    "vqadd.s32 q2, q2, q4\n" \
    "vmullb.s16 q4, q0, q5\n" \
    "vsri.32 q2, q3, #16\n" \
    "vmullb.s16 q3, q1, q5\n" \
    "vshl.s16 q2, r8\n" \
    "vmullt.s16 q0, q0, q5\n" \
    "vadd.i32 q3, q4, q3\n" \
    "vmullt.s16 q1, q1, q5\n" \
    "vqadd.s32 q3, q3, q7\n" \
    "vadd.i32 q0, q0, q1\n" \
    "vqmovnb.s16 q2, q2\n" \
    "vqadd.s32 q0, q0, q6\n" \
    "vsri.32 q0, q3, #16\n" \
    "vshl.s16 q0, r8\n" \
    "vqmovnt.s16 q2, q0\n"

#define CCML_HELIUM_TAPS_LOAD(q, from) "vldrb.u8 " q ", [" from "], #16\n"
#define CCML_HELIUM_TAPS_LOAD_SOME(q, from) "vpst\nvldrbt.u8 " q ", [" from "]\n"

/* r5 has the pixels left, r6 what lies between whole tiles of one and of the next, r7 the tiles, r9 the channels that
   fill none. */
CCML_NAKED ccml_helium_depthwise_taps(
    const int32_t *w CCML_UNUSED, const int8_t *x0 CCML_UNUSED, const int8_t *x1 CCML_UNUSED,
    const int8_t *x2 CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t pixels CCML_UNUSED, int32_t pixel_step CCML_UNUSED,
    int32_t channels CCML_UNUSED, int32_t shift CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r10, lr}\n"
        "vpush {d8-d15}\n"
        "ldrd r4, r5, [sp, #96]\n"
        "ldrd r6, r7, [sp, #104]\n"
        "ldr r8, [sp, #112]\n"
        "mov r10, r0\n"
        "rsb r8, r8, #0\n"
        "and r9, r7, #15\n"
        "bic r12, r7, #15\n"
        "sub r6, r6, r12\n"
        "lsr r7, r7, #4\n"
        "1:\n"
        "mov r0, r10\n"
        "wls lr, r7, 3f\n"
        "2:\n" CCML_HELIUM_TAPS_TILE(CCML_HELIUM_TAPS_LOAD)
        "vstrb.8 q2, [r4], #16\n"
        "le lr, 2b\n"
        "3:\n"
        "cmp r9, #0\n"
        "beq 4f\n"
        "vctp.8 r9\n" CCML_HELIUM_TAPS_TILE(CCML_HELIUM_TAPS_LOAD_SOME)
        "vpst\n"
        "vstrbt.8 q2, [r4]\n"
        "add r4, r4, r9\n"
        "4:\n"
        "add r1, r1, r6\n"
        "add r2, r2, r6\n"
        "add r3, r3, r6\n"
        "subs r5, r5, #1\n"
        "bgt 1b\n"
        "vpop {d8-d15}\n"
        "pop {r4-r10, pc}\n");
}

#undef CCML_HELIUM_TAPS_TILE
#undef CCML_HELIUM_TAPS_LOAD
#undef CCML_HELIUM_TAPS_LOAD_SOME
#endif

#endif

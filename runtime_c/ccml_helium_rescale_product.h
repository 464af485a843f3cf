/* Part of the ccml runtime: products of the bytes of two lines, in steps of the result.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_RESCALE_PRODUCT_H
#define CCML_HELIUM_RESCALE_PRODUCT_H

#include "ccml_helium.h"

#if CCML_HELIUM
#define CCML_BLOCK_HELIUM_RESCALE_PRODUCT 1
/* Eight at a time as halfwords, of which VMULL makes products of the even and of the odd ones. Narrowing saturates, so
   that limits are those of halfwords. Loads and the store may be predicated; what is between them works on whole words. */
#define CCML_HELIUM_PRODUCTS(predicate, if_active) \
    predicate "vldrb" if_active ".s16 q0, [r0], #8\n" \
    "vsub.i16 q0, q0, r4\n" \
    predicate "vldrb" if_active ".s16 q1, [r1], #8\n" \
    "vsub.i16 q1, q1, r5\n" \
    "vmullb.s16 q2, q0, q1\n" \
    "vmullt.s16 q1, q0, q1\n" \
    "vmlas.s32 q2, q3, r7\n" \
    "vshl.s32 q2, r8\n" \
    "vmlas.s32 q1, q3, r7\n" \
    "vqmovnb.s32 q0, q2\n" \
    "vshl.s32 q1, r8\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vmax.s16 q0, q0, q4\n" \
    "vmin.s16 q0, q0, q5\n" \
    predicate "vstrb" if_active ".16 q0, [r2], #8\n"
CCML_NAKED ccml_helium_rescale_product(
    const int8_t *x1 CCML_UNUSED, const int8_t *x2 CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t size CCML_UNUSED,
    int32_t z1 CCML_UNUSED, int32_t z2 CCML_UNUSED, int32_t m CCML_UNUSED, int32_t bias CCML_UNUSED,
    int32_t shift CCML_UNUSED, int32_t lo CCML_UNUSED, int32_t hi CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, r8, lr}\n"
        "vpush {d8-d11}\n"
        "ldrd r4, r5, [sp, #56]\n"
        "ldrd r6, r7, [sp, #64]\n"
        "vdup.32 q3, r6\n"
        "ldrd r8, r12, [sp, #72]\n"
        "rsb r8, r8, #0\n"
        "vdup.16 q4, r12\n"
        "ldr r12, [sp, #80]\n"
        "vdup.16 q5, r12\n"
        "lsr r12, r3, #3\n"
        "wls lr, r12, 2f\n"
        "1:\n"
        CCML_HELIUM_PRODUCTS("", "")
        "le lr, 1b\n"
        "2:\n"
        "ands r3, r3, #7\n"
        "beq 3f\n"
        "vctp.16 r3\n"
        CCML_HELIUM_PRODUCTS("vpst\n", "t")
        "3:\n"
        "vpop {d8-d11}\n"
        "pop {r4-r7, r8, pc}\n");
}
#endif

#endif

/* Part of the ccml runtime: a loop over the bytes of two lines and their products.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_PRODUCT_LINES_H
#define CCML_HELIUM_PRODUCT_LINES_H

#include "ccml_helium.h"

#if CCML_HELIUM
/* Eight at a time as halfwords, of which VMULL makes products of the even and of the odd ones, and `narrowed` results
   of these, halfwords in q0. Narrowing saturates, so that limits are those of halfwords. Loads and the store may be
   predicated; what is between them works on whole words. */
#define CCML_HELIUM_PRODUCTS(narrowed, predicate, if_active) \
    predicate "vldrb" if_active ".s16 q0, [r0], #8\n" \
    "vsub.i16 q0, q0, r4\n" \
    predicate "vldrb" if_active ".s16 q1, [r1], #8\n" \
    "vsub.i16 q1, q1, r5\n" \
    "vmullb.s16 q2, q0, q1\n" \
    "vmullt.s16 q1, q0, q1\n" \
    narrowed \
    "vmax.s16 q0, q0, q4\n" \
    "vmin.s16 q0, q0, q5\n" \
    predicate "vstrb" if_active ".16 q0, [r2], #8\n"

/* Two lines in r0 and r1 to that in r2, of r3 bytes. `setup` finds arguments from sp + 56 on; the zero points have to be in
   r4 and r5, the multiplier in r6, and the limits in q4 and r12. */
#define CCML_HELIUM_PRODUCT_LINES(setup, narrowed) \
    __asm__ volatile( \
        ".syntax unified\n" \
        "push {r4-r7, r8, lr}\n" \
        "vpush {d8-d11}\n" \
        "ldrd r4, r5, [sp, #56]\n" \
        "ldrd r6, r7, [sp, #64]\n" \
        setup \
        "vdup.32 q3, r6\n" \
        "vdup.16 q5, r12\n" \
        "lsr r12, r3, #3\n" \
        "wls lr, r12, 2f\n" \
        "1:\n" \
        CCML_HELIUM_PRODUCTS(narrowed, "", "") \
        "le lr, 1b\n" \
        "2:\n" \
        "ands r3, r3, #7\n" \
        "beq 3f\n" \
        "vctp.16 r3\n" \
        CCML_HELIUM_PRODUCTS(narrowed, "vpst\n", "t") \
        "3:\n" \
        "vpop {d8-d11}\n" \
        "pop {r4-r7, r8, pc}\n")
#endif

#endif

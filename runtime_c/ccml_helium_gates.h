/* Part of the ccml runtime: what the gates of integer recurrent layers have in common.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GATES_H
#define CCML_HELIUM_GATES_H

#include "ccml_helium.h"

#if CCML_HELIUM
/* q0: the argument of a gate, of both sums, their multipliers and the bias, all of which are left behind. r6 is the
   shift of sums of the input. */
#define CCML_HELIUM_ARGUMENT(input, state, numbers) \
    "vldrw.u32 q0, [" input "], #16\n" \
    "vldrw.u32 q1, [" numbers "], #16\n" \
    "vshl.s32 q0, r6\n" \
    "vldrw.u32 q2, [" state "], #16\n" \
    "vldrw.u32 q3, [" numbers "], #16\n" \
    "vmulh.s32 q0, q0, q1\n" \
    "vldrw.u32 q1, [" numbers "], #16\n" \
    "vmulh.s32 q2, q2, q3\n" \
    "vadd.i32 q0, q0, q1\n" \
    "vadd.i32 q0, q0, q2\n"

/* q2: the hyperbolic tangent of q0, in steps of 2^-16. `left` takes the magnitude of an argument, in q1, to where nine bits
   are the place in the table (r4; r5 is its second entry), saturated; the others are how far it is to the next. */
#define CCML_HELIUM_TANGENT(left) \
    "vabs.s32 q1, q0\n" \
    "vqshl.u32 q1, " left "\n" \
    "vshr.u32 q3, q1, #23\n" \
    "vldrh.u32 q2, [r4, q3, uxtw #1]\n" \
    "vldrh.u32 q4, [r5, q3, uxtw #1]\n" \
    "vshl.i32 q1, q1, #9\n" \
    "vqsub.u32 q4, q4, q2\n" \
    "vrmulh.u32 q4, q4, q1\n" \
    "vadd.i32 q2, q2, q4\n" \
    "vpt.s32 lt, q0, zr\n" \
    "vnegt.s32 q2, q2\n"

/* q2: the logistic function of an argument in q0, in steps of 2^-31. r7 is how far the argument is shifted, r9 a half. */
#define CCML_HELIUM_LOGISTIC \
    CCML_HELIUM_TANGENT("r7") \
    "vshl.i32 q2, q2, #14\n" \
    "vadd.i32 q2, q2, r9\n"
#endif

#endif

/* Part of the ccml runtime: what the gates of integer recurrent layers have in common.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GATES_H
#define CCML_HELIUM_GATES_H

#include "ccml_helium.h"

#if CCML_HELIUM
/* Of the argument of a gate: the product of the sum of the input in q7, that of the state in q1, and the bias in q3. The
   steps of it stand by themselves or, a load, an addition or a multiplication at a time, between those of a tangent, which
   are of other units. r6 is the shift of sums of the input. */
#define CCML_HELIUM_GATE_1(input) "vldrw.u32 q7, [" input "], #16\n"
#define CCML_HELIUM_GATE_2 "vshl.s32 q7, r6\n"
#define CCML_HELIUM_GATE_3(numbers) "vldrw.u32 q3, [" numbers "], #16\n"
#define CCML_HELIUM_GATE_4(state) "vmulh.s32 q7, q7, q3\n" "vldrw.u32 q1, [" state "], #16\n"
#define CCML_HELIUM_GATE_5(numbers) "vldrw.u32 q3, [" numbers "], #16\n"
#define CCML_HELIUM_GATE_6(numbers) "vmulh.s32 q1, q1, q3\n" "vldrw.u32 q3, [" numbers "], #16\n"
#define CCML_HELIUM_GATE(input, state, numbers) \
    CCML_HELIUM_GATE_1(input) CCML_HELIUM_GATE_3(numbers) CCML_HELIUM_GATE_2 CCML_HELIUM_GATE_4(state) \
    CCML_HELIUM_GATE_5(numbers) CCML_HELIUM_GATE_6(numbers)

/* q0: the argument. */
#define CCML_HELIUM_ARGUMENT \
    "vadd.i32 q7, q7, q3\n" \
    "vadd.i32 q0, q7, q1\n"

/* q2: the hyperbolic tangent of q0, in steps of 2^-16. `left` are the operands that shift the magnitude of an argument,
   in q1, to where nine bits are the place in the table (r4; r5 is its second entry), saturated; the others are how far it is to the next. `step1`
   to `step6` are done meanwhile: they may use q7, q3 from the third and q1 from the fourth on. */
#define CCML_HELIUM_TANGENT(left, step1, step2, step3, step4, step5, step6) \
    "vabs.s32 q1, q0\n" step1 \
    "vqshl.u32 " left "\n" \
    "vshr.u32 q3, q1, #23\n" \
    "vldrh.u32 q2, [r4, q3, uxtw #1]\n" \
    "vshl.i32 q1, q1, #9\n" \
    "vldrh.u32 q4, [r5, q3, uxtw #1]\n" step2 \
    "vqsub.u32 q4, q4, q2\n" step3 \
    "vrmulh.u32 q4, q4, q1\n" step4 \
    "vadd.i32 q2, q2, q4\n" step5 \
    "vpt.s32 lt, q0, zr\n" \
    "vnegt.s32 q2, q2\n" step6

/* The same beside another gate. */
#define CCML_HELIUM_TANGENT_AND_GATE(left, input, state, numbers) \
    CCML_HELIUM_TANGENT( \
        left, CCML_HELIUM_GATE_1(input), CCML_HELIUM_GATE_2, CCML_HELIUM_GATE_3(numbers), CCML_HELIUM_GATE_4(state), \
        CCML_HELIUM_GATE_5(numbers), CCML_HELIUM_GATE_6(numbers))

/* `gate`: the logistic function in steps of 2^-31, from the tangent of half of its argument. r9 is a half. */
#define CCML_HELIUM_LOGISTIC(gate) \
    "vshl.i32 q2, q2, #14\n" \
    "vadd.i32 " gate ", q2, r9\n"
#endif

#endif

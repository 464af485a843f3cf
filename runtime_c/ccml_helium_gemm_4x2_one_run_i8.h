/* Part of the ccml runtime: pixels of one run of at most eight steps by all channels, which are in fours, as bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_GEMM_4X2_ONE_RUN_I8_H
#define CCML_HELIUM_GEMM_4X2_ONE_RUN_I8_H

#include "ccml_helium_gemm_4x2_one_run.h"

#if CCML_HELIUM
#define CCML_HELIUM_ONE_RUN_STORE \
    "add r1, r7, r9\n" \
    "vstrb.32 q1, [r1]\n" \
    "vstrb.32 q0, [r7], #4\n"

#define CCML_HELIUM_ONE_RUN_I8 \
    CCML_HELIUM_4X2_RESULTS( \
        CCML_HELIUM_REQUANTIZE, "q4", "q5", "subs r11, r11, #4\n", "ble 6f\n" CCML_HELIUM_ONE_RUN_BIASES0, \
        CCML_HELIUM_ONE_RUN_BIASES1, CCML_HELIUM_4X2_WEIGHTS) \
    CCML_HELIUM_ONE_RUN_STORE \
    "b.w 2b\n" \
    "6:\n" \
    "ldr r5, [sp, #12]\n" CCML_HELIUM_NARROW( \
        CCML_HELIUM_ONE_RUN_BIASES0, CCML_HELIUM_ONE_RUN_BIASES1 CCML_HELIUM_4X2_WEIGHTS, "q4", "q5") \
    "vshr.u32 q1, q0, #16\n" \
    CCML_HELIUM_ONE_RUN_STORE

#define CCML_BLOCK_HELIUM_GEMM_4X2_ONE_RUN_I8 1
CCML_NAKED ccml_helium_gemm_4x2_one_run_i8(
    const int32_t *w CCML_UNUSED, const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t vectors CCML_UNUSED,
    int32_t pixels CCML_UNUSED, int32_t pixel_step CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t zero_point CCML_UNUSED, int32_t lo CCML_UNUSED)
{
    CCML_HELIUM_ONE_RUN(
        "ldrd r6, r7, [sp, #100]\n"
        "vdup.16 q4, r6\n"
        "vdup.8 q5, r7\n",
        CCML_HELIUM_ONE_RUN_I8);
}
#endif

#endif

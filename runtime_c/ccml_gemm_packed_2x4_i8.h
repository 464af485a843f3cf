/* Part of the ccml runtime: four staged pixels by all channels, requantized to bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_PACKED_2X4_I8_H
#define CCML_GEMM_PACKED_2X4_I8_H

#include "ccml_gemm_packed_2x4.h"

#if CCML_ARM_DSP

/* The zero point less the bits of 1.5 * 2^23 in s31, that number in s22. */
#define CCML_PACKED_2X4_I8_SETUP \
    "ldr r6, [sp, #116]\n" \
    "movw r7, #0\n" \
    "movt r7, #0x4b40\n" \
    "vmov s22, r7\n" \
    "sub r6, r6, r7\n"

/* Four accumulators of one channel as bytes; the scale in `scale`, s31 in r1. */
#define CCML_PACKED_2X4_I8_BYTE(a) \
    "add " a ", " a ", r1\n" \
    "ssat " a ", #8, " a "\n"
#define CCML_PACKED_2X4_I8_CHANNEL(a0, a1, a2, a3, scale) \
    "vmov s16, s17, " a0 ", " a1 "\n" \
    "vmov s18, s19, " a2 ", " a3 "\n" \
    CCML_PACKED_2X4_SCALE("s16", scale, "s22") \
    CCML_PACKED_2X4_SCALE("s17", scale, "s22") \
    CCML_PACKED_2X4_SCALE("s18", scale, "s22") \
    CCML_PACKED_2X4_SCALE("s19", scale, "s22") \
    "vmov " a0 ", " a1 ", s16, s17\n" \
    "vmov " a2 ", " a3 ", s18, s19\n" \
    CCML_PACKED_2X4_I8_BYTE(a0) CCML_PACKED_2X4_I8_BYTE(a1) CCML_PACKED_2X4_I8_BYTE(a2) CCML_PACKED_2X4_I8_BYTE(a3)

#define CCML_PACKED_2X4_I8_FINISH \
    "vldm r0!, {s20-s21}\n" \
    "vmov r1, s31\n" \
    CCML_PACKED_2X4_I8_CHANNEL("r2", "r3", "r4", "r5", "s20") \
    CCML_PACKED_2X4_I8_CHANNEL("r6", "r7", "r8", "r9", "s21") CCML_PACKED_2X4_POINTERS CCML_PACKED_2X4_STORES

#define CCML_BLOCK_GEMM_PACKED_2X4_I8 1
CCML_NAKED ccml_gemm_packed_2x4_i8(
    const int32_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int8_t *y0 CCML_UNUSED, int8_t *y1 CCML_UNUSED,
    int8_t *y2 CCML_UNUSED, int8_t *y3 CCML_UNUSED, int32_t groups CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t zero_point CCML_UNUSED)
{
    CCML_PACKED_2X4(0, CCML_PACKED_2X4_LAST_ONE, CCML_PACKED_2X4_I8_SETUP, CCML_PACKED_2X4_I8_FINISH);
}
#endif

#endif

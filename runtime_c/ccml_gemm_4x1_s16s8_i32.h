/* Part of the ccml runtime: one pixel of halfwords by all channels of packed bytes, as accumulators.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_4X1_S16S8_I32_H
#define CCML_GEMM_4X1_S16S8_I32_H

#include "ccml_tile.h"

#if CCML_ARM_DSP

/* Two k, in `x`, of two channels: 256 times the sum of the first plus that of the second in `low` and `high`, that of the
   second in `acc`. */
#define CCML_GEMM_4X1_PRODUCTS(low, high, acc, x, w) \
    "smlald " low ", " high ", " x ", " w "\n" \
    "sxtb16 " w ", " w "\n" \
    "smlad " acc ", " x ", " w ", " acc "\n"

/* Four k of four channels, in 56 bytes of code. */
#define CCML_GEMM_4X1_FOUR \
    "ldrd r2, r3, [r1], #8\n" \
    "ldm r0!, {r10, r11, r12, lr}\n" \
    CCML_GEMM_4X1_PRODUCTS("r4", "r5", "r6", "r2", "r10") CCML_GEMM_4X1_PRODUCTS("r7", "r8", "r9", "r2", "r11") \
    CCML_GEMM_4X1_PRODUCTS("r4", "r5", "r6", "r3", "r12") CCML_GEMM_4X1_PRODUCTS("r7", "r8", "r9", "r3", "lr")

/* The sum of the first channel of two into `low`. */
#define CCML_GEMM_4X1_FIRST(low, high, acc) \
    "subs " low ", " low ", " acc "\n" \
    "sbc " high ", " high ", " acc ", asr #31\n" \
    "lsr " low ", " low ", #8\n" \
    "orr " low ", " low ", " high ", lsl #24\n"

/* On the stack: x, entry of a tile, y, end of x, tiles left. */
#define CCML_BLOCK_GEMM_4X1_S16S8_I32 1
CCML_NAKED ccml_gemm_4x1_s16s8_i32(
    const int32_t *w CCML_UNUSED, const int16_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED,
    int32_t channels CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        ".p2align 2\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #20\n"
        "ldr r5, [sp, #56]\n"
        "mov r4, r3\n"
        CCML_ENTRY("2f", "3f", 4)
        "add r6, r1, r4, lsl #3\n"
        "add r5, r5, #3\n"
        "lsr r5, r5, #2\n"
        "strd r1, r7, [sp]\n"
        "strd r2, r6, [sp, #8]\n"
        "str r5, [sp, #16]\n"
        "1:\n"
        "mov r4, #0\n"
        "mov r5, #0\n"
        "mov r6, #0\n"
        "mov r7, #0\n"
        "mov r8, #0\n"
        "mov r9, #0\n"
        "ldrd r1, r10, [sp]\n"
        "bx r10\n"
        ".p2align 2\n"
        "2:\n" CCML_REPEAT("4", CCML_GEMM_4X1_FOUR)
        "3:\n"
        "ldr r10, [sp, #12]\n"
        "cmp r1, r10\n"
        "bne 2b\n"
        CCML_GEMM_4X1_FIRST("r4", "r5", "r6") CCML_GEMM_4X1_FIRST("r7", "r8", "r9")
        "ldr r2, [sp, #8]\n"
        "ldr r3, [sp, #16]\n"
        "stm r2!, {r4, r6, r7, r9}\n"
        "str r2, [sp, #8]\n"
        "subs r3, r3, #1\n"
        "str r3, [sp, #16]\n"
        "bne 1b\n"
        "add sp, sp, #20\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_GEMM_4X1_PRODUCTS
#undef CCML_GEMM_4X1_FOUR
#undef CCML_GEMM_4X1_FIRST
#endif

#endif

/* Part of the ccml runtime: two staged pixels by all channels, three channels at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_3X2_H
#define CCML_GEMM_3X2_H

#include "ccml_tile.h"

#if CCML_ARM_DSP

/* Four products for one channel of both pixels, whose activations are in r2, r3 and r12, lr. */
#define CCML_GEMM_3X2_CHANNEL(acc0, acc1) \
    CCML_WEIGHTS \
    "smlad " acc0 ", r11, r2, " acc0 "\n" \
    "smlad " acc1 ", r11, r12, " acc1 "\n" \
    "smlad " acc0 ", r10, r3, " acc0 "\n" \
    "smlad " acc1 ", r10, lr, " acc1 "\n"

#define CCML_GEMM_3X2_PIXELS "ldm.w r1!, {r2, r3, r12, lr}\n"

/* 22 and 8 instructions of four bytes each. */
#define CCML_GEMM_3X2_THREE \
    CCML_GEMM_3X2_PIXELS CCML_GEMM_3X2_CHANNEL("r4", "r5") CCML_GEMM_3X2_CHANNEL("r6", "r7") \
    CCML_GEMM_3X2_CHANNEL("r8", "r9")
#define CCML_GEMM_3X2_ONE CCML_GEMM_3X2_PIXELS CCML_GEMM_3X2_CHANNEL("r4", "r5")

/* First sums are biases. */
#define CCML_GEMM_3X2_BEGIN \
    "mov r5, r4\n" \
    "mov r7, r6\n" \
    "mov r9, r8\n"
#define CCML_GEMM_3X2_BEGIN_ONE "mov r5, r4\n"

/* void f(const int32_t *w, const int32_t *x, T *y0, T *y1, int32_t groups, int32_t channels, ...), where T has
   1 << scale bytes. `setup` comes first; `begin` and `begin_one` make the first sums of both pixels of the biases in r4,
   r6 and r8, with r2 and r3 for it; `three` and `one` store the accumulators of a tile, channel by channel in r4 to r9, at
   r10 and r11.

   Every register is taken: what a tile needs once is on the stack, from sp + 32 on: x, entry of a tile of three, y0, y1,
   end of x, entry of a tile of one, y0 behind the tiles of three, channels left. The 32 bytes below and the arguments
   from sp + 108 on are for `setup`, `three` and `one`. */
#define CCML_GEMM_3X2(scale, setup, begin, begin_one, three, one) \
    CCML_GEMM_3X2_WITH(scale, CCML_GEMM_3X2_THREE, CCML_GEMM_3X2_ONE, setup, begin, begin_one, three, one)
#define CCML_GEMM_3X2_WITH(scale, products_of_three, products_of_one, setup, begin, begin_one, three, one) \
    __asm__ volatile( \
        ".syntax unified\n" \
        ".p2align 2\n" \
        "push {r4-r11, lr}\n" \
        "sub sp, sp, #64\n" \
        "ldrd r4, r5, [sp, #100]\n" \
        setup \
        "str r1, [sp, #32]\n" \
        "strd r2, r3, [sp, #40]\n" \
        "add r6, r1, r4, lsl #4\n" \
        "str r6, [sp, #48]\n" \
        CCML_ENTRY("2f", "3f", 8) \
        "str r7, [sp, #36]\n" \
        CCML_ENTRY("6f", "7f", 4) \
        "str r7, [sp, #52]\n" \
        "mov r7, #3\n" \
        "udiv r6, r5, r7\n" \
        "mls r7, r6, r7, r5\n" \
        "add r8, r6, r6, lsl #1\n" \
        "add r8, r2, r8, lsl #" #scale "\n" \
        "strd r8, r7, [sp, #56]\n" \
        "cmp r6, #0\n" \
        "beq.w 4f\n" \
        "1:\n" \
        "ldm r0!, {r4, r6, r8}\n" \
        begin \
        "ldrd r1, r10, [sp, #32]\n" \
        "bx r10\n" \
        "2:\n" CCML_REPEAT("8", products_of_three) \
        "3:\n" \
        "ldr r10, [sp, #48]\n" \
        "cmp r1, r10\n" \
        "bne.w 2b\n" \
        "ldrd r10, r11, [sp, #40]\n" \
        three \
        "strd r10, r11, [sp, #40]\n" \
        "ldr r2, [sp, #56]\n" \
        "cmp r10, r2\n" \
        "bne.w 1b\n" \
        "4:\n" \
        "ldr r2, [sp, #60]\n" \
        "cmp r2, #0\n" \
        "beq.w 8f\n" \
        "5:\n" \
        "ldr r4, [r0], #4\n" \
        begin_one \
        "ldr r1, [sp, #32]\n" \
        "ldrd r6, r10, [sp, #48]\n" \
        "bx r10\n" \
        "6:\n" CCML_REPEAT("4", products_of_one) \
        "7:\n" \
        "cmp r1, r6\n" \
        "bne 6b\n" \
        "ldrd r10, r11, [sp, #40]\n" \
        one \
        "strd r10, r11, [sp, #40]\n" \
        "ldr r2, [sp, #60]\n" \
        "subs r2, r2, #1\n" \
        "str r2, [sp, #60]\n" \
        "bne.w 5b\n" \
        "8:\n" \
        "add sp, sp, #64\n" \
        "pop {r4-r11, pc}\n")
#endif

#endif

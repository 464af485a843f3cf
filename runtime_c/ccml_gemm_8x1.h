/* Part of the ccml runtime: one pixel, widened on the way, by all channels, eight channels at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_GEMM_8X1_H
#define CCML_GEMM_8X1_H

#include "ccml_tile.h"

#if CCML_ARM_DSP

/* Four products for one channel of the pixel whose activations are in r2 and r3. */
#define CCML_GEMM_8X1_CHANNEL(acc) \
    CCML_WEIGHTS \
    "smlad " acc ", r11, r2, " acc "\n" \
    "smlad " acc ", r10, r3, " acc "\n"

#define CCML_GEMM_8X1_PIXEL \
    "ldr r3, [r1], #4\n" \
    "sxtb16 r2, r3\n" \
    "sxtb16 r3, r3, ror #8\n"

/* Four activations by eight channels, in instructions of four bytes each. */
#define CCML_GEMM_8X1_EIGHT(pixel, channel) \
    pixel channel("r4") channel("r5") channel("r6") channel("r7") channel("r8") channel("r9") channel("r12") channel("lr")

#define CCML_GEMM_8X1(setup, four, one) \
    CCML_GEMM_8X1_OF(setup, CCML_GEMM_8X1_PIXEL, CCML_GEMM_8X1_CHANNEL, "2", four, one)

/* void f(const int32_t *w, const X *x, T *y, int32_t groups, int32_t channels, ...), where four(a, b, c, d) and one(a)
   store accumulators at r11; `setup` comes first. `pixel` loads four activations of `1 << shift` bytes into r2 and r3,
   and `channel(acc)` the weights that it multiplies them by. On the stack from sp + 32 on: x, entry of a tile, y, end of x,
   tiles left, channels left; the 32 bytes below and the arguments from sp + 96 on are for `setup`, `four` and `one`. */
#define CCML_GEMM_8X1_OF(setup, pixel, channel, shift, four, one) \
    __asm__ volatile( \
        ".syntax unified\n" \
        ".p2align 2\n" \
        "push {r4-r11, lr}\n" \
        "sub sp, sp, #56\n" \
        setup \
        "ldr r5, [sp, #92]\n" \
        "mov r4, r3\n" \
        CCML_ENTRY("2f", "3f", 2) \
        "strd r1, r7, [sp, #32]\n" \
        "add r6, r1, r4, lsl #" shift "\n" \
        "strd r2, r6, [sp, #40]\n" \
        "and r7, r5, #7\n" \
        "lsrs r6, r5, #3\n" \
        "strd r6, r7, [sp, #48]\n" \
        "beq 4f\n" \
        "1:\n" \
        "ldm r0!, {r4-r9, r12, lr}\n" \
        "ldrd r1, r10, [sp, #32]\n" \
        "bx r10\n" \
        "2:\n" CCML_REPEAT("2", CCML_GEMM_8X1_EIGHT(pixel, channel)) \
        "3:\n" \
        "ldr r10, [sp, #44]\n" \
        "cmp r1, r10\n" \
        "bne.w 2b\n" \
        "ldr r11, [sp, #40]\n" \
        four("r4", "r5", "r6", "r7") four("r8", "r9", "r12", "lr") \
        "ldr r2, [sp, #48]\n" \
        "str r11, [sp, #40]\n" \
        "subs r2, r2, #1\n" \
        "str r2, [sp, #48]\n" \
        "bne.w 1b\n" \
        "4:\n" \
        "ldr r12, [sp, #52]\n" \
        "cmp r12, #0\n" \
        "beq.w 7f\n" \
        "ldrd r5, r6, [sp, #40]\n" \
        "5:\n" \
        "ldr r4, [r0], #4\n" \
        "ldr r1, [sp, #32]\n" \
        "6:\n" pixel channel("r4") \
        "cmp r1, r6\n" \
        "bne 6b\n" \
        "mov r11, r5\n" \
        one("r4") \
        "mov r5, r11\n" \
        "subs r12, r12, #1\n" \
        "bne 5b\n" \
        "7:\n" \
        "add sp, sp, #56\n" \
        "pop {r4-r11, pc}\n")
#endif

#endif

/* Part of the ccml runtime: pixels of few channels, widened on the way, by all channels of the output, to bytes.

   w has for each channel of the output a bias, two words of weights for each word of a pixel, and a factor.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_POINTWISE_H
#define CCML_POINTWISE_H

#include "ccml_tile.h"

#if CCML_ARM_DSP

/* For pixels of one, two and three words: what goes before all, the words of a pixel at r1 as halfwords and the jump into
   the code of eight channels, a channel, the test for the last one, and the way to the next pixel with the test for the
   last one. Of several words the last is s0 bytes behind the first, and may overlap the one before; two that do not are
   WHOLE. */
#define CCML_POINTWISE_WIDEN(even, odd) \
    "sxtb16 " even ", " odd "\n" \
    "sxtb16 " odd ", " odd ", ror #8\n"
#define CCML_POINTWISE_BYTE(acc, factor) \
    "smmlar " acc ", " acc ", " factor ", r3\n" \
    "ssat " acc ", #8, " acc "\n" \
    "strb " acc ", [r2], #1\n"

#define CCML_POINTWISE_4_BEGIN "vmov r6, r7, s1, s2\n"
#define CCML_POINTWISE_4_PIXEL \
    "ldr r5, [r1], #4\n" \
    CCML_POINTWISE_WIDEN("r4", "r5") \
    "bx r6\n"
#define CCML_POINTWISE_4_CHANNEL \
    "ldm r0!, {r8-r11}\n" \
    "smlad r8, r4, r9, r8\n" \
    "smlad r8, r5, r10, r8\n" \
    CCML_POINTWISE_BYTE("r8", "r11")
#define CCML_POINTWISE_4_LAST "cmp r0, r7\n"
#define CCML_POINTWISE_4_NEXT CCML_POINTWISE_8_NEXT

#define CCML_POINTWISE_8_BEGIN
#define CCML_POINTWISE_8_PIXEL \
    "vmov r8, r9, s0, s1\n" \
    "ldr r5, [r1]\n" \
    "add r1, r1, r8\n" \
    CCML_POINTWISE_WIDEN("r4", "r5") \
    "ldr r7, [r1], #4\n" \
    CCML_POINTWISE_WIDEN("r6", "r7") \
    "bx r9\n"
#define CCML_POINTWISE_8_WHOLE_PIXEL \
    "vmov r9, s1\n" \
    "ldr r5, [r1], #4\n" \
    "ldr r7, [r1], #4\n" \
    CCML_POINTWISE_WIDEN("r4", "r5") \
    CCML_POINTWISE_WIDEN("r6", "r7") \
    "bx r9\n"
#define CCML_POINTWISE_8_CHANNEL \
    "ldm r0!, {r8-r12, lr}\n" \
    "smlad r8, r4, r9, r8\n" \
    "smlad r8, r5, r10, r8\n" \
    "smlad r8, r6, r11, r8\n" \
    "smlad r8, r7, r12, r8\n" \
    CCML_POINTWISE_BYTE("r8", "lr")
#define CCML_POINTWISE_8_LAST \
    "vmov r8, s2\n" \
    "cmp r0, r8\n"
#define CCML_POINTWISE_8_NEXT \
    "vmov r8, r9, s4, s5\n" \
    "add r1, r1, r8\n" \
    "add r2, r2, r9\n" \
    "vmov r8, s6\n" \
    "cmp r2, r8\n"

/* Three words leave no register for x, which waits in s7. */
#define CCML_POINTWISE_12_BEGIN "vmov s7, r1\n"
#define CCML_POINTWISE_12_PIXEL \
    "vmov r1, s7\n" \
    "vmov r10, r11, s0, s1\n" \
    "ldr r5, [r1]\n" \
    "ldr r7, [r1, #4]\n" \
    "ldr r9, [r1, r10]\n" \
    "add r1, r1, r10\n" \
    "adds r1, r1, #4\n" \
    "vmov s7, r1\n" \
    CCML_POINTWISE_WIDEN("r4", "r5") \
    CCML_POINTWISE_WIDEN("r6", "r7") \
    CCML_POINTWISE_WIDEN("r8", "r9") \
    "bx r11\n"
#define CCML_POINTWISE_12_CHANNEL \
    "ldm r0!, {r1, r10-r12, lr}\n" \
    "smlad r1, r4, r10, r1\n" \
    "smlad r1, r5, r11, r1\n" \
    "smlad r1, r6, r12, r1\n" \
    "smlad r1, r7, lr, r1\n" \
    "ldm r0!, {r10-r12}\n" \
    "smlad r1, r8, r10, r1\n" \
    "smlad r1, r9, r11, r1\n" \
    CCML_POINTWISE_BYTE("r1", "r12")
#define CCML_POINTWISE_12_LAST \
    "vmov r10, s2\n" \
    "cmp r0, r10\n"
#define CCML_POINTWISE_12_NEXT \
    "vmov r1, s7\n" \
    "vmov r10, r11, s4, s5\n" \
    "add r1, r1, r10\n" \
    "vmov s7, r1\n" \
    "add r2, r2, r11\n" \
    "vmov r10, s6\n" \
    "cmp r2, r10\n"

/* The whole function, for pixels of `words` words by macros that begin with `name`, and `pixel`. `arguments` puts the channels of a
   pixel into r9, those of the output into r4, and the distances of pixels into r10 and r11; `all` makes those of all
   groups of r9 and r4, where r12 has their number; the zero point is at sp + `zero_point`. `again` is where it goes on
   behind eight channels, 2 or, where the next group begins, 4.
   In s0 the distance of the last word, s1 where the code of eight channels is entered first, s2 the end of weights, s3
   their beginning, s4 and s5 what leads to the next pixel, s6 the end of y. */
#define CCML_POINTWISE(name, pixel, words, arguments, all, zero_point, again) \
    __asm__ volatile( \
        ".syntax unified\n" \
        ".p2align 2\n" \
        "push {r4-r11, lr}\n" \
        arguments \
        CCML_ENTRY("2f", "3f", 8) \
        "sub r6, r9, #4\n" \
        "vmov s0, s1, r6, r7\n" \
        all \
        "mov r6, #8 * " words " + 8\n" \
        "mla r6, r4, r6, r0\n" \
        "vmov s2, s3, r6, r0\n" \
        "mla r6, r3, r11, r2\n" \
        "vmov s6, r6\n" \
        "sub r10, r10, r9\n" \
        "sub r11, r11, r4\n" \
        "vmov s4, s5, r10, r11\n" \
        "ldr r3, [sp, #" zero_point "]\n" \
        name##_BEGIN \
        "1:\n" \
        "vmov r0, s3\n" \
        "4:\n" pixel \
        "2:\n" CCML_REPEAT("8", name##_CHANNEL) \
        "3:\n" name##_LAST \
        "bne.w " again "b\n" \
        name##_NEXT \
        "bne.w 1b\n" \
        "pop {r4-r11, pc}\n")

#define CCML_POINTWISE_SINGLE(name, words) \
    CCML_POINTWISE( \
        name, name##_PIXEL, words, "ldrd r9, r4, [sp, #36]\n" "ldrd r10, r11, [sp, #44]\n", "", "52", "2")
#define CCML_POINTWISE_GROUPED(name, pixel, words) \
    CCML_POINTWISE( \
        name, pixel, words, "ldrd r12, r9, [sp, #36]\n" "ldrd r4, r10, [sp, #44]\n" "ldr r11, [sp, #52]\n", \
        "mul r9, r9, r12\n" "mul r4, r4, r12\n", "56", "4")
#endif

#endif

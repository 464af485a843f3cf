/* Part of the ccml runtime: four staged pixels (or one of them) by all channels, two channels at a time.

   w has for each two channels their biases, a word of weights per channel for each group of four k (two halfwords
   256 * w1 + w0), then (to requantize) their float32 scales. x has eight words for each group: of odd k for each pixel,
   then of even k for each pixel. Accumulators are 256 times the sums. The channels are an even number.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_QUAD_H
#define CCML_QUAD_H

#include "ccml_bits.h"
#include "ccml_dot.h"
#include "ccml_tile.h"

#if CCML_ARM_DSP

/* Two pixels by two channels, whose weights are in r10 and r11. */
#define CCML_QUAD_PAIR(a0, a1, b0, b1) \
    "ldrd r12, lr, [r1], #8\n" \
    "smlad " a0 ", r10, r12, " a0 "\n" \
    "smlad " a1 ", r10, lr, " a1 "\n" \
    "smlad " b0 ", r11, r12, " b0 "\n" \
    "smlad " b1 ", r11, lr, " b1 "\n"

#define CCML_QUAD_FOUR CCML_QUAD_PAIR("r2", "r3", "r6", "r7") CCML_QUAD_PAIR("r4", "r5", "r8", "r9")

/* 23 instructions of four bytes each: a group of four k, accumulators in r2 to r5 and r6 to r9. */
#define CCML_QUAD_GROUP \
    "ldrd r10, r11, [r0], #8\n" CCML_QUAD_FOUR \
    "sxtb16 r10, r10\n" \
    "sxtb16 r11, r11\n" CCML_QUAD_FOUR

/* void f(const int32_t *w, const int32_t *x, T *y0, T *y1, T *y2, T *y3, int32_t groups, int32_t channels, ...), where
   T has 1 << scale bytes. `setup` comes first; `finish` stores the accumulators through the pointers at sp and counts
   these up.

   On the stack: y0 to y3, x, entry of the loop, end of x, end of y0; the 16 bytes from sp + 32 on and the arguments from
   sp + 100 on are for `setup` and `finish`. */
#define CCML_QUAD(scale, setup, finish) \
    __asm__ volatile( \
        ".syntax unified\n" \
        ".p2align 2\n" \
        "push {r4-r11, lr}\n" \
        "sub sp, sp, #48\n" \
        "ldrd r4, r5, [sp, #84]\n" \
        "strd r4, r5, [sp, #8]\n" \
        "ldrd r4, r5, [sp, #92]\n" \
        "strd r2, r3, [sp]\n" \
        setup \
        CCML_ENTRY("3f", 4, 92) \
        "strd r1, r7, [sp, #16]\n" \
        "add r6, r1, r4, lsl #5\n" \
        "add r7, r2, r5, lsl #" #scale "\n" \
        "strd r6, r7, [sp, #24]\n" \
        "1:\n" \
        "ldrd r2, r6, [r0], #8\n" \
        "ldrd r1, r10, [sp, #16]\n" \
        "mov r3, r2\n" \
        "mov r4, r2\n" \
        "mov r5, r2\n" \
        "mov r7, r6\n" \
        "mov r8, r6\n" \
        "mov r9, r6\n" \
        "bx r10\n" \
        "2:\n" CCML_REPEAT("4", CCML_QUAD_GROUP) \
        "3:\n" \
        "ldr r10, [sp, #24]\n" \
        "cmp r1, r10\n" \
        "bne.w 2b\n" \
        finish \
        "ldr r1, [sp, #28]\n" \
        "cmp r10, r1\n" \
        "bne.w 1b\n" \
        "add sp, sp, #48\n" \
        "pop {r4-r11, pc}\n")

/* The same for one pixel: void f(const int32_t *w, const int32_t *x, T *y, int32_t groups, int32_t channels, ...).
   Accumulators in r2 and r3; y in r12. Registers for `setup` and `finish`: r4 (the end of x), r7 and above. */
#define CCML_LONE(scale, setup, finish) \
    __asm__ volatile( \
        ".syntax unified\n" \
        "push {r4-r11, lr}\n" \
        "ldr r5, [sp, #36]\n" \
        "mov r12, r2\n" \
        "add r5, r2, r5, lsl #" #scale "\n" \
        "add r4, r1, r3, lsl #5\n" \
        "mov r6, r1\n" \
        setup \
        "1:\n" \
        "ldrd r2, r3, [r0], #8\n" \
        "mov r1, r6\n" \
        "2:\n" \
        "ldr lr, [r1, #16]\n" \
        "ldrd r10, r11, [r0], #8\n" \
        "ldr r9, [r1], #32\n" \
        "smlad r2, r10, r9, r2\n" \
        "smlad r3, r11, r9, r3\n" \
        "sxtb16 r10, r10\n" \
        "sxtb16 r11, r11\n" \
        "smlad r2, r10, lr, r2\n" \
        "smlad r3, r11, lr, r3\n" \
        "cmp r1, r4\n" \
        "bne 2b\n" \
        finish \
        "cmp r12, r5\n" \
        "bne 1b\n" \
        "pop {r4-r11, pc}\n")

/* float(acc) * scale + 1.5 * 2^23, whose bits have the rounded product; the constant in s10. */
#define CCML_QUAD_SCALE(acc, scale) \
    "vcvt.f32.s32 " acc ", " acc "\n" \
    "vmul.f32 " acc ", " acc ", " scale "\n" \
    "vadd.f32 " acc ", " acc ", s10\n"

/* What is added to upper words of products before they are shifted to unsigned bytes: zero_point + 128 and a half, in r6.
   The zero point in r6, the shift in r7; r8 is lost. */
#define CCML_QUAD_OFFSET \
    "mov r8, #1\n" \
    "add r6, r6, #128\n" \
    "lsl r6, r6, r7\n" \
    "lsl r8, r8, r7\n" \
    "add r6, r6, r8, lsr #1\n"

/* Two channels in a and b of each of two pixels, unsigned halfwords behind saturation, to *y0++ and *y1++. */
#define CCML_QUAD_STORE_BYTES(a, b, y0, y1) \
    "usat16 " a ", #8, " a "\n" \
    "usat16 " b ", #8, " b "\n" \
    "orr " a ", " a ", " b ", lsl #8\n" \
    "eor " a ", " a ", #0x80808080\n" \
    "strh " a ", [" y0 "], #2\n" \
    "lsr " a ", " a ", #16\n" \
    "strh " a ", [" y1 "], #2\n"

#else

/* The accumulators of two channels for one pixel; the words of the stream begin at w. */
static inline void ccml_quad_sums(const int32_t *w, const int32_t *x, int32_t groups, int32_t *acc)
{
    for (int c = 0; c < 2; ++c) {
        acc[c] = w[c];
        for (int32_t g = 0; g < groups; ++g) {
            const int32_t word = w[2 + 2 * g + c];
            acc[c] = ccml_i32_dot2_i16i16(acc[c], x[8 * g], word);
            acc[c] = ccml_i32_dot2_i16i16(acc[c], x[8 * g + 4], ccml_i32_widen_even(word));
        }
    }
}

static inline void ccml_lone_bytes(
    const int32_t *w, const int32_t *x, int8_t *y, int32_t groups, int32_t channels, int32_t zero_point)
{
    for (int32_t first = 0; first < channels; first += 2) {
        int32_t acc[2];
        ccml_quad_sums(w, x, groups, acc);
        w += 2 + 2 * groups;
        y[first] = ccml_requantize(acc[0], *w++, zero_point);
        y[first + 1] = ccml_requantize(acc[1], *w++, zero_point);
    }
}

static inline void ccml_lone_bytes_fixed(
    const int32_t *w, const int32_t *x, int8_t *y, int32_t groups, int32_t channels, int32_t zero_point, int32_t shift)
{
    for (int32_t first = 0; first < channels; first += 2) {
        int32_t acc[2];
        ccml_quad_sums(w, x, groups, acc);
        w += 2 + 2 * groups;
        y[first] = ccml_requantize_int(acc[0], *w++, zero_point, shift);
        y[first + 1] = ccml_requantize_int(acc[1], *w++, zero_point, shift);
    }
}

static inline void ccml_lone_sums(const int32_t *w, const int32_t *x, int32_t *y, int32_t groups, int32_t channels)
{
    for (int32_t first = 0; first < channels; first += 2) {
        int32_t acc[2];
        ccml_quad_sums(w, x, groups, acc);
        w += 2 + 2 * groups;
        y[first] = acc[0] >> 8;
        y[first + 1] = acc[1] >> 8;
    }
}

#endif

#endif

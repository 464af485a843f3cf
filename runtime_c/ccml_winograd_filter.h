/* Part of the ccml runtime: the filters of two channels, transformed for ccml_winograd.h.

   g has the biases, for each four channels of the input nine words of bytes of either channel, and the factors.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_WINOGRAD_FILTER_H
#define CCML_WINOGRAD_FILTER_H

#include "ccml_widen.h"

#if CCML_ARM_DSP

/* g0 + g1 + g2 in `sum`, g0 - g1 + g2 in `difference`, and twice g0 and g2 in their places. */
#define CCML_WINOGRAD_FILTER_COLUMN(g0, g1, g2, sum, difference) \
    "sadd16 " sum ", " g0 ", " g2 "\n" \
    "ssub16 " difference ", " sum ", " g1 "\n" \
    "sadd16 " sum ", " sum ", " g1 "\n" \
    "sadd16 " g0 ", " g0 ", " g0 "\n" \
    "sadd16 " g2 ", " g2 ", " g2 "\n"

/* The bytes of two channels, in the places of their words. */
#define CCML_WINOGRAD_FILTER_HALFWORDS(rotation) \
    "sxtb16 r2, r2" rotation "\n" \
    "sxtb16 r3, r3" rotation "\n" \
    "sxtb16 r4, r4" rotation "\n" \
    "sxtb16 r5, r5" rotation "\n" \
    "sxtb16 r6, r6" rotation "\n" \
    "sxtb16 r7, r7" rotation "\n" \
    "sxtb16 r8, r8" rotation "\n" \
    "sxtb16 r9, r9" rotation "\n" \
    "sxtb16 r10, r10" rotation "\n"

/* Four places from r1 on; the distance of places in r0. */
#define CCML_WINOGRAD_FILTER_ROW(h0, h1, h2, free) \
    "sadd16 " free ", " h0 ", " h2 "\n" \
    "sadd16 " h0 ", " h0 ", " h0 "\n" \
    "str " h0 ", [r1, r0]\n" \
    "sadd16 " h0 ", " free ", " h1 "\n" \
    "str " h0 ", [r1]\n" \
    "add r1, r1, r0, lsl #1\n" \
    "ssub16 " h1 ", " free ", " h1 "\n" \
    "str " h1 ", [r1]\n" \
    "sadd16 " h2 ", " h2 ", " h2 "\n" \
    "str " h2 ", [r1, r0]\n" \
    "add r1, r1, r0, lsl #1\n"

/* In s0 the filters, s1 the distance of places, s2 where the words of the first place end, s3 which two
   of four channels of the input: the one, then the other, then those of the other filter. The first two
   columns of taps leave a register free each, the last does without: (g0 + g2) + g1 is twice g0 + g2 less the
   difference. */
#define CCML_BLOCK_WINOGRAD_FILTER 1
CCML_NAKED ccml_winograd_filter(const int32_t *g CCML_UNUSED, int32_t *w CCML_UNUSED, int32_t groups CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "lsls r2, r2, #4\n"
        "ldrd r3, r4, [r0], #8\n"
        "strd r3, r4, [r1], #8\n"
        "adds r3, r1, r2\n"
        "vmov s1, s2, r2, r3\n"
        "movs r3, #0\n"
        "vmov s3, r3\n"
        "1:\n"
        "ldm r0, {r2-r10}\n" CCML_WINOGRAD_FILTER_HALFWORDS("")
        "3:\n"
        "vmov s0, r0\n"
        CCML_WINOGRAD_FILTER_COLUMN("r2", "r5", "r8", "r11", "lr")
        CCML_WINOGRAD_FILTER_COLUMN("r3", "r6", "r9", "r5", "r12")
        "sadd16 r6, r4, r10\n"
        "ssub16 r7, r6, r7\n"
        "sadd16 r6, r6, r6\n"
        "ssub16 r6, r6, r7\n"
        "sadd16 r4, r4, r4\n"
        "sadd16 r10, r10, r10\n"
        "vmov r0, s1\n"
        "vmov s4, r10\n"
        CCML_WINOGRAD_FILTER_ROW("r11", "r5", "r6", "r10")
        CCML_WINOGRAD_FILTER_ROW("r2", "r3", "r4", "r11")
        CCML_WINOGRAD_FILTER_ROW("lr", "r12", "r7", "r2")
        "vmov r10, s4\n"
        CCML_WINOGRAD_FILTER_ROW("r8", "r9", "r10", "r2")
        "sub r1, r1, r0, lsl #4\n"
        "vmov r2, r3, s2, s3\n"
        "vmov r0, s0\n"
        "eors r3, r3, #1\n"
        "vmov s3, r3\n"
        "itt ne\n"
        "addne r1, r1, #8\n"
        "bne.w 2f\n"
        "subs r1, r1, #4\n"
        "tst r1, #4\n"
        "bne.w 1b\n"
        "adds r1, r1, #8\n"
        "cmp r1, r2\n"
        "bne.w 1b\n"
        "vmov r2, s1\n"
        "rsb r2, r2, r2, lsl #4\n"
        "add r1, r1, r2\n"
        "ldrd r3, r4, [r0]\n"
        "strd r3, r4, [r1]\n"
        "pop {r4-r11, pc}\n"
        "2:\n"
        "ldm r0!, {r2-r10}\n" CCML_WINOGRAD_FILTER_HALFWORDS(", ror #8")
        "b.w 3b\n");
}

#undef CCML_WINOGRAD_FILTER_COLUMN
#undef CCML_WINOGRAD_FILTER_ROW
#undef CCML_WINOGRAD_FILTER_HALFWORDS
#endif

#endif

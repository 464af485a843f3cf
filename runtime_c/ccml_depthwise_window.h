/* Part of the ccml runtime: depthwise convolutions with any kernel, four channels of staged windows at a time.

   x has for each tap of a window a cell of sixteen bytes. w has for each group of four channels four biases, four words
   for each pair of taps, and two words for the last tap.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE_WINDOW_H
#define CCML_DEPTHWISE_WINDOW_H

#include "ccml_widen.h"

#if CCML_ARM_DSP

/* The pair of taps at r1 + `at` and r1 + `behind`, in 48 bytes of code. */
#define CCML_DEPTHWISE_WINDOW_PAIR(at, behind) CCML_DEPTHWISE_WINDOW_PAIR_OF(at, behind, "ldm r0!, {r8-r11}\n")
#define CCML_DEPTHWISE_WINDOW_PAIR_OF(at, behind, weights) \
    "ldr r2, [r1, #" #at "]\n" \
    "ldr r3, [r1, #" #behind "]\n" weights \
    "pkhbt r12, r2, r3, lsl #16\n" \
    "pkhtb r3, r3, r2, asr #16\n" \
    "sxtb16 r2, r12\n" \
    "sxtb16 r12, r12, ror #8\n" \
    "smlad r4, r2, r8, r4\n" \
    "smlad r5, r12, r9, r5\n" \
    "sxtb16 r2, r3\n" \
    "sxtb16 r3, r3, ror #8\n" \
    "smlad r6, r2, r10, r6\n" \
    "smlad r7, r3, r11, r7\n"

/* From the number of pairs in r5: in s0 where the first window enters the code of four pairs, r10 the pairs that it
   leaves out there, by which its address in r1 is less, r9 the fours of pairs, and lr the end of pairs in the stream. */
#define CCML_DEPTHWISE_WINDOW_ENTRY \
    "add r9, r5, #3\n" \
    "lsr r9, r9, #2\n" \
    "rsb r10, r5, r9, lsl #2\n" \
    "sub r1, r1, r10, lsl #5\n" \
    "add lr, r0, r5, lsl #4\n" \
    "add lr, lr, #16\n" \
    "mov r11, #48\n" \
    "adr.w r12, 2f\n" \
    "mla r12, r10, r11, r12\n" \
    "orr r12, r12, #1\n" \
    "vmov s0, r12\n"

/* The sums of one window in r4 to r7. Behind it r0 is at the end of the weights, and r1 at the last tap. */
#define CCML_DEPTHWISE_WINDOW_SUMS \
    "ldm r0!, {r4-r7}\n" \
    "vmov r12, s0\n" \
    "bx r12\n" \
    ".p2align 2\n" \
    "2:\n" \
    CCML_DEPTHWISE_WINDOW_PAIR(0, 16) CCML_DEPTHWISE_WINDOW_PAIR(32, 48) \
    CCML_DEPTHWISE_WINDOW_PAIR(64, 80) CCML_DEPTHWISE_WINDOW_PAIR(96, 112) \
    "add r1, r1, #128\n" \
    "cmp r0, lr\n" \
    "bne 2b\n" \
    "ldr r3, [r1]\n" \
    "ldm r0!, {r8, r9}\n" CCML_DEPTHWISE_WINDOW_LAST("r8", "r9")

/* The same of nine taps. r1 stays at the first; r0 is lost, and what is behind the weights in r9 to r12. */
#define CCML_DEPTHWISE_WINDOW_SUMS_OF_9 \
    "ldm r0!, {r4-r11}\n" \
    CCML_DEPTHWISE_WINDOW_PAIR_OF(0, 16, "") CCML_DEPTHWISE_WINDOW_PAIR(32, 48) \
    CCML_DEPTHWISE_WINDOW_PAIR(64, 80) CCML_DEPTHWISE_WINDOW_PAIR(96, 112) \
    "ldr r3, [r1, #128]\n" \
    "ldm r0, {r0, r8-r12}\n" CCML_DEPTHWISE_WINDOW_LAST("r0", "r8")

/* The last tap, in r3, by its weights. */
#define CCML_DEPTHWISE_WINDOW_LAST(w02, w13) \
    "sxtb16 r2, r3\n" \
    "sxtb16 r3, r3, ror #8\n" \
    "smlabb r4, r2, " w02 ", r4\n" \
    "smlabb r5, r3, " w13 ", r5\n" \
    "smlatt r6, r2, " w02 ", r6\n" \
    "smlatt r7, r3, " w13 ", r7\n"
#endif

#endif

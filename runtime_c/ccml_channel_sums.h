/* Part of the ccml runtime: the sums of the bytes of each channel, eight channels at a time.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_CHANNEL_SUMS_H
#define CCML_CHANNEL_SUMS_H

#include "ccml_widen.h"

#if CCML_ARM_DSP
/* Sums of up to 256 bytes are halfwords: of channels 0 and 2 in r4, 1 and 3 in r5, and so on in r6 and r7. Channels left
   in lr, the start in r12. */
#define CCML_CHANNEL_SUMS_STORE(even, odd) \
    "sxtah r8, r12, " even "\n" \
    "sxtah r9, r12, " odd "\n" \
    "add r10, r12, " even ", asr #16\n" \
    "add r11, r12, " odd ", asr #16\n" \
    "stm r1!, {r8-r11}\n"
#define CCML_BLOCK_CHANNEL_SUMS 1
CCML_NAKED ccml_channel_sums(
    const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t rows CCML_UNUSED, int32_t channels CCML_UNUSED,
    int32_t start CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldr r12, [sp, #36]\n"
        "mov lr, r3\n"
        "1:\n"
        "mov r8, r0\n"
        "mov r9, r2\n"
        "mov r4, #0\n"
        "mov r5, #0\n"
        "mov r6, #0\n"
        "mov r7, #0\n"
        "2:\n"
        "ldr r10, [r8]\n"
        "ldr r11, [r8, #4]\n"
        "add r8, r8, r3\n"
        "sxtab16 r4, r4, r10\n"
        "sxtab16 r5, r5, r10, ror #8\n"
        "sxtab16 r6, r6, r11\n"
        "sxtab16 r7, r7, r11, ror #8\n"
        "subs r9, r9, #1\n"
        "bne 2b\n"
        CCML_CHANNEL_SUMS_STORE("r4", "r5")
        CCML_CHANNEL_SUMS_STORE("r6", "r7")
        "add r0, r0, #8\n"
        "subs lr, lr, #8\n"
        "bgt 1b\n"
        "pop {r4-r11, pc}\n");
}
#undef CCML_CHANNEL_SUMS_STORE
#endif

#endif

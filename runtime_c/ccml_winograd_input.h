/* Part of the ccml runtime: four tiles of 4 x 4 pixels, transformed for Winograd's algorithm F(2x2, 3x3).

   x has 4 rows of 10 pixels of 4 * groups channels; tiles begin two pixels apart. y has for each four channels the
   halfwords of channels (0, 2), then those of (1, 3): for each place of a tile a word of every tile.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_WINOGRAD_INPUT_H
#define CCML_WINOGRAD_INPUT_H

#include "ccml_widen.h"

#if CCML_ARM_DSP

/* Four pixels of a row at r0, of which `second` is lost: d0 - d2 in `first`, d1 + d2 in `sum`, d2 - d1 in `third`, d1 - d3
   in `fourth`. Then r0 goes on by `move`. */
#define CCML_WINOGRAD_ROW(first, second, third, fourth, sum, rotation, move) \
    "ldr " first ", [r0]\n" \
    "ldr " second ", [r0, r2]\n" \
    "ldr " third ", [r0, r2, lsl #1]\n" \
    "ldr " fourth ", [r0, r3]\n" \
    move \
    "sxtb16 " first ", " first rotation "\n" \
    "sxtb16 " second ", " second rotation "\n" \
    "sxtb16 " third ", " third rotation "\n" \
    "sxtb16 " fourth ", " fourth rotation "\n" \
    "ssub16 " fourth ", " second ", " fourth "\n" \
    "ssub16 " first ", " first ", " third "\n" \
    "sadd16 " sum ", " second ", " third "\n" \
    "ssub16 " third ", " third ", " second "\n"

/* The difference or sum of two words to a place. */
#define CCML_WINOGRAD_TO(op, result, a, b, at) \
    op " " result ", " a ", " b "\n" \
    "str " result ", [r1, #" at "]\n"

/* A column of the second and third row of the result; the word of the third row of the input in `a` is lost. */
#define CCML_WINOGRAD_MIDDLE(a, b, at1, at2) \
    CCML_WINOGRAD_TO("sadd16", "lr", b, a, at1) \
    CCML_WINOGRAD_TO("ssub16", a, a, b, at2)

/* Two of four channels; r0 is at the third row. In r4 to r7 the third row of the input, then the fourth; in r8 to r11 the first, then the
   second. r12 has the bytes of a row. */
#define CCML_WINOGRAD_HALF(rotation, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3) \
    CCML_WINOGRAD_ROW("r4", "lr", "r6", "r7", "r5", rotation, "sub r0, r0, r12, lsl #1\n") \
    CCML_WINOGRAD_ROW("r8", "lr", "r10", "r11", "r9", rotation, "add r0, r0, r12\n") \
    CCML_WINOGRAD_TO("ssub16", "r8", "r8", "r4", a0) \
    CCML_WINOGRAD_TO("ssub16", "r9", "r9", "r5", a1) \
    CCML_WINOGRAD_TO("ssub16", "r10", "r10", "r6", a2) \
    CCML_WINOGRAD_TO("ssub16", "r11", "r11", "r7", a3) \
    CCML_WINOGRAD_ROW("r8", "lr", "r10", "r11", "r9", rotation, "add r0, r0, r12, lsl #1\n") \
    CCML_WINOGRAD_MIDDLE("r4", "r8", b0, c0) \
    CCML_WINOGRAD_MIDDLE("r5", "r9", b1, c1) \
    CCML_WINOGRAD_MIDDLE("r6", "r10", b2, c2) \
    CCML_WINOGRAD_MIDDLE("r7", "r11", b3, c3) \
    CCML_WINOGRAD_ROW("r4", "lr", "r6", "r7", "r5", rotation, "sub r0, r0, r12\n") \
    CCML_WINOGRAD_TO("ssub16", "r8", "r8", "r4", d0) \
    CCML_WINOGRAD_TO("ssub16", "r9", "r9", "r5", d1) \
    CCML_WINOGRAD_TO("ssub16", "r10", "r10", "r6", d2) \
    CCML_WINOGRAD_TO("ssub16", "r11", "r11", "r7", d3)

/* The bytes of a pixel in r2, of three in r3, of a row in r12; in s0 where y ends, s1 how far x has come behind the last
   tile, less the next four channels, s2 where the words of the last tile end. */
#define CCML_BLOCK_WINOGRAD_INPUT 1
CCML_NAKED ccml_winograd_input(const int8_t *x CCML_UNUSED, int32_t *y CCML_UNUSED, int32_t groups CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "add r4, r1, r2, lsl #9\n"
        "lsls r2, r2, #2\n"
        "lsls r5, r2, #3\n"
        "subs r5, r5, #4\n"
        "vmov s0, s1, r4, r5\n"
        "add r4, r1, #16\n"
        "vmov s2, r4\n"
        "add r3, r2, r2, lsl #1\n"
        "add r12, r2, r2, lsl #2\n"
        "lsl r12, r12, #1\n"
        "add r0, r0, r12, lsl #1\n"
        "1:\n" CCML_WINOGRAD_HALF(
            "", "80", "64", "96", "112", "16", "0", "32", "48", "144", "128", "160", "176", "208", "192", "224", "240")
        CCML_WINOGRAD_HALF(
            ", ror #8", "336", "320", "352", "368", "272", "256", "288", "304", "400", "384", "416", "432", "464", "448",
            "480", "496")
        "add r0, r0, r2, lsl #1\n"
        "adds r1, r1, #4\n"
        "vmov r4, s2\n"
        "cmp r1, r4\n"
        "bne.w 1b\n"
        "add r1, r1, #496\n"
        "add r4, r4, #512\n"
        "vmov s2, r4\n"
        "vmov r4, r5, s0, s1\n"
        "subs r0, r0, r5\n"
        "cmp r1, r4\n"
        "bne.w 1b\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_WINOGRAD_ROW
#undef CCML_WINOGRAD_TO
#undef CCML_WINOGRAD_MIDDLE
#undef CCML_WINOGRAD_HALF
#endif

#endif

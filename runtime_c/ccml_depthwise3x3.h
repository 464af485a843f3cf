/* Part of the ccml runtime: rows of a depthwise 3x3 convolution of one channel, staged as words.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_DEPTHWISE3X3_H
#define CCML_DEPTHWISE3X3_H

#include "ccml_thumb.h"

#if CCML_ARM_V6M
/* Four neighbours that are one or two words apart: the words of a row of the kernel times its weights in r5 to r7. */
#define CCML_CHANNEL_STRIDE1 \
    "ldmia r0!, {r1, r2, r3}\n" \
    "muls r1, r5, r1\n" \
    "add r8, r1\n" \
    "mov r4, r2\n" \
    "muls r4, r6, r4\n" \
    "add r8, r4\n" \
    "muls r2, r5, r2\n" \
    "add r9, r2\n" \
    "mov r4, r3\n" \
    "muls r4, r7, r4\n" \
    "add r8, r4\n" \
    "mov r4, r3\n" \
    "muls r4, r6, r4\n" \
    "add r9, r4\n" \
    "muls r3, r5, r3\n" \
    "add r10, r3\n" \
    "ldmia r0!, {r1, r2, r3}\n" \
    "mov r4, r1\n" \
    "muls r4, r7, r4\n" \
    "add r9, r4\n" \
    "mov r4, r1\n" \
    "muls r4, r6, r4\n" \
    "add r10, r4\n" \
    "muls r1, r5, r1\n" \
    "add r11, r1\n" \
    "mov r4, r2\n" \
    "muls r4, r7, r4\n" \
    "add r10, r4\n" \
    "muls r2, r6, r2\n" \
    "add r11, r2\n" \
    "muls r3, r7, r3\n" \
    "add r11, r3\n"
#define CCML_CHANNEL_STRIDE2 \
    "ldmia r0!, {r1, r2, r3}\n" \
    "muls r1, r5, r1\n" \
    "add r8, r1\n" \
    "muls r2, r6, r2\n" \
    "add r8, r2\n" \
    "mov r4, r3\n" \
    "muls r4, r7, r4\n" \
    "add r8, r4\n" \
    "muls r3, r5, r3\n" \
    "add r9, r3\n" \
    "ldmia r0!, {r1, r2, r3}\n" \
    "muls r1, r6, r1\n" \
    "add r9, r1\n" \
    "mov r4, r2\n" \
    "muls r4, r7, r4\n" \
    "add r9, r4\n" \
    "muls r2, r5, r2\n" \
    "add r10, r2\n" \
    "muls r3, r6, r3\n" \
    "add r10, r3\n" \
    "ldmia r0!, {r1, r2, r3}\n" \
    "mov r4, r1\n" \
    "muls r4, r7, r4\n" \
    "add r10, r4\n" \
    "muls r1, r5, r1\n" \
    "add r11, r1\n" \
    "muls r2, r6, r2\n" \
    "add r11, r2\n" \
    "muls r3, r7, r3\n" \
    "add r11, r3\n"
#define CCML_CHANNEL_SINGLE \
    "ldmia r0!, {r1, r2, r3}\n" \
    "muls r1, r5, r1\n" \
    "add r8, r1\n" \
    "muls r2, r6, r2\n" \
    "add r8, r2\n" \
    "muls r3, r7, r3\n" \
    "add r8, r3\n"

/* The three rows of the kernel; `next` has the bytes from the end of what a row reads to the next row. */
#define CCML_CHANNEL_ROW(w0, w1, w2, products, next) \
    "ldr r5, [sp, #" w0 "]\n" \
    "ldr r6, [sp, #" w1 "]\n" \
    "ldr r7, [sp, #" w2 "]\n" products "add r0, " next "\n"
#define CCML_CHANNEL_KERNEL(products, next) \
    CCML_CHANNEL_ROW("0", "4", "8", products, next) CCML_CHANNEL_ROW("12", "16", "20", products, next) \
    CCML_CHANNEL_ROW("24", "28", "32", products, next)

#define CCML_CHANNEL_FOUR(products) \
    "ldr r1, [sp, #36]\n" \
    "mov r8, r1\n" \
    "mov r9, r1\n" \
    "mov r10, r1\n" \
    "mov r11, r1\n" CCML_CHANNEL_KERNEL(products, "r12") \
    "add r0, lr\n" \
    "ldr r5, [sp, #40]\n" \
    "mov r1, r8\n" \
    "mov r2, r9\n" \
    "mov r3, r10\n" \
    "mov r4, r11\n" \
    "stmia r5!, {r1-r4}\n" \
    "str r5, [sp, #40]\n" \
    "ldr r1, [sp, #48]\n" \
    "subs r1, #1\n" \
    "str r1, [sp, #48]\n"

#define CCML_CHANNEL_WIDEN(number, place) \
    "ldrb r4, [r1, #" number "]\n" \
    "sxtb r4, r4\n" \
    "str r4, [sp, #" place "]\n"

/* On the stack: nine weights, the bias, y, rows left, outputs left, x of the row (at 56), bytes between rows. The
   bytes that lead from the last row of the kernel to the next outputs are in lr (four) and r10 (one). */
#define CCML_BLOCK_DEPTHWISE3X3 1
CCML_NAKED ccml_depthwise3x3(
    const int32_t *b CCML_UNUSED, const int8_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *y CCML_UNUSED,
    int32_t rows CCML_UNUSED, int32_t outputs CCML_UNUSED, int32_t stride CCML_UNUSED, int32_t row CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r4-r7}\n"
        "sub sp, #64\n"
        "str r2, [sp, #56]\n"
        "str r3, [sp, #40]\n"
        "ldr r0, [r0]\n"
        "str r0, [sp, #36]\n"
        CCML_CHANNEL_WIDEN("0", "0") CCML_CHANNEL_WIDEN("1", "4")
        CCML_CHANNEL_WIDEN("2", "8") CCML_CHANNEL_WIDEN("3", "12")
        CCML_CHANNEL_WIDEN("4", "16") CCML_CHANNEL_WIDEN("5", "20")
        CCML_CHANNEL_WIDEN("6", "24") CCML_CHANNEL_WIDEN("7", "28")
        CCML_CHANNEL_WIDEN("8", "32")
        "ldr r4, [sp, #100]\n"
        "str r4, [sp, #44]\n"
        "ldr r5, [sp, #112]\n"
        "lsls r5, r5, #2\n"
        "ldr r6, [sp, #108]\n"
        "muls r5, r6, r5\n"
        "str r5, [sp, #60]\n"
        "1:\n"
        "ldr r0, [sp, #56]\n"
        "ldr r4, [sp, #104]\n"
        "lsrs r4, r4, #2\n"
        "beq 4f\n"
        "str r4, [sp, #48]\n"
        "ldr r5, [sp, #112]\n"
        "lsls r5, r5, #2\n"
        "ldr r6, [sp, #108]\n"
        "lsls r7, r5, #1\n"
        "adds r7, r7, r5\n"
        "lsls r4, r6, #4\n"
        "subs r4, r4, r7\n"
        "mov lr, r4\n"
        "movs r4, #12\n"
        "muls r4, r6, r4\n"
        "adds r4, #12\n"
        "subs r5, r5, r4\n"
        "mov r12, r5\n"
        "cmp r6, #1\n"
        "beq 2f\n"
        "b 3f\n"
        "4:\n"
        "b 5f\n"
        "2:\n" CCML_CHANNEL_FOUR(CCML_CHANNEL_STRIDE1)
        "beq 5f\n"
        "b 2b\n"
        "3:\n" CCML_CHANNEL_FOUR(CCML_CHANNEL_STRIDE2)
        "beq 5f\n"
        "b 3b\n"
        "5:\n"
        "ldr r4, [sp, #104]\n"
        "movs r5, #3\n"
        "ands r4, r5\n"
        "beq 7f\n"
        "str r4, [sp, #48]\n"
        "ldr r5, [sp, #112]\n"
        "lsls r5, r5, #2\n"
        "lsls r7, r5, #1\n"
        "adds r7, r7, r5\n"
        "subs r5, #12\n"
        "mov r9, r5\n"
        "ldr r6, [sp, #108]\n"
        "lsls r6, r6, #2\n"
        "subs r6, r6, r7\n"
        "mov r10, r6\n"
        "6:\n"
        "ldr r1, [sp, #36]\n"
        "mov r8, r1\n" CCML_CHANNEL_KERNEL(CCML_CHANNEL_SINGLE, "r9")
        "add r0, r10\n"
        "ldr r5, [sp, #40]\n"
        "mov r1, r8\n"
        "stmia r5!, {r1}\n"
        "str r5, [sp, #40]\n"
        "ldr r1, [sp, #48]\n"
        "subs r1, #1\n"
        "str r1, [sp, #48]\n"
        "bne 6b\n"
        "7:\n"
        "ldr r0, [sp, #56]\n"
        "ldr r1, [sp, #60]\n"
        "adds r0, r0, r1\n"
        "str r0, [sp, #56]\n"
        "ldr r1, [sp, #44]\n"
        "subs r1, #1\n"
        "str r1, [sp, #44]\n"
        "beq 8f\n"
        "b 1b\n"
        "8:\n"
        "add sp, #64\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}

#undef CCML_CHANNEL_STRIDE1
#undef CCML_CHANNEL_STRIDE2
#undef CCML_CHANNEL_SINGLE
#undef CCML_CHANNEL_ROW
#undef CCML_CHANNEL_KERNEL
#undef CCML_CHANNEL_FOUR
#undef CCML_CHANNEL_WIDEN
#elif CCML_ARM_V7M
/* Four neighbours that are one or two words apart: the words from r12 on times the weights in r8 to r10. */
#define CCML_CHANNEL_STRIDE1 \
    "ldrd r2, r3, [r12, #0]\n" \
    "mla r4, r2, r8, r4\n" \
    "mla r4, r3, r9, r4\n" \
    "mla r5, r3, r8, r5\n" \
    "ldrd r2, r3, [r12, #8]\n" \
    "mla r4, r2, r10, r4\n" \
    "mla r5, r2, r9, r5\n" \
    "mla r6, r2, r8, r6\n" \
    "mla r5, r3, r10, r5\n" \
    "mla r6, r3, r9, r6\n" \
    "mla r7, r3, r8, r7\n" \
    "ldrd r2, r3, [r12, #16]\n" \
    "mla r6, r2, r10, r6\n" \
    "mla r7, r2, r9, r7\n" \
    "mla r7, r3, r10, r7\n"
#define CCML_CHANNEL_STRIDE2 \
    "ldrd r2, r3, [r12, #0]\n" \
    "mla r4, r2, r8, r4\n" \
    "mla r4, r3, r9, r4\n" \
    "ldrd r2, r3, [r12, #8]\n" \
    "mla r4, r2, r10, r4\n" \
    "mla r5, r2, r8, r5\n" \
    "mla r5, r3, r9, r5\n" \
    "ldrd r2, r3, [r12, #16]\n" \
    "mla r5, r2, r10, r5\n" \
    "mla r6, r2, r8, r6\n" \
    "mla r6, r3, r9, r6\n" \
    "ldrd r2, r3, [r12, #24]\n" \
    "mla r6, r2, r10, r6\n" \
    "mla r7, r2, r8, r7\n" \
    "mla r7, r3, r9, r7\n" \
    "ldr r2, [r12, #32]\n" \
    "mla r7, r2, r10, r7\n"
#define CCML_CHANNEL_SINGLE \
    "ldrd r2, r3, [r12]\n" \
    "mla r4, r2, r8, r4\n" \
    "mla r4, r3, r9, r4\n" \
    "ldr r2, [r12, #8]\n" \
    "mla r4, r2, r10, r4\n"

#define CCML_CHANNEL_ROW(w0, w1, w2, products) \
    "ldrsb r8, [r1, #" w0 "]\n" \
    "ldrsb r9, [r1, #" w1 "]\n" \
    "ldrsb r10, [r1, #" w2 "]\n" products "add r12, r12, lr\n"
#define CCML_CHANNEL_KERNEL(products) \
    "mov r12, r0\n" CCML_CHANNEL_ROW("0", "1", "2", products) CCML_CHANNEL_ROW("3", "4", "5", products) \
    CCML_CHANNEL_ROW("6", "7", "8", products)

#define CCML_CHANNEL_FOUR(products, bytes) \
    "ldr r4, [sp, #0]\n" \
    "mov r5, r4\n" \
    "mov r6, r4\n" \
    "mov r7, r4\n" CCML_CHANNEL_KERNEL(products) \
    "ldr r2, [sp, #4]\n" \
    "stm r2!, {r4-r7}\n" \
    "str r2, [sp, #4]\n" \
    "add r0, r0, #" bytes "\n" \
    "subs r11, r11, #1\n"

/* On the stack: bias, y, x of the row, bytes between rows, rows left. */
#define CCML_BLOCK_DEPTHWISE3X3 1
CCML_NAKED ccml_depthwise3x3(
    const int32_t *b CCML_UNUSED, const int8_t *w CCML_UNUSED, const int32_t *x CCML_UNUSED, int32_t *y CCML_UNUSED,
    int32_t rows CCML_UNUSED, int32_t outputs CCML_UNUSED, int32_t stride CCML_UNUSED, int32_t row CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "sub sp, sp, #20\n"
        "ldr r0, [r0]\n"
        "strd r0, r3, [sp]\n"
        "str r2, [sp, #8]\n"
        "ldr r4, [sp, #56]\n"
        "str r4, [sp, #16]\n"
        "ldrd r4, r5, [sp, #64]\n"
        "lsl lr, r5, #2\n"
        "mul r4, r4, lr\n"
        "str r4, [sp, #12]\n"
        "1:\n"
        "ldr r0, [sp, #8]\n"
        "ldrd r3, r2, [sp, #60]\n"
        "lsrs r11, r3, #2\n"
        "beq.w 4f\n"
        "cmp r2, #1\n"
        "bne.w 3f\n"
        "2:\n" CCML_CHANNEL_FOUR(CCML_CHANNEL_STRIDE1, "16")
        "bne.w 2b\n"
        "b 4f\n"
        "3:\n" CCML_CHANNEL_FOUR(CCML_CHANNEL_STRIDE2, "32")
        "bne.w 3b\n"
        "4:\n"
        "ldrd r3, r2, [sp, #60]\n"
        "lsl r5, r2, #2\n"
        "ands r11, r3, #3\n"
        "beq.w 6f\n"
        "5:\n"
        "ldr r4, [sp, #0]\n" CCML_CHANNEL_KERNEL(CCML_CHANNEL_SINGLE)
        "ldr r2, [sp, #4]\n"
        "str r4, [r2], #4\n"
        "str r2, [sp, #4]\n"
        "add r0, r0, r5\n"
        "subs r11, r11, #1\n"
        "bne.w 5b\n"
        "6:\n"
        "ldrd r0, r2, [sp, #8]\n"
        "add r0, r0, r2\n"
        "str r0, [sp, #8]\n"
        "ldr r2, [sp, #16]\n"
        "subs r2, r2, #1\n"
        "str r2, [sp, #16]\n"
        "bne.w 1b\n"
        "add sp, sp, #20\n"
        "pop {r4-r11, pc}\n");
}

#undef CCML_CHANNEL_STRIDE1
#undef CCML_CHANNEL_STRIDE2
#undef CCML_CHANNEL_SINGLE
#undef CCML_CHANNEL_ROW
#undef CCML_CHANNEL_KERNEL
#undef CCML_CHANNEL_FOUR
#endif

#endif

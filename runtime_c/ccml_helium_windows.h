/* Part of the ccml runtime: windows of the pixels of a row, each as one run of bytes.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_HELIUM_WINDOWS_H
#define CCML_HELIUM_WINDOWS_H

#include "ccml_helium.h"

#if CCML_HELIUM
/* Sixteen bytes of a row of all pixels at a time: r12 and r4 are x and y of a pixel, r9 and r10 those of the first, r11
   the bytes left of the row. The last ones overlap those before; only rows that are shorter need a predicate. */
#define CCML_BLOCK_HELIUM_WINDOWS 1
CCML_NAKED ccml_helium_windows(
    const int8_t *x CCML_UNUSED, int8_t *y CCML_UNUSED, int32_t pixels CCML_UNUSED, int32_t rows CCML_UNUSED,
    int32_t size CCML_UNUSED, int32_t x_step CCML_UNUSED, int32_t row_step CCML_UNUSED, int32_t y_step CCML_UNUSED,
    int32_t y_row_step CCML_UNUSED)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r11, lr}\n"
        "ldrd r5, r6, [sp, #40]\n"
        "ldrd r7, r8, [sp, #48]\n"
        "1:\n"
        "ldr r11, [sp, #36]\n"
        "mov r9, r0\n"
        "mov r10, r1\n"
        "cmp r11, #16\n"
        "bge 4f\n"
        "vctp.8 r11\n"
        "mov r12, r9\n"
        "mov r4, r10\n"
        "dls lr, r2\n"
        "3:\n"
        "vpstt\n"
        "vldrbt.u8 q0, [r12]\n"
        "vstrbt.8 q0, [r4]\n"
        "add r12, r12, r5\n"
        "add r4, r4, r7\n"
        "le lr, 3b\n"
        "b 6f\n"
        "4:\n"
        "mov r12, r9\n"
        "mov r4, r10\n"
        "dls lr, r2\n"
        "5:\n"
        "vldrb.u8 q0, [r12]\n"
        "add r12, r12, r5\n"
        "vstrb.8 q0, [r4]\n"
        "add r4, r4, r7\n"
        "le lr, 5b\n"
        "subs r11, r11, #16\n"
        "ble 6f\n"
        "mov r12, #16\n"
        "cmp r11, r12\n"
        "itt lt\n"
        "movlt r12, r11\n"
        "movlt r11, #16\n"
        "add r9, r9, r12\n"
        "add r10, r10, r12\n"
        "b 4b\n"
        "6:\n"
        "add r0, r0, r6\n"
        "add r1, r1, r8\n"
        "subs r3, r3, #1\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}
#endif

#endif

/* Part of the ccml runtime: how many rows and bytes tiles have from now on.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_TILES_CONFIGURE_H
#define CCML_TILES_CONFIGURE_H

#include "ccml_tiles.h"

#if CCML_TILES
#define CCML_BLOCK_TILES_CONFIGURE 1

/* 64 bytes on the stack: palette 1, from byte 16 on the bytes of a row of each tile (halfwords), from byte 48 on how many
   rows it has. Sums have `rows` of 64 bytes, activations of `width`, weights a quarter as many rows of 64 bytes. */
CCML_NAKED ccml_tiles_configure(int32_t rows CCML_UNUSED, int32_t width CCML_UNUSED)
{
    __asm__ volatile(
        "xor %eax, %eax\n"
        "mov %rax, -56(%rsp)\n"
        "movq $1, -64(%rsp)\n"
        "mov %rax, -32(%rsp)\n"
        "mov %rax, -24(%rsp)\n"
        "mov %rax, -8(%rsp)\n"
        "movabs $0x0040004000400040, %rax\n"
        "mov %rax, -48(%rsp)\n"
        "mov %rax, -40(%rsp)\n"
        "mov %si, -40(%rsp)\n"
        "mov %si, -38(%rsp)\n"
        "movzbl %dil, %eax\n"
        "imul $0x01010101, %eax, %eax\n"
        "mov %eax, -16(%rsp)\n"
        "mov %ax, -12(%rsp)\n"
        "shr $2, %esi\n"
        "mov %sil, -10(%rsp)\n"
        "mov %sil, -9(%rsp)\n"
        "ldtilecfg -64(%rsp)\n"
        "ret\n");
}
#endif

#endif

/* Part of the ccml runtime: what the block instructions for x86-64 with AMX share.
   May be used freely in any product, with or without this notice. */
#ifndef CCML_TILES_H
#define CCML_TILES_H

#include "ccml_naked.h"

/* Arguments as System V's convention has them. */
#if CCML_GNU && defined(__x86_64__) && (defined(__AMX_INT8__) || defined(__AMXINT8__)) && !defined(_WIN32)
#define CCML_TILES 1
#else
#define CCML_TILES 0
#endif

#if CCML_TILES

/* The head of a function of activations that are `byte`s. */
#define CCML_TILES_FUNCTION(name, byte) \
    CCML_NAKED name( \
        const byte *x0 CCML_UNUSED, const byte *x1 CCML_UNUSED, const int8_t *w CCML_UNUSED, \
        const int32_t *bias CCML_UNUSED, int32_t *sums CCML_UNUSED, const int8_t *next CCML_UNUSED, \
        int32_t rows CCML_UNUSED, int32_t row_step CCML_UNUSED, int32_t steps CCML_UNUSED, int32_t width CCML_UNUSED, \
        int32_t last CCML_UNUSED, int32_t outer CCML_UNUSED, int32_t outer_step CCML_UNUSED, \
        int32_t taps CCML_UNUSED, int32_t tap_step CCML_UNUSED, int32_t lines CCML_UNUSED)

/* What such a function does.

   tmm0 to tmm3 are sums of both tiles of rows by both panels, which begin as the biases, tmm4 and tmm5 activations, tmm6
   and tmm7 weights. rax is the step between rows of x, r11 that of weights, rsi how far x1 is behind x0, r9 the bytes of
   weights of a step of k; rdi, r14 and r12 are where x0 is for the outer, the tap and the step, rdx where weights are,
   rbp, rbx and r13 count outer, taps and steps, r10 is what is fetched next and, in the end, the step between rows of
   sums. On the stack, from rsp + 56 on: rows, row_step, steps, width, last, outer, outer_step, taps, tap_step, lines.
   With two panels r15 is how far the second is behind the first: `apart`. */
#define CCML_TILES_PRODUCT(begin, apart, stride, dot, end) \
    __asm__ volatile( \
        "push %rbx\n" \
        "push %rbp\n" \
        "push %r12\n" \
        "push %r13\n" \
        "push %r14\n" \
        "push %r15\n" \
        "mov %r9, %r10\n" \
        "movslq 64(%rsp), %rax\n" \
        "mov $64, %r11d\n" \
        "sub %rdi, %rsi\n" \
        "movslq 80(%rsp), %r9\n" \
        "shl $4, %r9\n" \
        apart \
        begin \
        "mov 96(%rsp), %ebp\n" \
        "1:\n" \
        "mov %rdi, %r14\n" \
        "mov 112(%rsp), %ebx\n" \
        "2:\n" \
        "mov %r14, %r12\n" \
        "mov 72(%rsp), %r13d\n" \
        "3:\n" \
        "dec %r13d\n" \
        "jnz 4f\n" \
        "movslq 88(%rsp), %r12\n" \
        "add %r14, %r12\n" \
        "4:\n" \
        "tileloadd (%r12, %rax, 1), %tmm4\n" \
        "lea (%r12, %rsi), %rcx\n" \
        "tileloadd (%rdx, %r11, 1), %tmm6\n" \
        "tileloadd (%rcx, %rax, 1), %tmm5\n" \
        dot \
        "mov 128(%rsp), %ecx\n" \
        "jmp 6f\n" \
        "5:\n" \
        "prefetcht1 (%r10)\n" \
        "add $64, %r10\n" \
        "6:\n" \
        "dec %ecx\n" \
        "jns 5b\n" \
        "movslq 80(%rsp), %rcx\n" \
        "add %rcx, %r12\n" \
        "add %r9, %rdx\n" \
        "test %r13d, %r13d\n" \
        "jnz 3b\n" \
        "movslq 120(%rsp), %rcx\n" \
        "add %rcx, %r14\n" \
        "dec %ebx\n" \
        "jnz 2b\n" \
        "movslq 104(%rsp), %rcx\n" \
        "add %rcx, %rdi\n" \
        "dec %ebp\n" \
        "jnz 1b\n" \
        "mov $" stride ", %r10d\n" \
        "movslq 56(%rsp), %rcx\n" \
        "imul %r10, %rcx\n" \
        "add %r8, %rcx\n" \
        end \
        "pop %r15\n" \
        "pop %r14\n" \
        "pop %r13\n" \
        "pop %r12\n" \
        "pop %rbp\n" \
        "pop %rbx\n" \
        "ret\n")

#define CCML_TILES_PRODUCT1(dot) \
    CCML_TILES_PRODUCT( \
        "xor %ebx, %ebx\n" \
        "tileloadd (%rcx, %rbx, 1), %tmm0\n" \
        "tileloadd (%rcx, %rbx, 1), %tmm2\n", \
        "", "64", \
        dot " %tmm6, %tmm4, %tmm0\n" \
        dot " %tmm6, %tmm5, %tmm2\n", \
        "tilestored %tmm0, (%r8, %r10, 1)\n" \
        "tilestored %tmm2, (%rcx, %r10, 1)\n")

#define CCML_TILES_PRODUCT2(dot) \
    CCML_TILES_PRODUCT( \
        "xor %ebx, %ebx\n" \
        "tileloadd (%rcx, %rbx, 1), %tmm0\n" \
        "tileloadd 64(%rcx, %rbx, 1), %tmm1\n" \
        "tileloadd (%rcx, %rbx, 1), %tmm2\n" \
        "tileloadd 64(%rcx, %rbx, 1), %tmm3\n", \
        "movslq 72(%rsp), %r15\n" \
        "imul %r9, %r15\n" \
        "movslq 96(%rsp), %rbx\n" \
        "imul %rbx, %r15\n" \
        "movslq 112(%rsp), %rbx\n" \
        "imul %rbx, %r15\n", \
        "128", \
        "lea (%rdx, %r15), %rcx\n" \
        dot " %tmm6, %tmm4, %tmm0\n" \
        "tileloadd (%rcx, %r11, 1), %tmm7\n" \
        dot " %tmm6, %tmm5, %tmm2\n" \
        dot " %tmm7, %tmm4, %tmm1\n" \
        dot " %tmm7, %tmm5, %tmm3\n", \
        "tilestored %tmm0, (%r8, %r10, 1)\n" \
        "tilestored %tmm1, 64(%r8, %r10, 1)\n" \
        "tilestored %tmm2, (%rcx, %r10, 1)\n" \
        "tilestored %tmm3, 64(%rcx, %r10, 1)\n")
#endif

#endif

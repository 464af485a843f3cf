/* Start-up of a Cortex-M: vector table, memory, floating point, then main; the emulator ends with main's result. */
#include <stdint.h>

#include "semihosting.h"

#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define CPACR_FULL_FPU_AND_MVE (0xFu << 20)
#define FAULT 99

typedef void handler(void);

/* Defined by board.ld. */
extern uint32_t stack_top[], data_start[], data_end[], data_image[], bss_start[], bss_end[];

int main(void);
void reset(void);

static void leave(uint32_t code)
{
  const uint32_t block[2] = {ADP_STOPPED_APPLICATION_EXIT, code};
  (void)semihosting(SYS_EXIT_EXTENDED, block);
  for (;;) {
  }
}

__attribute__((used)) static void report_fault(void)
{
  (void)semihosting(SYS_WRITE0, "the processor took an exception: a fault, or a stack overflow\n");
  leave(FAULT);
}

/* After an overflow there is no stack to report it on. */
__attribute__((naked)) static void fault(void)
{
  __asm__ volatile("ldr r0, =stack_top\n\tmov sp, r0\n\tldr r0, =report_fault\n\tbx r0\n\t.ltorg");
}

/* A function of its own, as compilers may vectorize its loops: reset must not use vectors before they are enabled. */
__attribute__((noinline)) static void fill_memory(void)
{
  const uint32_t *image = data_image;
  for (uint32_t *word = data_start; word < data_end; word++) {
    *word = *image++;
  }
  for (uint32_t *word = bss_start; word < bss_end; word++) {
    *word = 0;
  }
}

/* Entered with the stack pointer of the vector table. Thread mode, privileged, no interrupts enabled. */
void reset(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  CPACR |= CPACR_FULL_FPU_AND_MVE;
  __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
  fill_memory();
  leave((uint32_t)main());
}

/* The initial stack pointer, reset, and the 14 exceptions of the architecture. */
__attribute__((section(".vectors"), used)) static handler *const vectors[16] = {
  (handler *)stack_top, reset, fault, fault, fault, fault, fault, fault,
  fault, fault, fault, fault, fault, fault, fault, fault,
};

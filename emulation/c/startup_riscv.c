/* Start-up of a RISC-V program that is loaded as a whole, with a stack: main, then the emulator ends with its result. */
#include <stdint.h>

#include "semihosting.h"

int main(void);
void _start(void);

__attribute__((used, noreturn)) static void run(void)
{
  const uint32_t block[2] = {ADP_STOPPED_APPLICATION_EXIT, (uint32_t)main()};
  (void)semihosting(SYS_EXIT_EXTENDED, block);
  for (;;) {
  }
}

/* The linker addresses small data from the global pointer. */
__attribute__((naked)) void _start(void)
{
  __asm__ volatile(".option push\n\t.option norelax\n\tla gp, __global_pointer$\n\t.option pop\n\tj run");
}

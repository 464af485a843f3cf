/* The semihosting requests that the driver makes, by a breakpoint: that of M-profile cores, or that of RISC-V. */
#ifndef EMULATION_SEMIHOSTING_H
#define EMULATION_SEMIHOSTING_H

#include <stdint.h>

#define SYS_OPEN 0x01
#define SYS_CLOSE 0x02
#define SYS_WRITE0 0x04
#define SYS_WRITE 0x05
#define SYS_READ 0x06
#define SYS_EXIT_EXTENDED 0x20

#define OPEN_READ_BINARY 1u
#define OPEN_WRITE_BINARY 5u
#define ADP_STOPPED_APPLICATION_EXIT 0x20026u

#if defined(__riscv)
/* A breakpoint between two shifts that do nothing ("RISC-V Semihosting", 3), which must not be compressed. */
static inline int semihosting(int request, const void *argument)
{
  register int a0 __asm__("a0") = request;
  register const void *a1 __asm__("a1") = argument;
  __asm__ volatile(
    ".option push\n\t.option norvc\n\t.balign 16\n\t"
    "slli zero, zero, 0x1f\n\tebreak\n\tsrai zero, zero, 7\n\t"
    ".option pop"
    : "+r"(a0)
    : "r"(a1)
    : "memory");
  return a0;
}
#else
static inline int semihosting(int request, const void *argument)
{
  register int r0 __asm__("r0") = request;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}
#endif

#endif

/* The semihosting requests that the driver makes, by the breakpoint of M-profile cores. */
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

static inline int semihosting(int request, const void *argument)
{
  register int r0 __asm__("r0") = request;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

#endif

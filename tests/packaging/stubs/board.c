/* A board around an application: its clock, and where newlib's printf goes. */
#include <stdint.h>

#include "semihosting.h"

uint32_t SystemCoreClock;
void SystemCoreClockUpdate(void);
int _write(int file, const char *text, int length);

void SystemCoreClockUpdate(void)
{
  SystemCoreClock = 25000000;
}

int _write(int file, const char *text, int length)
{
  char one[2] = {0, 0};
  (void)file;
  for (int at = 0; at < length; at++) {
    one[0] = text[at];
    (void)semihosting(SYS_WRITE0, one);
  }
  return length;
}

#ifdef PROCESS
int PROCESS(void);
int main(void)
{
  SystemCoreClockUpdate();
  return PROCESS();
}
#endif

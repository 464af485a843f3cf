#include <stdint.h>
extern uint32_t SystemCoreClock;
void SystemCoreClockUpdate(void);

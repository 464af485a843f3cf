/* What the application needs of a project of STM32CubeMX. */
#include <stdint.h>
extern uint32_t SystemCoreClock;

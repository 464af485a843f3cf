/* What the sample needs of Zephyr, on this computer. */
#include <stdint.h>
#include <time.h>
static inline uint32_t k_cycle_get_32(void)
{
  return (uint32_t)clock();
}
static inline int sys_clock_hw_cycles_per_sec(void)
{
  return (int)CLOCKS_PER_SEC;
}

#include <stdint.h>
static inline uint32_t esp_cpu_get_cycle_count(void)
{
  static uint32_t count;
  count += 100;
  return count;
}

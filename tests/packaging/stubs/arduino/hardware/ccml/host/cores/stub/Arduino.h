/* What the sketch needs of Arduino, on this computer. */
#include <chrono>
#include <cstdint>
#include <cstdio>

struct Port {
  void begin(int) {}
  void print(const char *text) { (void)std::fputs(text, stdout); }
  operator bool() const { return true; }
};
static Port Serial;

inline uint32_t micros()
{
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}
inline void delay(int) {}

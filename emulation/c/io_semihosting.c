/* io.h by Arm semihosting ("Semihosting for AArch32 and AArch64", ARM-software/abi-aa): requests to the emulator. */
#include "io.h"

#include "semihosting.h"

static size_t length(const char *text)
{
  size_t count = 0;
  while (text[count] != '\0') {
    count++;
  }
  return count;
}

int io_open(const char *path, int write)
{
  const uintptr_t block[3] = {(uintptr_t)path, write ? OPEN_WRITE_BINARY : OPEN_READ_BINARY, length(path)};
  return semihosting(SYS_OPEN, block);
}

/* SYS_READ and SYS_WRITE return the number of bytes that are left. */
int io_read(int file, void *to, size_t bytes)
{
  const uintptr_t block[3] = {(uintptr_t)file, (uintptr_t)to, bytes};
  return semihosting(SYS_READ, block) == 0;
}

int io_write(int file, const void *from, size_t bytes)
{
  const uintptr_t block[3] = {(uintptr_t)file, (uintptr_t)from, bytes};
  return semihosting(SYS_WRITE, block) == 0;
}

int io_close(int file)
{
  const uintptr_t block[1] = {(uintptr_t)file};
  return semihosting(SYS_CLOSE, block) == 0;
}

void io_say(const char *line)
{
  (void)semihosting(SYS_WRITE0, line);
  (void)semihosting(SYS_WRITE0, "\n");
}

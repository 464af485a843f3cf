/* io.h on an operating system. */
#include "io.h"

#include <fcntl.h>
#include <unistd.h>

#ifndef O_BINARY
#define O_BINARY 0
#endif

int io_open(const char *path, int write)
{
  return write ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_BINARY, 0666) : open(path, O_RDONLY | O_BINARY);
}

int io_read(int file, void *to, size_t bytes)
{
  unsigned char *next = to;
  while (bytes > 0) {
    const ssize_t count = read(file, next, bytes);
    if (count <= 0) {
      return 0;
    }
    next += count;
    bytes -= (size_t)count;
  }
  return 1;
}

int io_write(int file, const void *from, size_t bytes)
{
  const unsigned char *next = from;
  while (bytes > 0) {
    const ssize_t count = write(file, next, bytes);
    if (count <= 0) {
      return 0;
    }
    next += count;
    bytes -= (size_t)count;
  }
  return 1;
}

int io_close(int file)
{
  return close(file) == 0;
}

void io_say(const char *line)
{
  size_t length = 0;
  while (line[length] != '\0') {
    length++;
  }
  (void)io_write(STDERR_FILENO, line, length);
  (void)io_write(STDERR_FILENO, "\n", 1);
}

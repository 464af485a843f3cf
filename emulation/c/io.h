/* Files, for a driver that runs on an operating system or, by semihosting, on a bare machine. */
#ifndef EMULATION_IO_H
#define EMULATION_IO_H

#include <stddef.h>

/* A handle, or -1. `write` is 0 for an existing file, 1 for a new one. */
int io_open(const char *path, int write);

/* 1 if all bytes were read or written, else 0. */
int io_read(int file, void *to, size_t bytes);
int io_write(int file, const void *from, size_t bytes);

/* 1 if the file is complete. */
int io_close(int file);

/* Prints a line for people. */
void io_say(const char *line);

#endif

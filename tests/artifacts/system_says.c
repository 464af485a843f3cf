/* Runs net on a Linux that says as Windows or an Apple system would (-DBYTE=ADDRESS, -DNAME=STRING) whether the processor
   has something: system_says 0 or 1. */
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "net.h"
static int has;
int sysctlbyname(const char *name, void *value, unsigned long *size, void *changed, unsigned long changed_size)
{
    if (strcmp(name, NAME) != 0 || *size != sizeof has || changed != NULL || changed_size != 0)
        return -1;
    memcpy(value, &has, sizeof has);
    return 0;
}
int main(int count, char **arguments)
{
    static unsigned char arena[NET_ARENA_SIZE + 64] __attribute__((aligned(64)));
    static int8_t x[NET_X_ELEMENTS], y[NET_Y_ELEMENTS];
    int i;
    unsigned char *page = mmap((void *)0x7FFE0000, 4096, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    has = atoi(arguments[count - 1]);
    page[BYTE - 0x7FFE0000] = (unsigned char)has;
    for (i = 0; i < NET_X_ELEMENTS; i++)
        x[i] = (int8_t)(i - 20);
    printf("%d\n", net_run(arena, x, y));
    for (i = 0; i < NET_Y_ELEMENTS; i++)
        printf("%d ", y[i]);
    return 0;
}

/* Runs a model out of a library of another system: flat_image IMAGE ENTRY ARENA INPUT OUTPUT.

   IMAGE is a file with the library as its loader would have it in memory, ENTRY the place of the model's function in it.
   ARENA and OUTPUT are sizes; INPUT is a file, OUTPUT goes to standard output. CONVENTION is how functions are called
   there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef CONVENTION
#define CONVENTION
#endif

typedef int(CONVENTION *run_function)(void *arena, const void *input, void *output);

static unsigned char arena[1 << 22] __attribute__((aligned(64)));
static unsigned char input[1 << 20] __attribute__((aligned(64)));
static unsigned char output[1 << 20] __attribute__((aligned(64)));

static size_t read_file(const char *path, unsigned char *to, size_t most)
{
    FILE *const file = fopen(path, "rb");
    const size_t count = file == NULL ? 0 : fread(to, 1, most, file);
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

int main(int count, char **arguments)
{
    const size_t most = 1 << 24;
    unsigned char *const image =
        mmap(NULL, most, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    union {
        unsigned char *place;
        run_function call;
    } entry;
    int status;
    if (count != 6 || image == MAP_FAILED || read_file(arguments[1], image, most) == 0) {
        return 100;
    }
    if (strtoul(arguments[3], NULL, 10) > sizeof arena || read_file(arguments[4], input, sizeof input) == 0) {
        return 101;
    }
    __builtin___clear_cache((char *)image, (char *)image + most);
    memset(arena, 0xFF, sizeof arena);
    memset(output, 0xFF, sizeof output);
    entry.place = image + strtoul(arguments[2], NULL, 10);
    status = entry.call(arena, input, output);
    if (fwrite(output, strtoul(arguments[5], NULL, 10), 1, stdout) != 1) {
        return 102;
    }
    return status;
}

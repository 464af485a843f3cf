/* Runs a model out of a library of another system: flat_image IMAGE ENTRY ARENA INPUT OUTPUT [WHAT...].

   IMAGE is a file with the library as its loader would have it in memory, ENTRY the place of the model's function in it.
   ARENA and OUTPUT are sizes; INPUT is a file, OUTPUT goes to standard output. CONVENTION is how functions are called
   there. WHAT says what the system tells of its processor: page:ADDRESS:VALUE is a byte that it shows at ADDRESS,
   value:NAME:VALUE what its sysctlbyname knows, bind:PLACE a place of the image for that function's address. */
#define _GNU_SOURCE
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

static const char *known;
static int known_value;

static int system_value(const char *name, void *value, size_t *size, void *changed, size_t changed_size)
{
    if (known == NULL || strcmp(name, known) != 0 || *size != sizeof known_value || changed != NULL || changed_size) {
        return -1;
    }
    memcpy(value, &known_value, sizeof known_value);
    return 0;
}

/* Whether the system says what ``argument`` wants. */
static int tell(unsigned char *image, char *argument)
{
    char *const kind = strtok(argument, ":"), *const first = strtok(NULL, ":"), *const last = strtok(NULL, ":");
    if (strcmp(kind, "page") == 0) {
        const size_t address = strtoul(first, NULL, 0), start = address & ~(size_t)0xFFFF;
        void *const page = mmap((void *)start, 1 << 16, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (page != (void *)start) {
            return 0;
        }
        *(unsigned char *)address = (unsigned char)strtoul(last, NULL, 0);
    } else if (strcmp(kind, "value") == 0) {
        known = first;
        known_value = (int)strtol(last, NULL, 0);
    } else {
        int (*const function)(const char *, void *, size_t *, void *, size_t) = system_value;
        memcpy(image + strtoul(first, NULL, 0), &function, sizeof function);
    }
    return 1;
}

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
    int status, i;
    if (count < 6 || image == MAP_FAILED || read_file(arguments[1], image, most) == 0) {
        return 100;
    }
    if (strtoul(arguments[3], NULL, 10) > sizeof arena || read_file(arguments[4], input, sizeof input) == 0) {
        return 101;
    }
    __builtin___clear_cache((char *)image, (char *)image + most);
    for (i = 6; i < count; i++) {
        if (!tell(image, arguments[i])) {
            return 103;
        }
    }
    memset(arena, 0xFF, sizeof arena);
    memset(output, 0xFF, sizeof output);
    entry.place = image + strtoul(arguments[2], NULL, 10);
    status = entry.call(arena, input, output);
    if (fwrite(output, strtoul(arguments[5], NULL, 10), 1, stdout) != 1) {
        return 102;
    }
    return status;
}

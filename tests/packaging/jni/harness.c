/* Calls the native methods of the Java class of a model with one input and two outputs as a virtual machine does, with
   buffers of the heap in exact sizes. A virtual machine that has one function is enough: every other place of its table
   is empty.

   harness LIBRARY STEM CONTRACT INPUT BYTES... : the functions are STEM_nativeBytes and STEM_nativeRun, INPUT is a file,
   BYTES are the sizes of the tensors. Prints the outputs of a run in hexadecimal, then what misuse returns. With "-" for
   LIBRARY the functions are looked up in the program itself. */
#define _GNU_SOURCE
#ifdef _WIN32
#include <windows.h>
#define RTLD_NOW 0
#define dlopen(name, how) ((void *)LoadLibraryA(name))
#define dlsym(library, symbol) ((void *)GetProcAddress((HMODULE)(library), symbol))
#define dlerror() "not found"
#else
#include <dlfcn.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GET_DIRECT_BUFFER_ADDRESS = 230, FUNCTIONS = 234, TENSORS = 3 };

typedef struct {
  unsigned char *memory; /* NULL: not direct */
} buffer;

typedef void *(*const *environment)(void *, buffer *);
typedef int32_t (*bytes_function)(environment *, void *, int64_t);
typedef int32_t (*run_function)(environment *, void *, buffer *, buffer *, int32_t, buffer *, int32_t, buffer *, int32_t);

static void *address(void *env, buffer *object)
{
  (void)env;
  return object->memory;
}

static void *find(void *library, const char *stem, const char *method)
{
  char symbol[200];
  snprintf(symbol, sizeof symbol, "%s_%s", stem, method);
  void *const found = dlsym(library, symbol);
  if (found == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  return found;
}

int main(int count, char **arguments)
{
  if (count != 5 + TENSORS) {
    return 2;
  }
  void *table[FUNCTIONS] = {0};
  table[GET_DIRECT_BUFFER_ADDRESS] = (void *)address;
  void *env = table;
  void *const library = dlopen(strcmp(arguments[1], "-") == 0 ? NULL : arguments[1], RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const bytes_function bytes = (bytes_function)find(library, arguments[2], "nativeBytes");
  const run_function run = (run_function)find(library, arguments[2], "nativeRun");
  const int64_t contract = strtoll(arguments[3], NULL, 10);
  environment *const e = (environment *)&env;

  printf("wrong contract %d\n", bytes(e, NULL, contract + 1));
  const int32_t size = bytes(e, NULL, contract);
  buffer memory = {malloc((size_t)size)}, none = {NULL}, tensors[TENSORS];
  size_t sizes[TENSORS];
  for (int i = 0; i < TENSORS; i++) {
    sizes[i] = strtoul(arguments[5 + i], NULL, 10);
    tensors[i].memory = malloc(sizes[i]);
    memset(tensors[i].memory, 0, sizes[i]);
  }
  FILE *const file = fopen(arguments[4], "rb");
  if (file == NULL || fread(tensors[0].memory, 1, sizes[0], file) != sizes[0]) {
    return 2;
  }
  fclose(file);

  printf("run %d\n", run(e, NULL, &memory, &tensors[0], 0, &tensors[1], 0, &tensors[2], 0));
  for (int i = 1; i < TENSORS; i++) {
    printf("output ");
    for (size_t at = 0; at < sizes[i]; at++) {
      printf("%02x", tensors[i].memory[at]);
    }
    printf("\n");
  }
  buffer *const in = &tensors[0], *const out = &tensors[1], *const last = &tensors[2];
  printf("no memory %d\n", run(e, NULL, &none, in, 0, out, 0, last, 0));
  printf("not direct %d\n", run(e, NULL, &memory, &none, 0, out, 0, last, 0));
  printf("output not direct %d\n", run(e, NULL, &memory, in, 0, out, 0, &none, 0));
  printf("misaligned %d\n", run(e, NULL, &memory, in, 2, out, 0, last, 0));
  printf("last misaligned %d\n", run(e, NULL, &memory, in, 0, out, 0, last, 4));
  printf("overlap %d\n", run(e, NULL, &memory, in, 0, in, 4, last, 0));
  printf("same output %d\n", run(e, NULL, &memory, in, 0, out, 0, out, 0));
  for (int i = 0; i < TENSORS; i++) {
    free(tensors[i].memory);
  }
  free(memory.memory);
  return 0;
}

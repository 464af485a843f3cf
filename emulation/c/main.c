/* Runs a model on every sample of inputs.bin and writes outputs.bin.

   inputs.bin is a 32-bit count of samples, then the input tensors of each; outputs.bin the output tensors of each.
   Macros from the command line:
     MODEL_HEADER               the model's header, in quotes
     MODEL_RUN                  its function
     MODEL_ARGUMENTS            what it is called with: pool_0, ..., tensor_0, ...
     MODEL_POOLS                POOL(number, bytes, alignment) for each pool of working memory
     MODEL_STATE                if there, POOL(...) for the memory of states, which samples hand on to each other
     MODEL_STATES               STATE(offset, bytes) for each state, written behind the outputs of each sample
     MODEL_WEIGHTS              if there, POOL(...) for the file of weights, read from weights.bin
     MODEL_CHECK_WEIGHTS        the function that checks it
     MODEL_JOB                  if there, the structure of a run in slices; MODEL_BEGIN and MODEL_STEP then run the model
     MODEL_WORKERS_START        if there, the function that starts threads; MODEL_WORKERS_STOP stops them
     MODEL_THREADS              how many run the model; 0: it is given none, -1: chunks are run backwards
     MODEL_ROWS                 if there, ROWS(number, type, rows, elements of a row) for inputs that come by rows,
                                which inputs.bin has one behind the other; MODEL_ROWS_TYPE is the structure
     MODEL_RESET                the function that gives them their first values
     MODEL_INPUTS, _OUTPUTS     TENSOR(number, bytes, bytes of an element, place in the pools) for each tensor
     MODEL_IN_ARENA             if there, the tensors are kept in the pools, at their places
     MODEL_TENSORS_ALIGNED      if there, the tensors are aligned to 64 bytes instead
     MODEL_GUARD                bytes behind each pool that must stay untouched, at least 1
     MODEL_LIBRARY              if there, the shared library to load the function from, in quotes

   What the model must not rely on is made adverse: the pools and the outputs hold NaN before each run, and tensors
   are aligned as their elements are, to nothing more. */
#include <stddef.h>
#include <stdint.h>

#include MODEL_HEADER
#include "io.h"

#ifndef MODEL_GUARD
#define MODEL_GUARD 64
#endif
#define NOTHING 0xFF
#define WIDEST 64

enum { FINE = 0, NO_FILE = 1, BAD_FILE = 2, MODEL_FAILED = 3, GUARD_OVERWRITTEN = 4, NO_FUNCTION = 5 };

#define POOL(number, bytes, align) \
  __attribute__((aligned(align))) static unsigned char pool_##number[(bytes) + MODEL_GUARD];
MODEL_POOLS
#undef POOL

#ifdef MODEL_STATE
#define POOL(number, bytes, align) \
  __attribute__((aligned(align))) static unsigned char state_##number[(bytes) + MODEL_GUARD]; \
  enum { STATE_BYTES = (bytes) };
MODEL_STATE
#undef POOL
#endif

#ifdef MODEL_WEIGHTS
#define POOL(number, bytes, align) \
  __attribute__((aligned(align))) static unsigned char weights_##number[bytes]; \
  enum { WEIGHTS_BYTES = (bytes) };
MODEL_WEIGHTS
#undef POOL
typedef int check_function(const void *, size_t);
#endif

#ifdef MODEL_IN_ARENA
#ifdef MODEL_ROWS
#define ROWS(number, type, rows, elements) static unsigned char brought_##number[sizeof(type) * (rows) * (elements)];
MODEL_ROWS
#undef ROWS
#endif
#define TENSOR(number, bytes, element, place) static void *const tensor_##number = place;
#else
#ifdef MODEL_TENSORS_ALIGNED
#define SHIFT(element) 0
#else
#define SHIFT(element) (element)
#endif
#define TENSOR(number, bytes, element, place) \
  __attribute__((aligned(WIDEST))) static unsigned char memory_##number[SHIFT(element) + (bytes)]; \
  static void *const tensor_##number = memory_##number + SHIFT(element);
#endif
MODEL_INPUTS
MODEL_OUTPUTS
#undef TENSOR

#ifdef MODEL_ROWS
/* Each row once, in order: what a sensor would do. */
#define ROWS(number, type, rows, elements) \
  static size_t next_row_##number; \
  static int bring_##number(void *context, size_t row, type *to) \
  { \
    const unsigned char *from = (const unsigned char *)tensor_##number + row * (elements) * sizeof(type); \
    size_t at = 0; \
    if (context != tensor_##number || row != next_row_##number || row >= (rows)) { \
      return 1; \
    } \
    next_row_##number = row + 1; \
    while (at < (elements) * sizeof(type)) { \
      ((unsigned char *)to)[at] = from[at]; \
      at++; \
    } \
    return 0; \
  } \
  static MODEL_ROWS_TYPE rows_##number;
MODEL_ROWS
#undef ROWS
#endif

typedef __typeof__(MODEL_RUN) function;
#ifdef MODEL_WORKERS_START
typedef __typeof__(MODEL_WORKERS_START) start_function;
typedef __typeof__(MODEL_WORKERS_STOP) stop_function;
#ifndef MODEL_THREADS
#define MODEL_THREADS 3
#endif
static ccml_workers workers;
static const ccml_threads *threads_0;
#endif
typedef void reset_function(void *);

#ifdef MODEL_LIBRARY
#define NAME_OF(symbol) #symbol
#define SYMBOL_NAME(macro) NAME_OF(macro)

#ifdef _WIN32
#include <windows.h>

static void *find_symbol(const char *name)
{
  union {
    FARPROC call;
    void *symbol;
  } both = {NULL};
  const HMODULE library = LoadLibraryA(MODEL_LIBRARY);
  if (library != NULL) {
    both.call = GetProcAddress(library, name);
  }
  if (both.symbol == NULL) {
    io_say("the library cannot be loaded, or does not have the function");
  }
  return both.symbol;
}
#else
#include <dlfcn.h>

static void *find_symbol(const char *name)
{
  void *const library = dlopen(MODEL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void *const symbol = library == NULL ? NULL : dlsym(library, name);
  if (symbol == NULL) {
    io_say(dlerror());
  }
  return symbol;
}
#endif

#define FINDER(find, type, name) \
  static type *find(void) \
  { \
    union { \
      void *symbol; \
      type *call; \
    } both = {find_symbol(SYMBOL_NAME(name))}; \
    return both.call; \
  }
#else
#define FINDER(find, type, name) \
  static type *find(void) \
  { \
    return name; \
  }
#endif

FINDER(find_model, function, MODEL_RUN)
#ifdef MODEL_STATE
FINDER(find_reset, reset_function, MODEL_RESET)
#endif
#ifdef MODEL_WEIGHTS
FINDER(find_check, check_function, MODEL_CHECK_WEIGHTS)
#endif
#ifdef MODEL_WORKERS_START
FINDER(find_start, start_function, MODEL_WORKERS_START)
FINDER(find_stop, stop_function, MODEL_WORKERS_STOP)
#endif

static void forget(unsigned char *memory, size_t bytes)
{
  while (bytes-- > 0) {
    memory[bytes] = NOTHING;
  }
}

static int guard_is_whole(const unsigned char *guard)
{
  size_t at = 0;
  while (at < MODEL_GUARD && guard[at] == NOTHING) {
    at++;
  }
  return at == MODEL_GUARD;
}

#ifdef MODEL_WEIGHTS
static int read_weights(void)
{
  check_function *const check = find_check();
  const int file = io_open("weights.bin", 0);
  if (check == NULL) {
    return NO_FUNCTION;
  }
  if (file < 0 || !io_read(file, weights_0, WEIGHTS_BYTES)) {
    return NO_FILE;
  }
  return check(weights_0, WEIGHTS_BYTES) == 0 ? FINE : MODEL_FAILED;
}
#endif

#ifdef MODEL_WORKERS_START
static void run_backwards(void *pool, void (*task)(void *, int32_t), void *context, int32_t count)
{
  (void)pool;
  while (count-- > 0) {
    task(context, count);
  }
}

static int find_threads(void)
{
  static const ccml_threads backwards = {run_backwards, NULL};
  start_function *const start = find_start();
  if (start == NULL || find_stop() == NULL) {
    return NO_FUNCTION;
  }
  if (MODEL_THREADS > 0 && start(&workers, MODEL_THREADS) != 0) {
    return MODEL_FAILED;
  }
  threads_0 = MODEL_THREADS > 0 ? &workers.threads : MODEL_THREADS < 0 ? &backwards : NULL;
  return FINE;
}
#endif

static int run_model(function *model)
{
#ifdef MODEL_JOB
  static MODEL_JOB job;
  int status = MODEL_BEGIN(&job, MODEL_ARGUMENTS);
  (void)model;
  if (status == 0) {
    do {
      status = MODEL_STEP(&job);
    } while (status == MODEL_AGAIN);
  }
  return status;
#else
  return model(MODEL_ARGUMENTS);
#endif
}

static int run_sample(function *model, int inputs, int outputs)
{
#define POOL(number, bytes, align) forget(pool_##number, (bytes) + MODEL_GUARD);
  MODEL_POOLS
#undef POOL
#ifdef MODEL_STATE
  forget(state_0 + STATE_BYTES, MODEL_GUARD);
#endif
#ifndef MODEL_IN_ARENA
#define TENSOR(number, bytes, element, place) forget(tensor_##number, bytes);
  MODEL_OUTPUTS
#undef TENSOR
#endif
#define TENSOR(number, bytes, element, place) && io_read(inputs, tensor_##number, bytes)
  if (!(1 MODEL_INPUTS)) {
    return BAD_FILE;
  }
#undef TENSOR
#ifdef MODEL_ROWS
#define ROWS(number, type, rows, elements) \
  next_row_##number = 0; \
  rows_##number.row = bring_##number; \
  rows_##number.context = tensor_##number;
  MODEL_ROWS
#undef ROWS
#endif
  if (run_model(model) != 0) {
    return MODEL_FAILED;
  }
#ifdef MODEL_ROWS
#define ROWS(number, type, rows, elements) && next_row_##number == (rows)
  if (!(1 MODEL_ROWS)) {
    return MODEL_FAILED;
  }
#undef ROWS
#endif
#define POOL(number, bytes, align) && guard_is_whole(pool_##number + (bytes))
  if (!(1 MODEL_POOLS)) {
    return GUARD_OVERWRITTEN;
  }
#undef POOL
#ifdef MODEL_STATE
  if (!guard_is_whole(state_0 + STATE_BYTES)) {
    return GUARD_OVERWRITTEN;
  }
#endif
#define TENSOR(number, bytes, element, place) && io_write(outputs, tensor_##number, bytes)
  if (!(1 MODEL_OUTPUTS)) {
    return BAD_FILE;
  }
#undef TENSOR
#ifdef MODEL_STATE
#define STATE(offset, bytes) && io_write(outputs, state_0 + (offset), bytes)
  return 1 MODEL_STATES ? FINE : BAD_FILE;
#undef STATE
#else
  return FINE;
#endif
}

int main(void)
{
  function *const model = find_model();
  const int inputs = io_open("inputs.bin", 0);
  const int outputs = io_open("outputs.bin", 1);
  uint32_t samples = 0;
  int status = FINE;
  if (model == NULL) {
    return NO_FUNCTION;
  }
#ifdef MODEL_STATE
  reset_function *const reset = find_reset();
  if (reset == NULL) {
    return NO_FUNCTION;
  }
  forget(state_0, STATE_BYTES);
  reset(state_0);
#endif
#ifdef MODEL_WEIGHTS
  status = read_weights();
  if (status != FINE) {
    return status;
  }
#endif
#ifdef MODEL_WORKERS_START
  status = find_threads();
  if (status != FINE) {
    return status;
  }
#endif
  if (inputs < 0 || outputs < 0 || !io_read(inputs, &samples, sizeof samples)) {
    return NO_FILE;
  }
  while (samples-- > 0 && status == FINE) {
    status = run_sample(model, inputs, outputs);
  }
#ifdef MODEL_WORKERS_START
  find_stop()(&workers);
#endif
  return io_close(outputs) || status != FINE ? status : BAD_FILE;
}

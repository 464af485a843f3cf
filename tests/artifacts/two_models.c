/* Two models in one program take turns on one arena: each writes its outputs for zeros, one model after the other,
   twice. FIRST_... and SECOND_... come from the command line: header, run function, sizes. */
#include <stdio.h>
#include <string.h>

#include FIRST_HEADER
#include SECOND_HEADER

#define LARGER(x, y) ((x) > (y) ? (x) : (y))
#define ARENA_ALIGN LARGER(FIRST_ARENA_ALIGN, SECOND_ARENA_ALIGN)

__attribute__((aligned(ARENA_ALIGN))) static unsigned char arena[LARGER(FIRST_ARENA_SIZE, SECOND_ARENA_SIZE)];
static float first_input[FIRST_INPUT], first_output[FIRST_OUTPUT];
static float second_input[SECOND_INPUT], second_output[SECOND_OUTPUT];

int main(void)
{
  for (int turn = 0; turn < 2; turn++) {
    memset(arena, 0xFF, sizeof arena);
    if (FIRST_RUN(arena, first_input, first_output) != 0) {
      return 1;
    }
    if (SECOND_RUN(arena, second_input, second_output) != 0) {
      return 1;
    }
    fwrite(first_output, sizeof *first_output, FIRST_OUTPUT, stdout);
    fwrite(second_output, sizeof *second_output, SECOND_OUTPUT, stdout);
  }
  return 0;
}

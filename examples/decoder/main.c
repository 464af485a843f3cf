/* How an application generates text with a decoder whose caches are states: letter by letter, each the likeliest.
   Build together with the files that `ccml compile decoder.onnx` wrote; see README.md. */
#include <stdint.h>
#include <stdlib.h>

#include "decoder.h"
#include "letters.h"

#ifdef SEMIHOSTING
/* On a bare Cortex-M in an emulator or under a debugger: request 4 of Arm's semihosting prints a text. */
static void print(const char *text)
{
    register uint32_t request __asm__("r0") = 4;
    register const char *argument __asm__("r1") = text;

    __asm__ volatile("bkpt 0xAB" : "+r"(request) : "r"(argument) : "memory");
}
#else
#include <stdio.h>

static void print(const char *text)
{
    fputs(text, stdout);
}
#endif

/* C99 cannot ask for an alignment, so there is room for rounding the addresses up. */
static unsigned char arena_storage[DECODER_ARENA_SIZE + DECODER_ARENA_ALIGN];
static unsigned char state_storage[DECODER_STATE_SIZE + DECODER_STATE_ALIGN];

static void *aligned(unsigned char *storage, size_t align)
{
    const size_t past = (size_t)((uintptr_t)storage % align);

    return past == 0 ? storage : storage + (align - past);
}

static int64_t number_of(char letter)
{
    int64_t number = LETTERS - 1;

    while (number > 0 && letters[number] != letter) {
        number--;
    }
    return number;
}

static int64_t likeliest(const float *logits)
{
    int64_t best = 0;
    int64_t i;

    for (i = 1; i < LETTERS; i++) {
        if (logits[i] > logits[best]) {
            best = i;
        }
    }
    return best;
}

/* Prints the prompt and what follows it; 0, or the error of the model. */
static int generate(const char *prompt)
{
    void *const state = aligned(state_storage, DECODER_STATE_ALIGN);
    int64_t letter = number_of(*prompt);
    int64_t position;

    decoder_reset(state);
    for (position = 0; position < DECODER_STATE_KEYS0_DIM2 && letter != END; position++) {
        const char text[2] = {letters[letter], '\0'};
        float logits[DECODER_LOGITS_ELEMENTS];
        const int status = decoder_run(aligned(arena_storage, DECODER_ARENA_ALIGN), state, &letter, &position, logits);

        if (status != 0) {
            return status;
        }
        print(text);
        if (*prompt != '\0') {
            prompt++;
        }
        letter = *prompt != '\0' ? number_of(*prompt) : likeliest(logits);
    }
    print("\n");
    return 0;
}

int main(void)
{
    static const char *const prompts[] = {"Tw", "Wh", "Th"};
    size_t i;

    for (i = 0; i < sizeof prompts / sizeof prompts[0]; i++) {
        if (generate(prompts[i]) != 0) {
            print("decoder_run failed\n");
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}

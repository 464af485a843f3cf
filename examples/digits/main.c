/* How an application links a compiled model: classify ten images of handwritten digits.
   Build together with the files that `ccml compile digits.onnx` wrote; see README.md. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "digits.h"
#include "digits_images.h"

#define CLASSES 10

/* C99 cannot ask for an alignment, so there is room for rounding the address up. */
static unsigned char arena_storage[DIGITS_ARENA_SIZE + DIGITS_ARENA_ALIGN];

/* The model's working memory: DIGITS_ARENA_SIZE bytes at a multiple of DIGITS_ARENA_ALIGN.
   A model whose size is 0 needs none, and NULL would do. */
static void *arena(void)
{
    const uintptr_t past = (uintptr_t)arena_storage % DIGITS_ARENA_ALIGN;

    return past == 0 ? arena_storage : arena_storage + (DIGITS_ARENA_ALIGN - past);
}

static int argmax(const float *values, int count)
{
    int best = 0;
    int i;

    for (i = 1; i < count; i++) {
        if (values[i] > values[best]) {
            best = i;
        }
    }
    return best;
}

int main(void)
{
    float logits[CLASSES];
    int correct = 0;
    int i;

    for (i = 0; i < DIGITS_IMAGE_COUNT; i++) {
        const int status = digits_run(arena(), digits_images[i], logits);
        int digit;

        if (status != 0) {
            printf("image %d: digits_run failed with code %d\n", i, status);
            return EXIT_FAILURE;
        }
        digit = argmax(logits, CLASSES);
        printf("image %d: recognised %d, label %d\n", i, digit, digits_labels[i]);
        correct += digit == digits_labels[i];
    }
    printf("%d of %d correct\n", correct, DIGITS_IMAGE_COUNT);
    return EXIT_SUCCESS;
}

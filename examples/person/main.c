/* How an application sees whether somebody is there: pictures of a camera go in, 16 bits a pixel, two scores come out. The
   pictures are drawn here, a room through which somebody walks, where a product has a camera: 160x120 pixels of all of it,
   or 96x96 of the part in the middle, line by line, where the model was compiled with `--input rows`. Build together with
   the files that `ccml compile eyes.onnx` wrote; see README.md. */
#include <stddef.h>
#include <stdint.h>

#include "eyes.h"

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

#ifdef EYES_PIXELS_ROWS
#define WIDTH 96
#define HEIGHT 96
#define ACROSS(x) (((x) - 20) * 4 / 5)  /* a place in the room, as a pixel */
#define DOWN(y) ((y) * 4 / 5)
#else
#define WIDTH 160
#define HEIGHT 120
#define ACROSS(x) (x)
#define DOWN(y) (y)
static uint16_t picture[HEIGHT * WIDTH];
#endif
#define A_SECOND 4              /* pictures */
#define END (8 * A_SECOND)
#define OFTEN 2                 /* pictures that say the same, before it is said */

/* C99 cannot ask for an alignment, so there is room for rounding the address up. */
static unsigned char arena_storage[EYES_ARENA_SIZE + EYES_ARENA_ALIGN];

static void *aligned(unsigned char *storage, size_t align)
{
    const size_t past = (size_t)((uintptr_t)storage % align);

    return past == 0 ? storage : storage + (align - past);
}

/* ---- the camera */

static uint16_t rgb(int red, int green, int blue)
{
    return (uint16_t)(red >> 3 << 11 | green >> 2 << 5 | blue >> 3);
}

/* Lines from first to last - 1, which are drawn to pixels. */
static uint16_t *pixels;
static int first, last;

static void box(int left, int top, int right, int bottom, uint16_t colour)
{
    const int begin = ACROSS(left) < 0 ? 0 : ACROSS(left), above = DOWN(top) < first ? first : DOWN(top);
    int x, y;

    for (y = above; y < DOWN(bottom) && y < last; y++) {
        for (x = begin; x < ACROSS(right) && x < WIDTH; x++) {
            pixels[(y - first) * WIDTH + x] = colour;
        }
    }
}

static void disc(int x, int y, int radius, uint16_t colour)
{
    int row, half;

    for (row = -radius; row <= radius; row++) {
        half = 0;
        while ((half + 1) * (half + 1) + row * row < radius * radius) {
            half++;
        }
        box(x - half, y + row, x + half + 1, y + row + 1, colour);
    }
}

/* Somebody whose feet are at x, 80 pixels high. */
static void person(int x, int stride)
{
    box(x - 7 - stride, 78, x - 2 - stride, 115, rgb(40, 44, 70));
    box(x + 2 + stride, 78, x + 7 + stride, 115, rgb(40, 44, 70));
    box(x - 13, 48, x - 8, 74, rgb(180, 60, 50));
    box(x + 8, 48, x + 13, 74, rgb(180, 60, 50));
    box(x - 9, 48, x + 10, 79, rgb(180, 60, 50));
    disc(x, 41, 7, rgb(225, 180, 150));
}

/* A room with a lamp, a table and a clock; somebody comes in after two seconds and is gone after six. */
static void draw(int number)
{
    box(0, 0, 160, 85, rgb(150, 160, 170));
    box(0, 85, 160, 120, rgb(110, 90, 70));
    disc(78, 14, 6, rgb(240, 240, 230));
    box(23, 40, 26, 112, rgb(60, 60, 60));
    box(16, 34, 33, 50, rgb(235, 215, 150));
    box(118, 76, 158, 80, rgb(90, 60, 40));
    box(122, 80, 125, 104, rgb(90, 60, 40));
    box(150, 80, 153, 104, rgb(90, 60, 40));
    if (number >= 2 * A_SECOND && number < 6 * A_SECOND) {
        person(44 + 4 * (number - 2 * A_SECOND), number % 2 * 2);
    }
}

#ifdef EYES_PIXELS_ROWS
/* The camera delivers a line when the model wants it, to where the model wants it: no memory holds the picture. */
static int take_line(void *context, size_t row, uint16_t *to)
{
    pixels = to;
    first = (int)row;
    last = first + 1;
    draw(*(const int *)context);
    return 0;
}

static int look(int number, void *arena, float *scores)
{
    const eyes_rows camera = {take_line, &number};

    return eyes_run(arena, &camera, scores);
}
#else
static int look(int number, void *arena, float *scores)
{
    pixels = picture;
    first = 0;
    last = HEIGHT;
    draw(number);
    return eyes_run(arena, picture, scores);
}
#endif

/* ---- what is seen */

static void report(int number, const char *what)
{
    char text[] = "0.00 s: ";
    const int hundredths = number * 100 / A_SECOND;

    text[0] = (char)('0' + hundredths / 100);
    text[2] = (char)('0' + hundredths / 10 % 10);
    text[3] = (char)('0' + hundredths % 10);
    print(text);
    print(what);
    print("\n");
}

int main(void)
{
    void *arena = aligned(arena_storage, EYES_ARENA_ALIGN);
    float scores[EYES_SCORES_ELEMENTS]; /* nobody, somebody */
    int number, there = 0, against = 0;

    for (number = 0; number < END; number++) {
        if (look(number, arena, scores) != EYES_OK) {
            print("eyes_run failed\n");
            return 1;
        }
        against = (scores[1] > scores[0]) != there ? against + 1 : 0;
        if (against >= OFTEN) {
            there = !there;
            against = 0;
            report(number, there ? "somebody is there" : "nobody is there");
        }
    }
    return 0;
}

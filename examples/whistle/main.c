/* How an application listens: 20 ms of 16-bit samples at a time go in, the scores of the last half second come out. The
   samples are made here, whistles in noise, where a product has a microphone. Build together with the files that
   `ccml compile ears.onnx` wrote; see README.md. */
#include <stdint.h>
#include <stdlib.h>

#include "ears.h"

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

#define HOP 320                 /* samples of a run: 20 ms at 16 kHz */
#define FRAMES 25               /* frames that the model looks at */
#define NAMES 3

static const char *const names[NAMES] = {"nothing", "up", "down"};

/* C99 cannot ask for an alignment, so there is room for rounding the addresses up. */
static unsigned char arena_storage[EARS_ARENA_SIZE + EARS_ARENA_ALIGN];
static unsigned char state_storage[EARS_STATE_SIZE + EARS_STATE_ALIGN];

static void *aligned(unsigned char *storage, size_t align)
{
    const size_t past = (size_t)((uintptr_t)storage % align);

    return past == 0 ? storage : storage + (align - past);
}

/* ---- the microphone */

/* A whistle begins at a sample and lasts for LENGTH; its pitch is multiplied by 1 + rate / 2^20 from sample to sample. */
struct whistle {
    long begin;
    uint32_t step;
    int32_t rate;
};

#define LENGTH 5760L            /* 0.36 s */
#define END 43200L              /* 2.7 s */

static const struct whistle whistles[] = {
    {12800L, 241591910u, 126},  /* from 900 Hz up an octave, at 0.8 s */
    {28800L, 483183820u, -126}, /* from 1800 Hz down an octave, at 1.8 s */
};

/* Parts of a turn, of which there are 2^32, to -32767..32767: two parabolas, which is a sine with few overtones. */
static int32_t wave(uint32_t turn)
{
    const int32_t x = (int32_t)(turn >> 16) - 32768;
    const int32_t size = x < 0 ? -x : x;

    return (int32_t)(((int64_t)-4 * x * (32768 - size)) >> 15);
}

static int16_t sample(long at)
{
    static uint32_t noise = 1u, turn, step;
    int32_t value;
    size_t i;

    noise = noise * 1664525u + 1013904223u;
    value = (int32_t)(noise >> 26) - 32;
    for (i = 0; i < sizeof whistles / sizeof whistles[0]; i++) {
        if (at == whistles[i].begin) {
            step = whistles[i].step;
        }
        if (at >= whistles[i].begin && at < whistles[i].begin + LENGTH) {
            value += wave(turn) / 8;
            turn += step;
            step = (uint32_t)((int64_t)step + (((int64_t)step * whistles[i].rate) >> 20));
        }
    }
    return (int16_t)value;
}

/* ---- what is heard */

static void report(const char *name, long at)
{
    char text[] = "0.00 s: ";
    const long hundredths = at / 160;

    text[0] = (char)('0' + hundredths / 100);
    text[2] = (char)('0' + hundredths / 10 % 10);
    text[3] = (char)('0' + hundredths % 10);
    print(text);
    print(name);
    print("\n");
}

int main(void)
{
    void *arena = aligned(arena_storage, EARS_ARENA_ALIGN);
    void *state = aligned(state_storage, EARS_STATE_ALIGN);
    int16_t pcm[HOP];
    float scores[NAMES];
    long at, quiet_until = FRAMES * HOP; /* the history is full by then */
    int i, runs[NAMES] = {0, 0, 0};

    ears_reset(state);
    for (at = 0; at < END; at += HOP) {
        for (i = 0; i < HOP; i++) {
            pcm[i] = sample(at + i);
        }
        if (ears_run(arena, state, pcm, scores) != EARS_OK) {
            print("the model does not run\n");
            return EXIT_FAILURE;
        }
        for (i = 1; i < NAMES; i++) {
            runs[i] = scores[i] > 0.8f ? runs[i] + 1 : 0;
            if (runs[i] == 2 && at > quiet_until) {
                report(names[i], at + HOP);
                quiet_until = at + 8000; /* half a second */
            }
        }
    }
    return EXIT_SUCCESS;
}

/* How an application listens to a machine: 20 ms of 16-bit samples at a time go in, a score comes out that tells how far the
   last tenth of a second is from what the model has learned. The samples are made here, a fan whose bearing goes bad after
   three seconds, where a product has a microphone. Build together with the files that `ccml compile monitor.onnx` wrote; see
   README.md. */
#include <stdint.h>
#include <stdlib.h>

#include "monitor.h"
#include "threshold.h"

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

#define RATE 16000
#define HOP 320                 /* samples of a run: 20 ms */
#define FRAMES 5                /* frames that the model looks at */
#define OFTEN 3                 /* scores above the threshold, one behind the other, before it is said */
#define BAD_FROM (3L * RATE)
#define END (5L * RATE)

/* C99 cannot ask for an alignment, so there is room for rounding the addresses up. */
static unsigned char arena_storage[MONITOR_ARENA_SIZE + MONITOR_ARENA_ALIGN];
static unsigned char state_storage[MONITOR_STATE_SIZE + MONITOR_STATE_ALIGN];

static void *aligned(unsigned char *storage, size_t align)
{
    const size_t past = (size_t)((uintptr_t)storage % align);

    return past == 0 ? storage : storage + (align - past);
}

/* ---- the microphone */

/* Parts of a turn, of which there are 2^32, to -32767..32767: two parabolas, which is a sine with few overtones. */
static int32_t wave(uint32_t turn)
{
    const int32_t x = (int32_t)(turn >> 16) - 32768;
    const int32_t size = x < 0 ? -x : x;

    return (int32_t)(((int64_t)-4 * x * (32768 - size)) >> 15);
}

#define LOUDNESS 1500
#define PITCH 45097156u         /* 168 Hz: four blades, 42 turns a second */
#define CLICKS 178              /* samples from click to click */

static int16_t sample(long at)
{
    static uint32_t noise = 1u, turn;
    static int32_t air[8], sum, strike; /* of air: the last eight, and their sum */
    int32_t value, hum = 0, k;

    noise = noise * 1664525u + 1013904223u;
    value = (int32_t)(noise >> 16) - 32768;
    noise = noise * 1664525u + 1013904223u;
    value += (int32_t)(noise >> 16) - 32768;
    sum += value - air[at % 8];
    air[at % 8] = value;
    for (k = 1; k <= 6; k++) {
        hum += wave(turn * (uint32_t)k) / k;
    }
    turn += PITCH;
    value = (hum + sum / 8) / 4 * LOUDNESS / 8192;
    strike -= strike / 12;
    if (at >= BAD_FROM && at % CLICKS == 0) {
        strike = 3 * LOUDNESS;
    }
    value += wave((uint32_t)at * 858993459u) / 8 * strike / 4096; /* 3.2 kHz */
    return (int16_t)(value > 32767 ? 32767 : value < -32768 ? -32768 : value);
}

/* ---- what is heard */

static void report(const char *what, long at)
{
    char text[] = "0.00 s: ";
    const long hundredths = at / (RATE / 100);

    text[0] = (char)('0' + hundredths / 100);
    text[2] = (char)('0' + hundredths / 10 % 10);
    text[3] = (char)('0' + hundredths % 10);
    print(text);
    print(what);
    print("\n");
}

int main(void)
{
    void *arena = aligned(arena_storage, MONITOR_ARENA_ALIGN);
    void *state = aligned(state_storage, MONITOR_STATE_ALIGN);
    int16_t pcm[HOP];
    float score[1];
    long at, known_from = FRAMES * HOP; /* the history is full by then */
    int i, above = 0, bad = 0;

    monitor_reset(state);
    for (at = 0; at < END; at += HOP) {
        for (i = 0; i < HOP; i++) {
            pcm[i] = sample(at + i);
        }
        if (monitor_run(arena, state, pcm, score) != MONITOR_OK) {
            print("monitor_run failed\n");
            return 1;
        }
        if (at < known_from) {
            continue;
        }
        above = score[0] > THRESHOLD ? above + 1 : 0;
        if (!bad && above >= OFTEN) {
            bad = 1;
            report("this fan does not sound as it should", at + HOP);
        }
    }
    print(bad ? "" : "all is well\n");
    return 0;
}

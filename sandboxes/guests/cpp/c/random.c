/* `rand` and `random` with the values of glibc: additive feedback over 31 words, whose first values
 * are those of a linear congruential generator (Park and Miller's "minimal standard"). */
#include <stdint.h>
#include <stdlib.h>

enum { WORDS = 31, DISTANCE = 3, DISCARDED = 10 * WORDS };

static uint32_t words[WORDS];
static int oldest;

static uint32_t next(void)
{
    int other = oldest + WORDS - DISTANCE;
    uint32_t sum = words[oldest] += words[other < WORDS ? other : other - WORDS];
    oldest = oldest + 1 < WORDS ? oldest + 1 : 0;
    return sum >> 1;
}

void srand(unsigned seed)
{
    int64_t value = (int32_t)(seed ? seed : 1);
    words[0] = (uint32_t)value;
    for (int i = 1; i < WORDS; i++) {
        value = 16807 * value % 2147483647;
        value += value < 0 ? 2147483647 : 0;
        words[i] = (uint32_t)value;
    }
    oldest = DISTANCE;
    for (int i = 0; i < DISCARDED; i++)
        next();
}

__attribute__((constructor)) static void seed_first(void) { srand(1); }

int rand(void) { return (int)next(); }

long random(void) { return (long)next(); }

void srandom(unsigned seed) { srand(seed); }

int rand_r(unsigned *state)
{
    unsigned value = *state, result = 0;
    static const int bits[] = {11, 10, 10};
    for (int i = 0; i < 3; i++) {
        value = value * 1103515245 + 12345;
        result = result << bits[i] ^ (value >> 16) % (1u << bits[i]);
    }
    *state = value;
    return (int)result;
}

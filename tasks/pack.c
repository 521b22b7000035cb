/* Packing words. See the header. */
#include "tasks/pack.h"

static uint32_t total_words(const struct pack_run *runs, uint32_t count)
{
    uint32_t total = 0;

    for (uint32_t r = 0; r < count; r++)
        total += runs[r].count;
    return total;
}

uint32_t pack(const struct pack_run *runs, uint32_t count, uint64_t *out)
{
    uint64_t *map = out;
    uint64_t *next = out + (total_words(runs, count) + 63) / 64;
    uint64_t bits = 0;
    uint32_t bit = 0;

    for (uint32_t r = 0; r < count; r++) {
        const uint64_t *word = runs[r].words;

        for (const uint64_t *end = word + runs[r].count; word < end; word++) {
            if (*word != 0) {
                bits |= 1ull << bit;
                *next++ = *word;
            }
            if (++bit == 64) {
                *map++ = bits;
                bits = 0;
                bit = 0;
            }
        }
    }
    if (bit != 0)
        *map = bits;
    return (uint32_t)(next - out);
}

bool unpack(const struct pack_run *runs, uint32_t count, const uint64_t *in, uint32_t size)
{
    uint32_t maps = (total_words(runs, count) + 63) / 64;
    const uint64_t *map = in;
    const uint64_t *next = in + maps;
    const uint64_t *end = in + size;
    uint64_t bits = 0;
    uint32_t bit = 64;

    if (size < maps)
        return false;
    for (uint32_t r = 0; r < count; r++) {
        for (uint32_t i = 0; i < runs[r].count; i++) {
            if (bit == 64) {
                bits = *map++;
                bit = 0;
            }
            if ((bits & 1) != 0 && next == end)
                return false;
            runs[r].words[i] = (bits & 1) != 0 ? *next++ : 0;
            bits >>= 1;
            bit++;
        }
    }
    return next == end && bits == 0;
}

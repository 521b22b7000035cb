/* Packing words. See the header. */
#include "tasks/pack.h"

static uint32_t map_words(const struct pack_run *runs, uint32_t count)
{
    uint32_t bytes = 0;

    for (uint32_t r = 0; r < count; r++)
        bytes += (runs[r].count + PACK_BLOCK - 1) / PACK_BLOCK;
    return (bytes + 7) / 8;
}

/* Those of COUNT <= 8 words that are not zero go to *NEXT; returns which. */
static inline __attribute__((always_inline)) uint8_t pack_words(const uint64_t *words, uint32_t count, uint64_t **next)
{
    uint32_t bits = 0;

#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++) {
        if (words[i] != 0) {
            bits |= 1u << i;
            *(*next)++ = words[i];
        }
    }
    return (uint8_t)bits;
}

uint32_t pack(const struct pack_run *runs, uint32_t count, uint64_t *out)
{
    uint8_t *map = (uint8_t *)out;
    uint64_t *next = out + map_words(runs, count);

    if (next > out)
        next[-1] = 0; /* the map may end within it */
    for (uint32_t r = 0; r < count; r++) {
        const uint64_t *w = runs[r].words;
        uint32_t left = runs[r].count;

        for (; left >= PACK_BLOCK; left -= PACK_BLOCK, w += PACK_BLOCK) {
            bool empty = (w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]) == 0;

            *map++ = empty ? 0 : pack_words(w, PACK_BLOCK, &next);
        }
        if (left > 0)
            *map++ = pack_words(w, left, &next);
    }
    return (uint32_t)(next - out);
}

/* COUNT <= 8 words, those of BITS from *NEXT, which must not pass END. */
static inline __attribute__((always_inline)) bool unpack_words(uint64_t *words, uint32_t count, uint32_t bits,
                                                               const uint64_t **next, const uint64_t *end)
{
#pragma GCC unroll 8
    for (uint32_t i = 0; i < count; i++) {
        words[i] = 0;
        if ((bits & 1u << i) != 0) {
            if (*next == end)
                return false;
            words[i] = *(*next)++;
        }
    }
    return bits >> count == 0;
}

static inline void clear_block(uint64_t *w)
{
    w[0] = w[1] = w[2] = w[3] = w[4] = w[5] = w[6] = w[7] = 0;
}

bool unpack(const struct pack_run *runs, uint32_t count, const uint64_t *in, uint32_t size)
{
    uint32_t maps = map_words(runs, count);
    const uint8_t *map = (const uint8_t *)in;
    const uint64_t *next = in + maps;
    const uint64_t *end = in + size;

    if (size < maps)
        return false;
    for (uint32_t r = 0; r < count; r++) {
        uint64_t *w = runs[r].words;
        uint32_t left = runs[r].count;

        for (; left >= PACK_BLOCK; left -= PACK_BLOCK, w += PACK_BLOCK) {
            uint32_t bits = *map++;

            if (bits == 0)
                clear_block(w);
            else if (!unpack_words(w, PACK_BLOCK, bits, &next, end))
                return false;
        }
        if (left > 0 && !unpack_words(w, left, *map++, &next, end))
            return false;
    }
    while (map < (const uint8_t *)(in + maps)) {
        if (*map++ != 0)
            return false;
    }
    return next == end;
}

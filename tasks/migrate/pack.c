/* Packing words. See the header. */
#include "tasks/migrate/pack.h"

static uint32_t map_words(const struct pack_run *runs, uint32_t count)
{
    uint32_t blocks = 0;

    for (uint32_t r = 0; r < count; r++)
        blocks += (runs[r].count + PACK_BLOCK - 1) / PACK_BLOCK;
    return (blocks + 63) / 64;
}

/* A position in the map: one bit. */
struct map_place {
    uint64_t *word;
    uint64_t bit;
};

static inline void map_next(struct map_place *map)
{
    map->bit <<= 1;
    if (map->bit == 0) {
        map->word++;
        map->bit = 1;
    }
}

static inline void copy_block(uint64_t *to, const uint64_t *from)
{
#pragma GCC unroll 8
    for (uint32_t i = 0; i < PACK_BLOCK; i++)
        to[i] = from[i];
}

static inline void copy_words(uint64_t *to, const uint64_t *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = from[i];
}

uint32_t pack(const struct pack_run *runs, uint32_t count, uint64_t *out)
{
    uint32_t maps = map_words(runs, count);
    struct map_place map = {out, 1};
    uint64_t *next = out + maps;

    for (uint32_t i = 0; i < maps; i++)
        out[i] = 0;
    for (uint32_t r = 0; r < count; r++) {
        const uint64_t *w = runs[r].words;
        uint32_t left = runs[r].count;
        uint64_t rest = 0;

        for (; left >= PACK_BLOCK; left -= PACK_BLOCK, w += PACK_BLOCK) {
            if ((w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]) != 0) {
                *map.word |= map.bit;
                copy_block(next, w);
                next += PACK_BLOCK;
            }
            map_next(&map);
        }
        if (left == 0)
            continue;
        for (uint32_t i = 0; i < left; i++)
            rest |= w[i];
        if (rest != 0) {
            *map.word |= map.bit;
            copy_words(next, w, left);
            next += left;
        }
        map_next(&map);
    }
    return (uint32_t)(next - out);
}

/* Moves to the next bit of the map: shifts BITS, or loads the next word after 64 bits. USED counts bits. */
static inline uint64_t map_shift(const uint64_t *map, uint32_t maps, uint64_t bits, uint32_t *used)
{
    (*used)++;
    if (__builtin_expect(*used % 64 != 0, 1))
        return bits >> 1;
    return *used / 64 < maps ? map[*used / 64] : 0;
}

static inline void clear_block(uint64_t *w)
{
    w[0] = w[1] = w[2] = w[3] = w[4] = w[5] = w[6] = w[7] = 0;
}

bool unpack(const struct pack_run *runs, uint32_t count, const uint64_t *in, uint32_t size)
{
    uint32_t maps = map_words(runs, count);
    const uint64_t *next = in + maps;
    const uint64_t *end = in + size;
    uint64_t bits;
    uint32_t used = 0; /* bits of the map consumed so far */

    if (size < maps)
        return false;
    bits = maps > 0 ? in[0] : 0;
    for (uint32_t r = 0; r < count; r++) {
        uint64_t *w = runs[r].words;
        uint32_t left = runs[r].count;

        for (; left >= PACK_BLOCK; left -= PACK_BLOCK, w += PACK_BLOCK) {
            if ((bits & 1) == 0) {
                clear_block(w);
            } else {
                if (end - next < (int64_t)PACK_BLOCK)
                    return false;
                copy_block(w, next);
                next += PACK_BLOCK;
            }
            bits = map_shift(in, maps, bits, &used);
        }
        if (left == 0)
            continue;
        if ((bits & 1) == 0) {
            for (uint32_t i = 0; i < left; i++)
                w[i] = 0;
        } else {
            if (end - next < (int64_t)left)
                return false;
            copy_words(w, next, left);
            next += left;
        }
        bits = map_shift(in, maps, bits, &used);
    }
    return next == end && bits == 0;
}

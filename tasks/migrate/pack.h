/* Words of state with long zeros left out: a map with a bit for each block of eight words, then the blocks that are not
 * all zero, as they are. Most of a thread's vector state is zero, and a message costs by its length; looking at single
 * words costs more than sending them. */
#ifndef TASKS_MIGRATE_PACK_H
#define TASKS_MIGRATE_PACK_H

#include <stdbool.h>
#include <stdint.h>

#define PACK_BLOCK 8u /* words for a bit of the map; the last block of a run may be shorter */

/* A run of 8-byte words; the runs of a thread are the same on every kernel of a machine. */
struct pack_run {
    uint64_t *words; /* aligned */
    uint32_t count;
};

/* The most words that packing WORDS words in RUNS runs can take. */
static inline uint32_t pack_bound(uint32_t words, uint32_t runs)
{
    return words + (words / PACK_BLOCK + runs + 63) / 64;
}

/* Packs RUNS, one after another, into OUT (pack_bound of them); returns how many words it took. */
uint32_t pack(const struct pack_run *runs, uint32_t count, uint64_t *out);
/* Fills RUNS from SIZE packed words at IN. False, and RUNS is unspecified: the words are not the output of pack for
 * such runs. */
bool unpack(const struct pack_run *runs, uint32_t count, const uint64_t *in, uint32_t size);

#endif

/* Packs words of state without blocks of zeros: a map with a bit for each block of eight words, then the blocks that
 * are not all zero, unchanged. Most of a thread's vector state is zero, and the cost of a message grows with its
 * length; testing single words would cost more than sending them. */
#ifndef TASKS_MIGRATE_PACK_H
#define TASKS_MIGRATE_PACK_H

#include <stdbool.h>
#include <stdint.h>

#define PACK_BLOCK 8u /* words per bit of the map; the last block of a run may be shorter */

/* A run of 8-byte words; the runs of a thread are the same on every kernel of a machine. */
struct pack_run {
    uint64_t *words; /* aligned */
    uint32_t count;
};

/* The largest number of words that packing WORDS words in RUNS runs can produce. */
static inline uint32_t pack_bound(uint32_t words, uint32_t runs)
{
    return words + (words / PACK_BLOCK + runs + 63) / 64;
}

/* Packs COUNT runs, one after another, into OUT, which has room for pack_bound words. Returns the number of words
 * produced. */
uint32_t pack(const struct pack_run *runs, uint32_t count, uint64_t *out);
/* Fills RUNS from SIZE packed words at IN. False: the words are not the output of pack for such runs, and the contents
 * of RUNS are unspecified. */
bool unpack(const struct pack_run *runs, uint32_t count, const uint64_t *in, uint32_t size);

#endif

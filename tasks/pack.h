/* Words of state with the zeros left out: a map with a bit for each word, then the words that are not zero. Most of a
 * thread's registers and of its vector state are zero, and a message costs by its length. The map has a byte for each
 * eight words of a run, or for the rest of it, so that what is all zeros or all used is quick. */
#ifndef TASKS_PACK_H
#define TASKS_PACK_H

#include <stdbool.h>
#include <stdint.h>

#define PACK_BLOCK 8u /* words for a byte of the map */

/* A run of 8-byte words; the runs of a thread are the same on every kernel of a machine. */
struct pack_run {
    uint64_t *words; /* aligned */
    uint32_t count;
};

/* Most words that packing WORDS words in RUNS runs can take. */
static inline uint32_t pack_bound(uint32_t words, uint32_t runs)
{
    return words + (words / PACK_BLOCK + runs + 7) / 8;
}

/* Packs RUNS, one after another, into OUT (pack_bound of them); returns how many words it took. */
uint32_t pack(const struct pack_run *runs, uint32_t count, uint64_t *out);
/* Fills RUNS from SIZE packed words at IN; false, and RUNS unspecified, when that is not what pack has made of such
 * runs. */
bool unpack(const struct pack_run *runs, uint32_t count, const uint64_t *in, uint32_t size);

#endif

/* A set-associative cache of line numbers with replacement of the least recently used one: of a CPU or of a node. */
#ifndef TOOLS_PLUGIN_NUMA_CACHE_H
#define TOOLS_PLUGIN_NUMA_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/plugin/numa/config.h"

#define CACHE_NOWHERE UINT32_MAX

/* What the owner of the cache keeps of a line. */
struct cache_entry {
    uint64_t used;    /* when last, in uses of the cache */
    uint64_t ready;   /* in a CPU's cache: the cycle at which a prefetched line is there */
    uint64_t holders; /* in a node's cache: the CPUs of the node that have the line, by place */
    bool exclusive;   /* no cache beside has the line: it may be written */
    bool dirty;       /* memory has an older content */
    bool prefetched;  /* and not used yet */
};

struct cache {
    uint32_t ways;
    uint64_t set_mask;
    uint64_t uses;
    uint64_t *tags; /* line + 1; 0: empty */
    struct cache_entry *entries;
    uint32_t *recent; /* in each set the way that was found last */
};

/* False when there is no memory. */
bool cache_make(struct cache *cache, struct numa_shape shape);
void cache_free(struct cache *cache);

/* Where LINE is, or CACHE_NOWHERE. */
static inline uint32_t cache_find(struct cache *cache, uint64_t line)
{
    uint64_t set = line & cache->set_mask;
    uint32_t base = (uint32_t)set * cache->ways;
    if (cache->tags[base + cache->recent[set]] == line + 1) {
        return base + cache->recent[set];
    }
    for (uint32_t way = 0; way < cache->ways; way++) {
        if (cache->tags[base + way] == line + 1) {
            cache->recent[set] = way;
            return base + way;
        }
    }
    return CACHE_NOWHERE;
}

static inline void cache_use(struct cache *cache, uint32_t at)
{
    cache->entries[at].used = ++cache->uses;
}

/* The place for LINE, which is not there: an empty one, or that of the least recently used line of its set. */
uint32_t cache_victim(const struct cache *cache, uint64_t line);

/* Puts LINE at AT, with an entry of nothing but its use. */
void cache_put(struct cache *cache, uint32_t at, uint64_t line);

static inline void cache_drop(struct cache *cache, uint32_t at)
{
    cache->tags[at] = 0;
}

#endif

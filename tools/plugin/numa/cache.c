/* A set-associative cache. tools/plugin/numa/cache.h is the contract. */
#include "tools/plugin/numa/cache.h"

#include <stdlib.h>

bool cache_make(struct cache *cache, struct numa_shape shape)
{
    size_t count = (size_t)shape.sets * shape.ways;
    *cache = (struct cache){.ways = shape.ways, .set_mask = shape.sets - 1};
    cache->tags = calloc(count, sizeof(*cache->tags));
    cache->entries = calloc(count, sizeof(*cache->entries));
    cache->recent = calloc(shape.sets, sizeof(*cache->recent));
    if (cache->tags && cache->entries && cache->recent) {
        return true;
    }
    cache_free(cache);
    return false;
}

void cache_free(struct cache *cache)
{
    free(cache->tags);
    free(cache->entries);
    free(cache->recent);
    *cache = (struct cache){.ways = 0};
}

uint32_t cache_victim(const struct cache *cache, uint64_t line)
{
    uint32_t base = (uint32_t)(line & cache->set_mask) * cache->ways;
    uint32_t victim = base;
    for (uint32_t at = base; at < base + cache->ways; at++) {
        if (cache->tags[at] == 0) {
            return at;
        }
        if (cache->entries[at].used < cache->entries[victim].used) {
            victim = at;
        }
    }
    return victim;
}

void cache_put(struct cache *cache, uint32_t at, uint64_t line)
{
    uint64_t set = line & cache->set_mask;
    cache->tags[at] = line + 1;
    cache->entries[at] = (struct cache_entry){.used = ++cache->uses};
    cache->recent[set] = at - (uint32_t)set * cache->ways;
}

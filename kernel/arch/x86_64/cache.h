/* The caches of a CPU, as CPUID reports them (Intel SDM volume 2A, CPUID leaf 4; AMD APM volume 3, appendix E.4).
 */
#ifndef KERNEL_ARCH_X86_64_CACHE_H
#define KERNEL_ARCH_X86_64_CACHE_H

#include <stdbool.h>
#include <stdint.h>

enum cache_type { CACHE_DATA = 1, CACHE_INSTRUCTION, CACHE_UNIFIED };

struct cache {
    uint32_t level, type; /* from 1; enum cache_type */
    uint32_t line;        /* bytes */
    uint32_t partitions;  /* lines that share one tag */
    uint32_t ways, sets;
    uint32_t shift; /* CPUs whose APIC ids differ only in this many low bits share the cache */
};

/* Describes cache number INDEX, from 0, of the calling CPU. Returns false if it has no such cache. */
bool cache_find(uint32_t index, struct cache *out);
static inline uint64_t cache_size(const struct cache *cache)
{
    return (uint64_t)cache->line * cache->partitions * cache->ways * cache->sets;
}

#endif

/* A stride prefetcher. tools/plugin/numa/prefetch.h is the contract. */
#include "tools/plugin/numa/prefetch.h"

int64_t prefetch_learn(struct prefetcher *prefetcher, uint64_t pc, uint64_t line)
{
    struct prefetch_entry *entry = &prefetcher->entries[(pc ^ pc >> 6) % PREFETCH_ENTRIES];
    if (entry->pc != pc) {
        *entry = (struct prefetch_entry){.pc = pc, .line = line};
        return 0;
    }
    int64_t stride = (int64_t)(line - entry->line);
    if (stride == 0) {
        return 0;
    }
    entry->equal = stride == entry->stride ? entry->equal + 1 : 1;
    entry->stride = stride;
    entry->line = line;
    return entry->equal >= PREFETCH_SURE ? stride : 0;
}

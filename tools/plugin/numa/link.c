/* The bandwidth of links. tools/plugin/numa/link.h is the contract. */
#include "tools/plugin/numa/link.h"

#include <stdlib.h>

#include "tools/plugin/numa/config.h"

#define SLOT_ROOM (LINK_SLOT_CYCLES * NUMA_LINK_UNIT)

bool links_make(struct links *links, uint32_t nodes, uint32_t line)
{
    *links = (struct links){.nodes = nodes, .line = line < SLOT_ROOM ? line : SLOT_ROOM};
    if (line != 0) {
        links->all = calloc((size_t)nodes * nodes, sizeof(*links->all));
    }
    return line == 0 || links->all;
}

void links_free(struct links *links)
{
    free(links->all);
    links->all = NULL;
}

uint64_t links_wait(struct links *links, uint32_t from, uint32_t to, uint64_t now)
{
    if (links->line == 0) {
        return 0;
    }
    struct link *link = &links->all[from * links->nodes + to];
    uint64_t first = now / LINK_SLOT_CYCLES;
    for (uint64_t slot = first; slot < first + LINK_SLOTS; slot++) {
        uint64_t *is = &link->slot[slot % LINK_SLOTS];
        uint32_t *used = &link->used[slot % LINK_SLOTS];
        if (*is < slot + 1) {
            *is = slot + 1;
            *used = 0;
        }
        /* A slot that a later one has taken the place of is too long ago to be known: it counts as free. */
        if (*is > slot + 1 || *used + links->line <= SLOT_ROOM) {
            *used += *is == slot + 1 ? links->line : 0;
            return slot == first ? 0 : slot * LINK_SLOT_CYCLES - now;
        }
    }
    return (uint64_t)LINK_SLOTS * LINK_SLOT_CYCLES;
}

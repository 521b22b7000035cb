/* The modelled TLB of a CPU: set-associative, for pages of all sizes and both data and instructions; an entry of a
 * large page counts as one. An instruction of the guest that drops one address is only known to have been executed, not
 * its operand, so each entry is then compared with its page table at its next use: see tlb_suspect. */
#ifndef TOOLS_PLUGIN_NUMA_TLB_H
#define TOOLS_PLUGIN_NUMA_TLB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/plugin/numa/config.h"

#define TLB_FRONT 512 /* a direct way to entries, by page of 4 KiB: no part of what is modelled */

struct tlb_entry {
    uint64_t mask;        /* of an address, less its place in the page; 0: empty */
    uint64_t base;        /* the page's address */
    uint64_t ram;         /* RAM offset of the page */
    const uint64_t *leaf; /* its entry in the page tables, in the memory of the host; NULL: not known */
    uint64_t content;     /* of it, when it was read */
    uint64_t used;
    uint32_t generation; /* of the TLB, global or not */
    uint32_t doubt;      /* of the TLB, when it was compared last */
    bool global;
};

struct tlb {
    uint32_t ways;
    uint64_t set_mask;
    uint64_t uses;
    uint32_t generations[2]; /* of entries that are not global, and of those that are */
    uint32_t doubt;
    bool large[2]; /* there are entries of 2 MiB, of 1 GiB */
    struct tlb_entry *entries;
    struct tlb_entry *front[TLB_FRONT];
};

/* False when there is no memory. */
bool tlb_make(struct tlb *tlb, struct numa_shape shape);
void tlb_free(struct tlb *tlb);

/* The entry of ADDRESS, used now, or NULL. */
struct tlb_entry *tlb_search(struct tlb *tlb, uint64_t address);

static inline bool tlb_fits(const struct tlb *tlb, const struct tlb_entry *entry, uint64_t address)
{
    return entry->mask != 0 && (address & entry->mask) == entry->base &&
           entry->generation == tlb->generations[entry->global];
}

static inline struct tlb_entry *tlb_find(struct tlb *tlb, uint64_t address)
{
    struct tlb_entry *entry = tlb->front[address >> 12 & (TLB_FRONT - 1)];
    if (entry && entry->doubt == tlb->doubt && tlb_fits(tlb, entry, address)) {
        entry->used = ++tlb->uses;
        return entry;
    }
    return tlb_search(tlb, address);
}

/* Makes an entry for the page of 2^SHIFT bytes of ADDRESS, which has none, in place of the least recently used one. */
struct tlb_entry *tlb_put(struct tlb *tlb, uint64_t address, unsigned int shift, bool global);

/* The root changed: drops all but global entries, with ALL also these. */
void tlb_flush(struct tlb *tlb, bool all);

/* Some address was dropped. */
void tlb_suspect(struct tlb *tlb);

#endif

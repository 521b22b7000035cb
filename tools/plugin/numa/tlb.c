/* The modelled TLB of a CPU. tools/plugin/numa/tlb.h is the contract. */
#include "tools/plugin/numa/tlb.h"

#include <stdlib.h>

#define USED_BITS UINT64_C(0x60) /* accessed and dirty: the processor sets them without dropping anything */

static const unsigned int shifts[] = {12, 21, 30};

bool tlb_make(struct tlb *tlb, struct numa_shape shape)
{
    *tlb = (struct tlb){.ways = shape.ways, .set_mask = shape.sets - 1};
    tlb->entries = calloc((size_t)shape.sets * shape.ways, sizeof(*tlb->entries));
    return tlb->entries != NULL;
}

void tlb_free(struct tlb *tlb)
{
    free(tlb->entries);
    tlb->entries = NULL;
}

static struct tlb_entry *set_of(struct tlb *tlb, uint64_t address, unsigned int shift)
{
    return &tlb->entries[(address >> shift & tlb->set_mask) * tlb->ways];
}

/* Whether the page tables still say what they said; without knowing them, no. */
static bool still_true(const struct tlb *tlb, struct tlb_entry *entry)
{
    if (entry->doubt != tlb->doubt) {
        if (!entry->leaf || ((*entry->leaf ^ entry->content) & ~USED_BITS) != 0) {
            entry->mask = 0;
            return false;
        }
        entry->doubt = tlb->doubt;
    }
    return true;
}

struct tlb_entry *tlb_search(struct tlb *tlb, uint64_t address)
{
    for (int size = 0; size < 3; size++) {
        if (size != 0 && !tlb->large[size - 1]) {
            continue;
        }
        struct tlb_entry *set = set_of(tlb, address, shifts[size]);
        for (uint32_t way = 0; way < tlb->ways; way++) {
            if (tlb_fits(tlb, &set[way], address) && still_true(tlb, &set[way])) {
                set[way].used = ++tlb->uses;
                tlb->front[address >> 12 & (TLB_FRONT - 1)] = &set[way];
                return &set[way];
            }
        }
    }
    return NULL;
}

struct tlb_entry *tlb_put(struct tlb *tlb, uint64_t address, unsigned int shift, bool global)
{
    struct tlb_entry *set = set_of(tlb, address, shift);
    struct tlb_entry *victim = set;
    for (uint32_t way = 0; way < tlb->ways; way++) {
        struct tlb_entry *entry = &set[way];
        if (entry->mask == 0 || entry->generation != tlb->generations[entry->global]) {
            victim = entry;
            break;
        }
        if (entry->used < victim->used) {
            victim = entry;
        }
    }
    for (int size = 1; size < 3; size++) {
        tlb->large[size - 1] |= shift == shifts[size];
    }
    uint64_t mask = ~((UINT64_C(1) << shift) - 1);
    *victim = (struct tlb_entry){.mask = mask,
                                 .base = address & mask,
                                 .used = ++tlb->uses,
                                 .generation = tlb->generations[global],
                                 .doubt = tlb->doubt,
                                 .global = global};
    tlb->front[address >> 12 & (TLB_FRONT - 1)] = victim;
    return victim;
}

void tlb_flush(struct tlb *tlb, bool all)
{
    tlb->generations[false]++;
    tlb->generations[true] += all;
}

void tlb_suspect(struct tlb *tlb)
{
    tlb->doubt++;
}

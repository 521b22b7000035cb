/* The page tables of one kernel against what it may map: its own memory, the channels to its peers, devices; and in
 * programs' tables frames that belong to some kernel. Free of hardware: it asks AUDIT_WORLD, and reaches tables at
 * their physical addresses plus DELTA. It flushes and changes nothing. */
#ifndef MM_AUDIT_TABLES_H
#define MM_AUDIT_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/paging.h"
#include "mm/audit/report.h"

struct audit_world {
    uint32_t kernel;
    /* The kernel whose memory all of [PA, PA + SIZE) is; KERNELS_MAX: no byte of it is anybody's; AUDIT_MIXED. */
    uint32_t (*owner)(uint64_t pa, uint64_t size);
    /* FRAME, our memory, is the kernel's own: allocated, and no space has it. */
    bool (*own_use)(uint64_t frame);
    /* The kernel may map memory of others, or nobody's, like this. */
    bool (*may_map)(uint64_t va, uint64_t pa, bool write);
    uint64_t image, image_end;   /* physical: mapped from IMAGE_VA on and nowhere else */
    uint64_t image_va;           /* [image_va, image_va + image_end - image) */
    uint64_t direct, direct_end; /* virtual: physical memory at its address plus DIRECT */
};
#define AUDIT_MIXED UINT32_MAX

/* The kernel's own tables: the lower half maps nothing. */
void audit_kernel_tables(const struct audit_world *world, const struct page_tables *tables,
                         struct audit_report *report);
/* A space's: its upper half is that of ROOT, the kernel's own. */
void audit_space_tables(const struct audit_world *world, const struct page_tables *tables, uint64_t root,
                        uint64_t space, struct audit_report *report);

#endif

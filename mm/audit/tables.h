/* Checks the page tables of one kernel against what it may map: its own memory, the channels to its peers, and devices;
 * in the tables of programs, frames that belong to some kernel. Contains no hardware access: it calls the functions of
 * struct audit_world and reads tables at their physical addresses plus DELTA. It flushes and changes nothing. */
#ifndef MM_AUDIT_TABLES_H
#define MM_AUDIT_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/paging.h"
#include "mm/audit/report.h"
#include "mm/directory/owners.h"

struct audit_world {
    uint32_t kernel;
    /* Returns the kernel that owns all of [PA, PA + SIZE); KERNELS_MAX: no kernel owns any of it; else AUDIT_MIXED. */
    uint32_t (*owner)(uint64_t pa, uint64_t size);
    /* True if FRAME, which is this kernel's memory, is allocated for the kernel itself, and no space has it. */
    bool (*own_use)(uint64_t frame);
    /* True if the kernel may map PA, which it does not own, at VA in this way. */
    bool (*may_map)(uint64_t va, uint64_t pa, bool write);
    void (*pause)(void);         /* called after each table, with nothing held */
    uint64_t image, image_end;   /* physical: mapped from IMAGE_VA on, and nowhere else */
    uint64_t image_va;           /* virtual */
    uint64_t text_va, text_size; /* virtual: where another kernel's text is mapped, which may_map knows; or 0 bytes */
    uint64_t direct, direct_end; /* virtual: the range that maps physical addresses plus DIRECT */
};
#define AUDIT_MIXED UINT32_MAX

/* Checks the kernel's own tables, whose lower half must be empty. */
void audit_kernel_tables(const struct audit_world *world, const struct page_tables *tables,
                         struct audit_report *report);
/* Checks the tables of space SPACE, whose upper half must be equal to that of ROOT, the kernel's own table, and whose
 * frames of other kernels OWNERS must have. */
void audit_space_tables(const struct audit_world *world, const struct page_tables *tables, const struct sharers *owners,
                        uint64_t root, uint64_t space, struct audit_report *report);

#endif

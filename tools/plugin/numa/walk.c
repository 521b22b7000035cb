/* Walks of page tables. tools/plugin/numa/walk.h is the contract. */
#include "tools/plugin/numa/walk.h"

#define PRESENT UINT64_C(1)
#define LARGE (UINT64_C(1) << 7)
#define GLOBAL (UINT64_C(1) << 8)
#define ADDRESS UINT64_C(0x000ffffffffff000)
#define PAGE_SHIFT 12
#define LEVEL_SHIFT 9
#define LARGE_SHIFT_MAX 30 /* no higher entry maps a page */

struct walk walk_tables(const struct walk_root *root, uint64_t address, walk_read_t read, void *context)
{
    struct walk walk = {.shift = PAGE_SHIFT + LEVEL_SHIFT * root->levels};
    uint64_t table = root->address & ADDRESS;
    while (walk.count < root->levels) {
        walk.shift -= LEVEL_SHIFT;
        uint64_t entry = table + (address >> walk.shift & ((1u << LEVEL_SHIFT) - 1)) * sizeof(uint64_t);
        walk.entries[walk.count++] = entry;
        walk.leaf = read(context, entry);
        if (!(walk.leaf & PRESENT)) {
            return walk;
        }
        table = walk.leaf & ADDRESS;
        if (walk.leaf & LARGE && walk.shift > PAGE_SHIFT && walk.shift <= LARGE_SHIFT_MAX) {
            break;
        }
    }
    walk.mapped = walk.count != 0;
    walk.global = walk.leaf & GLOBAL;
    walk.page = table & ~((UINT64_C(1) << walk.shift) - 1);
    return walk;
}

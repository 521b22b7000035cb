/* Walks of x86-64 page tables, of four or five levels, as the processor makes them. */
#ifndef TOOLS_PLUGIN_NUMA_WALK_H
#define TOOLS_PLUGIN_NUMA_WALK_H

#include <stdbool.h>
#include <stdint.h>

#define WALK_LEVELS_MAX 5

/* Where a CPU's page tables are. */
struct walk_root {
    uint64_t address; /* physical, of the highest table */
    unsigned int levels;
};

struct walk {
    uint64_t entries[WALK_LEVELS_MAX]; /* physical addresses of what was read, from the root on */
    unsigned int count;                /* of these */
    uint64_t leaf;                     /* the last one's content */
    bool mapped;
    bool global;        /* not flushed with the root */
    unsigned int shift; /* log2 of the page's size */
    uint64_t page;      /* physical address of the page */
};

/* Reads the entry at a physical address; 0, which is not present, where there is no memory. */
typedef uint64_t (*walk_read_t)(void *context, uint64_t physical);

struct walk walk_tables(const struct walk_root *root, uint64_t address, walk_read_t read, void *context);

#endif

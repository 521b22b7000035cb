/* The exact trace: a record of each data access while a region is open, or of some of them. trace.md has
 * the format of the file. One thread uses it at a time. */
#ifndef TOOLS_PLUGIN_NUMA_TRACE_H
#define TOOLS_PLUGIN_NUMA_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/plugin/numa/machine.h"

#define TRACE_MAGIC "KTLTRACE"
#define TRACE_VERSION 1

enum trace_choice { TRACE_ALL, TRACE_MISSES, TRACE_MEMORY };

/* At the file's start; then as many records as there are. All numbers are little endian. */
struct trace_header {
    char magic[8];
    uint32_t version;
    uint32_t record_size;
    uint32_t every;  /* one access of so many of those chosen was written */
    uint32_t choice; /* enum trace_choice */
    uint64_t reserved;
};

struct trace_record {
    uint64_t clock;    /* modelled, of the CPU */
    uint64_t address;  /* virtual */
    uint64_t physical; /* of the guest */
    uint64_t pc;       /* of the instruction */
    uint16_t cpu;
    uint8_t cpu_node;
    uint8_t memory_node;
    uint8_t write;
    uint8_t size_shift; /* log2 of the bytes */
    uint8_t source;     /* enum numa_source */
    uint8_t column;     /* enum column */
};

/* Begins the file PATH; false when it cannot be written, with errno set. */
bool trace_begin(const char *path, enum trace_choice choice, uint32_t every);

/* Writes RECORD if it is chosen and it is its turn. */
void trace_add(const struct trace_record *record);

/* Ends the file; false when something could not be written. Tells how many records it has. */
bool trace_end(uint64_t *records);

#endif

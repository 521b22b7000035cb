/* The exact trace. tools/plugin/numa/trace.h is the contract. */
#include "tools/plugin/numa/trace.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct trace_header) == 32, "a header's size is part of the format");
_Static_assert(sizeof(struct trace_record) == 40, "a record's size is part of the format");

static FILE *file;
static enum trace_choice choice;
static uint32_t every;
static uint32_t passed; /* chosen accesses since the last that was written */
static uint64_t written;

bool trace_begin(const char *path, enum trace_choice chosen, uint32_t one_of)
{
    struct trace_header header = {
        .version = TRACE_VERSION, .record_size = sizeof(struct trace_record), .every = one_of, .choice = chosen};
    memcpy(header.magic, TRACE_MAGIC, sizeof(header.magic));
    choice = chosen;
    every = one_of;
    passed = one_of - 1; /* the first one is written */
    file = fopen(path, "we");
    return file && fwrite(&header, sizeof(header), 1, file) == 1;
}

void trace_add(const struct trace_record *record)
{
    if ((choice == TRACE_MISSES && record->source == NUMA_FROM_CACHE) ||
        (choice == TRACE_MEMORY && record->source < NUMA_FROM_MEMORY)) {
        return;
    }
    if (++passed == every) {
        passed = 0;
        written += fwrite(record, sizeof(*record), 1, file);
    }
}

bool trace_end(uint64_t *records)
{
    bool failed = ferror(file) != 0;
    *records = written;
    return fclose(file) == 0 && !failed;
}

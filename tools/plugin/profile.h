/* The profile: how often each instruction of the kernel was executed while a region was open. */
#ifndef TOOLS_PLUGIN_PROFILE_H
#define TOOLS_PLUGIN_PROFILE_H

#include <stdint.h>
#include <stdio.h>

#include "tools/plugin/region.h"

/* An instruction's place. Lives as long as the emulator, through all translations of the instruction. */
struct site {
    uint64_t address;   /* set once */
    uint64_t executed;  /* atomic */
    enum column column; /* set once */
    struct site *next;  /* set once: in the same bucket */
};

/* The site of ADDRESS, made when there is none. Any thread. */
struct site *profile_site(uint64_t address, enum column column);

/* Counts one execution. Any thread. */
static inline void profile_count(struct site *site)
{
    __atomic_fetch_add(&site->executed, 1, __ATOMIC_RELAXED);
}

/* Writes a JSON array of [address, executions], the executed sites only, in no order. */
void profile_write(FILE *file);

#endif

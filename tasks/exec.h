/* A new process from a static executable: address space, stack, first thread. */
#ifndef TASKS_EXEC_H
#define TASKS_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "tasks/group.h"

#define EXEC_STRINGS_MAX 65536u /* bytes of arguments and environment together */

/* Arguments and environment, NUL-terminated one after another. */
struct exec_strings {
    const char *argv;
    uint32_t argc;
    const char *envp;
    uint32_t envc;
    size_t argv_size; /* bytes with the NULs */
    size_t envp_size;
};

/* Makes a process of the executable FILE (SIZE bytes), known as PATH, with its first thread ready to start; this kernel
 * is its home. PARENT gets it as a child, or is NULL. FILES becomes its descriptors. -ENOEXEC: not a static x86-64
 * executable, or its segments overlap; -ENOMEM; -E2BIG: too many strings. */
int exec_create(const void *file, size_t size, const char *path, const struct exec_strings *strings,
                struct group *parent, void *files, struct thread **out);

#endif

/* Scripts: files that begin with "#!" and the name of their interpreter, as described in execve(2). */
#ifndef KERNEL_EXEC_SCRIPT_H
#define KERNEL_EXEC_SCRIPT_H

#include "kernel/exec/load.h"
#include "tasks/program/program.h"

struct script {
    struct exec_strings strings; /* the arguments of the program that runs */
    char *memory;                /* heap that holds them; NULL: they are the caller's */
    size_t size;
};

/* Loads the executable NAME, or the interpreter if NAME is a script, to LOADED; the caller calls file_unload, also
 * after an error. STRINGS, in one piece of memory from argv on, are the arguments for NAME; SCRIPT gets those for
 * LOADED, until script_free. Errors as file_load; -ENOEXEC: a script that names no interpreter; -ELOOP: too many nested
 * scripts; -E2BIG. Tasks only. */
int script_load(struct group *group, const struct name *name, const struct exec_strings *strings, struct loaded *loaded,
                struct script *script);
void script_free(struct script *script);

#endif

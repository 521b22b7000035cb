/* Scripts: files that begin with "#!" and the name of what runs them, as execve(2) has it. */
#ifndef KERNEL_EXEC_SCRIPT_H
#define KERNEL_EXEC_SCRIPT_H

#include "kernel/exec/load.h"
#include "tasks/program/program.h"

struct script {
    struct exec_strings strings; /* what the program is given */
    char *memory;                /* heap, where they are; NULL: where those of the caller are */
    size_t size;
};

/* Loads the executable NAME, or if it is a script what is to run it, to LOADED; to be given up with file_unload, also
 * after an error. STRINGS, in one piece of memory from argv on, are for NAME; what LOADED is to be given is in SCRIPT,
 * for script_free. Errors as file_load; -ENOEXEC: a script that names nothing; -ELOOP: scripts that are run by scripts;
 * -E2BIG. Tasks only. */
int script_load(struct group *group, const struct name *name, const struct exec_strings *strings, struct loaded *loaded,
                struct script *script);
void script_free(struct script *script);

#endif

/* New processes from an executable on this kernel (kettle_spawn, the first program), and running another program in an
 * existing process (execve). */
#ifndef TASKS_PROGRAM_SPAWN_H
#define TASKS_PROGRAM_SPAWN_H

#include "tasks/process/group.h"
#include "tasks/program/program.h"

struct spawn_program {
    const struct elf_file *file;
    const char *path;
    const struct exec_strings *strings;
};

/* Makes a process of PROGRAM whose home this kernel is, with its first thread started. PARENT, a process of any kernel,
 * gets it as a child; 0: its parent is init, and it is the first process, with which the machine ends. On success FILES
 * becomes its descriptors. ATTRIBUTES are those of its first thread; NULL: every CPU, nice 0, an empty mask. Returns
 * its id, or -ENOEXEC, -E2BIG, -ENOMEM; -EAGAIN: the parent is ending. Waits for the parent's home. */
struct spawn_attributes {
    uint64_t affinity[CPUS_MAX / 64];
    uint64_t signal_mask;
    int32_t nice;
    uint32_t flags;                 /* CONTEXT_NO_NEW_PRIVILEGES or 0 */
    struct credentials credentials; /* those of the caller, before set-user-id and set-group-id of the executable */
};
int64_t spawn_process(uint32_t parent, const struct spawn_program *program, void *files,
                      const struct spawn_attributes *attributes);

/* execve(2) in the current thread: on success its frame is the program's start and the result is 0. Its group's home
 * must be this kernel. Errors leave everything unchanged, except -EAGAIN: the thread is dying. Waits for all kernels of
 * the group. */
int spawn_exec(const struct spawn_program *program);

#endif

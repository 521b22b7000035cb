/* Loading a static executable, with its first stack, into an address space in which no thread runs yet. */
#ifndef TASKS_PROGRAM_PROGRAM_H
#define TASKS_PROGRAM_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/arch/x86_64/base/layout.h"
#include "mm/space/limit.h"
#include "mm/space/space.h"
#include "tasks/program/elf.h"
#include "tasks/thread/credentials.h"

#define EXEC_STRINGS_MAX 1048576u /* bytes of arguments and environment together */

/* The area of the first thread's stack. */
#define PROGRAM_STACK_TOP VVAR_BASE

/* Arguments and environment, NUL-terminated one after another. */
struct exec_strings {
    const char *argv;
    uint32_t argc;
    const char *envp;
    uint32_t envc;
    size_t argv_size; /* bytes, including the NULs */
    size_t envp_size;
    const struct credentials *user; /* the credentials with which the program runs */
    bool secure;                    /* its user or group ids differ from the caller's: AT_SECURE */
};

/* The bytes of STRING with its NUL, and a copy of SIZE bytes: as the argument of a program may be long, both work in
 * slices. Tasks only. */
size_t exec_string_size(const char *string);
void exec_strings_copy(char *to, const char *from, size_t size);

struct program_start {
    uint64_t entry, stack, environment; /* user addresses */
};

/* Fills SPACE, which is new and which no other kernel hosts, with the executable FILE, known as PATH. The pieces of
 * FILE are frames of this kernel, with a reference of their own each: SPACE maps those of pages that it will not write,
 * or not all of them, copy-on-write, and copies the others. -ENOEXEC: not a static x86-64 executable, or its segments
 * overlap; -ENOMEM; -E2BIG: too many strings. */
int program_load(struct space *space, const struct elf_file *file, const char *path, const struct exec_strings *strings,
                 struct program_start *start);
/* 0 if program_load would accept FILE, PATH and STRINGS. */
int program_check(const struct elf_file *file, const char *path, const struct exec_strings *strings);
/* The last component of PATH. */
const char *program_name(const char *path);

#endif

/* realbench: what its files share. userland/bench/real/realbench.c is the program. */
#ifndef USERLAND_BENCH_REAL_REALBENCH_H
#define USERLAND_BENCH_REAL_REALBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct real_plan {
    const char *tools; /* the folder that the guest has the program's files in */
    int threads;       /* as many threads or processes at once */
};

struct real_case {
    const char *name;
    const char *what;
    bool (*setup)(const struct real_plan *plan);  /* makes the input, in the current folder, which is empty */
    bool (*run)(const struct real_plan *plan);    /* what is timed and counted */
    bool (*verify)(const struct real_plan *plan); /* whether the result is right */
};

extern const struct real_case real_tcc, real_zstd;

/* A file of the current folder with SIZE bytes of DATA; false, with a message, when it cannot be written. */
bool real_write(const char *path, const void *data, size_t size);

/* Starts the program of ARGUMENTS, whose first is its path; its output is the file OUTPUT of the current folder, or
 * NULL: this program's. The child's id; -1 with a message. */
pid_t real_start(char *const arguments[], const char *output);

/* Whether the child, or with -1 the next of all children, ended with status 0; says so when it did not. */
bool real_wait(pid_t child);

/* Both. */
bool real_run(char *const arguments[], const char *output);

/* The next of a fixed sequence of numbers. */
uint64_t real_random(uint64_t *state);

#endif

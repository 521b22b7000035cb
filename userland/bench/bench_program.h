/* The frame of a benchmark program whose cases are rows of a table: its options, the choice of cases, running them one
 * after another, and printing what they gave. What a case measures is in userland/bench/bench_measure.h. */
#ifndef USERLAND_BENCH_PROGRAM_H
#define USERLAND_BENCH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_ROWS_MAX 255 /* regions for counting instructions: 1 to 255 */
#define BENCH_NAME_SIZE 48
#define BENCH_PATH_SIZE 256 /* of a program's own file */

struct bench_row {
    char name[BENCH_NAME_SIZE];
    unsigned
        region; /* of the markers (userland/bench/mark.h): the row's place in the table, the same on every machine */
    uint32_t count; /* operations, unless told otherwise */
};

struct bench_program {
    const char *name;
    const char *usage;
    size_t (*fill)(void); /* fills the table, after the machine was found; returns how many rows it has */
    struct bench_row *(*row)(size_t index);
    /* Why this machine cannot run the row, in words that fit behind a colon; NULL when it can, or when it will find
     * that the kernel lacks a call. */
    const char *(*refusal)(size_t index);
    /* Runs the row, prepared for COUNT samples. 0, or an errno after bench_failed; ENOSYS: the row is absent. */
    int (*run)(size_t index, uint32_t count);
    /* Prints what the row's JSON object has besides, each field as `, "name": value`. */
    void (*print)(size_t index);
    bool *no_times; /* set by the option --no-times; NULL: there is no such option */
};

/* Writes where this program's file is: NAME, which may be how it is called on the machine outside, or a file of that
 * name where programs are in the machine. */
void bench_program_find(const char *name, char path[BENCH_PATH_SIZE]);

/* The program's main: returns its exit status. */
int bench_program_main(const struct bench_program *program, int argc, char **argv);

#endif

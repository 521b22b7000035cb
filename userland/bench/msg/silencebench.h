/* silencebench: what its files share. userland/bench/msg/silencebench.c is the program; each other file has the cases
 * of one subject in a table at its end. A new file's table is declared here and added to the list in silencebench.c. */
#ifndef USERLAND_SILENCEBENCH_H
#define USERLAND_SILENCEBENCH_H

#include <stdbool.h>
#include <stddef.h>

#define STATUS_FAILED 1 /* of the program */
#define PAGE 4096ul
#define MIB (1ul << 20)
#define SILENCE_MEMORY (48 * MIB) /* of the cases of memory */
#define SILENCE_FILE_SIZE (32 * MIB)
#define SILENCE_THREADS 1500
#define SILENCE_OPENED 900 /* files of a process that has many */

/* What a case needs to be possible. */
enum silence_need {
    ANY_KERNEL,
    OTHER_KERNEL, /* another kernel has the pages that a thread there has touched, or the processes */
    OTHER_NODE    /* and is on another node: a thread is to be drawn to one, or a group's memory */
};

struct silence_case {
    const char *name; /* NULL ends a table */
    const char *what;
    void (*prepare)(void);
    void (*run)(void); /* NULL: the end of the process */
    enum silence_need need;
};

extern const struct silence_case silence_of_file[], silence_of_memory[], silence_of_process[], silence_of_socket[];
extern const struct silence_case silence_of_thread[], silence_of_event[], silence_of_machine[], silence_of_fence[];

/* Ends the program after saying on standard error what failed, and why (errno). */
_Noreturn void silence_fail(const char *what);

/* New memory of SIZE bytes; FLAGS of mmap besides. */
char *silence_map(size_t size, int flags);

/* Writes to each page. */
void silence_touch(char *at, size_t size);

/* Of all kernels, as kettle_control. */
void silence_set_option(const char *option);

/* The memory of a case: of SILENCE_MEMORY bytes, or as the function that made it says. */
extern char *silence_memory;

void silence_map_memory(void);     /* no page of it touched, nor huge ones */
void silence_fill_memory(void);    /* all of it touched */
void silence_fill_elsewhere(void); /* touched from another kernel, where the frames are then */

/* The file of a case, and an empty one; no name leads to either. */
extern int silence_file, silence_other;

void silence_make_file(void);        /* of SILENCE_FILE_SIZE bytes, all of them written, and as much memory */
void silence_make_large_file(void);  /* of 512 MiB, all of them written */
void silence_make_sparse_file(void); /* of 20,000 pages, each with a node of the file's table for itself */

void silence_make_processes(void); /* 2,000 that have ended and are not waited for */
void silence_make_processes_elsewhere(void);

void silence_make_openers(void); /* 24 processes with SILENCE_OPENED files each, which end with this one */
void silence_make_openers_elsewhere(void);

/* Threads that sleep until the process ends, and COUNT threads that do WHAT. */
void *silence_sleep(void *unused);
void silence_make_threads(void); /* SILENCE_THREADS of them */
void silence_start_threads(int count, void *(*what)(void *unused));

void silence_kill_other(void); /* the next kernel dies at once */

/* The descriptors by which a case says that it is done, and waits for the end, as the option --go-on has them. */
extern char silence_go_on[32];

#endif

/* The reports of /proc/kettle: what each kernel writes about itself, put together by the kernel that asks. */
#ifndef KERNEL_FS_PROC_REPORT_H
#define KERNEL_FS_PROC_REPORT_H

#include <stdint.h>

#include "kernel/fs/text/dirent.h"
#include "kernel/fs/text/text.h"
#include "mm/mempolicy/count.h"
#include "tasks/sched/sched.h"

void report_init(void);
/* The number of the report NAME, or -ENOENT. */
int64_t report_find(const char *name);
void report_list(struct dirents *to);
/* Writes report NUMBER; TEXT's memory (heap, at first none) becomes the caller's. -ENOMEM. Tasks only: it asks the
 * other kernels. */
int64_t report_write(struct text *text, uint32_t number);
/* Appends the lines of /proc/mounts, or of /proc/PID/mountinfo, for what is mounted besides what every machine has: as
 * many as TEXT has room for. Tasks only. */
void report_mounts(struct text *text, bool info);
#define MOUNTS_TEXT 8192u /* room for all of them */
/* Sums over the kernels. Tasks only. */
struct report_machine {
    uint64_t frames, free;  /* of 4 KiB, for programs */
    uint64_t files, kernel; /* of those that are not free: what files have, and small objects of the kernels */
    uint64_t processes;     /* those not yet waited for, too */
    uint64_t threads;       /* of programs, where they are present */
    uint64_t made;          /* threads that began, ever */
    uint64_t last_ns, last; /* when the last one began, and its id */
};
void report_machine(struct report_machine *out);
/* The work of the CPUs of all running kernels since their start. */
struct report_cpu {
    uint64_t number; /* the machine's */
    struct cpu_use use;
};
/* TEXT's memory, struct report_cpu[], becomes the caller's. -ENOMEM. Tasks only. */
int64_t report_cpus(struct text *text);
/* Of all CPUs together. */
struct report_load {
    uint64_t average[LOAD_AVERAGES]; /* tasks/sched/load_average.h */
    uint64_t ready;                  /* threads of programs that run, or are ready to */
    uint64_t idle_ns;
};
/* -ENOMEM. Tasks only. */
int64_t report_load(struct report_load *out);
/* The memory that kernels have on NODE, and their counts of allocations there. */
struct report_node {
    uint64_t node;
    uint64_t frames, free; /* of 4 KiB */
    struct numa_counts counts;
};
/* -ENOMEM. Tasks only. */
int64_t report_node(uint32_t node, struct report_node *out);

#endif

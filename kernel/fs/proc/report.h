/* The reports of /proc/kettle, which the asking kernel assembles from what each kernel writes about itself. */
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
/* Writes report NUMBER. TEXT's memory (heap) is allocated here and becomes the caller's. -ENOMEM. Tasks only: asks the
 * other kernels. */
int64_t report_write(struct text *text, uint32_t number);
/* Appends lines of /proc/mounts, or with INFO of /proc/PID/mountinfo, for the mounts that not every machine has; as
 * many as TEXT has room for. Tasks only. */
void report_mounts(struct text *text, bool info);
#define MOUNTS_TEXT 8192u /* room for all of them */
/* Sums over the kernels. Tasks only. */
struct report_machine {
    uint64_t frames, free;  /* of 4 KiB, for programs */
    uint64_t files, kernel; /* frames in use: for files, and for small kernel objects */
    uint64_t processes;     /* includes zombies */
    uint64_t threads;       /* threads of programs, without shadows */
    uint64_t made;          /* threads created so far */
    uint64_t last_ns, last; /* when the newest was created, and its id */
};
void report_machine(struct report_machine *out);
/* The work of one CPU since its kernel's start; CPUs of all running kernels are reported. */
struct report_cpu {
    uint64_t number; /* number in the machine */
    struct cpu_use use;
};
/* Writes a struct report_cpu[] to TEXT, whose memory becomes the caller's. -ENOMEM. Tasks only. */
int64_t report_cpus(struct text *text);
/* The load of all CPUs together. */
struct report_load {
    uint64_t average[LOAD_AVERAGES]; /* tasks/sched/load_average.h */
    uint64_t ready;                  /* program threads that run or are ready */
    uint64_t idle_ns;
};
/* -ENOMEM. Tasks only. */
int64_t report_load(struct report_load *out);
/* The memory on NODE, and the kernels' counts of allocations there. */
struct report_node {
    uint64_t node;
    uint64_t frames, free; /* of 4 KiB */
    struct numa_counts counts;
};
/* -ENOMEM. Tasks only. */
int64_t report_node(uint32_t node, struct report_node *out);

#endif

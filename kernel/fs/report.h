/* The reports of /proc/kettle: what each kernel writes about itself, put together by the kernel that asks. */
#ifndef KERNEL_FS_REPORT_H
#define KERNEL_FS_REPORT_H

#include <stdint.h>

#include "kernel/fs/directory.h"
#include "kernel/fs/text.h"

void report_init(void);
/* The number of the report NAME, or -ENOENT. */
int64_t report_find(const char *name);
void report_list(struct directory *to);
/* Writes report NUMBER; TEXT's memory (heap, at first none) becomes the caller's. -ENOMEM. Tasks only: it asks the
 * other kernels. */
int64_t report_write(struct text *text, uint32_t number);
/* Appends the lines of /proc/mounts for what is mounted besides what every machine has. Tasks only. */
void report_mounts(struct text *text);
/* Sums over the kernels. Tasks only. */
struct report_machine {
    uint64_t frames, free;  /* of 4 KiB, for programs */
    uint64_t files, kernel; /* of those that are not free: what files have, and small objects of the kernels */
    uint64_t processes;     /* those not yet waited for, too */
    uint64_t threads;       /* of programs, where they are present */
};
void report_machine(struct report_machine *out);
/* What the CPUs of the kernels that run have done since their start. */
struct report_cpu {
    uint64_t number, user, system; /* the machine's; ns */
};
/* TEXT's memory, struct report_cpu[], becomes the caller's. -ENOMEM. Tasks only. */
int64_t report_cpus(struct text *text);
/* The same of KERNEL alone: zeros, if it does not run or there is no memory. Tasks only. */
void report_machine_of(uint32_t kernel, struct report_machine *out);

#endif

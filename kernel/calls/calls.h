/* The system calls: their names, and the functions behind them, which kernel/abi/syscalls.def lists and the subjects
 * (kernel/calls/README.md) define. Each takes its six arguments undecoded and returns a result or a negative errno; it
 * decodes and checks all of them before it acts. */
#ifndef KERNEL_CALLS_CALLS_H
#define KERNEL_CALLS_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/traps.h"

#define CALLS_MAX 512u /* above the highest number of Linux's table */

struct call {
    const uint64_t *a;        /* arguments in order: registers of the frame */
    struct trap_frame *frame; /* the caller's registers */
    bool replaced; /* set by a call that has replaced the contents of the frame: dispatch must not write to it */
};

typedef int64_t (*call_function)(struct call *call);

/* Returns how often the call NUMBER, which Kettle does not implement, was made on this kernel; 0 for an implemented
 * call. */
uint64_t calls_absent_count(uint32_t number);
/* Counts one such call; NUMBER is below CALLS_MAX. Returns whether it is the first one. */
bool calls_count_absent(uint32_t number);
/* Returns Linux's name of the call, or "?". */
const char *calls_name(uint32_t number);

/* Whether the call NUMBER with ARGUMENTS, which has failed because it was refused memory, does the same when it begins
 * again as if it had not begun before. No: it may have had an effect, or waits for a time that would begin anew. */
bool calls_may_begin_again(uint64_t number, const uint64_t *arguments);

#define ABSENT(number, name)
#define CALL(number, name, function, status) int64_t function(struct call *call);
#include "kernel/abi/syscalls.def"

/* Kettle's own calls, in the order of their numbers in kernel/abi/kettle.h. */
int64_t call_kettle_migrate(struct call *call);
int64_t call_kettle_kernel(struct call *call);
int64_t call_kettle_kernels(struct call *call);
int64_t call_kettle_node(struct call *call);
int64_t call_kettle_start(struct call *call);
int64_t call_kettle_started(struct call *call);
int64_t call_kettle_spawn(struct call *call);
int64_t call_kettle_messages(struct call *call);
int64_t call_kettle_tally(struct call *call);
int64_t call_kettle_control(struct call *call);
int64_t call_kettle_stop(struct call *call);
int64_t call_kettle_audit(struct call *call);
int64_t call_kettle_retrieve(struct call *call);
int64_t call_kettle_numa(struct call *call);
int64_t call_kettle_lock(struct call *call);
int64_t call_kettle_kill(struct call *call);
int64_t call_kettle_image(struct call *call);
int64_t call_kettle_replicate(struct call *call);
int64_t call_kettle_follow(struct call *call);
int64_t call_kettle_group(struct call *call);
int64_t call_kettle_gather(struct call *call);

#endif

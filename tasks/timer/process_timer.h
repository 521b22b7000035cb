/* Timers of a process (timer_create(2), ITIMER_VIRTUAL, ITIMER_PROF), at its home: tasks/timer/timers.md. ITIMER_REAL
 * is in tasks/timer/alarm.c.
 *
 * A timer's times are those of its clock: for clocks of the wall clock_now ns, whichever they are, and for clocks of
 * CPU time ns of that. Who asks has read the clock, so no operation waits. */
#ifndef TASKS_TIMER_PROCESS_TIMER_H
#define TASKS_TIMER_PROCESS_TIMER_H

#include <stdbool.h>
#include <stdint.h>

struct group;
struct signal_info;
struct msg_process_call;
struct msg_process_result;

enum timer_kind { TIMER_WALL, TIMER_CPU_PROCESS, TIMER_CPU_USER, TIMER_CPU_THREAD };
enum timer_notify { TIMER_SIGNAL, TIMER_NONE, TIMER_THREAD };

#define TIMER_VIRTUAL (-1) /* ids of ITIMER_VIRTUAL and ITIMER_PROF */
#define TIMER_PROF (-2)
#define TIMER_LIMIT (-3) /* of RLIMIT_CPU */
#define TIMERS_MAX 1024u /* of a process */

/* What a timer is; one word of a message, which PROCESS_TIMER_CREATE takes and PROCESS_TIMER_GET tells. */
struct timer_facts {
    uint8_t kind;   /* enum timer_kind */
    uint8_t notify; /* enum timer_notify */
    uint8_t signal;
    uint8_t names_itself; /* its signal's value is its id */
    int32_t clock;        /* as the program named it */
};

/* Operations on GROUP, whose home this kernel is: see enum process_operation. -EINVAL: no such timer. */
int64_t process_timer_operate(struct group *group, const struct msg_process_call *call,
                              struct msg_process_result *result);
/* A thread takes INFO, the signal of a timer: the overrun is put in, and the timer goes on. The lock is held. */
void process_timer_taken_locked(struct group *group, struct signal_info *info);
/* SIGXCPU when GROUP, whose home this kernel is, has used SOFT s of CPU time, and each second from then on; from HARD
 * on SIGKILL. UINT64_MAX: never. */
void process_timer_limit(struct group *group, uint64_t soft, uint64_t hard);
/* The program is replaced, or over (ALL): its timers are deleted. */
void process_timers_end(struct group *group, bool all);

#endif

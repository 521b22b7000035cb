/* Timers of this kernel: a timer calls a function in a task at a given time, or soon after. One kernel thread waits for
 * all timers. */
#ifndef TASKS_TIMER_TIMER_H
#define TASKS_TIMER_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"

/* Embedded in its object, which must stay valid while the timer is armed or its function runs. */
struct timer {
    struct list node;                  /* [k] the lock of timers: ascending by time */
    uint64_t at;                       /* [k] clock_now ns; 0: not armed. Others read it by timer_at */
    void (*fire)(struct timer *timer); /* [i] may wait, and may arm the timer again; delays all other timers */
    bool standing;                     /* [i] of this kernel itself, not of a program: timer_count leaves it out */
};

void timer_start(void);
void timer_init(struct timer *timer, void (*fire)(struct timer *timer));
/* Arms TIMER for AT (clock_now ns, not 0), in place of an earlier time. True: it was armed before. Any context; never
 * waits. */
bool timer_arm(struct timer *timer, uint64_t at);
/* When TIMER is to fire; 0: it is not armed, or its function is about to be called, or runs. Who keeps others from
 * arming it may see it become 0. */
static inline uint64_t timer_at(const struct timer *timer)
{
    return __atomic_load_n(&timer->at, __ATOMIC_RELAXED);
}
/* True: TIMER was armed and does not fire any more. False: it was not armed, or its function may be running. Any
 * context. */
bool timer_disarm(struct timer *timer);
/* HOLD: calls no function of a timer from now on; one that runs already goes on (timer_firing). Timers may be armed and
 * disarmed meanwhile. Otherwise: calls functions again, first those of timers whose time has come. Any context. */
void timer_hold(bool hold);
/* True: the function of a timer is running. Once this is false while timers are held, no function runs until the hold
 * ends. Any context. */
bool timer_firing(void);
/* The number of armed timers of programs. */
uint64_t timer_count(void);

#endif

/* Timers. See the header. */
#include "tasks/timer/timer.h"

#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/panic.h"
#include "tasks/sched/kernel_thread.h"
#include "tasks/sched/sched.h"

static struct spinlock lock;
static struct list armed;     /* [k] lock: struct timer, ascending by time */
static bool held;             /* [k] lock: no function is called */
static bool firing;           /* [k] lock: a function is running */
static struct thread *keeper; /* [i] the kernel thread that calls `fire` */

static struct timer *first_locked(void)
{
    return list_empty(&armed) ? NULL : container_of(armed.next, struct timer, node);
}

static void keep(void *unused)
{
    static const struct wait_reason reason = {.what = "the next timer", .kernel = -1};

    (void)unused;
    spin_lock(&lock);
    for (;;) {
        struct timer *timer = first_locked();

        if (timer != NULL && !held && timer->at <= clock_now()) {
            list_remove(&timer->node);
            timer->at = 0;
            firing = true;
            spin_unlock(&lock);
            timer->fire(timer);
            spin_lock(&lock);
            firing = false;
        } else {
            sched_block(&lock, &reason, WAIT_FIRM, timer != NULL && !held ? timer->at : 0);
            spin_lock(&lock);
        }
    }
}

void timer_start(void)
{
    list_init(&armed);
    keeper = thread_create_kernel("timers", keep, NULL);
    if (keeper == NULL)
        panic("tasks: no memory for timers");
    sched_start(keeper);
}

void timer_init(struct timer *timer, void (*fire)(struct timer *timer))
{
    *timer = (struct timer){.fire = fire};
    list_init(&timer->node);
}

bool timer_arm(struct timer *timer, uint64_t at)
{
    struct list *position;
    bool was, first;

    spin_lock(&lock);
    was = timer->at != 0;
    list_remove(&timer->node);
    timer->at = at;
    position = armed.next;
    while (position != &armed && container_of(position, struct timer, node)->at <= at)
        position = position->next;
    list_insert_before(&timer->node, position);
    first = first_locked() == timer;
    spin_unlock(&lock);
    if (first)
        sched_wake(keeper);
    return was;
}

bool timer_disarm(struct timer *timer)
{
    bool was;

    spin_lock(&lock);
    was = timer->at != 0;
    list_remove(&timer->node);
    timer->at = 0;
    spin_unlock(&lock);
    return was;
}

void timer_hold(bool hold)
{
    spin_lock(&lock);
    held = hold;
    spin_unlock(&lock);
    if (!hold)
        sched_wake(keeper);
}

bool timer_firing(void)
{
    bool is;

    spin_lock(&lock);
    is = firing;
    spin_unlock(&lock);
    return is;
}

uint64_t timer_count(void)
{
    uint64_t count = 0;

    spin_lock(&lock);
    list_for_each(node, &armed)
        count += container_of(node, struct timer, node)->standing ? 0 : 1;
    spin_unlock(&lock);
    return count;
}

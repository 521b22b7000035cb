/* Kernel workers. See the header. A worker that takes an item makes another worker if no idle one is left, so one is
 * always idle unless memory has run out; then items wait for a busy worker. Up to WORKERS idle ones are kept, so a
 * single item costs neither the start nor the end of a thread. */
#include "tasks/remote/work.h"

#include "kernel/lib/panic.h"
#include "tasks/sched/kernel_thread.h"
#include "tasks/sched/sched.h"

#define WORKERS 2u /* one for the item, and one that stands by meanwhile */

static struct spinlock lock;
static struct list items;                /* [k] lock */
static struct thread *sleepers[WORKERS]; /* [k] lock: idle workers that are blocked */
static uint32_t sleeper_count;           /* [k] lock */
static uint32_t idle_workers;            /* [k] lock: workers that are blocked or about to look for an item */
static uint32_t open_items;              /* [k] lock: items that were submitted and are not yet done */

static void worker(void *unused);

static void worker_add(void)
{
    struct thread *thread = thread_create_kernel("worker", worker, NULL);

    if (thread == NULL)
        return;
    spin_lock(&lock);
    idle_workers++;
    spin_unlock(&lock);
    sched_start(thread);
}

static void worker(void *unused)
{
    static const struct wait_reason reason = {.what = "work", .kernel = -1};

    (void)unused;
    for (;;) {
        struct work *work;
        bool last;

        spin_lock(&lock);
        if (list_empty(&items)) {
            if (sleeper_count == WORKERS) {
                idle_workers--;
                spin_unlock(&lock);
                return;
            }
            sleepers[sleeper_count++] = thread_current();
            sched_block(&lock, &reason, WAIT_FIRM, 0);
            continue;
        }
        work = container_of(items.next, struct work, node);
        list_remove(&work->node);
        last = --idle_workers == 0;
        spin_unlock(&lock);
        if (last)
            worker_add();
        work->run(work);
        spin_lock(&lock);
        idle_workers++;
        open_items--;
        spin_unlock(&lock);
    }
}

void work_init(void)
{
    list_init(&items);
    for (uint32_t i = 0; i < WORKERS; i++)
        worker_add();
    if (idle_workers == 0)
        panic("tasks: no memory for the first worker");
}

void work_submit(struct work *work)
{
    struct thread *wake = NULL;

    spin_lock(&lock);
    list_append(&items, &work->node);
    open_items++;
    if (sleeper_count > 0)
        wake = sleepers[--sleeper_count];
    spin_unlock(&lock);
    if (wake != NULL)
        sched_wake(wake);
}

uint32_t work_busy(void)
{
    uint32_t count;

    spin_lock(&lock);
    count = open_items;
    spin_unlock(&lock);
    return count;
}

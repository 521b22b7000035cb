/* Kernel workers. See the header. WORKERS are made at the start and stay. A worker that takes an item and leaves fewer
 * than WORK_RANKS free makes another one, so a burst of items has as many workers as there is memory for, and an item
 * of any rank can begin while others wait. Without memory, an item is taken only if it leaves as many workers free as
 * its rank says (kernel/wait/work.h); the items behind it may be taken before. Up to WORKERS free ones are kept, so a
 * single item costs neither the start nor the end of a thread. */
#include "tasks/remote/work.h"

#include "boot/options/control.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "tasks/sched/kernel_thread.h"
#include "tasks/sched/sched.h"

#define WORKERS (WORK_RANKS + 1)

static struct spinlock lock;
static struct list items;                /* [k] lock */
static struct thread *sleepers[WORKERS]; /* [k] lock: idle workers that are blocked */
static uint32_t sleeper_count;           /* [k] lock */
static uint32_t idle_workers;            /* [k] lock: workers that are blocked or about to look for an item */
static volatile bool is_few;             /* [a] no more workers are made: option workers= */
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

/* Takes the first item out that may be begun now by a worker, which is among the idle ones; NULL: there is none. */
static struct work *take_locked(void)
{
    list_for_each(node, &items) {
        struct work *work = container_of(node, struct work, node);

        if (idle_workers > (uint32_t)work->rank) {
            list_remove(node);
            idle_workers--;
            return work;
        }
    }
    return NULL;
}

static void worker(void *unused)
{
    static const struct wait_reason reason = {.what = "work", .kernel = -1};

    (void)unused;
    for (;;) {
        struct work *work;
        bool few;

        spin_lock(&lock);
        work = take_locked();
        if (work == NULL) {
            if (sleeper_count == WORKERS) {
                idle_workers--;
                spin_unlock(&lock);
                return;
            }
            sleepers[sleeper_count++] = thread_current();
            sched_block(&lock, &reason, WAIT_FIRM, 0);
            continue;
        }
        few = idle_workers < WORK_RANKS;
        spin_unlock(&lock);
        if (few && !is_few)
            worker_add();
        thread_current()->work_rank = (uint8_t)(work->rank + 1);
        work->run(work);
        thread_current()->work_rank = 0;
        spin_lock(&lock);
        idle_workers++;
        open_items--;
        spin_unlock(&lock);
    }
}

static void set(const char *value)
{
    is_few = strcmp(value, "few") == 0;
}

void work_init(void)
{
    static struct option option = {.name = "workers", .set = set};

    list_init(&items);
    for (uint32_t i = 0; i < WORKERS; i++)
        worker_add();
    if (idle_workers < WORKERS)
        panic("tasks: no memory for the first worker");
    option_add(&option);
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

void work_waits_for(enum work_rank rank, const char *what)
{
    uint32_t own = thread_current()->work_rank;

    if (own != 0 && (uint32_t)rank + 1 >= own)
        log_line("tasks: work of rank %u waits for work of rank %u: %s", own - 1, (uint32_t)rank, what);
}

uint32_t work_busy(void)
{
    uint32_t count;

    spin_lock(&lock);
    count = open_items;
    spin_unlock(&lock);
    return count;
}

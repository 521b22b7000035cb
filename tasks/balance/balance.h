/* The balancer across kernels: where new threads go, and which running ones are moved. tasks/balance/balance.md. */
#ifndef TASKS_BALANCE_BALANCE_H
#define TASKS_BALANCE_BALANCE_H

#include <stddef.h>
#include <stdint.h>

#include "tasks/balance/choice.h"
#include "tasks/thread/thread.h"

/* What the balancer asks of the parts that can do it. NULL: nothing is moved. */
struct balance_hooks {
    /* Orders the thread TID of this kernel to go on on KERNEL when it next passes the border of user mode. False: there
     * is no such thread here, or it cannot. Called by a worker with no lock held. */
    bool (*move)(uint32_t tid, uint32_t kernel);
    /* Average time in ns that it takes here to fetch a page from another kernel; 0: not known. */
    uint64_t (*fetch_ns)(void);
};
extern struct balance_hooks balance_hooks; /* [i] */

void balance_init(void);

/* The kernel on which a thread of PARENT's is to begin: one that is started and has a CPU in AFFINITY (all zero: any).
 * This one when there is no better, or no such kernel. MADE, if not NULL, says how many threads there are on each
 * kernel at least, as those that are blocked will want a CPU again. Never waits; a few instructions for each kernel of
 * the machine.
 */
uint32_t balance_place(const struct thread *parent, const uint64_t affinity[], enum balance_event event,
                       const uint32_t made[]);

/* A move of a thread to here or from here has taken so long, of which it could not run. */
void balance_note_move(uint64_t ns);
/* A thread that came here has fetched so many pages until it left or ended: what a move costs beside itself. */
void balance_note_fetches(uint64_t pages);

/* /proc/kettle/balance. */
size_t balance_report(char *text, size_t size, uint64_t *cursor);

#endif

/* The balancer across kernels: where new threads go, and which running ones are moved. tasks/balance/balance.md. */
#ifndef TASKS_BALANCE_BALANCE_H
#define TASKS_BALANCE_BALANCE_H

#include <stddef.h>
#include <stdint.h>

#include "tasks/balance/choice.h"
#include "tasks/thread/thread.h"

/* Calls to higher rooms. NULL: no thread is moved. */
struct balance_hooks {
    /* Orders the thread TID of this kernel to move to KERNEL when it next returns to user mode. False: there is no such
     * thread here, or it cannot move. Called by a worker with no lock held. */
    bool (*move)(uint32_t tid, uint32_t kernel);
    /* Average time in ns that it takes here to fetch a page from another kernel; 0: not known. */
    uint64_t (*fetch_ns)(void);
};
extern struct balance_hooks balance_hooks; /* [i] */

void balance_init(void);

/* The kernel on which a thread of PARENT's is to begin: one that is started and has a CPU in AFFINITY (all zero: any).
 * This kernel if there is no better one, or no such kernel. MADE, if not NULL, gives a lower bound for the number of
 * threads on each kernel, as blocked threads will want a CPU again. Never waits; costs a few instructions for each
 * kernel of the machine. */
uint32_t balance_place(const struct thread *parent, const uint64_t affinity[], enum balance_event event,
                       const uint32_t made[]);

/* A move of a thread to or from here has taken NS, during which the thread could not run. */
void balance_note_move(uint64_t ns);
/* A thread that moved here has fetched PAGES pages until it left or ended: the indirect cost of a move. */
void balance_note_fetches(uint64_t pages);

/* /proc/kettle/balance. */
size_t balance_report(char *text, size_t size, uint64_t *cursor);

#endif

/* The balancer between kernels: where new threads begin, and which threads are moved. See tasks/balance/balance.md. */
#ifndef TASKS_BALANCE_BALANCE_H
#define TASKS_BALANCE_BALANCE_H

#include <stddef.h>
#include <stdint.h>

#include "tasks/balance/choice.h"
#include "tasks/thread/thread.h"

/* Calls to higher rooms. NULL: no thread is moved. */
struct balance_hooks {
    /* Orders thread TID of this kernel to move to KERNEL when it next returns to user mode. False: there is no such
     * thread here, or it cannot move; DRAWN: or has chosen its kernel. Called by a worker with no lock held. */
    bool (*move)(uint32_t tid, uint32_t kernel, bool drawn);
    /* Average time in ns that it takes here to fetch a page from another kernel; 0: not known. */
    uint64_t (*fetch_ns)(void);
};
extern struct balance_hooks balance_hooks; /* [i] */

void balance_init(void);

/* Returns the kernel on which a new thread of PARENT's is to begin: a started one with a CPU in AFFINITY (all zero: any
 * CPU); this kernel if there is no such kernel or none that is better. MADE, if not NULL, gives a lower bound for the
 * number of threads on each kernel, because blocked threads need a CPU again. Never waits; costs a few instructions for
 * each kernel of the machine and each CPU of this one, and for up to 64 ready threads. */
uint32_t balance_place(const struct thread *parent, const uint64_t affinity[], enum balance_event event,
                       const uint32_t made[]);

/* A thread that weighs LOAD (share.load) here has left for KERNEL, whose board does not have it before it has answered.
 * Any context. */
void balance_note_departure(uint32_t kernel, uint64_t load);
void balance_note_answer(uint32_t kernel, uint64_t load);
/* A move of a thread to this kernel has taken NS ns, during which the thread could not run. */
void balance_note_move(uint64_t ns);
/* A thread that moved here has fetched PAGES pages until it left: the indirect cost of a move. */
void balance_note_fetches(uint64_t pages);

/* /proc/kettle/balance. */
size_t balance_report(char *text, size_t size, uint64_t *cursor);

#endif

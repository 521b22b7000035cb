/* Priority-inheriting futexes (FUTEX_LOCK_PI and related operations): the owner of a lock runs with the priority of its
 * waiters, along a chain of locks and over kernels. The calls, and the end of a thread. All run in a program's thread,
 * and wait for its memory and for the kernels involved. tasks/futex/pi/pi.md has the protocol. */
#ifndef TASKS_FUTEX_PI_PI_H
#define TASKS_FUTEX_PI_PI_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/futex/word/word.h"

void pi_init(void);
/* KERNEL has died: removes its threads from the queues here. Any context without locks. */
void pi_lost(uint32_t kernel);

/* Takes the lock at ADDRESS, whose word is the thread id of its owner; TRY: -EAGAIN instead of waiting. -EDEADLK: the
 * caller owns it already, or the chain of owners leads back to the caller; -ESRCH: no thread has that id; -ETIMEDOUT;
 * -ENOMEM; -ERESTARTNOINTR: interrupted. */
int64_t futex_lock_pi(uint64_t address, bool shared, uint64_t deadline, bool try);
/* Releases the lock at ADDRESS. -EPERM: the caller does not own it. */
int64_t futex_unlock_pi(uint64_t address, bool shared);

/* Waits, while the word has the expected value, until futex_requeue_pi, and then for the lock at LOCK, which the thread
 * owns when this returns 0. -EAGAIN: the word has another value, or the thread was interrupted after the requeue;
 * -ERESTARTNOINTR: interrupted before; -ETIMEDOUT; -EINVAL: both are the same word. */
int64_t futex_wait_requeue_pi(const struct futex_expected *expected, uint64_t lock);
/* Moves one of the waiters at ADDRESS, and up to REQUEUE more, to the queue of the lock at TO; if the lock is free, the
 * waiter with the highest priority gets it. Returns the number of moved waiters; -EAGAIN: ADDRESS has another value
 * than EXPECTED; -EINVAL: a waiter waits for another lock; -EDEADLK: a waiter owns TO; -ESRCH: the owner of TO does not
 * exist; -ENOMEM. */
int64_t futex_requeue_pi(uint64_t address, uint64_t to, bool shared, uint32_t requeue, uint32_t expected);
/* Releases the locks of the current thread that others wait for, with FUTEX_OWNER_DIED. Waits for their homes. */
void pi_release_thread(void);

/* Releases PLACE's lock, whose word at ADDRESS names the current thread. DIED: because the thread is ending. 0,
 * -EFAULT. */
int pi_give_back(const struct futex_place *place, uint64_t address, bool died);

/* OWNER does not own PLACE's lock any more: the threads that are queued for it as OWNER's lock retry. DIED: there is no
 * such thread, or the caller is OWNER and rejects a grant of the lock. */
void pi_freed(const struct futex_place *place, uint32_t owner, bool died);

/* Fields of the word of such a lock, and of a word in a robust list. */
#define PI_WAITERS 0x80000000u
#define PI_OWNER_DIED 0x40000000u
#define PI_TID_MASK 0x3fffffffu

#endif

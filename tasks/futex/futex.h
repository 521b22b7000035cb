/* Futexes: waiting until another thread says that a word of memory has changed, futex(2), over all kernels; what a
 * thread leaves behind in the words it holds when it ends (robust lists). Locks whose word names their owner are in
 * tasks/futex/pi/pi.h. The queues of a word live on one kernel; tasks/futex/futex.md has the protocol.
 *
 * All of these run in a program's thread and may wait for its memory and for the word's owner. ADDRESS is a user
 * address; SHARED says that the caller did not promise that only its own process uses the word. -EINVAL: ADDRESS is no
 * multiple of four; -EFAULT: it cannot be read or written. */
#ifndef TASKS_FUTEX_FUTEX_H
#define TASKS_FUTEX_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/futex/pi/pi.h"
#include "tasks/futex/word/word.h"

void futex_init(void);

/* Waits while the word has this value until a wake with a bit of the bitset: 0. -EAGAIN: it has another value;
 * -ETIMEDOUT; -ENOMEM; -ERESTARTSYS, or with a deadline -ERESTART_RESTARTBLOCK: interrupted or to die. */
int64_t futex_wait(const struct futex_expected *expected);
/* Goes on with the wait that returned -ERESTART_RESTARTBLOCK. */
int64_t futex_wait_again(void);
/* Waits at COUNT words while each has its expected value, until a wake at one of them. Returns the index of that word
 * (the last, if several were woken). Errors are those of futex_wait, but -ERESTARTSYS on interruption; the deadlines
 * and bitsets of WORDS are ignored. DEADLINE: clock_now ns, 0: none. */
#define FUTEX_WORDS_MAX 128u
int64_t futex_wait_several(const struct futex_expected *words, uint32_t count, uint64_t deadline);
/* Wakes up to COUNT of the threads that wait with a bit of BITSET. Returns how many. */
int64_t futex_wake(uint64_t address, bool shared, uint32_t count, uint32_t bitset);
/* Wakes up to WAKE of the threads that wait at ADDRESS, moves up to REQUEUE more to TO, and returns the sum of both
 * counts; -EAGAIN if EXPECTED is given and ADDRESS has another value. */
int64_t futex_requeue(uint64_t address, uint64_t to, bool shared, uint32_t wake, uint32_t requeue,
                      const uint32_t *expected);
/* Changes the word at SECOND as ENCODED says (FUTEX_OP of linux/futex.h), wakes up to WAKE at ADDRESS, and up to
 * WAKE_SECOND at SECOND if its comparison holds for what was there. -ENOSYS: there is no such operation. */
int64_t futex_wake_op(uint64_t address, uint64_t second, bool shared, uint32_t wake, uint32_t wake_second,
                      uint32_t encoded);

/* The current thread stops using its memory: it ends, or loads another program. Words of its robust list are given up
 * with FUTEX_OWNER_DIED, and if OTHERS may still use the memory its clear_child_tid becomes 0; waiters are woken. Words
 * that cannot be read or written are skipped. */
void futex_release_thread(bool others);

/* How many threads of any kernel wait in queues here. */
uint64_t futex_count(void);

#endif

/* Futexes, futex(2), over all kernels: waiting until another thread has changed a word of memory and wakes the waiters;
 * and releasing the words that an ending thread holds (robust lists). Locks whose word names their owner are in
 * tasks/futex/pi/pi.h. The queue of a word is on one kernel; tasks/futex/futex.md has the protocol.
 *
 * All functions but futex_init and futex_count run in a program's thread, and may wait for its memory and for the
 * kernel that owns the word. ADDRESS is a user address; SHARED: the caller did not promise that only its own process
 * uses the word. -EINVAL: ADDRESS is not a multiple of four; -EFAULT: it cannot be read or written. */
#ifndef TASKS_FUTEX_FUTEX_H
#define TASKS_FUTEX_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/futex/pi/pi.h"
#include "tasks/futex/word/word.h"

void futex_init(void);

/* Waits, while the word has the expected value, until a wake with a bit of the bitset: 0. -EAGAIN: it has another
 * value; -ETIMEDOUT; -ENOMEM; -ERESTARTSYS, or with a deadline -ERESTART_RESTARTBLOCK: interrupted or dying. */
int64_t futex_wait(const struct futex_expected *expected);
/* Continues the wait that returned -ERESTART_RESTARTBLOCK. */
int64_t futex_wait_again(void);
/* Waits at COUNT words, while each has its expected value, until a wake at one of them. Returns the index of that word
 * (the last one, if several were woken). Errors are those of futex_wait, but -ERESTARTSYS on every interruption; the
 * deadlines and bitsets of WORDS are ignored. DEADLINE: clock_now ns, 0: none. */
#define FUTEX_WORDS_MAX 128u
int64_t futex_wait_several(const struct futex_expected *words, uint32_t count, uint64_t deadline);
/* Wakes up to COUNT of the threads that wait with a bit of BITSET. Returns their number. */
int64_t futex_wake(uint64_t address, bool shared, uint32_t count, uint32_t bitset);
/* Wakes up to WAKE of the threads that wait at ADDRESS, moves up to REQUEUE more to TO, and returns the sum of both
 * counts; -EAGAIN if EXPECTED is given and ADDRESS has another value. */
int64_t futex_requeue(uint64_t address, uint64_t to, bool shared, uint32_t wake, uint32_t requeue,
                      const uint32_t *expected);
/* Changes the word at SECOND as ENCODED says (FUTEX_OP of linux/futex.h), wakes up to WAKE threads at ADDRESS, and up
 * to WAKE_SECOND at SECOND if its comparison is true for the previous value. -ENOSYS: there is no such operation. */
int64_t futex_wake_op(uint64_t address, uint64_t second, bool shared, uint32_t wake, uint32_t wake_second,
                      uint32_t encoded);

/* Releases the words of the current thread, which ends or loads another program. Words of its robust list that it holds
 * become FUTEX_OWNER_DIED; if OTHERS may still use the memory, its clear_child_tid becomes 0; waiters are woken. Words
 * that cannot be read or written are skipped. Waits. */
void futex_release_thread(bool others);

/* The current thread's robust list is at LIST. Away from home, this kernel's notes say so to the home, or the home is
 * asked to record it. -ENOMEM: there; -EIO, -ESRCH: the process ends. */
int futex_set_robust(uint64_t list);
/* THREAD, the current one, is about to move to KERNEL. Has the home record its robust list, if that is in this kernel's
 * notes alone and the thread does not go home. Waits for the home. Errors as of futex_set_robust: it must not leave. */
int futex_leaves(struct thread *thread, uint32_t kernel);
/* THREAD of a kernel that is not its home has left it, has come back, or ends: this kernel has no note of its robust
 * list any more. Under the lock of its group. */
void futex_note_drop_locked(struct thread *thread);
/* THREAD of GROUP is about to leave this kernel: if it is the home, it notes the thread's robust list. Under the
 * group's lock. -ENOMEM: the thread must not leave. */
int futex_leaves_home_locked(struct group *group, const struct thread *thread);
/* At the home of PROCESS, under its group's lock: the robust list of THREAD is at LIST (0: none). -ENOMEM; -EPROTO:
 * more than its threads have one. */
struct process;
int futex_note_robust_locked(struct process *process, uint32_t thread, uint64_t list);
/* At the home of GROUP: THREAD has exited; all threads have, but one that has released its words. */
void futex_forget_robust(struct group *group, uint32_t thread);
void futex_forget_all_robust(struct group *group);
/* At the home of GROUP, while nothing changes it: calls EACH with the robust lists of those of its threads that are
 * lost if the kernel where they are is; perhaps twice with the same one. Of those that kernels have noted, not more
 * than the threads that the records leave. */
void futex_robust_each(const struct group *group, void (*each)(void *context, uint32_t thread, uint64_t list),
                       void *context);
/* At the home of GROUP, a member of which has died, when no thread of it runs any more: releases the words in memory
 * that other processes share of those threads that could not do it. Tasks only; waits. */
void futex_release_lost(struct group *group);

/* The number of threads of all kernels that wait in queues on this kernel. */
uint64_t futex_count(void);
/* KERNEL has died: removes its threads from the queues here. Tasks only; does not wait. */
void futex_lost(uint32_t kernel);

#endif

/* Locks whose word says who has them: FUTEX_LOCK_PI and its like, and robust lists. See tasks/futex.md.
 *
 * The word is 0 when the lock is free, else the owner's thread id with FUTEX_WAITERS if somebody may wait; programs
 * take and give back a lock that nobody waits for without the kernel. Who waits lends its priority to an owner on the
 * same kernel.
 *
 * Unlocking frees the word and wakes one waiter, which competes for it with whoever comes by. A waiter sets
 * FUTEX_WAITERS after it has queued and before it sleeps, and takes the lock with it once it has slept: so while
 * somebody is queued the word has the bit, or a waiter that is awake is about to set it or to pass its wake on. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "mm/space.h"
#include "tasks/futex.h"
#include "tasks/futex_internal.h"
#include "tasks/locate.h"
#include "tasks/sched.h"
#include "tasks/wire.h"

#define WAITERS 0x80000000u
#define OWNER_DIED 0x40000000u
#define TID_MASK 0x3fffffffu

#define ROBUST_MAX 2048u /* entries of a list that are looked at, as Linux does */
#define ENTRY_PI 1ull    /* in a link of a robust list: the word is a lock of FUTEX_LOCK_PI */

/* 0 taken; -EBUSY: held by another, WORD says by whom; -EDEADLK, -EFAULT. */
static int try_take(uint64_t address, bool slept, uint32_t *word)
{
    uint32_t tid = thread_current()->tid;
    int error;

    if (user_read(word, address, sizeof(*word)) != 0)
        return -EFAULT;
    do {
        if ((*word & TID_MASK) == tid)
            return -EDEADLK;
        if ((*word & TID_MASK) != 0)
            return -EBUSY;
        error = futex_swap(address, word, tid | (*word & (OWNER_DIED | WAITERS)) | (slept ? WAITERS : 0));
    } while (error == -EAGAIN);
    return error;
}

/* The word, held when last seen, says that somebody waits: 0. -EAGAIN: it is free now. */
static int set_waiters(uint64_t address)
{
    uint32_t word;
    int error;

    if (user_read(&word, address, sizeof(word)) != 0)
        return -EFAULT;
    do {
        if ((word & TID_MASK) == 0)
            return -EAGAIN;
        if ((word & WAITERS) != 0)
            return 0;
        error = futex_swap(address, &word, word | WAITERS);
    } while (error == -EAGAIN);
    return error;
}

/* WORD, read at ADDRESS, names an owner: 0; -ESRCH: there is no such thread, though the word still says so. */
static int check_owner(uint64_t address, uint32_t word)
{
    struct msg_thread_call call = {.thread = word & TID_MASK, .operation = THREAD_GROUP};
    struct msg_thread_result result;
    uint32_t now;

    if (thread_call(&call, &result, NULL) != -ESRCH || thread_dying(thread_current()))
        return 0;
    if (user_read(&now, address, sizeof(now)) != 0)
        return -EFAULT;
    return now == word ? -ESRCH : 0; /* else it has given it up before its end */
}

/* The thread that the word at ADDRESS names, if it is on this kernel, runs no later than the current one would. */
static void lend_to_owner(uint64_t address)
{
    struct thread *owner;
    uint32_t word;

    if (user_read(&word, address, sizeof(word)) != 0 || (word & TID_MASK) == 0)
        return;
    owner = thread_lock(word & TID_MASK);
    if (owner == NULL)
        return;
    if (owner->presence == THREAD_PRESENT && owner != thread_current())
        sched_lend(owner);
    thread_unlock(owner);
}

/* Waits until it may be worth to try again: 0. *OWES is set by a wake and cleared by FUTEX_WAITERS. -ETIMEDOUT,
 * -ERESTARTNOINTR, -EFAULT, -ENOMEM. */
static int wait_for_unlock(const struct futex_place *place, uint64_t address, uint64_t deadline, bool *owes)
{
    struct wait_reason reason = {.what = "its lock (futex)", .kernel = -1, .key = address};
    struct futex_wait wait;
    int error = futex_join(&wait, place, FUTEX_ANY);

    if (error != 0)
        return error;
    error = set_waiters(address);
    if (error != 0) {
        *owes = futex_leave(&wait, false) || *owes;
        return error == -EAGAIN ? 0 : error;
    }
    *owes = false; /* whoever unlocks wakes */
    lend_to_owner(address);
    if (completion_wait_until(&wait.woken, &reason, WAIT_INTERRUPTIBLE, deadline)) {
        futex_woken(&wait);
        *owes = true;
        return 0;
    }
    *owes = futex_leave(&wait, false);
    if (*owes)
        return 0;
    return deadline != 0 && clock_now() >= deadline ? -ETIMEDOUT : -ERESTARTNOINTR;
}

int64_t futex_lock_pi(uint64_t address, bool shared, uint64_t deadline, bool try)
{
    struct futex_place place;
    bool slept = false;
    bool owes = false; /* a wake that has not led to the lock or to FUTEX_WAITERS */
    uint32_t word;
    int taken, error = futex_find(address, shared, &place);

    if (error != 0)
        return error;
    for (;;) {
        taken = try_take(address, slept, &word);
        if (taken != -EBUSY || error != 0)
            break;
        if ((word & WAITERS) == 0) /* nobody has looked since it was taken */
            error = check_owner(address, word);
        if (error != 0 || try)
            break;
        error = wait_for_unlock(&place, address, deadline, &owes);
        slept = true;
    }
    if (owes && taken != 0)
        futex_wake_at(&place, 1, FUTEX_ANY);
    if (taken != -EBUSY)
        return taken;
    return error != 0 ? error : -EAGAIN;
}

int64_t futex_unlock_pi(uint64_t address, bool shared)
{
    struct futex_place place;
    uint32_t word;
    int64_t result;
    int error = futex_find(address, shared, &place);

    if (error != 0)
        return error;
    if (user_read(&word, address, sizeof(word)) != 0)
        return -EFAULT;
    do {
        if ((word & TID_MASK) != thread_current()->tid)
            return -EPERM;
        error = futex_swap(address, &word, 0);
    } while (error == -EAGAIN);
    if (error != 0)
        return error;
    result = futex_wake_at(&place, 1, FUTEX_ANY);
    sched_take_back(thread_current()); /* behind the wake: who was woken is to come before those it has lent against */
    return result < 0 ? result : 0;
}

/* Gives up the word at ADDRESS if the current thread has it. PENDING: the thread was about to take or to free it, so it
 * may have freed it and not yet woken. False: the memory cannot be used. */
static bool release_word(uint64_t address, bool pi, bool pending)
{
    uint32_t word;
    int error;

    if ((address & (sizeof(word) - 1)) != 0 || user_read(&word, address, sizeof(word)) != 0)
        return false;
    if (pending && !pi && word == 0) {
        futex_wake(address, true, 1, FUTEX_ANY);
        return true;
    }
    do {
        if ((word & TID_MASK) != thread_current()->tid)
            return true;
        error = futex_swap(address, &word, (word & WAITERS) | OWNER_DIED);
    } while (error == -EAGAIN);
    if (error != 0)
        return false;
    if ((word & WAITERS) != 0)
        futex_wake(address, true, 1, FUTEX_ANY);
    return true;
}

struct robust_list { /* as struct robust_list_head of linux/futex.h */
    uint64_t next;
    uint64_t offset; /* from a link to its word, bytes, may be negative */
    uint64_t pending;
};

static void release_robust(uint64_t list)
{
    struct robust_list head;
    uint64_t link, next;

    if (user_read(&head, list, sizeof(head)) != 0)
        return;
    link = head.next;
    for (uint32_t i = 0; i < ROBUST_MAX && (link & ~ENTRY_PI) != list; i++, link = next) {
        /* read first: whoever gets the word may change the link */
        bool more = user_read(&next, link & ~ENTRY_PI, sizeof(next)) == 0;

        if ((link & ~ENTRY_PI) != (head.pending & ~ENTRY_PI) &&
            !release_word((link & ~ENTRY_PI) + head.offset, (link & ENTRY_PI) != 0, false))
            return;
        if (!more)
            return;
    }
    if ((head.pending & ~ENTRY_PI) != 0)
        release_word((head.pending & ~ENTRY_PI) + head.offset, (head.pending & ENTRY_PI) != 0, true);
}

void futex_release_thread(bool others)
{
    struct thread_context *context = &thread_current()->context;
    uint64_t robust = context->robust_list;
    uint64_t cleared = context->clear_child_tid;
    uint32_t zero = 0;

    context->robust_list = 0;
    context->clear_child_tid = 0;
    if (robust != 0)
        release_robust(robust);
    if (cleared != 0 && others && user_write(cleared, &zero, sizeof(zero)) == 0)
        futex_wake(cleared, true, 1, FUTEX_ANY);
}

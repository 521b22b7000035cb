/* Releasing the words that name a thread when it ends: robust lists, and the id that the kernel clears. Runs in the
 * ending thread, and may wait for its memory and for other kernels. See tasks/futex/futex.md; locks of FUTEX_LOCK_PI
 * are in tasks/futex/pi/lock.c. */
#include "kernel/abi/errno.h"
#include "mm/user/access.h"
#include "mm/user/user_copy.h"
#include "msg/slice.h"
#include "tasks/futex/donation/donation.h"
#include "tasks/futex/futex.h"
#include "tasks/futex/internal.h"
#include "tasks/futex/pi/pi.h"
#include "tasks/role/role.h"

#define ROBUST_MAX 2048u /* maximal number of entries of a list, as in Linux */
#define ENTRY_PI 1ull    /* in a link of a robust list: the word is a lock of FUTEX_LOCK_PI */

/* Releases the FUTEX_LOCK_PI lock at ADDRESS, which the current thread owns, to its first waiter. False: the memory
 * cannot be used. */
static bool hand_on(uint64_t address)
{
    struct futex_place place;

    if (futex_find(address, true, &place) != 0)
        return false;
    if (!pi_donation_held(&place.key) && futex_find(address, false, &place) != 0)
        return false;
    return pi_give_back(&place, address, true) == 0;
}

/* Whose words are released: those of thread TID, in SPACE, of which nothing runs any more; NULL: the current thread's.
 */
struct holder {
    struct space *space;
    uint32_t tid;
};

static int read_of(const struct holder *holder, void *to, uint64_t from, uint64_t size)
{
    if (holder->space == NULL)
        return user_read(to, from, size);
    return space_access(holder->space, from, to, size, false) == (int64_t)size ? 0 : -EFAULT;
}

static int swap_of(const struct holder *holder, uint64_t address, uint32_t *word, uint32_t value)
{
    return holder->space == NULL ? futex_swap(address, word, value) : space_swap(holder->space, address, word, value);
}

/* Wakes a waiter of the word at ADDRESS, which is released. PLACE: where it is, for a lost thread. */
static void wake_at(const struct holder *holder, uint64_t address, const struct futex_place *place, bool pi)
{
    if (holder->space == NULL)
        futex_wake(address, true, 1, FUTEX_ANY);
    else if (pi)
        pi_freed(place, holder->tid, true); /* all try to take it */
    else
        futex_wake_at(place, 1, FUTEX_ANY);
}

/* Releases the word at ADDRESS if the holder owns it. PENDING: the thread was about to take or to release it, so it may
 * have released it without waking a waiter yet. False: the memory cannot be used. */
static bool release_word(const struct holder *holder, uint64_t address, bool pi, bool pending)
{
    struct futex_place place = {.owner = 0};
    uint32_t word;
    int error, shared = 1;

    if ((address & (sizeof(word) - 1)) != 0 || read_of(holder, &word, address, sizeof(word)) != 0)
        return false;
    if (holder->space != NULL)
        shared = futex_find_shared(holder->space, address, &place);
    if (shared <= 0)
        return shared == 0; /* of the process's own memory, which ends with it */
    if (pending && !pi && word == 0) {
        wake_at(holder, address, &place, false);
        return true;
    }
    do {
        if ((word & PI_TID_MASK) != holder->tid)
            return true;
        if (pi && (word & PI_WAITERS) != 0 && holder->space == NULL)
            return hand_on(address);
        error = swap_of(holder, address, &word, (word & PI_WAITERS) | PI_OWNER_DIED);
    } while (error == -EAGAIN);
    if (error != 0)
        return false;
    if ((word & PI_WAITERS) != 0)
        wake_at(holder, address, &place, pi);
    return true;
}

struct robust_list { /* layout of struct robust_list_head of linux/futex.h */
    uint64_t next;
    uint64_t offset; /* from a link to its word, in bytes; may be negative */
    uint64_t pending;
};

static void release_robust(const struct holder *holder, uint64_t list)
{
    struct robust_list head;
    uint64_t link, next;

    if (read_of(holder, &head, list, sizeof(head)) != 0)
        return;
    link = head.next;
    for (uint32_t i = 0; i < ROBUST_MAX && (link & ~ENTRY_PI) != list; i++, link = next) {
        /* read before the word is released: its next owner may change the link */
        bool more = read_of(holder, &next, link & ~ENTRY_PI, sizeof(next)) == 0;

        if ((link & ~ENTRY_PI) != (head.pending & ~ENTRY_PI) &&
            !release_word(holder, (link & ~ENTRY_PI) + head.offset, (link & ENTRY_PI) != 0, false))
            return;
        if (!more)
            return;
        slice_check();
    }
    if ((head.pending & ~ENTRY_PI) != 0)
        release_word(holder, (head.pending & ~ENTRY_PI) + head.offset, (head.pending & ENTRY_PI) != 0, true);
}

void futex_release_thread(bool others)
{
    const struct holder self = {.space = NULL, .tid = thread_current()->tid};
    struct thread_context *context = &thread_current()->context;
    uint64_t robust = context->robust_list;
    uint64_t cleared = context->clear_child_tid;
    uint32_t zero = 0;

    context->robust_list = 0;
    context->clear_child_tid = 0;
    if (robust != 0)
        release_robust(&self, robust);
    if (thread_current()->pi.donations != NULL)
        pi_release_thread();
    if (cleared != 0 && others && user_write(cleared, &zero, sizeof(zero)) == 0)
        futex_wake(cleared, true, 1, FUTEX_ANY);
}

int futex_release_lost_word(uint64_t address, uint32_t value, const struct futex_place *place)
{
    int error;

    if ((value & PI_WAITERS) == 0 || (place->key.space & FUTEX_OBJECTS) == 0 ||
        !role_is_lost((value & PI_TID_MASK) >> TID_KERNEL_SHIFT))
        return 0;
    error = futex_swap(address, &value, PI_WAITERS | PI_OWNER_DIED); /* the other waiters find that, too */
    return error == -EFAULT ? 0 : -EAGAIN; /* it may only read: it waits until one that may write has done this */
}

void futex_release_list(struct space *space, uint32_t tid, uint64_t list)
{
    const struct holder lost = {.space = space, .tid = tid};

    release_robust(&lost, list);
}

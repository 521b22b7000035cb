/* Releasing the words that name a thread when it ends: robust lists, and the id that the kernel clears. Runs in the
 * ending thread, and may wait for its memory and for other kernels. See tasks/futex/futex.md; locks of FUTEX_LOCK_PI
 * are in tasks/futex/pi/lock.c. */
#include "kernel/abi/errno.h"
#include "mm/user/user_copy.h"
#include "tasks/futex/donation/donation.h"
#include "tasks/futex/futex.h"
#include "tasks/futex/internal.h"
#include "tasks/futex/pi/pi.h"

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

/* Releases the word at ADDRESS if the current thread owns it. PENDING: the thread was about to take or to release it,
 * so it may have released it without waking a waiter yet. False: the memory cannot be used. */
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
        if ((word & PI_TID_MASK) != thread_current()->tid)
            return true;
        if (pi && (word & PI_WAITERS) != 0)
            return hand_on(address);
        error = futex_swap(address, &word, (word & PI_WAITERS) | PI_OWNER_DIED);
    } while (error == -EAGAIN);
    if (error != 0)
        return false;
    if ((word & PI_WAITERS) != 0)
        futex_wake(address, true, 1, FUTEX_ANY);
    return true;
}

struct robust_list { /* layout of struct robust_list_head of linux/futex.h */
    uint64_t next;
    uint64_t offset; /* from a link to its word, in bytes; may be negative */
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
        /* read before the word is released: its next owner may change the link */
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
    if (thread_current()->pi.donations != NULL)
        pi_release_thread();
    if (cleared != 0 && others && user_write(cleared, &zero, sizeof(zero)) == 0)
        futex_wake(cleared, true, 1, FUTEX_ANY);
}

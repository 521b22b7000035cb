/* Fork of an address space that may span kernels: the order of its steps. See the header, and mm/fork/fork.md for the
 * protocol.
 *
 * The parent's whole-space lock is held all the time, so that no kernel resolves faults of the parent, and its areas do
 * not change, except that a map may add one. */
#include "mm/fork/fork.h"

#include "mm/change/change.h"
#include "mm/change/revoke.h"
#include "mm/fork/internal.h"
#include "mm/frame/heap.h"
#include "mm/lease/lease.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"

_Static_assert(PAIRS_MAX >= LEAF_ENTRIES && PAIRS_MAX * sizeof(uint64_t) <= MSG_MAX, "a table fits, and its frames");

uint64_t *fork_child_entry(struct fork *fork, uint64_t page)
{
    uint64_t at = page & ~(LEAF_SIZE - 1);

    if (fork->leaf_at != at) {
        uint64_t *first = paging_entry(&fork->child->tables, at, true);

        if (first == NULL)
            return NULL;
        fork->leaf = first;
        fork->leaf_at = at;
    }
    return &fork->leaf[paging_index(page)];
}

bool fork_buffers(struct fork *fork)
{
    if (fork->buffer == NULL)
        fork->buffer = heap_alloc(MSG_MAX);
    if (fork->frames == NULL)
        fork->frames = heap_alloc(PAIRS_MAX * sizeof(fork->frames[0]));
    return fork->buffer != NULL && fork->frames != NULL;
}

static int fork_locked(struct fork *fork)
{
    kernel_set holders = 0;
    int error;

    fork->child->revokes_seen = space_revokes();
    fork->child->areas.refers = false;
    error = fork_write_protect_others(fork, &holders); /* first: what is leased to them changes until then */
    if (error == 0)
        error = fork_copy_areas(fork);
    if (error == 0)
        error = mempolicy_inherit(fork->parent, fork->child);
    if (error == 0)
        error = fork_hold_files(fork->child, (uint32_t)fork->parent->id);
    if (error == 0) {
        space_gets_await(fork->parent, SPACE_HEAVY);
        spin_lock(&fork->parent->lock);
        space_drop_replicas_locked(fork->parent, 0, USER_END);
        spin_unlock(&fork->parent->lock);
        error = fork_copy_own(fork);
        space_flush(fork->parent, 0, USER_END);
    }
    for (; holders != 0 && error == 0; holders &= holders - 1)
        error = fork_take_from(fork, (uint32_t)__builtin_ctzll(holders));
    if (error == 0)
        error = fork_fill_shared(fork);
    return error;
}

/* A fork under the parent's whole-space lock. KEEPS: other kernels keep their leases. */
static int fork_locking(struct fork *fork, bool keeps)
{
    struct space *parent = fork->parent;
    struct space_lock lock;
    int error = keeps ? space_acquire_keeping(parent, &lock) : space_acquire(parent, SPACE_HEAVY, &lock);

    if (error != 0)
        return error;
    fork->others = space_lock_others(parent, &lock);
    spin_lock(&parent->lock);
    lease_freeze_locked(parent);
    spin_unlock(&parent->lock);
    error = fork_locked(fork);
    if (error != 0)
        fork_thaw_others(fork);
    spin_lock(&parent->lock);
    lease_thaw_locked(parent);
    parent->stats.forks += fork->fills_leased && keeps ? 0 : 1;
    spin_unlock(&parent->lock);
    space_release(parent, &lock);
    return error;
}

int space_fork(struct space *parent, struct space *child)
{
    struct fork fork = {.parent = parent, .child = child, .leaf_at = 1};
    int error = fork_locking(&fork, true);

    if (error != 0 && fork.fills_leased) {
        area_list_clear(&child->areas);
        error = fork_locking(&fork, false);
    }
    heap_free(fork.buffer, MSG_MAX);
    heap_free(fork.frames, PAIRS_MAX * sizeof(fork.frames[0]));
    return error;
}

void space_fork_init(void)
{
    fork_member_init();
}

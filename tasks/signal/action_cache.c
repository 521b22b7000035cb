/* Signal actions on kernels that are not the home of the process. See the header.
 *
 * A count begins with the role of its home (tasks/role/role.h), which no kernel has had before: so the counts of a
 * kernel that has been started again, or of another home, are different ones. */
#include "tasks/signal/action_cache.h"

#include "kernel/abi/signal.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "tasks/role/role.h"

#define COUNTS (MSG_BOARD_FUTEX - MSG_BOARD_ACTIONS)
#define ROLE_SHIFT 48

_Static_assert(SIGNAL_ACTIONS == SIGNALS, "an action for each signal");

/* The count for process ID on this kernel's board, which begins here. */
static volatile uint64_t *count_of(uint32_t id)
{
    volatile uint64_t *count = &msg_board_own()[MSG_BOARD_ACTIONS + id % COUNTS];
    uint64_t none = 0;

    if (__atomic_load_n(count, __ATOMIC_RELAXED) == 0)
        __atomic_compare_exchange_n(count, &none, ((uint64_t)role_own() + 1) << ROLE_SHIFT, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    return count;
}

void action_cache_changed(uint32_t id)
{
    __atomic_fetch_add(count_of(id), 1, __ATOMIC_SEQ_CST);
}

uint64_t action_cache_stamp(uint32_t id)
{
    return __atomic_load_n(count_of(id), __ATOMIC_SEQ_CST);
}

/* Whether the actions of all SIGNALS are known as they are now; then, unless it is NULL, copies that of SIGNAL. */
static bool find(struct group *group, uint64_t signals, uint32_t signal, struct signal_action *action)
{
    const volatile uint64_t *board = msg_board_of(group->home);
    bool found;

    if (__atomic_load_n(&group->known, __ATOMIC_RELAXED) == NULL || board == NULL)
        return false;
    spin_lock(&group->lock);
    found = (signals & ~group->known->set) == 0 &&
            group->known->stamp == __atomic_load_n(&board[MSG_BOARD_ACTIONS + group->id % COUNTS], __ATOMIC_ACQUIRE);
    if (found && action != NULL)
        *action = group->known->action[signal - 1];
    spin_unlock(&group->lock);
    return found;
}

bool action_cache_find(struct group *group, uint32_t signal, struct signal_action *action)
{
    return find(group, SIGNAL_BIT(signal), signal, action);
}

bool action_cache_knows(struct group *group, uint64_t signals)
{
    return find(group, signals, 0, NULL);
}

void action_cache_note(struct group *group, uint32_t signal, const struct signal_action *action, uint64_t stamp)
{
    struct signal_known *fresh = NULL;

    if (stamp == 0)
        return;
    if (__atomic_load_n(&group->known, __ATOMIC_RELAXED) == NULL)
        fresh = heap_alloc(sizeof(*fresh));
    spin_lock(&group->lock);
    if (group->known == NULL) {
        group->known = fresh;
        fresh = NULL;
    }
    if (group->known != NULL) {
        if (group->known->stamp != stamp) /* an answer that is older than another leaves what nobody uses */
            group->known->set = 0;
        group->known->stamp = stamp;
        group->known->set |= SIGNAL_BIT(signal);
        group->known->action[signal - 1] = *action;
    }
    spin_unlock(&group->lock);
    heap_free(fresh, sizeof(*fresh));
}

/* Queries: changes of nothing that the home answers, or the kernel that has leased the range, of which they end no
 * lease. A lease of a part of the range is recalled first. mm/change/resident.c has the query for many pages. */
#include "kernel/abi/errno.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/lease/decide.h"
#include "mm/space/call_home.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"

/* --- on one kernel --- */

int64_t space_known_locked(const struct space *space, uint64_t start, uint64_t end)
{
    const struct lease *lease = lease_others_locked(space, start, end); /* of all of it: one of a part is recalled */

    if (lease != NULL)
        return SPACE_ELSEWHERE | (int64_t)lease->kernel;
    return space->home == instance.kernel || lease_has_locked(space, start, end) ? 0 : -EAGAIN;
}

/* --- over kernels --- */

int64_t space_ask_who_knows(struct space *space, const struct msg_space_change *change)
{
    int64_t value = 0;
    bool known;

    spin_lock(&space->lock);
    known = space_decides_locked(space, space_change_range(change), DECIDES_LEASE) != DECIDES_NOT;
    if (known)
        value = space_apply_locked(space, change);
    spin_unlock(&space->lock);
    return known ? value : space_ask_home(space, change);
}

/* Performs CHANGE on the kernel that has leased the range. -EAGAIN: it has given the lease up. */
static int64_t ask_holder(struct space *space, uint32_t kernel, const struct msg_space_change *change)
{
    struct msg_space_changed changed;
    int length;

    if (kernel == instance.kernel)
        return space_apply(space, change);
    length = msg_call(kernel, change->operation, change, sizeof(*change), &changed, sizeof(changed),
                      "query of leased memory", change->start);
    if (length == -ESRCH)
        return -EAGAIN;
    return length < 0 ? length : length == (int)sizeof(changed) ? (int64_t)changed.value : -EPROTO;
}

/* Has the home recall the leases of CHANGE's range. */
static int reclaim(struct space *space, const struct msg_space_change *change)
{
    struct msg_space_change ask = {
        .space = space->id, .start = change->start, .length = change->length, .operation = MSG_SPACE_RECLAIM};

    return (int)space_ask_home(space, &ask);
}

int64_t space_query(struct space *space, const struct msg_space_change *change)
{
    int64_t value;
    int error;

    do {
        value = space_ask_who_knows(space, change);
        if (value >= 0 && (value & SPACE_ELSEWHERE) != 0)
            value = ask_holder(space, (uint32_t)(value & (KERNELS_MAX - 1)), change);
        /* EAGAIN: the holder has no lease there. It is on its way to it, is being recalled, or neither the lease nor
         * its return had memory. The last of these does not pass, so asking the home again is not enough. */
        error = value == -EAGAIN ? reclaim(space, change) : 0;
    } while (value == -EAGAIN && error == 0);
    return error != 0 ? error : value;
}

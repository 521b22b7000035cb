/* A request to the home of a space. See the header. */
#include "mm/space/call_home.h"

#include "kernel/abi/errno.h"
#include "msg/request/call.h"

int64_t space_call_home(struct space *space, const struct msg_space_change *change)
{
    struct msg_space_changed changed;
    int length = msg_call(space->home, change->operation, change, sizeof(*change), &changed, sizeof(changed),
                          "address space change", change->start);

    if (length != (int)sizeof(changed))
        return length < 0 ? length : -EPROTO;
    return (int64_t)changed.value;
}

/* A request to the home of a space, from another kernel. */
#ifndef MM_SPACE_CALL_HOME_H
#define MM_SPACE_CALL_HOME_H

#include <stdint.h>

#include "mm/area/range.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

/* Sends CHANGE to the home of SPACE, which is not this kernel, and waits for the answer. Returns the home's value or a
 * negative errno. Callers that may be on the home itself use space_ask_home of mm/change/change.h. Tasks only. */
int64_t space_call_home(struct space *space, const struct msg_space_change *change);

static inline struct space_range space_change_range(const struct msg_space_change *change)
{
    return (struct space_range){change->start, change->start + change->length};
}

#endif

/* Waiting for memory to complete a change that is half made. See again.h. */
#include "mm/change/again.h"

#include <stddef.h>

#include "kernel/arch/x86_64/clock.h"
#include "kernel/wait/completion.h"
#include "msg/channel.h"

#define PAUSE 1000000 /* ns between two tries */

bool (*space_outlives_task)(void);

bool space_try_again(uint32_t *tries)
{
    static const struct wait_reason reason = {.what = "memory to complete a change", .kernel = -1};
    uint32_t most = msg_peers_fenced() == 0 ? SPACE_TRIES : SPACE_TRIES_DEATH;
    struct completion never;

    if (++*tries > most || (wait_ops.ended(WAIT_KILLABLE) && (space_outlives_task == NULL || !space_outlives_task())))
        return false;
    completion_init(&never);
    completion_wait_until(&never, &reason, WAIT_FIRM, clock_now() + PAUSE); /* in a killable wait it is quiesced */
    return true;
}

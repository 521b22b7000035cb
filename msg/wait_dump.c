/* The wait dump. See the header. */
#include "msg/wait_dump.h"

#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/log.h"
#include "msg/alive.h"
#include "msg/channel_internal.h"
#include "msg/inject.h"

static void dump_peer(const struct peer *peer)
{
    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        const char *urgent = class == MSG_URGENT ? "urgent " : "";

        if (ring_ready(&peer->in[class]))
            log_event("wait kernel %u has not taken %smessages of kernel %u", instance.kernel, urgent, peer->kernel);
        if (!list_empty(&peer->out[class].queue))
            log_event("wait kernel %u has %smessages for kernel %u that wait for room", instance.kernel, urgent,
                      peer->kernel);
    }
}

void msg_wait_dump(void)
{
    if (!msg_ready)
        return;
    alive_dump(clock_now());
    msg_dump_asked();
    msg_dump_kept();
    for (uint32_t k = 0; k < instance.kernels; k++) {
        if (msg_peer(k) != NULL)
            dump_peer(msg_peer(k));
    }
    if (inject_due != 0)
        log_event("wait kernel %u holds messages back%s", instance.kernel,
                  inject_due <= clock_now() ? ", and is to look now" : "");
}

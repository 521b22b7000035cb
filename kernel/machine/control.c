/* Changing options on every running kernel. The calling kernel checks and changes its own first; the others follow. */
#include "boot/options/control.h"
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "kernel/machine/machine.h"
#include "msg/call.h"
#include "tasks/remote/operation.h"

/* A task runs this, because the change of an option may wait for handlers to end. */
static int run(const struct remote_request *request, void *result)
{
    const char *words = request->data;

    (void)result;
    return request->length > 0 && words[request->length - 1] == '\0' ? option_control(words) : -EPROTO;
}

void control_init(void)
{
    REMOTE_SERVE(CONTROL, run, NULL, struct msg_none, struct msg_none);
}

int control_everywhere(const char *words)
{
    /* Surely: alloc=0, after which there is memory again, has to reach a kernel that has none. */
    const struct remote_how how = {.why = "change of options", .sure = true};
    int error = option_control(words);

    if (error != 0)
        return error;
    for (kernel_set rest = msg_peers_reachable(); rest != 0; rest &= rest - 1) {
        int answer = remote_call((uint32_t)__builtin_ctzll(rest), MSG_CONTROL, words, (uint32_t)strlen(words) + 1, NULL,
                                 0, &how);

        if (answer < 0 && error == 0)
            error = answer;
    }
    return error;
}

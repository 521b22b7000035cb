/* Policies of objects: the messages. See the header; the object itself knows its policies (mm/file/object.h). */
#include "mm/file/policy.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "mm/area/backing.h"
#include "mm/file/object.h"
#include "mm/file/wire.h"
#include "mm/mempolicy/mempolicy.h"
#include "msg/channel.h"
#include "msg/message.h"
#include "msg/request/call.h"

static int ask(const struct msg_file_policy *ask, struct policy *out)
{
    uint32_t kernel = backing_kernel(ask->backing);
    int length;

    if (!msg_peer_reachable(kernel))
        return -ENXIO;
    length = msg_call(kernel, MSG_FILE_POLICY, ask, sizeof(*ask), out, sizeof(*out), "policy of a file", ask->backing);
    return length == (int)sizeof(*out) ? 0 : length == -ENXIO ? -ENXIO : -ENOMEM;
}

int file_policy_set(uint64_t backing, uint64_t count, const struct policy *policy)
{
    struct msg_file_policy message = {.backing = backing, .count = count, .policy = *policy};
    struct policy before;

    if (backing_kernel(backing) == instance.kernel)
        return file_object_place(backing, count, policy);
    return ask(&message, &before);
}

int file_policy_get(uint64_t backing, struct policy *out)
{
    struct msg_file_policy message = {.backing = backing};

    if (backing_kernel(backing) == instance.kernel)
        return file_object_policy(backing, out);
    return ask(&message, out);
}

static void handle_policy(const struct msg *m)
{
    const struct msg_file_policy *message = m->data;
    struct policy answer = message->policy;
    int error;

    if (message->count > BACKING_PAGES - backing_page(message->backing) ||
        (message->count != 0 && answer.mode != POLICY_DEFAULT && !mempolicy_is_valid(&answer)))
        error = -EPROTO;
    else if (message->count != 0)
        error = file_object_place(message->backing, message->count, &answer);
    else
        error = file_object_policy(message->backing, &answer);
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, &answer, sizeof(answer));
}

void file_policy_init(void)
{
    msg_register(MSG_FILE_POLICY, handle_policy, sizeof(struct msg_file_policy), sizeof(struct policy));
}

/* capget and personality. Kettle has no capabilities of its own: root has all of Linux's, other users have none. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "mm/user/user_copy.h"
#include "tasks/account/facts.h"
#include "tasks/locate/locate.h"
#include "tasks/thread/thread.h"

#define PERSONALITY_ASK 0xffffffffu
#define PERSONALITY_LINUX 0u

/* _LINUX_CAPABILITY_VERSION_*, and how many words each kind of capability has with it. */
#define CAPABILITIES_1 0x19980330u
#define CAPABILITIES_2 0x20071026u
#define CAPABILITIES_3 0x20080522u
#define CAPABILITIES_LOW 0xffffffffu  /* 0 to 31 */
#define CAPABILITIES_HIGH 0x000001ffu /* 32 to 40, the last that Linux 6.1 has */

struct capability_header {
    uint32_t version;
    int32_t process;
};

struct capability_words {
    uint32_t effective, permitted, inheritable;
};

int64_t call_capget(struct call *c)
{
    const uint32_t newest = CAPABILITIES_3;
    const struct credentials *own = &thread_current()->context.credentials;
    uint32_t own_ids[3] = {own->uid, own->euid, own->suid};
    const uint32_t *ids = own_ids; /* real, effective, saved */
    struct capability_words words[2];
    struct capability_header header;
    struct msg_thread_call find = {.type = MSG_THREAD_GROUP};
    struct msg_thread_result found;
    struct process_facts facts;
    bool effective, permitted;
    int64_t error;

    if (user_read(&header, c->a[0], sizeof(header)) != 0)
        return -EFAULT;
    find.thread = (uint32_t)header.process;
    if (header.version != CAPABILITIES_1 && header.version != CAPABILITIES_2 && header.version != CAPABILITIES_3) {
        if (user_write(c->a[0], &newest, sizeof(newest)) != 0)
            return -EFAULT;
        return c->a[1] == 0 ? 0 : -EINVAL;
    }
    if (c->a[1] == 0) /* only the version was asked for */
        return 0;
    if (header.process < 0)
        return -EINVAL;
    if (header.process != 0 && (uint32_t)header.process != thread_current()->tid) {
        error = thread_call(&find, &found, NULL);
        if (error <= 0)
            return -ESRCH;
        error = process_facts_of((uint32_t)error, &facts);
        if (error != 0)
            return error;
        ids = facts.ids;
    }
    effective = ids[1] == 0;
    permitted = effective || ids[0] == 0 || ids[2] == 0;
    words[0] = (struct capability_words){effective ? CAPABILITIES_LOW : 0, permitted ? CAPABILITIES_LOW : 0, 0};
    words[1] = (struct capability_words){effective ? CAPABILITIES_HIGH : 0, permitted ? CAPABILITIES_HIGH : 0, 0};
    return user_write(c->a[1], words, header.version == CAPABILITIES_1 ? sizeof(words[0]) : sizeof(words));
}

int64_t call_personality(struct call *c)
{
    uint32_t wanted = (uint32_t)c->a[0];

    return wanted == PERSONALITY_ASK || wanted == PERSONALITY_LINUX ? (int64_t)PERSONALITY_LINUX : -EINVAL;
}

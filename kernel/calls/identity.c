/* System calls on users, groups and what these may. There is one user, root, who may everything: to become another is
 * refused, to stay is not. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "mm/space.h"

#define NO_CHANGE UINT32_MAX /* an id that is to stay */
#define GROUPS_MAX 65536u
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

int64_t call_getres_ids(struct call *c)
{
    const uint32_t root = 0;

    for (uint32_t i = 0; i < 3; i++) {
        if (user_write(c->a[i], &root, sizeof(root)) != 0)
            return -EFAULT;
    }
    return 0;
}

/* setuid, setgid. */
int64_t call_set_id(struct call *c)
{
    uint32_t id = (uint32_t)c->a[0];

    if (id == NO_CHANGE)
        return -EINVAL;
    return id == 0 ? 0 : -EPERM;
}

static bool stays(uint64_t id)
{
    return (uint32_t)id == 0 || (uint32_t)id == NO_CHANGE;
}

/* setreuid, setregid. */
int64_t call_setre_ids(struct call *c)
{
    return stays(c->a[0]) && stays(c->a[1]) ? 0 : -EPERM;
}

/* setresuid, setresgid. */
int64_t call_setres_ids(struct call *c)
{
    return stays(c->a[0]) && stays(c->a[1]) && stays(c->a[2]) ? 0 : -EPERM;
}

int64_t call_getgroups(struct call *c)
{
    return (int32_t)c->a[0] < 0 ? -EINVAL : 0;
}

int64_t call_setgroups(struct call *c)
{
    if ((uint32_t)c->a[0] > GROUPS_MAX)
        return -EINVAL;
    return (uint32_t)c->a[0] == 0 ? 0 : -EPERM;
}

int64_t call_capget(struct call *c)
{
    const uint32_t newest = CAPABILITIES_3;
    const struct capability_words words[2] = {{CAPABILITIES_LOW, CAPABILITIES_LOW, 0},
                                              {CAPABILITIES_HIGH, CAPABILITIES_HIGH, 0}};
    struct capability_header header;

    if (user_read(&header, c->a[0], sizeof(header)) != 0)
        return -EFAULT;
    if (header.version != CAPABILITIES_1 && header.version != CAPABILITIES_2 && header.version != CAPABILITIES_3) {
        if (user_write(c->a[0], &newest, sizeof(newest)) != 0)
            return -EFAULT;
        return c->a[1] == 0 ? 0 : -EINVAL;
    }
    if (header.process < 0)
        return -EINVAL;
    if (c->a[1] == 0)
        return 0;
    return user_write(c->a[1], words, header.version == CAPABILITIES_1 ? sizeof(words[0]) : sizeof(words));
}

int64_t call_personality(struct call *c)
{
    uint32_t wanted = (uint32_t)c->a[0];

    return wanted == PERSONALITY_ASK || wanted == PERSONALITY_LINUX ? (int64_t)PERSONALITY_LINUX : -EINVAL;
}

/* System calls on the calling thread's users and groups (credentials(7), setresuid(2)). A user other than root may only
 * set ids that the thread already has. */
#include "tasks/thread/credentials.h"
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/lib/string.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/process/permission.h"
#include "tasks/thread/thread.h"

#define NO_CHANGE UINT32_MAX /* an id that stays unchanged */
#define GROUPS_MAX 65536u

/* Indexes of the user ids, or of the group ids: real, effective, saved, and for file access. */
enum { REAL, EFFECTIVE, SAVED, FILES, KINDS };

static struct credentials *own(void)
{
    return &thread_current()->context.credentials;
}

static uint32_t *ids_of(struct credentials *credentials, bool groups)
{
    return groups ? &credentials->gid : &credentials->uid;
}

_Static_assert(offsetof(struct credentials, fsuid) == FILES * 4 && offsetof(struct credentials, gid) == KINDS * 4 &&
                   offsetof(struct credentials, fsgid) == (KINDS + FILES) * 4,
               "users and groups in the order above");

static int64_t get(bool groups, int which)
{
    return ids_of(own(), groups)[which];
}

int64_t call_getuid(struct call *c)
{
    (void)c;
    return get(false, REAL);
}

int64_t call_getgid(struct call *c)
{
    (void)c;
    return get(true, REAL);
}

int64_t call_geteuid(struct call *c)
{
    (void)c;
    return get(false, EFFECTIVE);
}

int64_t call_getegid(struct call *c)
{
    (void)c;
    return get(true, EFFECTIVE);
}

/* Replaces the user ids, or the group ids, of the thread by NEW. */
static int64_t set(bool groups, const uint32_t new[KINDS])
{
    struct credentials old = *own();

    memcpy(ids_of(own(), groups), new, KINDS * sizeof(*new));
    credentials_changed(&old);
    return 0;
}

static bool is_one_of(uint32_t id, const uint32_t *ids, int count)
{
    for (int i = 0; i < count; i++) {
        if (ids[i] == id)
            return true;
    }
    return id == NO_CHANGE;
}

static int64_t set_id(bool groups, uint32_t id)
{
    uint32_t new[KINDS];

    memcpy(new, ids_of(own(), groups), sizeof(new));
    if (id == NO_CHANGE)
        return -EINVAL;
    if (credentials_root(own()))
        new[REAL] = new[SAVED] = id;
    else if (id != new[REAL] && id != new[SAVED])
        return -EPERM;
    new[EFFECTIVE] = new[FILES] = id;
    return set(groups, new);
}

int64_t call_setuid(struct call *c)
{
    return set_id(false, (uint32_t)c->a[0]);
}

int64_t call_setgid(struct call *c)
{
    return set_id(true, (uint32_t)c->a[0]);
}

static int64_t setre_ids(bool groups, uint32_t real, uint32_t effective)
{
    const uint32_t *old = ids_of(own(), groups);
    uint32_t new[KINDS];

    memcpy(new, old, sizeof(new));
    if (!credentials_root(own()) && (!is_one_of(real, old, SAVED) || !is_one_of(effective, old, FILES)))
        return -EPERM;
    if (real != NO_CHANGE)
        new[REAL] = real;
    if (effective != NO_CHANGE)
        new[EFFECTIVE] = effective;
    if (real != NO_CHANGE || (effective != NO_CHANGE && effective != old[REAL]))
        new[SAVED] = new[EFFECTIVE];
    new[FILES] = new[EFFECTIVE];
    return set(groups, new);
}

int64_t call_setreuid(struct call *c)
{
    return setre_ids(false, (uint32_t)c->a[0], (uint32_t)c->a[1]);
}

int64_t call_setregid(struct call *c)
{
    return setre_ids(true, (uint32_t)c->a[0], (uint32_t)c->a[1]);
}

static int64_t setres_ids(bool groups, const uint64_t *arguments)
{
    uint32_t new[KINDS];

    memcpy(new, ids_of(own(), groups), sizeof(new));
    for (int i = REAL; i <= SAVED; i++) {
        uint32_t id = (uint32_t)arguments[i];

        if (!credentials_root(own()) && !is_one_of(id, ids_of(own(), groups), FILES))
            return -EPERM;
        if (id != NO_CHANGE)
            new[i] = id;
    }
    new[FILES] = new[EFFECTIVE];
    return set(groups, new);
}

int64_t call_setresuid(struct call *c)
{
    return setres_ids(false, c->a);
}

int64_t call_setresgid(struct call *c)
{
    return setres_ids(true, c->a);
}

static int64_t getres_ids(bool groups, const uint64_t *addresses)
{
    const uint32_t *ids = ids_of(own(), groups);

    for (int i = REAL; i <= SAVED; i++) {
        if (user_write(addresses[i], &ids[i], sizeof(ids[i])) != 0)
            return -EFAULT;
    }
    return 0;
}

int64_t call_getresuid(struct call *c)
{
    return getres_ids(false, c->a);
}

int64_t call_getresgid(struct call *c)
{
    return getres_ids(true, c->a);
}

/* Sets the id for file access if that is permitted, and returns the old one in any case, as in Linux. */
static int64_t set_files_id(bool groups, uint32_t id)
{
    uint32_t *ids = ids_of(own(), groups);
    struct credentials before = *own();
    uint32_t old = ids[FILES];

    if (id != NO_CHANGE && (credentials_root(own()) || is_one_of(id, ids, KINDS)))
        ids[FILES] = id;
    credentials_changed(&before);
    return old;
}

int64_t call_setfsuid(struct call *c)
{
    return set_files_id(false, (uint32_t)c->a[0]);
}

int64_t call_setfsgid(struct call *c)
{
    return set_files_id(true, (uint32_t)c->a[0]);
}

int64_t call_getgroups(struct call *c)
{
    const struct credentials *credentials = own();
    int32_t room = (int32_t)c->a[0];

    if (room < 0 || (room > 0 && (uint32_t)room < credentials->group_count))
        return -EINVAL;
    if (room > 0 && credentials->group_count > 0 &&
        user_write(c->a[1], credentials->groups, credentials->group_count * sizeof(uint32_t)) != 0)
        return -EFAULT;
    return credentials->group_count;
}

int64_t call_setgroups(struct call *c)
{
    struct credentials *credentials = own();
    uint32_t groups[CREDENTIAL_GROUPS] = {0}, count = (uint32_t)c->a[0];

    if (!credentials_root(credentials))
        return -EPERM;
    if (count > GROUPS_MAX || count > CREDENTIAL_GROUPS)
        return -EINVAL;
    if (count > 0 && user_read(groups, c->a[1], count * sizeof(uint32_t)) != 0)
        return -EFAULT;
    for (uint32_t i = 0; i < count; i++) {
        if (groups[i] == NO_CHANGE)
            return -EINVAL;
    }
    for (uint32_t i = 1; i < count; i++) { /* sorted, as getgroups returns them in Linux */
        uint32_t group = groups[i], at = i;

        for (; at > 0 && groups[at - 1] > group; at--)
            groups[at] = groups[at - 1];
        groups[at] = group;
    }
    memcpy(credentials->groups, groups, sizeof(groups));
    credentials->group_count = count;
    return 0;
}

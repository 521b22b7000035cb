/* Permissions. See the header. */
#include "kernel/file/permission.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "tasks/thread/credentials.h"

_Static_assert(CREDENTIAL_GROUPS == FILE_USER_GROUPS, "all of a thread's groups go along");

bool permission_in_group(const struct file_user *user, uint32_t gid)
{
    if (user == NULL)
        return gid == 0;
    for (uint32_t i = 0; i < user->count; i++) {
        if (user->groups[i] == gid)
            return true;
    }
    return user->gid == gid;
}

int permission_check(const struct file_user *user, uint32_t mode, uint32_t uid, uint32_t gid, uint32_t may)
{
    uint32_t has = mode;

    if (permission_root(user)) { /* root may execute a file only if some execute bit is set */
        bool runs = (mode & 0111) != 0 || (mode & FILE_TYPE_MASK) == FILE_DIRECTORY;

        return (may & MAY_EXECUTE) == 0 || runs ? 0 : -EACCES;
    }
    if (user->uid == uid)
        has = mode >> 6;
    else if (permission_in_group(user, gid))
        has = mode >> 3;
    return (may & ~has & 7u) == 0 ? 0 : -EACCES;
}

bool permission_owner(const struct file_user *user, uint32_t uid)
{
    return permission_root(user) || user->uid == uid;
}

bool permission_remove(const struct file_user *user, uint32_t directory_mode, uint32_t directory_uid, uint32_t uid)
{
    return (directory_mode & MODE_STICKY) == 0 || permission_root(user) || user->uid == uid ||
           user->uid == directory_uid;
}

int permission_change(const struct file_user *user, uint32_t mode, uint32_t uid, uint32_t gid,
                      struct node_change *change)
{
    uint32_t group = (change->what & CHANGE_GID) != 0 ? change->gid : gid;
    bool owner = permission_owner(user, uid);

    if (permission_root(user))
        return 0;
    if ((change->what & CHANGE_UID) != 0 && (!owner || change->uid != uid))
        return -EPERM;
    if ((change->what & CHANGE_GID) != 0 && (!owner || (change->gid != gid && !permission_in_group(user, change->gid))))
        return -EPERM;
    if ((change->what & CHANGE_OWNER) != 0 && !owner && permission_lost(mode) != 0)
        return -EPERM; /* even a chown that changes no owner clears these bits */
    if ((change->what & CHANGE_MODE) != 0) {
        if (!owner)
            return -EPERM;
        if (!permission_in_group(user, group))
            change->mode &= ~MODE_SET_GROUP;
    }
    if ((change->what & (CHANGE_ATIME | CHANGE_MTIME)) != 0 && !owner) {
        uint32_t now = CHANGE_ATIME | CHANGE_ATIME_NOW | CHANGE_MTIME | CHANGE_MTIME_NOW;

        return (change->what & now) == now ? permission_check(user, mode, uid, gid, MAY_WRITE) : -EPERM;
    }
    return 0;
}

static size_t size_of(uint32_t count)
{
    return offsetof(struct file_user, groups) + (count + 1) / 2 * 8;
}

size_t permission_user(const struct credentials *credentials, struct file_user *user)
{
    if ((credentials->fsuid | credentials->fsgid | credentials->group_count | credentials->root) == 0)
        return 0;
    *user = (struct file_user){.uid = credentials->fsuid,
                               .gid = credentials->fsgid,
                               .root = credentials->root,
                               .count = credentials->group_count};
    memcpy(user->groups, credentials->groups, sizeof(user->groups));
    return size_of(user->count);
}

size_t permission_take(const void *data, size_t size, struct file_user *user)
{
    uint32_t count;

    if (size < size_of(0))
        return 0;
    memset(user, 0, sizeof(*user));
    memcpy(user, data, size_of(0));
    count = user->count;
    if (count > FILE_USER_GROUPS || size < size_of(count))
        return 0;
    memcpy(user, data, size_of(count));
    user->count = count; /* read once */
    return size_of(count);
}

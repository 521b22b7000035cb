/* System calls that change the attributes of a file: permissions, owners, times. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/path.h"
#include "kernel/calls/files/files.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define SECOND 1000000000ull
#define UTIME_NOW 0x3fffffffll
#define UTIME_OMIT 0x3ffffffell
#define SAME UINT32_MAX /* an id of chown that stays unchanged */

static int64_t change_fd(int64_t fd, const struct node_change *change)
{
    return fd < 0 ? -EBADF : name_change(thread_current()->group, (int32_t)fd, change);
}

/* FLAGS: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH. */
static int64_t change_at(int64_t directory, uint64_t path, uint32_t flags, const struct node_change *change)
{
    struct msg_file_name asked = {.operation = MSG_NAME_CHANGE, .flags = files_flags(flags), .change = *change};
    struct name_result result;
    int64_t error;

    if ((flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0)
        return -EINVAL;
    if ((flags & AT_EMPTY_PATH) != 0 && directory != NAME_WORKING_DIRECTORY && files_empty(path)) {
        error = change_fd(directory, change); /* -EBADF for an O_PATH descriptor, which the path operation accepts */
        if (error != -EBADF)
            return error;
    }
    error = files_name(&asked, directory, path, &result);
    name_result_free(&result);
    return error;
}

static struct node_change mode_change(uint64_t mode)
{
    return (struct node_change){.what = CHANGE_MODE, .mode = (uint32_t)mode & 07777};
}

int64_t call_chmod(struct call *c)
{
    struct node_change change = mode_change(c->a[1]);

    return change_at(NAME_WORKING_DIRECTORY, c->a[0], 0, &change);
}

int64_t call_fchmod(struct call *c)
{
    struct node_change change = mode_change(c->a[1]);

    return change_fd((int32_t)c->a[0], &change);
}

int64_t call_fchmodat(struct call *c)
{
    struct node_change change = mode_change(c->a[2]);

    return change_at((int32_t)c->a[0], c->a[1], 0, &change);
}

static struct node_change owner_change(uint64_t uid, uint64_t gid)
{
    struct node_change change = {.what = CHANGE_OWNER, .uid = (uint32_t)uid, .gid = (uint32_t)gid};

    if (change.uid != SAME)
        change.what |= CHANGE_UID;
    if (change.gid != SAME)
        change.what |= CHANGE_GID;
    return change;
}

int64_t call_chown(struct call *c)
{
    struct node_change change = owner_change(c->a[1], c->a[2]);

    return change_at(NAME_WORKING_DIRECTORY, c->a[0], 0, &change);
}

int64_t call_lchown(struct call *c)
{
    struct node_change change = owner_change(c->a[1], c->a[2]);

    return change_at(NAME_WORKING_DIRECTORY, c->a[0], AT_SYMLINK_NOFOLLOW, &change);
}

int64_t call_fchown(struct call *c)
{
    struct node_change change = owner_change(c->a[1], c->a[2]);

    return change_fd((int32_t)c->a[0], &change);
}

int64_t call_fchownat(struct call *c)
{
    struct node_change change = owner_change(c->a[2], c->a[3]);

    return change_at((int32_t)c->a[0], c->a[1], (uint32_t)c->a[4], &change);
}

struct time { /* struct timespec, or with microseconds struct timeval */
    int64_t seconds, part;
};

/* Converts TIME to ns since 1970. A time that a file cannot have becomes the nearest one that it can have, as
 * on Linux. */
static uint64_t file_time(const struct time *time)
{
    const int64_t last = (int64_t)(UINT64_MAX / SECOND);

    if (time->seconds < 0)
        return 0;
    return time->seconds >= last ? (uint64_t)last * SECOND : (uint64_t)time->seconds * SECOND + (uint64_t)time->part;
}

#define BOTH_NOW (CHANGE_ATIME | CHANGE_MTIME | CHANGE_ATIME_NOW | CHANGE_MTIME_NOW)

/* Converts TIMES, of access and modification, to CHANGE. Their parts are nanoseconds. -EINVAL. */
static int64_t time_change(const struct time times[2], struct node_change *change)
{
    uint64_t values[2] = {0, 0};

    *change = (struct node_change){.what = 0};
    for (int i = 0; i < 2; i++) {
        uint32_t set = i == 0 ? CHANGE_ATIME : CHANGE_MTIME;

        if (times[i].part == UTIME_OMIT)
            continue;
        change->what |= set;
        if (times[i].part == UTIME_NOW)
            change->what |= i == 0 ? CHANGE_ATIME_NOW : CHANGE_MTIME_NOW;
        else if (times[i].part < 0 || times[i].part >= (int64_t)SECOND)
            return -EINVAL;
        else
            values[i] = file_time(&times[i]);
    }
    change->atime = values[0];
    change->mtime = values[1];
    return 0;
}

int64_t call_utimensat(struct call *c)
{
    struct node_change change = {.what = BOTH_NOW};
    uint32_t flags = (uint32_t)c->a[3];
    struct time times[2];
    int64_t error = 0;

    if (c->a[2] != 0) {
        if (user_read(times, c->a[2], sizeof(times)) != 0)
            return -EFAULT;
        if (times[0].part == UTIME_OMIT && times[1].part == UTIME_OMIT)
            return 0;
        error = time_change(times, &change);
    }
    if (error != 0)
        return error;
    if (c->a[1] != 0)
        return change_at((int32_t)c->a[0], c->a[1], flags, &change);
    if ((int32_t)c->a[0] == NAME_WORKING_DIRECTORY)
        return -EFAULT;
    return flags != 0 ? -EINVAL : change_fd((int32_t)c->a[0], &change);
}

static int64_t set_times(int64_t directory, uint64_t path, uint64_t address)
{
    struct node_change change = {.what = BOTH_NOW};
    struct time times[2];
    int64_t error = 0;

    if (address != 0) {
        if (user_read(times, address, sizeof(times)) != 0)
            return -EFAULT;
        for (int i = 0; i < 2; i++) {
            if (times[i].part < 0 || times[i].part >= 1000000)
                return -EINVAL;
            times[i].part *= 1000;
        }
        error = time_change(times, &change);
    }
    return error != 0 ? error : change_at(directory, path, 0, &change);
}

int64_t call_utimes(struct call *c)
{
    return set_times(NAME_WORKING_DIRECTORY, c->a[0], c->a[1]);
}

int64_t call_futimesat(struct call *c)
{
    return set_times((int32_t)c->a[0], c->a[1], c->a[2]);
}

int64_t call_utime(struct call *c)
{
    struct node_change change = {.what = BOTH_NOW};
    struct time times[2] = {{0, 0}, {0, 0}};
    int64_t seconds[2];
    int64_t error = 0;

    if (c->a[1] != 0) {
        if (user_read(seconds, c->a[1], sizeof(seconds)) != 0)
            return -EFAULT;
        times[0].seconds = seconds[0];
        times[1].seconds = seconds[1];
        error = time_change(times, &change);
    }
    return error != 0 ? error : change_at(NAME_WORKING_DIRECTORY, c->a[0], 0, &change);
}

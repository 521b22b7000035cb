/* inotify_init(2) and related calls. Kernel 0 has the inotify file. inotify_add_watch opens the file to be watched
 * (O_PATH), passes its place to the inotify file, and closes it again. */
#include "kernel/fs/inotify/inotify.h"

#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/anonymous.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/common/path.h"
#include "kernel/file/permission.h"
#include "kernel/file/remote.h"
#include "tasks/thread/thread.h"

#define WATCH_ANY                                                                                                      \
    (WATCH_EVENTS | WATCH_ONCE | 0x6000u | WATCH_IGNORED | WATCH_ONLY_DIRECTORY | WATCH_NO_FOLLOW |                    \
     WATCH_EXCEPT_UNLINKED | WATCH_MASK_CREATE | WATCH_MASK_ADD | WATCH_IS_DIRECTORY)

static int64_t make(uint32_t flags)
{
    struct file_place place;
    int64_t error;

    if ((flags & ~(OPEN_NONBLOCK | OPEN_CLOEXEC)) != 0)
        return -EINVAL;
    error = anonymous_make_at(0, ANONYMOUS_WATCH, flags & OPEN_NONBLOCK, NULL, 0, &place);
    return error != 0 ? error
                      : files_give(MSG_FILE_INSTALL, &place, (flags & OPEN_CLOEXEC) != 0 ? DESCRIPTOR_CLOEXEC : 0);
}

int64_t call_inotify_init(struct call *c)
{
    (void)c;
    return make(0);
}

int64_t call_inotify_init1(struct call *c)
{
    return make((uint32_t)c->a[0]);
}

/* Applies CHANGE to the inotify file FD and returns the number of the watch. -EBADF; -EINVAL: FD is not an inotify
 * file. */
static int64_t change(int64_t fd, const struct watch_change *change)
{
    struct file_answer answer;
    int32_t number = 0;
    int64_t result = anonymous_call(fd, SPECIAL_WATCH, 0, change, sizeof(*change), &number, sizeof(number), &answer);

    return result < 0 ? result : number;
}

/* Watching needs permission to read. */
static int64_t check_read(const struct file_place *place)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = -1};
    struct file_facts facts = {0};
    struct file_answer answer;
    struct file_user user;
    int64_t error;

    if (permission_user(&thread_current()->context.credentials, &user) == 0)
        return 0;
    error = file_call_at(place, &request, NULL, 0, &facts, sizeof(facts), &answer);
    return error < 0 ? error : permission_check(&user, facts.mode, facts.uid, facts.gid, MAY_READ);
}

int64_t call_inotify_add_watch(struct call *c)
{
    uint32_t mask = (uint32_t)c->a[2];
    struct msg_file_name asked = {.operation = MSG_NAME_OPEN, .flags = OPEN_PATH};
    struct watch_change wanted = {.id = 0};
    struct name_result opened;
    int64_t error;

    if ((mask & WATCH_ANY) == 0 || (mask & ~WATCH_ANY) != 0 ||
        (mask & (WATCH_MASK_ADD | WATCH_MASK_CREATE)) == (WATCH_MASK_ADD | WATCH_MASK_CREATE))
        return -EINVAL;
    error = change((int32_t)c->a[0], &wanted);
    if (error != 0)
        return error;
    if ((mask & WATCH_NO_FOLLOW) != 0)
        asked.flags |= OPEN_NO_FOLLOW;
    if ((mask & WATCH_ONLY_DIRECTORY) != 0)
        asked.flags |= OPEN_DIRECTORY;
    error = files_name(&asked, NAME_WORKING_DIRECTORY, c->a[1], &opened);
    name_result_free(&opened);
    if (error != 0)
        return error;
    error = check_read(&opened.place);
    wanted.id = opened.place.id;
    wanted.mask = mask;
    if (error == 0)
        error = opened.place.kernel != 0 ? -EOPNOTSUPP : change((int32_t)c->a[0], &wanted);
    file_drop(opened.place.kernel, opened.place.id);
    return error;
}

int64_t call_inotify_rm_watch(struct call *c)
{
    struct watch_change wanted = {.id = 0};
    int64_t error = change((int32_t)c->a[0], &wanted);

    if (error != 0)
        return error;
    wanted.number = (int32_t)c->a[1];
    return wanted.number <= 0 ? -EINVAL : change((int32_t)c->a[0], &wanted);
}

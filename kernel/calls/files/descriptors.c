/* System calls on descriptors themselves: closing, duplicating, flags, pipes, ioctl. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/files/files.h"
#include "kernel/calls/files/terminal.h"
#include "kernel/file/lock.h"
#include "kernel/file/remote.h"
#include "kernel/file/table_share.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/pipe/pipe.h"
#include "kernel/lib/string.h"
#include "mm/user/user_copy.h"
#include "tasks/migrate/migrate.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/program/clone.h"
#include "tasks/sched/due.h"
#include "tasks/thread/thread.h"

#define F_DUPFD 0u
#define F_GETFD 1u
#define F_SETFD 2u
#define F_GETFL 3u
#define F_SETFL 4u
#define F_DUPFD_CLOEXEC 1030u
#define F_ADD_SEALS 1033u
#define F_GET_SEALS 1034u
#define CLOSE_RANGE_UNSHARE 2u
#define CLOSE_RANGE_CLOEXEC 4u
#define FIONREAD 0x541bu
#define FIONBIO 0x5421u
#define FIONCLEX 0x5450u
#define FIOCLEX 0x5451u

/* Repeats REQUEST, which closes one or more descriptors, until no file has locks left to remove: the home answers
 * FILE_UNLOCKS instead of closing a descriptor whose file may have locks of the process. Another thread may set a lock
 * through the descriptor between the removal and the close, so the locks are removed once more after the close; a
 * thread that locks later finds the descriptor closed. */
static int64_t close_unlocked(struct file_request request)
{
    struct group *group = thread_current()->group;
    struct file_answer answer, before = {.flags = 0};
    bool alone = files_alone();
    int64_t result;

    for (;;) {
        result = file_call(group, &request, NULL, 0, NULL, 0, &answer);
        if ((before.flags & FILE_UNLOCKS) != 0 && !alone)
            file_unlock(before.kernel, before.id, group->id);
        if (result != 0 || (answer.flags & FILE_UNLOCKS) == 0)
            return result;
        file_unlock(answer.kernel, answer.id, group->id);
        before = answer;
        if (request.operation == MSG_FILE_CLOSE_RANGE) {
            request.fd = (int32_t)answer.seen;
            request.range.unlocked = (uint32_t)answer.seen + 1;
        } else {
            request.close.unlocked = 1;
        }
    }
}

int64_t call_close(struct call *c)
{
    return close_unlocked((struct file_request){.operation = MSG_FILE_CLOSE, .fd = (int32_t)c->a[0]});
}

/* Gives the process a descriptor table of its own, as exec does. This is possible only on the home: elsewhere the
 * thread is ordered to move there and the call begins again. -EINVAL: the process has several threads, which cannot
 * have separate tables. */
static int64_t unshare(void)
{
    struct thread *thread = thread_current();
    struct group *group = thread->group;
    bool alone;

    if (group->home != instance.kernel) {
        spin_lock(&group->lock);
        thread_order_move_locked(thread, group->home);
        spin_unlock(&group->lock);
        return -ERESTARTNOINTR;
    }
    spin_lock(&group->lock);
    alone = group->process->live == 1;
    spin_unlock(&group->lock);
    return alone ? file_table_unshare(group) : -EINVAL;
}

int64_t call_close_range(struct call *c)
{
    uint32_t first = (uint32_t)c->a[0], last = (uint32_t)c->a[1], flags = (uint32_t)c->a[2];
    int64_t result;

    if ((flags & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)) != 0 || first > last)
        return -EINVAL;
    if ((flags & CLOSE_RANGE_UNSHARE) != 0) {
        result = unshare();
        if (result != 0)
            return result;
    }
    result = close_unlocked((struct file_request){.operation = MSG_FILE_CLOSE_RANGE,
                                                  .fd = (int32_t)first,
                                                  .range = {.last = last, .flags = flags & CLOSE_RANGE_CLOEXEC}});
    if ((flags & CLOSE_RANGE_UNSHARE) != 0)
        clone_go_back();
    return result;
}

static int64_t duplicate(int64_t fd, int32_t least, uint32_t flags)
{
    return files_do((struct file_request){
        .operation = MSG_FILE_DUPLICATE, .fd = (int32_t)fd, .close = {.to = least, .flags = flags}});
}

int64_t call_dup(struct call *c)
{
    return duplicate((int32_t)c->a[0], 0, 0);
}

static int64_t duplicate_to(uint64_t fd, uint64_t to, uint32_t flags)
{
    return close_unlocked((struct file_request){
        .operation = MSG_FILE_DUPLICATE_TO, .fd = (int32_t)fd, .close = {.to = (int32_t)to, .flags = flags}});
}

int64_t call_dup2(struct call *c)
{
    return duplicate_to(c->a[0], c->a[1], 0);
}

int64_t call_dup3(struct call *c)
{
    uint32_t flags = (uint32_t)c->a[2];

    if ((flags & ~OPEN_CLOEXEC) != 0 || (int32_t)c->a[0] == (int32_t)c->a[1])
        return -EINVAL;
    return duplicate_to(c->a[0], c->a[1], flags != 0 ? DESCRIPTOR_CLOEXEC : 0);
}

/* F_SETPIPE_SZ, F_GETPIPE_SZ */
static int64_t pipe_size(int64_t fd, uint32_t command, uint64_t size)
{
    struct file_request request = {.operation = MSG_FILE_CONTROL, .fd = (int32_t)fd, .control.command = command};
    union {
        struct pipe_size size;
        uint8_t bytes[FILE_CONTROL_MAX];
    } data = {.size = {(uint32_t)size, credentials_need_root() == 0 ? 1 : 0,
                       thread_current()->context.credentials.uid}},
      result;
    struct file_answer answer;
    int64_t error;

    if (fd < 0)
        return -EBADF;
    error = file_call(thread_current()->group, &request, &data, sizeof(data), &result, sizeof(result), &answer);
    return error == -ENOTTY ? -EBADF : error != 0 ? error : (int64_t)result.size.size;
}

static int64_t set_descriptor(int64_t fd, uint32_t flags)
{
    return files_do((struct file_request){.operation = MSG_FILE_SET_DESCRIPTOR, .fd = (int32_t)fd, .flags = flags});
}

int64_t call_fcntl(struct call *c)
{
    int64_t fd = (int32_t)c->a[0];

    switch ((uint32_t)c->a[1]) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        return duplicate(fd, (int32_t)c->a[2], (uint32_t)c->a[1] == F_DUPFD_CLOEXEC ? DESCRIPTOR_CLOEXEC : 0);
    case F_GETFD:
        return files_do((struct file_request){.operation = MSG_FILE_GET_DESCRIPTOR, .fd = (int32_t)fd});
    case F_SETFD:
        return set_descriptor(fd, c->a[2] & DESCRIPTOR_CLOEXEC);
    case F_GETFL:
        return files_get_flags(fd);
    case F_SETFL:
        return files_do((struct file_request){
            .operation = MSG_FILE_SET_FLAGS, .fd = (int32_t)fd, .flags = c->a[2] & (OPEN_SETTABLE | OPEN_DIRECT)});
    case F_ADD_SEALS:
    case F_GET_SEALS:
        return files_do((struct file_request){.operation = MSG_FILE_SEALS,
                                              .fd = (int32_t)fd,
                                              .seals = {(uint32_t)c->a[1] == F_ADD_SEALS, (uint32_t)c->a[2]}});
    case PIPE_SET_SIZE:
    case PIPE_GET_SIZE:
        return pipe_size(fd, (uint32_t)c->a[1], c->a[2]);
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        return files_lock(fd, (uint32_t)c->a[1], c->a[2]);
    default:
        return files_error(fd, -EINVAL);
    }
}

static int64_t make_pipe(uint64_t address, uint64_t flags)
{
    struct file_request request = {.operation = MSG_FILE_PIPE, .flags = (uint32_t)flags};
    uint32_t user = thread_current()->context.credentials.uid;
    struct file_answer answer;
    int32_t fds[2];
    int64_t result;

    if ((flags & ~(uint64_t)(OPEN_NONBLOCK | OPEN_CLOEXEC | OPEN_DIRECT)) != 0)
        return -EINVAL;
    if (!user_range(address, sizeof(fds)))
        return -EFAULT;
    result = file_call(thread_current()->group, &request, &user, sizeof(user), fds, sizeof(fds), &answer);
    if (result < 0)
        return result;
    if (user_write(address, fds, sizeof(fds)) != 0) {
        files_close(fds[0]);
        files_close(fds[1]);
        return -EFAULT;
    }
    return 0;
}

int64_t call_pipe(struct call *c)
{
    return make_pipe(c->a[0], 0);
}

int64_t call_pipe2(struct call *c)
{
    return make_pipe(c->a[0], (uint32_t)c->a[1]);
}

int64_t call_ioctl(struct call *c)
{
    struct file_request request = {
        .operation = MSG_FILE_CONTROL, .fd = (int32_t)c->a[0], .control.command = (uint32_t)c->a[1]};
    uint64_t data[FILE_CONTROL_MAX / 8] = {0}, result[FILE_CONTROL_MAX / 8];
    struct file_answer answer;
    int64_t error;

    switch (request.control.command) {
    case FIOCLEX:
    case FIONCLEX:
        error = files_error(request.fd, 0);
        return error != 0 ? error
                          : set_descriptor(request.fd, request.control.command == FIOCLEX ? DESCRIPTOR_CLOEXEC : 0);
    case FIONBIO:
        if (user_read(data, c->a[2], sizeof(int32_t)) != 0)
            return files_error(request.fd, -EFAULT);
        break;
    case FIONREAD:
        break;
    default:
        if (terminal_ioctl(request.fd, request.control.command, c->a[2], &error))
            return error;
        return files_error(request.fd, -ENOTTY);
    }
    error = file_call(thread_current()->group, &request, data, sizeof(data), result, sizeof(result), &answer);
    if (error == 0 && request.control.command == FIONREAD)
        return user_write(c->a[2], result, sizeof(int32_t));
    return error;
}

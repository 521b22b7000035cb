/* System calls on descriptors themselves: closing, duplicating, flags, pipes, ioctl. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/files.h"
#include "kernel/fs/node_lock.h"
#include "kernel/fs/pipe.h"
#include "kernel/fs/table.h"
#include "kernel/lib/string.h"
#include "mm/space.h"
#include "tasks/group.h"
#include "tasks/thread.h"

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
#define FIONCLEX 0x5450u
#define FIOCLEX 0x5451u

int64_t call_close(struct call *c)
{
    struct file_request request = {.operation = FILE_CLOSE, .fd = (int32_t)c->a[0]};
    struct group *group = thread_current()->group;
    struct file_answer answer;
    int64_t result = file_call(group, &request, NULL, 0, NULL, 0, &answer);

    if (result != 0 || (answer.flags & FILE_UNLOCKS) == 0)
        return result;
    file_unlock(answer.kernel, answer.id, group->id);
    request.extra = 1;
    return file_call(group, &request, NULL, 0, NULL, 0, &answer);
}

int64_t call_close_range(struct call *c)
{
    /* A process's table is shared by its threads only, so there is nothing to unshare. */
    if ((c->a[2] & ~(uint64_t)(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)) != 0)
        return -EINVAL;
    return files_simple(FILE_CLOSE_RANGE, (int32_t)c->a[0], (int64_t)(uint32_t)c->a[1],
                        (uint32_t)c->a[2] & CLOSE_RANGE_CLOEXEC);
}

int64_t call_dup(struct call *c)
{
    return files_simple(FILE_DUPLICATE, (int32_t)c->a[0], 0, 0);
}

int64_t call_dup2(struct call *c)
{
    return files_simple(FILE_DUPLICATE_TO, (int32_t)c->a[0], (int32_t)c->a[1], 0);
}

int64_t call_dup3(struct call *c)
{
    uint32_t flags = (uint32_t)c->a[2];

    if ((flags & ~OPEN_CLOEXEC) != 0 || (int32_t)c->a[0] == (int32_t)c->a[1])
        return -EINVAL;
    return files_simple(FILE_DUPLICATE_TO, (int32_t)c->a[0], (int32_t)c->a[1], flags != 0 ? DESCRIPTOR_CLOEXEC : 0);
}

/* F_SETPIPE_SZ, F_GETPIPE_SZ */
static int64_t pipe_size(int64_t fd, uint32_t command, uint64_t size)
{
    struct file_request request = {.operation = FILE_CONTROL, .fd = (int32_t)fd, .extra = command};
    union {
        struct pipe_size size;
        uint8_t bytes[FILE_CONTROL_MAX];
    } data = {.size = {(uint32_t)size, credentials_need_root() == 0 ? 1 : 0}}, result;
    struct file_answer answer;
    int64_t error;

    if (fd < 0)
        return -EBADF;
    error = file_call(thread_current()->group, &request, &data, sizeof(data), &result, sizeof(result), &answer);
    return error == -ENOTTY ? -EBADF : error != 0 ? error : (int64_t)result.size.size;
}

int64_t call_fcntl(struct call *c)
{
    int64_t fd = (int32_t)c->a[0];

    switch ((uint32_t)c->a[1]) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        return files_simple(FILE_DUPLICATE, fd, (int32_t)c->a[2],
                            (uint32_t)c->a[1] == F_DUPFD_CLOEXEC ? DESCRIPTOR_CLOEXEC : 0);
    case F_GETFD:
        return files_simple(FILE_GET_DESCRIPTOR, fd, 0, 0);
    case F_SETFD:
        return files_simple(FILE_SET_DESCRIPTOR, fd, (int64_t)(c->a[2] & DESCRIPTOR_CLOEXEC), 0);
    case F_GETFL:
        return files_simple(FILE_GET_FLAGS, fd, 0, 0);
    case F_SETFL:
        return files_simple(FILE_SET_FLAGS, fd, (int64_t)(c->a[2] & (OPEN_SETTABLE | OPEN_DIRECT)), 0);
    case F_ADD_SEALS:
    case F_GET_SEALS:
        return files_simple(FILE_SEALS, fd, (uint32_t)c->a[2], (uint32_t)c->a[1] == F_ADD_SEALS);
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
    struct file_request request = {.operation = FILE_PIPE, .argument = (int64_t)flags};
    struct file_answer answer;
    int32_t fds[2];
    int64_t result;

    if ((flags & ~(uint64_t)(OPEN_NONBLOCK | OPEN_CLOEXEC | OPEN_DIRECT)) != 0)
        return -EINVAL;
    if (!user_range(address, sizeof(fds)))
        return -EFAULT;
    result = file_call(thread_current()->group, &request, NULL, 0, fds, sizeof(fds), &answer);
    if (result < 0)
        return result;
    if (user_write(address, fds, sizeof(fds)) != 0) {
        files_simple(FILE_CLOSE, fds[0], 0, 0);
        files_simple(FILE_CLOSE, fds[1], 0, 0);
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

/* What the third argument of ioctl is. */
enum { TAKES_NOTHING, TAKES_NUMBER, TAKES_SESSION, READS, WRITES };

static const struct command {
    uint32_t number;
    uint8_t argument;
    uint8_t size; /* bytes at the address, with READS and WRITES */
} commands[] = {
    {0x5401, WRITES, 36},       /* TCGETS */
    {0x5402, READS, 36},        /* TCSETS */
    {0x5403, READS, 36},        /* TCSETSW */
    {0x5404, READS, 36},        /* TCSETSF */
    {0x5409, TAKES_NUMBER, 0},  /* TCSBRK */
    {0x540a, TAKES_NUMBER, 0},  /* TCXONC */
    {0x540b, TAKES_NUMBER, 0},  /* TCFLSH */
    {0x540e, TAKES_SESSION, 0}, /* TIOCSCTTY */
    {0x540f, WRITES, 4},        /* TIOCGPGRP */
    {0x5410, READS, 4},         /* TIOCSPGRP */
    {0x5411, WRITES, 4},        /* TIOCOUTQ */
    {0x5413, WRITES, 8},        /* TIOCGWINSZ */
    {0x5414, READS, 8},         /* TIOCSWINSZ */
    {0x541b, WRITES, 4},        /* FIONREAD */
    {0x5421, READS, 4},         /* FIONBIO */
    {0x5422, TAKES_NOTHING, 0}, /* TIOCNOTTY */
    {0x5429, WRITES, 4},        /* TIOCGSID */
};

static const struct command *find_command(uint32_t number)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (commands[i].number == number)
            return &commands[i];
    }
    return NULL;
}

int64_t call_ioctl(struct call *c)
{
    const struct command *command = find_command((uint32_t)c->a[1]);
    struct file_request request = {.operation = FILE_CONTROL, .fd = (int32_t)c->a[0], .extra = (uint32_t)c->a[1]};
    uint64_t data[FILE_CONTROL_MAX / 8] = {0}, result[FILE_CONTROL_MAX / 8];
    struct group *group = thread_current()->group;
    struct file_answer answer;
    int64_t error;

    if (request.extra == FIOCLEX || request.extra == FIONCLEX)
        return files_simple(FILE_SET_DESCRIPTOR, request.fd, request.extra == FIOCLEX ? DESCRIPTOR_CLOEXEC : 0, 0);
    if (command == NULL)
        return files_error(request.fd, -ENOTTY);
    if (command->argument == TAKES_NUMBER)
        data[0] = c->a[2];
    else if (command->argument == TAKES_SESSION)
        data[0] = group->id; /* of a session leader the two are one */
    else if (command->argument == READS && user_read(data, c->a[2], command->size) != 0)
        return files_error(request.fd, -EFAULT);
    error = file_call(group, &request, data, sizeof(data), result, sizeof(result), &answer);
    if (error == 0 && command->argument == WRITES)
        return user_write(c->a[2], result, command->size);
    return error;
}

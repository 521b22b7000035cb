/* signalfd(2). */
#include "kernel/file/event/signalfd.h"
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/anonymous.h"
#include "kernel/calls/common/signal.h"
#include "kernel/lib/string.h"
#include "mm/user/user_copy.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"

#define SIGSET_SIZE 8u

struct linux_signalfd { /* struct signalfd_siginfo */
    uint32_t signal;
    int32_t error, code;
    uint32_t pid, uid;
    int32_t fd;
    uint32_t timer, band, overrun, trap;
    int32_t status, integer;
    uint64_t pointer, user_time, system_time, address;
    uint8_t pad[48];
};

_Static_assert(sizeof(struct linux_signalfd) == SIGNALFD_INFO, "as Linux has it");

static struct linux_signalfd describe(const struct signal_info *info)
{
    struct linux_signalfd user = {.signal = info->signal, .code = info->code, .pid = info->pid, .uid = info->uid};
    bool fault = info->code > 0 && (SIGNAL_BIT(info->signal) & SIGNAL_FAULTS) != 0;

    if (fault) {
        user.address = info->value;
        user.pid = 0;
    } else if (info->signal == SIGCHLD && info->code > 0) {
        user.status = (int32_t)info->value;
        user.user_time = (uint32_t)info->extra;
        user.system_time = info->extra >> 32;
    } else if (info->code < 0 && info->code != SI_TKILL) {
        user.integer = (int32_t)info->value;
        user.pointer = info->value;
    }
    return user;
}

int64_t signalfd_take(uint64_t set, bool may_wait, uint8_t *buffer, size_t room)
{
    struct signal_info info;
    size_t done = 0;

    while (room - done >= SIGNALFD_INFO) {
        int64_t result = signal_wait_take(set, 0, !may_wait || done > 0, &info);
        struct linux_signalfd user;

        if (result != 0 && done > 0)
            break;
        if (result != 0)
            return result == -EINTR ? -ERESTARTSYS : result;
        user = describe(&info);
        memcpy(buffer + done, &user, sizeof(user));
        done += sizeof(user);
    }
    return (int64_t)done;
}

static int64_t make(const struct call *c, uint32_t flags)
{
    int64_t fd = (int32_t)c->a[0];
    struct file_answer answer;
    int32_t fds[2];
    uint64_t set;

    if (c->a[2] != SIGSET_SIZE)
        return -EINVAL;
    if (user_read(&set, c->a[1], sizeof(set)) != 0)
        return -EFAULT;
    if ((flags & ~(OPEN_NONBLOCK | OPEN_CLOEXEC)) != 0)
        return -EINVAL;
    set &= ~SIGNAL_UNBLOCKABLE;
    if (fd == -1)
        return anonymous_new(ANONYMOUS_SIGNAL, flags, &set, sizeof(set), fds);
    fd = anonymous_call(fd, SPECIAL_SIGNAL_SET, 0, &set, sizeof(set), NULL, 0, &answer);
    return fd < 0 ? fd : (int32_t)c->a[0];
}

int64_t call_signalfd(struct call *c)
{
    return make(c, 0);
}

int64_t call_signalfd4(struct call *c)
{
    return make(c, (uint32_t)c->a[3]);
}

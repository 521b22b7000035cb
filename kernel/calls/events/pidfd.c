/* pidfd_open(2), pidfd_send_signal(2), pidfd_getfd(2), and CLONE_PIDFD of clone. */
#include "kernel/calls/events/pidfd.h"

#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/anonymous.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/common/signal.h"
#include "kernel/file/copy.h"
#include "kernel/file/remote.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/process/permission.h"
#include "tasks/process/process.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"

#define PROC_DEVICE 2u /* st_dev of /proc */

int64_t pidfd_find(int64_t fd, struct pidfd_facts *out)
{
    struct file_answer answer;
    int64_t result = anonymous_call(fd, SPECIAL_PROCESS, 0, NULL, 0, out, sizeof(*out), &answer);

    return result == sizeof(*out) ? 0 : result == -ENOMEM ? -ENOMEM : -EBADF;
}

int64_t call_pidfd_open(struct call *c)
{
    uint32_t id = (uint32_t)c->a[0], flags = (uint32_t)c->a[1];
    struct file_place place;
    int64_t error;

    if ((flags & ~OPEN_NONBLOCK) != 0 || (int32_t)id <= 0)
        return -EINVAL;
    if (process_home(id) >= instance.kernels)
        return -ESRCH;
    error = anonymous_make_at(process_home(id), ANONYMOUS_PROCESS, flags, &id, sizeof(id), &place);
    if (error != 0)
        return error == -EAGAIN ? -ESRCH : error; /* a kernel that does not run has no processes */
    return files_give(MSG_FILE_INSTALL, &place, DESCRIPTOR_CLOEXEC);
}

/* The process whose directory in /proc FD is open on. -EBADF: FD is none. */
static int64_t find_in_proc(int64_t fd, uint32_t *process)
{
    struct file_request stat = {.operation = MSG_FILE_STAT, .fd = (int32_t)fd};
    struct file_request request = {.operation = MSG_FILE_PATH, .fd = (int32_t)fd};
    struct group *group = thread_current()->group;
    struct file_answer answer;
    struct file_facts facts;
    char path[32];
    const char *at = path + 6;
    int64_t flags = files_get_flags(fd);
    int64_t length;

    if (flags < 0 || (flags & OPEN_PATH) != 0 || file_call(group, &stat, NULL, 0, &facts, sizeof(facts), &answer) < 0 ||
        facts.device != PROC_DEVICE)
        return -EBADF;
    length = file_call(group, &request, NULL, 0, path, sizeof(path) - 1, &answer);
    if (length < 0)
        return -EBADF;
    path[length] = '\0';
    if (strncmp(path, "/proc/", 6) != 0)
        return -EBADF;
    if (strcmp(at, "self") == 0) {
        *process = group->id;
        return 0;
    }
    for (*process = 0; *at >= '0' && *at <= '9' && *process < 100000000; at++)
        *process = *process * 10 + (uint32_t)(*at - '0');
    return *at == '\0' && at != path + 6 ? 0 : -EBADF;
}

int64_t call_pidfd_send_signal(struct call *c)
{
    struct signal_info info = {.signal = 0};
    struct pidfd_facts facts;
    struct file_answer answer;
    bool in_proc = false;
    int64_t error;

    if ((uint32_t)c->a[3] != 0)
        return -EINVAL;
    error = pidfd_find((int32_t)c->a[0], &facts);
    if (error == -EBADF) {
        error = find_in_proc((int32_t)c->a[0], &facts.process);
        in_proc = error == 0;
        facts.gone = 0;
    }
    if (error == 0 && c->a[2] != 0)
        error = signal_read_info(c->a[2], c->a[1], facts.process, true, &info);
    else if (error == 0)
        info = signal_user_info(c->a[1], SI_USER);
    if (error == 0 && facts.gone != 0)
        error = -ESRCH;
    if (error == 0 && (uint32_t)c->a[1] > SIGNALS)
        error = -EINVAL;
    if (error == 0)
        error = credentials_may_signal(facts.process, info.signal);
    if (error == 0 && in_proc)
        return signal_send_process(facts.process, &info);
    if (error == 0)
        error = anonymous_call((int32_t)c->a[0], SPECIAL_PROCESS_SIGNAL, 0, &info, sizeof(info), NULL, 0, &answer);
    return error == -ENXIO ? -ESRCH : error;
}

int64_t call_pidfd_getfd(struct call *c)
{
    const struct thread *self = thread_current();
    const struct credentials *own = &self->context.credentials;
    struct pidfd_asker asker = {(int32_t)c->a[1], own->uid, own->gid, credentials_root(own) ? 1 : 0};
    struct file_place place;
    struct pidfd_facts facts;
    struct file_answer answer;
    int64_t result;

    if ((uint32_t)c->a[2] != 0)
        return -EINVAL;
    result = pidfd_find((int32_t)c->a[0], &facts);
    if (result != 0)
        return result;
    if (facts.process == self->group->id && facts.gone == 0)
        asker.any = 1;
    result = anonymous_call((int32_t)c->a[0], SPECIAL_PROCESS_FILE, 0, &asker, sizeof(asker), &place, sizeof(place),
                            &answer);
    if (result != sizeof(place))
        return result == -ENXIO ? -ESRCH : result < 0 ? result : -EBADF;
    result = file_share_at(&place);
    return result != 0 ? result : files_give(MSG_FILE_INSTALL, &place, DESCRIPTOR_CLOEXEC);
}

int pidfd_open_child(struct group *child, uint64_t address)
{
    struct file *file = pidfd_create_for(0, child);
    struct file_place place = {.kernel = instance.kernel};
    int64_t fd;
    int32_t number;

    if (file == NULL)
        return -ENOMEM;
    place.id = file->id;
    fd = files_give(MSG_FILE_INSTALL, &place, DESCRIPTOR_CLOEXEC);
    if (fd < 0)
        return (int)fd;
    number = (int32_t)fd;
    if (user_write(address, &number, sizeof(number)) == 0)
        return 0;
    files_close(fd);
    return -EFAULT;
}

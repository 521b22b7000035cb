/* Operations of system calls on descriptors of the current process. See the header. */
#include "kernel/calls/common/files.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/remote.h"
#include "kernel/fs/node/revocation.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"

#define TENTH 100000000ull /* ns */
#define PLACED_MAX 8       /* how often the pages of a call are placed that others use first */

int64_t files_get_flags(int64_t fd)
{
    return files_do((struct file_request){.operation = MSG_FILE_GET_FLAGS, .fd = (int32_t)fd});
}

void files_close(int64_t fd)
{
    files_do((struct file_request){.operation = MSG_FILE_CLOSE, .fd = (int32_t)fd, .close.unlocked = 1});
}

int64_t files_error(int64_t fd, int64_t error)
{
    int64_t flags = files_get_flags(fd);

    return flags < 0 ? flags : (flags & OPEN_PATH) != 0 ? -EBADF : error;
}

int64_t files_wait(const struct file_answer *answer, const char *why)
{
    uint64_t deadline = answer->tenths != 0 ? clock_now() + answer->tenths * TENTH : 0;
    int64_t result;

    if ((answer->flags & FILE_READY) != 0)
        return files_interrupted() ? -ERESTARTSYS : 0;
    result = watch_wait_at(answer->kernel, WATCH_FILE, answer->id, answer->seen, why, deadline);
    return result == -ETIMEDOUT ? 1 : result;
}

bool files_interrupted(void)
{
    const struct thread *thread = thread_current();

    slice_check();
    return (thread->due & THREAD_DUE_INTERRUPTS) != 0 || thread_dying(thread);
}

void files_signal_broken_pipe(void)
{
    struct thread *thread = thread_current();
    struct signal_info info = {
        .signal = SIGPIPE, .code = SI_USER, .pid = thread->group->id, .uid = thread->context.credentials.uid};

    spin_lock(&thread->group->lock);
    signal_send_thread_locked(thread, &info);
    spin_unlock(&thread->group->lock);
}

int64_t files_give(enum msg_type operation, const struct file_place *place, uint32_t flags)
{
    int64_t result = files_do((struct file_request){
        .operation = operation, .fd = -1, .install = {.id = place->id, .kernel = place->kernel, .flags = flags}});

    if (result != -ENOSPC)
        return result;
    file_drop(place->kernel, place->id);
    return -ENOMEM;
}

void files_settle(const struct file_answer *answer)
{
    if ((answer->flags & FILE_SETTLES) != 0)
        node_settle(answer->kernel, answer->seen);
}

/* Has the file's new pages of the bytes that ANSWER names placed by the thread's policy. */
static int64_t place(int32_t fd, struct file_answer *answer)
{
    struct file_request request = {.operation = MSG_FILE_OPERATE, .fd = fd, .special = {.what = SPECIAL_NEW_PAGES}};
    struct file_new_pages pages = {.policy = thread_current()->context.memory_policy,
                                   .at = answer->id,
                                   .size = answer->seen - answer->id,
                                   .centre = mempolicy_own_node()};

    return file_call(thread_current()->group, &request, &pages, sizeof(pages), NULL, 0, answer);
}

int64_t files_call_by_policy(const struct file_request *request, const void *data, size_t size,
                             struct file_answer *answer)
{
    bool strict = thread_current()->context.memory_policy.mode == POLICY_BIND;
    struct group *group = thread_current()->group;
    struct file_request again = *request;
    bool writes = request->operation != MSG_FILE_ALLOCATE;
    uint32_t *flags = writes ? &again.move.flags : &again.space.mode;
    uint32_t by_policy = writes ? FILE_BY_POLICY : FILE_ALLOCATE_BY_POLICY;
    int64_t value, error = 0;

    *flags |= by_policy;
    for (int turn = 0;; turn++) {
        value = file_call(group, &again, data, size, NULL, 0, answer);
        if (value != -FILE_PLACES || error != 0)
            break;
        if (turn != 0 && files_interrupted())
            error = -ERESTARTSYS;
        else if (turn < PLACED_MAX || strict)
            error = place(request->fd, answer);
        else
            *flags &= ~by_policy; /* such a policy is only a wish */
        if (error != 0 && writes)
            *flags |= FILE_AS_PLACED;
        else if (error != 0)
            break;
    }
    if (value == -FILE_PLACES)
        *answer = (struct file_answer){.value = error};
    return value == -FILE_PLACES ? error : value;
}

int64_t files_write_by_policy(const struct file_request *request, const void *data, size_t size,
                              struct file_answer *answer)
{
    int64_t value = files_call_by_policy(request, data, size, answer);

    return value == -FILE_WHO ? socket_write_as(thread_current()->group, request->fd, data, size, answer) : value;
}

bool files_same(int64_t one, int64_t other)
{
    struct file_request request = {.operation = MSG_FILE_STAT};
    int64_t fds[2] = {one, other};
    struct file_facts facts[2];
    struct file_answer answer;

    for (uint32_t i = 0; i < 2; i++) {
        request.fd = (int32_t)fds[i];
        if (file_call(thread_current()->group, &request, NULL, 0, &facts[i], sizeof(facts[i]), &answer) < 0)
            return false;
    }
    return facts[0].inode == facts[1].inode && facts[0].device == facts[1].device;
}

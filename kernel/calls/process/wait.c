/* wait4(2) and waitid(2). The home of the caller's process finds a child and reaps it in one step. The wait for a
 * change of the children has no effect itself, so it may be interrupted at any time and begin again on
 * another kernel. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/events/pidfd.h"
#include "kernel/calls/process/rusage.h"
#include "kernel/lib/string.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "msg/slice.h"
#include "tasks/family/children.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/remote/watch.h"
#include "tasks/thread/thread.h"
#include "tasks/user/deliver.h"

#define P_ALL 0
#define P_PID 1
#define P_PGID 2
#define P_PIDFD 3
#define WNOHANG 1u
#define WUNTRACED 2u
#define WCONTINUED 8u

/* Adds the accounts of CHILD, which has been reaped, to those of its parent, the process ID. *USED becomes the
 * child's. */
static void take_account(uint32_t id, uint32_t child, struct account_used *used)
{
    struct msg_process_call read = {.id = child, .type = MSG_PROCESS_ENDED_IO};
    struct msg_process_call reap = {.id = child, .type = MSG_PROCESS_REAPED};
    struct msg_process_call add = {.id = id, .type = MSG_PROCESS_ADD_USED};
    struct msg_process_result io, end;

    if (process_call_surely(&read, &io) != 0 || process_call_surely(&reap, &end) != 0)
        return;
    *used = add.used = end.used;
    process_call_surely(&add, &end);
    add.type = MSG_PROCESS_ADD_IO;
    add.io = io.io;
    process_call_surely(&add, &end);
}

/* Asks for a child that CALL selects, a part of the children at a time. *EVENTS: the count before the first part.
 * -ECHILD: at one moment none was selected. Children may join and leave the group between two parts, which counts as
 * an event: then all are asked for again. */
static int64_t look_for_child(struct msg_process_call *call, struct msg_process_result *result, uint64_t *events)
{
    bool exists = false;
    int64_t error;

    do {
        call->wait.place = 0;
        do {
            error = process_call(call, result);
            if (call->wait.place == 0)
                *events = result->events;
            exists |= error == 0;
            call->wait.place = result->place;
            slice_check();
        } while ((error == 0 || error == -ECHILD) && result->child == 0 && result->place != 0);
    } while (error == -ECHILD && !exists && result->events != *events);
    return error == -ECHILD && exists ? 0 : error;
}

/* Waits for a child that SELECTOR and OPTIONS select. *USED is the account of a child that was reaped, else zero. */
static int64_t wait_child(uint64_t selector, uint64_t options, struct msg_process_result *result,
                          struct account_used *used)
{
    uint32_t id = thread_current()->group->id;
    struct msg_process_call call = {.id = id, .type = MSG_PROCESS_WAIT, .wait = {selector, options, 0}};
    uint64_t events = 0;

    *used = (struct account_used){.peak = 0};
    for (;;) {
        int64_t error = look_for_child(&call, result, &events);

        if (result->reaped != 0) {
            take_account(id, result->child, used);
        }
        if (error != 0 || result->child != 0 || (options & WAIT_NO_HANG) != 0)
            return error;
        error = watch_wait_at(process_home(id), WATCH_CHILDREN, id, events, "change of a child", 0);
        if (error != 0)
            return error;
    }
}

int64_t call_wait4(struct call *c)
{
    struct msg_process_result result;
    struct account_used used;
    int32_t pid = (int32_t)c->a[0];
    uint64_t options = WAIT_EXITED | (c->a[2] & (WAIT_NO_THREAD | WAIT_ALL | WAIT_CLONE)) |
                       ((c->a[2] & WNOHANG) != 0 ? WAIT_NO_HANG : 0) | ((c->a[2] & WUNTRACED) != 0 ? WAIT_STOPPED : 0) |
                       ((c->a[2] & WCONTINUED) != 0 ? WAIT_CONTINUED : 0);
    uint64_t selector = (uint64_t)SELECT_ANY << 32;
    int64_t error;

    if ((c->a[2] & UINT32_MAX & ~(WNOHANG | WUNTRACED | WCONTINUED | WAIT_NO_THREAD | WAIT_ALL | WAIT_CLONE)) != 0)
        return -EINVAL;
    if (pid == INT32_MIN)
        return -ESRCH;
    if (pid > 0)
        selector = (uint64_t)SELECT_PROCESS << 32 | (uint32_t)pid;
    else if (pid != -1)
        selector = (uint64_t)SELECT_GROUP << 32 | (uint32_t)-pid;
    error = wait_child(selector, options, &result, &used);
    if (error != 0 || result.child == 0)
        return error;
    if (c->a[1] != 0 && user_write(c->a[1], &result.status, sizeof(result.status)) != 0)
        return -EFAULT;
    if (c->a[3] != 0 && rusage_write(c->a[3], result.user_ns, result.system_ns, &used) != 0)
        return -EFAULT;
    return result.child;
}

int64_t call_waitid(struct call *c)
{
    const uint64_t known = WAIT_NO_HANG | WAIT_STOPPED | WAIT_EXITED | WAIT_CONTINUED | WAIT_NO_REAP | WAIT_NO_THREAD |
                           WAIT_ALL | WAIT_CLONE;
    struct msg_process_result result;
    struct account_used used;
    uint64_t options = c->a[3] & UINT32_MAX;
    uint64_t selector;
    struct pidfd_facts facts;
    uint8_t user[128] = {0};
    bool nonblock = false;
    int64_t error;

    if ((options & ~known) != 0 || (options & (WAIT_STOPPED | WAIT_EXITED | WAIT_CONTINUED)) == 0)
        return -EINVAL;
    switch (c->a[0]) {
    case P_ALL:
        selector = (uint64_t)SELECT_ANY << 32;
        break;
    case P_PID:
        if ((int32_t)c->a[1] <= 0)
            return -EINVAL;
        selector = (uint64_t)SELECT_PROCESS << 32 | (uint32_t)c->a[1];
        break;
    case P_PGID:
        if ((int32_t)c->a[1] < 0)
            return -EINVAL;
        selector = (uint64_t)SELECT_GROUP << 32 | (uint32_t)c->a[1];
        break;
    case P_PIDFD:
        if ((int32_t)c->a[1] < 0)
            return -EINVAL;
        error = pidfd_find((int32_t)c->a[1], &facts);
        if (error != 0)
            return error;
        if (facts.gone != 0)
            return -ECHILD;
        selector = (uint64_t)SELECT_PROCESS << 32 | facts.process;
        nonblock = facts.nonblock != 0 && (options & WAIT_NO_HANG) == 0;
        break;
    default:
        return -EINVAL;
    }
    error = wait_child(selector, nonblock ? options | WAIT_NO_HANG : options, &result, &used);
    if (error == 0 && nonblock && result.child == 0)
        error = -EAGAIN;
    if (error != 0)
        return error;
    if (result.child != 0) {
        struct signal_info info = {.signal = SIGCHLD, .code = result.code, .pid = result.child, .uid = result.uid};

        info.value = result.code == CLD_EXITED || result.code == CLD_STOPPED ? result.status >> 8 & 0xff
                                                                             : result.status & 0x7f;
        if (result.code == CLD_CONTINUED)
            info.value = SIGCONT;
        signal_info_to_user(&info, user);
    }
    if (c->a[2] != 0 && user_write(c->a[2], user, sizeof(user)) != 0)
        return -EFAULT;
    if (c->a[4] != 0 && result.child != 0 && rusage_write(c->a[4], result.user_ns, result.system_ns, &used) != 0)
        return -EFAULT;
    return 0;
}

/* System calls on signals. */
#include "kernel/abi/signal.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/signal.h"
#include "kernel/calls/process/signals.h"
#include "kernel/lib/string.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/family/set.h"
#include "tasks/locate/locate.h"
#include "tasks/process/call.h"
#include "tasks/process/permission.h"
#include "tasks/process/process.h"
#include "tasks/sched/sched.h"
#include "tasks/signal/action.h"
#include "tasks/thread/thread.h"
#include "tasks/user/deliver.h"

#define SIGSET_SIZE 8u
#define SECOND 1000000000ull

/* Sends INFO to the process ID, after a check of the permission. */
static int64_t send_process(uint32_t id, const struct signal_info *info)
{
    int64_t error = credentials_may_signal(id, info->signal);

    return error != 0 ? error : signal_send_process(id, info);
}

/* What FOUND, the result of sending signal 0 instead, is for SIGNAL: who does not exist is ESRCH also for a signal that
 * does not exist, as on Linux. */
static int64_t checked(uint64_t signal, int64_t found)
{
    return (uint32_t)signal <= SIGNALS || found == -ESRCH ? found : -EINVAL;
}

static struct signal_info user_info(uint64_t signal, int32_t code)
{
    return signal_user_info((uint32_t)signal <= SIGNALS ? signal : 0, code);
}

static int64_t kill_all(int32_t pid, const struct signal_info *info)
{
    uint32_t self = thread_current()->group->id;
    struct msg_process_call ask = {.id = self, .type = MSG_PROCESS_GET_GROUP};
    struct msg_process_group_found found;
    struct msg_process_result result;
    enum msg_type type = MSG_PROCESS_GROUP_SIGNAL;
    uint32_t group = (uint32_t)-pid;

    if (pid > 0)
        return send_process((uint32_t)pid, info);
    if (pid == INT32_MIN)
        return -ESRCH;
    if (pid == 0)
        group = (uint32_t)process_call(&ask, &result);
    if (!credentials_root(&thread_current()->context.credentials))
        type = MSG_PROCESS_GROUP_SIGNAL_AS;
    if (pid == -1)
        process_group_call(type, 0, self, info, &found);
    else
        process_group_call(type, group, 0, info, &found);
    if (found.count == 0 && type == MSG_PROCESS_GROUP_SIGNAL_AS && found.session != 0)
        return -EPERM;
    return found.count > 0 ? 0 : -ESRCH;
}

int64_t call_kill(struct call *c)
{
    struct signal_info info = user_info(c->a[1], SI_USER);

    return checked(c->a[1], kill_all((int32_t)c->a[0], &info));
}

static int64_t send_living(uint32_t group, uint32_t tid, const struct signal_info *info)
{
    struct msg_thread_call call = {.thread = tid, .type = MSG_THREAD_SIGNAL, .info = *info, .group = group};
    struct msg_thread_result result;
    int64_t error;

    if (!credentials_root(&thread_current()->context.credentials)) { /* signal 0 finds the thread's process */
        call.info.signal = 0;
        error = thread_call(&call, &result, NULL);
        if (error == 0)
            error = credentials_may_signal(result.group, info->signal);
        if (error != 0)
            return error;
        call.info.signal = info->signal;
    }
    return thread_call(&call, &result, NULL);
}

/* The first thread of a process may have ended before the process, or before this was waited for: then nothing is sent,
 * and the result is as if it were, as on Linux. */
static int64_t send_thread(uint32_t group, uint32_t tid, const struct signal_info *info)
{
    const struct signal_info nothing = {.signal = 0};
    int64_t error = send_living(group, tid, info);

    if (error != -ESRCH || (group != 0 && group != tid))
        return error;
    error = credentials_may_signal(tid, info->signal);
    return error != 0 ? error : signal_send_process(tid, &nothing);
}

int64_t call_tkill(struct call *c)
{
    struct signal_info info = user_info(c->a[1], SI_TKILL);

    if ((int32_t)c->a[0] <= 0)
        return -EINVAL;
    return checked(c->a[1], send_thread(0, (uint32_t)c->a[0], &info));
}

int64_t call_tgkill(struct call *c)
{
    struct signal_info info = user_info(c->a[2], SI_TKILL);

    if ((int32_t)c->a[0] <= 0 || (int32_t)c->a[1] <= 0)
        return -EINVAL;
    return checked(c->a[2], send_thread((uint32_t)c->a[0], (uint32_t)c->a[1], &info));
}

int64_t call_rt_sigqueueinfo(struct call *c)
{
    struct signal_info info;
    int64_t error = signal_read_info(c->a[2], c->a[1], (uint32_t)c->a[0], false, &info);

    return error != 0 ? error : checked(c->a[1], send_process((uint32_t)c->a[0], &info));
}

int64_t call_rt_tgsigqueueinfo(struct call *c)
{
    struct signal_info info;
    int64_t error = signal_read_info(c->a[3], c->a[2], (uint32_t)c->a[1], false, &info);

    if ((int32_t)c->a[0] <= 0 || (int32_t)c->a[1] <= 0)
        return -EINVAL;
    return error != 0 ? error : checked(c->a[2], send_thread((uint32_t)c->a[0], (uint32_t)c->a[1], &info));
}

int64_t call_rt_sigprocmask(struct call *c)
{
    struct thread *thread = thread_current();
    uint64_t old = thread->context.signal_mask;
    uint64_t set = 0;

    if (c->a[3] != SIGSET_SIZE)
        return -EINVAL;
    if (c->a[1] != 0) {
        if (user_read(&set, c->a[1], sizeof(set)) != 0)
            return -EFAULT;
        switch (c->a[0]) {
        case SIG_BLOCK:
            set |= old;
            break;
        case SIG_UNBLOCK:
            set = old & ~set;
            break;
        case SIG_SETMASK:
            break;
        default:
            return -EINVAL;
        }
        signal_set_mask(thread, set & ~SIGNAL_UNBLOCKABLE);
    }
    return c->a[2] != 0 ? user_write(c->a[2], &old, sizeof(old)) : 0;
}

int64_t call_rt_sigaction(struct call *c)
{
    uint64_t words[4]; /* the program's struct sigaction: handler, flags, restorer, mask */
    struct signal_action action, old;
    int64_t error;

    if (c->a[0] < 1 || c->a[0] > SIGNALS || c->a[3] != SIGSET_SIZE)
        return -EINVAL;
    if (c->a[1] != 0) {
        if (user_read(words, c->a[1], sizeof(words)) != 0)
            return -EFAULT;
        if (c->a[0] == SIGKILL || c->a[0] == SIGSTOP)
            return -EINVAL;
        action = (struct signal_action){words[0], words[1], words[2], words[3] & ~SIGNAL_UNBLOCKABLE};
    }
    error = process_action(thread_current()->group, (uint32_t)c->a[0], c->a[1] != 0 ? &action : NULL, &old);
    if (error != 0 || c->a[2] == 0)
        return error;
    memcpy(words, (uint64_t[4]){old.handler, old.flags, old.restorer, old.mask}, sizeof(words));
    return user_write(c->a[2], words, sizeof(words));
}

int64_t call_rt_sigreturn(struct call *c)
{
    signal_return(thread_current());
    c->replaced = true;
    return 0;
}

int64_t call_rt_sigpending(struct call *c)
{
    struct thread *thread = thread_current();
    uint64_t set = signal_pending(thread) & thread->context.signal_mask;

    if (c->a[1] > SIGSET_SIZE)
        return -EINVAL;
    return user_write(c->a[0], &set, c->a[1]);
}

int64_t call_pause(struct call *c)
{
    (void)c;
    while (!wait_ops.ended(WAIT_INTERRUPTIBLE))
        signal_wait_due(0);
    return -ERESTARTNOHAND;
}

int64_t call_rt_sigsuspend(struct call *c)
{
    struct thread *thread = thread_current();
    uint64_t set;

    if (c->a[1] != SIGSET_SIZE)
        return -EINVAL;
    if (user_read(&set, c->a[0], sizeof(set)) != 0)
        return -EFAULT;
    thread->context.signal_saved_mask = thread->context.signal_mask;
    thread->context.flags |= CONTEXT_RESTORE_MASK;
    signal_set_mask(thread, set & ~SIGNAL_UNBLOCKABLE);
    return call_pause(c);
}

/* Takes a signal of SET and writes its siginfo_t to INFO_AT, unless that is 0. DEADLINE and EXPIRED are those of
 * signal_wait_take. */
static int64_t wait_for_signal(uint64_t set, uint64_t info_at, uint64_t deadline, bool expired)
{
    struct thread_context *context = &thread_current()->context;
    struct signal_info info;
    uint8_t user[128];
    int64_t result = signal_wait_take(set, deadline, expired, &info);

    if (result == 0) {
        signal_info_to_user(&info, user);
        if (info_at != 0 && user_write(info_at, user, sizeof(user)) != 0)
            return -EFAULT;
        return info.signal;
    }
    if (result != -ERESTARTSYS)
        return result;
    context->restart_function = RESTART_SIGNAL;
    context->restart_argument[0] = deadline;
    context->restart_argument[1] = info_at;
    context->restart_argument[2] = set;
    return -ERESTART_RESTARTBLOCK;
}

int64_t signal_wait_again(void)
{
    const uint64_t *arguments = thread_current()->context.restart_argument;
    uint64_t deadline = arguments[0];

    return wait_for_signal(arguments[2], arguments[1], deadline, deadline != 0 && clock_now() >= deadline);
}

int64_t call_rt_sigtimedwait(struct call *c)
{
    uint64_t set, time[2], deadline = 0;
    bool expired = false;

    if (c->a[3] != SIGSET_SIZE)
        return -EINVAL;
    if (user_read(&set, c->a[0], sizeof(set)) != 0 || (c->a[2] != 0 && user_read(time, c->a[2], sizeof(time)) != 0))
        return -EFAULT;
    if (c->a[2] != 0) {
        if ((int64_t)time[0] < 0 || time[1] >= SECOND)
            return -EINVAL;
        deadline = time[0] > INT64_MAX / SECOND / 2 ? 0 : clock_now() + time[0] * SECOND + time[1];
        expired = time[0] == 0 && time[1] == 0;
    }
    return wait_for_signal(set & ~SIGNAL_UNBLOCKABLE, c->a[1], deadline, expired);
}

struct linux_stack { /* stack_t */
    uint64_t base;
    uint32_t flags, pad;
    uint64_t size;
};

int64_t call_sigaltstack(struct call *c)
{
    struct thread_context *context = &thread_current()->context;
    bool on = context->stack_size != 0 && (context->stack_flags & SS_AUTODISARM) == 0 &&
              c->frame->rsp > context->stack_base && c->frame->rsp - context->stack_base <= context->stack_size;
    struct linux_stack old = {.base = context->stack_base, .flags = context->stack_flags, .size = context->stack_size};
    struct linux_stack new;

    old.flags |= context->stack_size == 0 ? SS_DISABLE : on ? SS_ONSTACK : 0;
    if (c->a[0] != 0) {
        uint32_t mode;

        if (user_read(&new, c->a[0], sizeof(new)) != 0)
            return -EFAULT;
        if (on)
            return -EPERM;
        mode = new.flags & ~SS_AUTODISARM;
        if (mode != 0 && mode != SS_ONSTACK && mode != SS_DISABLE)
            return -EINVAL;
        if (mode == SS_DISABLE) {
            new.base = new.size = 0;
            new.flags = 0;
        } else if (new.size < MINSIGSTKSZ) {
            return -ENOMEM;
        }
        context->stack_base = new.base;
        context->stack_size = new.size;
        context->stack_flags = new.flags &SS_AUTODISARM;
    }
    return c->a[1] != 0 ? user_write(c->a[1], &old, sizeof(old)) : 0;
}

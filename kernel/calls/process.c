/* System calls on threads and processes. */
#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/abi/signal.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/calls/calls.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"
#include "mm/space.h"
#include "tasks/clone.h"
#include "tasks/exit.h"
#include "tasks/group.h"
#include "tasks/sched.h"
#include "tasks/thread.h"

#define ARCH_SET_GS 0x1001u
#define ARCH_SET_FS 0x1002u
#define ARCH_GET_FS 0x1003u
#define ARCH_GET_GS 0x1004u
#define SIG_DFL 0u
#define SIG_IGN 1u
#define SIG_BLOCK 0u
#define SIG_UNBLOCK 1u
#define SIG_SETMASK 2u
#define SIGSET_SIZE 8u
#define SIGNAL_BIT(signal) (1ull << ((signal)-1))
#define WNOHANG 1u

int64_t call_exit(struct call *c)
{
    exit_thread((uint32_t)c->a[0]);
}

int64_t call_exit_group(struct call *c)
{
    exit_group(EXIT_STATUS(c->a[0]));
}

int64_t call_clone(struct call *c)
{
    return clone_thread(c->frame, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4]);
}

int64_t call_getpid(struct call *c)
{
    (void)c;
    return thread_current()->group->id;
}

int64_t call_gettid(struct call *c)
{
    (void)c;
    return thread_current()->tid;
}

int64_t call_getppid(struct call *c)
{
    const struct group *group = thread_current()->group;

    (void)c;
    /* Only the home knows the parent; away from it, the first process has none and others began on kernel 0 too. */
    if (group->home != instance.kernel)
        return -ENOSYS;
    return group->parent != NULL ? group->parent->id : 0;
}

int64_t call_get_root_id(struct call *c)
{
    (void)c;
    return 0; /* there is one user */
}

int64_t call_set_tid_address(struct call *c)
{
    thread_current()->context.clear_child_tid = c->a[0];
    return thread_current()->tid;
}

int64_t call_arch_prctl(struct call *c)
{
    struct thread *thread = thread_current();

    switch (c->a[0]) {
    case ARCH_SET_FS:
    case ARCH_SET_GS:
        if (c->a[1] >= USER_END)
            return -EPERM;
        if (c->a[0] == ARCH_SET_FS) {
            thread->context.fs_base = c->a[1];
            wrmsr(MSR_FS_BASE, c->a[1]);
        } else {
            thread->context.gs_base = c->a[1];
            wrmsr(MSR_KERNEL_GS_BASE, c->a[1]);
        }
        return 0;
    case ARCH_GET_FS:
        return user_write(c->a[1], &thread->context.fs_base, sizeof(thread->context.fs_base));
    case ARCH_GET_GS:
        return user_write(c->a[1], &thread->context.gs_base, sizeof(thread->context.gs_base));
    default:
        return -EINVAL;
    }
}

int64_t call_sched_yield(struct call *c)
{
    (void)c;
    sched_yield();
    return 0;
}

int64_t call_getcpu(struct call *c)
{
    uint32_t cpu = cpu_self()->number;
    uint32_t node = instance.plan.cpus[cpu].node;

    if (c->a[0] != 0 && user_write(c->a[0], &cpu, sizeof(cpu)) != 0)
        return -EFAULT;
    if (c->a[1] != 0 && user_write(c->a[1], &node, sizeof(node)) != 0)
        return -EFAULT;
    return 0;
}

int64_t call_sched_getaffinity(struct call *c)
{
    uint64_t mask[CPUS_MAX / 64] = {0};
    uint64_t size = (instance.plan.cpu_count + 63) / 64 * 8;

    if ((int32_t)c->a[0] != 0 && (uint32_t)c->a[0] != thread_current()->tid)
        return -ESRCH;
    if (c->a[1] < size || (c->a[1] & 7) != 0)
        return -EINVAL;
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].kernel >= 0)
            mask[i / 64] |= 1ull << (i % 64);
    }
    return user_write(c->a[2], mask, size) != 0 ? -EFAULT : (int64_t)size;
}

static bool ends_process(uint64_t signal)
{
    return signal != SIGCHLD && signal != SIGCONT && signal != SIGURG && signal != SIGWINCH && signal != SIGSTOP &&
           signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU;
}

/* Signals that were sent while they were masked take effect now: all have their default action. */
static void deliver_pending(struct thread *thread)
{
    uint64_t due = thread->context.signal_pending & ~thread->context.signal_mask;

    thread->context.signal_pending &= ~due;
    for (uint32_t signal = 1; signal <= SIGNALS; signal++) {
        if ((due & SIGNAL_BIT(signal)) != 0 && ends_process(signal))
            exit_group(EXIT_SIGNAL(signal));
    }
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
        set &= ~(SIGNAL_BIT(SIGKILL) | SIGNAL_BIT(SIGSTOP));
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
        thread->context.signal_mask = set;
    }
    if (c->a[2] != 0 && user_write(c->a[2], &old, sizeof(old)) != 0)
        return -EFAULT;
    deliver_pending(thread);
    return 0;
}

int64_t call_rt_sigaction(struct call *c)
{
    uint64_t action[4] = {0}; /* handler, flags, restorer, mask */

    if (c->a[0] < 1 || c->a[0] > SIGNALS || c->a[3] != SIGSET_SIZE)
        return -EINVAL;
    if (c->a[1] != 0) {
        if (user_read(action, c->a[1], sizeof(action)) != 0)
            return -EFAULT;
        if (c->a[0] == SIGKILL || c->a[0] == SIGSTOP)
            return -EINVAL;
        if (action[0] != SIG_DFL)
            return -ENOSYS; /* neither handlers nor ignoring are there */
    }
    memset(action, 0, sizeof(action));
    return c->a[2] != 0 ? user_write(c->a[2], action, sizeof(action)) : 0;
}

/* A signal from the calling thread to itself or its process: it has its default action, now or when it is unmasked. */
static int64_t signal_own(uint64_t signal)
{
    struct thread *thread = thread_current();

    if (signal > SIGNALS)
        return -EINVAL;
    if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
        return -ENOSYS; /* stopping is not there */
    if (signal == 0)
        return 0;
    thread->context.signal_pending |= SIGNAL_BIT(signal);
    deliver_pending(thread);
    return 0;
}

int64_t call_kill(struct call *c)
{
    struct group *group;

    if ((uint32_t)c->a[0] == thread_current()->group->id || (int32_t)c->a[0] == 0)
        return signal_own(c->a[1]);
    if ((int32_t)c->a[0] < 0 || c->a[1] > SIGNALS)
        return (int32_t)c->a[0] < 0 ? -ENOSYS : -EINVAL;
    group = group_find((uint32_t)c->a[0]);
    if (group == NULL)
        return -ESRCH;
    if (c->a[1] != 0 && ends_process(c->a[1]))
        exit_group_other(group, EXIT_SIGNAL(c->a[1]));
    group_put(group);
    return 0;
}

int64_t call_tkill(struct call *c)
{
    return (uint32_t)c->a[0] == thread_current()->tid ? signal_own(c->a[1]) : -ENOSYS;
}

int64_t call_tgkill(struct call *c)
{
    if ((uint32_t)c->a[0] != thread_current()->group->id)
        return -ESRCH;
    return (uint32_t)c->a[1] == thread_current()->tid ? signal_own(c->a[2]) : -ENOSYS;
}

/* The child that fits PID (-1: any) and, if any, has ended; NULL when there is no such child at all. */
static struct child *find_child_locked(struct group *group, int32_t pid, bool *exists)
{
    *exists = false;
    list_for_each(node, &group->children) {
        struct child *child = container_of(node, struct child, node);

        if (pid != -1 && (uint32_t)pid != child->id)
            continue;
        *exists = true;
        if (child->ended)
            return child;
    }
    return NULL;
}

int64_t call_wait4(struct call *c)
{
    struct group *group = thread_current()->group;
    struct wait_reason reason = {.what = "end of a child", .kernel = -1, .key = c->a[0]};
    struct child *child;
    uint32_t id, status;
    bool exists;

    if (group->home != instance.kernel)
        return -ENOSYS; /* children are known at the home only */
    if ((int32_t)c->a[0] < -1 || c->a[0] == 0 || (c->a[2] & ~(uint64_t)WNOHANG) != 0 || c->a[3] != 0)
        return -EINVAL;
    spin_lock(&group->lock);
    for (;;) {
        child = find_child_locked(group, (int32_t)c->a[0], &exists);
        if (child != NULL || !exists || (c->a[2] & WNOHANG) != 0 || wait_ops.ended(WAIT_INTERRUPTIBLE))
            break;
        waitq_wait(&group->child_wait, &group->lock, &reason, WAIT_INTERRUPTIBLE, 0);
    }
    if (child != NULL)
        list_remove(&child->node);
    spin_unlock(&group->lock);
    if (child == NULL)
        return !exists ? -ECHILD : (c->a[2] & WNOHANG) != 0 ? 0 : -ERESTARTSYS;
    id = child->id;
    status = child->status;
    heap_free(child, sizeof(*child));
    if (c->a[1] != 0 && user_write(c->a[1], &status, sizeof(status)) != 0)
        return -EFAULT;
    return id;
}

int64_t call_uname(struct call *c)
{
    static const char *const fields[6] = {"Linux", "kettle", "6.1.0-kettle", "Kettle", "x86_64", "(none)"};
    char name[6][65];

    memset(name, 0, sizeof(name));
    for (int i = 0; i < 6; i++)
        memcpy(name[i], fields[i], strlen(fields[i]));
    return user_write(c->a[0], name, sizeof(name));
}

/* System calls on threads and processes. */
#include "tasks/process/process.h"
#include "kernel/abi/errno.h"
#include "kernel/abi/signal.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/calls/calls.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/user/user_copy.h"
#include "tasks/exit/exit.h"
#include "tasks/family/set.h"
#include "tasks/locate/locate.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/program/clone.h"
#include "tasks/sched/sched.h"
#include "tasks/thread/thread.h"
#include "tasks/user/rseq.h"

#define ARCH_SET_GS 0x1001u
#define ARCH_SET_FS 0x1002u
#define ARCH_GET_FS 0x1003u
#define ARCH_GET_GS 0x1004u

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
    struct clone_arguments arguments = {.flags = c->a[0] & ~0xffull & UINT32_MAX,
                                        .exit_signal = c->a[0] & 0xff,
                                        .stack = c->a[1],
                                        .parent_tid = c->a[2],
                                        .child_tid = c->a[3],
                                        .tls = c->a[4],
                                        .pidfd = c->a[2]};

    if ((arguments.flags & CLONE_PIDFD) != 0 && (arguments.flags & CLONE_PARENT_SETTID) != 0)
        return -EINVAL; /* both results would be written to the same address */
    return clone_task(c->frame, &arguments);
}

int64_t call_fork(struct call *c)
{
    struct clone_arguments arguments = {.exit_signal = SIGCHLD};

    return clone_task(c->frame, &arguments);
}

int64_t call_vfork(struct call *c)
{
    struct clone_arguments arguments = {.flags = CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD};

    return clone_task(c->frame, &arguments);
}

struct linux_clone_args { /* clone3(2) */
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    uint64_t set_tid, set_tid_size, cgroup;
};

int64_t call_clone3(struct call *c)
{
    struct linux_clone_args given = {0};
    struct clone_arguments arguments;
    uint64_t size = c->a[1];

    if (size < 64)
        return -EINVAL;
    if (size > PAGE_SIZE)
        return -E2BIG;
    if (user_read(&given, c->a[0], size < sizeof(given) ? size : sizeof(given)) != 0)
        return -EFAULT;
    for (uint64_t at = sizeof(given); at < size; at++) {
        uint8_t byte;

        if (user_read(&byte, c->a[0] + at, 1) != 0)
            return -EFAULT;
        if (byte != 0)
            return -E2BIG;
    }
    if (given.set_tid_size != 0 || given.cgroup != 0 || (given.stack == 0) != (given.stack_size == 0) ||
        (given.flags & 0xff) != 0 || ((given.flags & (CLONE_THREAD | CLONE_PARENT)) != 0 && given.exit_signal != 0))
        return -EINVAL;
    arguments = (struct clone_arguments){.flags = given.flags,
                                         .exit_signal = given.exit_signal,
                                         .stack = given.stack + given.stack_size,
                                         .parent_tid = given.parent_tid,
                                         .child_tid = given.child_tid,
                                         .tls = given.tls,
                                         .pidfd = given.pidfd};
    return clone_task(c->frame, &arguments);
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

/* Performs TYPE, whose only result is a value, on process ID (0: the caller's) and returns the value. */
static int64_t process_value(uint32_t id, enum msg_type type)
{
    struct msg_process_call call = {.id = id != 0 ? id : thread_current()->group->id, .type = type};
    struct msg_process_result result;

    return process_call(&call, &result);
}

int64_t call_getppid(struct call *c)
{
    const struct process *own = thread_current()->group->process; /* NULL on other kernels than the home */

    (void)c;
    return own != NULL ? __atomic_load_n(&own->parent, __ATOMIC_RELAXED) : process_value(0, MSG_PROCESS_PARENT);
}

int64_t call_getpgid(struct call *c)
{
    return process_value((uint32_t)c->a[0], MSG_PROCESS_GET_GROUP);
}

int64_t call_getpgrp(struct call *c)
{
    (void)c;
    return process_value(0, MSG_PROCESS_GET_GROUP);
}

int64_t call_getsid(struct call *c)
{
    return process_value((uint32_t)c->a[0], MSG_PROCESS_GET_SESSION);
}

/* Notifies PARENT of the process group of its CHILD, because it may wait for children by process group. The
 * notification is complete before setpgid or setsid returns. */
static void notify_parent(uint32_t parent, uint32_t child, uint32_t group)
{
    struct msg_process_call call = {
        .id = parent, .type = MSG_PROCESS_CHILD_GROUP, .child = {.id = child, .group = group}};
    struct msg_process_result result;

    if (parent != PROCESS_INIT)
        process_call_surely(&call, &result);
}

int64_t call_setpgid(struct call *c)
{
    uint32_t self = thread_current()->group->id;
    uint32_t id = (uint32_t)c->a[0] != 0 ? (uint32_t)c->a[0] : self;
    uint32_t wanted = (uint32_t)c->a[1] != 0 ? (uint32_t)c->a[1] : id;
    struct msg_process_call call = {
        .id = id, .type = MSG_PROCESS_SET_GROUP, .set_group = {.group = wanted, .caller = self}};
    struct msg_process_result result;
    struct msg_process_group_found found = {0};
    int64_t error;

    if ((int32_t)wanted < 0)
        return -EINVAL;
    if (wanted != id)
        process_group_call(MSG_PROCESS_GROUP_FIND, wanted, 0, NULL, &found);
    call.set_group.group_session = found.session;
    call.set_group.caller_session = (uint32_t)process_value(0, MSG_PROCESS_GET_SESSION);
    error = process_call(&call, &result);
    if (error == 0)
        notify_parent(result.parent, id, wanted);
    return error;
}

int64_t call_setsid(struct call *c)
{
    uint32_t self = thread_current()->group->id;
    struct msg_process_call call = {.id = self, .type = MSG_PROCESS_SET_SESSION};
    struct msg_process_group_found found;
    struct msg_process_result result;
    int64_t value;

    (void)c;
    process_group_call(MSG_PROCESS_GROUP_FIND, self, 0, NULL, &found);
    value = found.count > 0 ? -EPERM : process_call(&call, &result);
    if (value > 0)
        notify_parent(result.parent, self, self);
    return value;
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

int64_t call_rseq(struct call *c)
{
    return rseq_register(c->a[0], (uint32_t)c->a[1], (uint32_t)c->a[2], (uint32_t)c->a[3]);
}

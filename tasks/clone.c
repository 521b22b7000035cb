/* New threads. See the header. */
#include "tasks/clone.h"

#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/lib/string.h"
#include "msg/call.h"
#include "tasks/group.h"
#include "tasks/sched.h"
#include "tasks/wire.h"

#define CLONE_VM 0x100u
#define CLONE_FS 0x200u
#define CLONE_FILES 0x400u
#define CLONE_SIGHAND 0x800u
#define CLONE_THREAD 0x10000u
#define CLONE_SYSVSEM 0x40000u
#define CLONE_SETTLS 0x80000u
#define CLONE_PARENT_SETTID 0x100000u
#define CLONE_CHILD_CLEARTID 0x200000u
#define CLONE_DETACHED 0x400000u /* ignored by Linux; musl sets it */
#define CLONE_CHILD_SETTID 0x1000000u

#define THREAD_FLAGS (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)
#define OPTIONAL_FLAGS                                                                                                 \
    (CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | CLONE_DETACHED | CLONE_CHILD_SETTID)

/* The home counts the threads of a group; it must know of this one before it can exit. */
static int count_at_home(struct group *group, uint32_t tid)
{
    struct msg_thread message = {.group = group->id, .thread = tid};
    int error;

    if (group->home == instance.kernel)
        return group_count_thread(group);
    error = msg_call(group->home, MSG_THREAD_NEW, &message, sizeof(message), NULL, 0, "leave to start a thread",
                     group->id);
    return error < 0 ? error : 0;
}

int64_t clone_thread(const struct trap_frame *frame, uint64_t flags, uint64_t stack, uint64_t parent_tid,
                     uint64_t child_tid, uint64_t tls)
{
    struct thread *self = thread_current();
    struct thread *thread;
    uint32_t tid;
    int error;

    if (((flags & CLONE_THREAD) != 0 && (flags & CLONE_SIGHAND) == 0) ||
        ((flags & CLONE_SIGHAND) != 0 && (flags & CLONE_VM) == 0))
        return -EINVAL;
    if ((flags & CLONE_THREAD) == 0)
        return -ENOSYS;
    if ((flags & THREAD_FLAGS) != THREAD_FLAGS || (flags & ~(uint64_t)(THREAD_FLAGS | OPTIONAL_FLAGS)) != 0 ||
        ((flags & CLONE_SETTLS) != 0 && tls >= USER_END))
        return -EINVAL;
    tid = thread_new_tid();
    if ((flags & CLONE_PARENT_SETTID) != 0 && user_write(parent_tid, &tid, sizeof(tid)) != 0)
        return -EFAULT;
    if ((flags & CLONE_CHILD_SETTID) != 0 && user_write(child_tid, &tid, sizeof(tid)) != 0)
        return -EFAULT;
    thread = thread_create_user(tid, self->group);
    if (thread == NULL)
        return -ENOMEM;
    *thread_frame(thread) = *frame;
    thread_frame(thread)->rax = 0;
    if (stack != 0)
        thread_frame(thread)->rsp = stack;
    if (cpu_self()->fpu_owner == self)
        fpu_save(self->fpu);
    memcpy(thread->fpu, self->fpu, cpu_features.fpu_size);
    memcpy(thread->context.name, self->context.name, sizeof(thread->context.name));
    thread->context.fs_base = (flags & CLONE_SETTLS) != 0 ? tls : self->context.fs_base;
    thread->context.gs_base = self->context.gs_base;
    thread->context.signal_mask = self->context.signal_mask;
    thread->context.clear_child_tid = (flags & CLONE_CHILD_CLEARTID) != 0 ? child_tid : 0;
    /* The second is refused only when all of the group is dying: then the count dies too. */
    error = count_at_home(self->group, tid);
    if (error == 0)
        error = group_add_thread(self->group, thread);
    if (error != 0) {
        thread_free(thread);
        return error == -ESRCH ? -EAGAIN : error;
    }
    sched_start(thread);
    return tid;
}

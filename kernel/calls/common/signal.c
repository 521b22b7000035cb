/* Helpers shared by the system calls that send and await signals. See the header. */
#include "kernel/calls/common/signal.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/string.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/process/group.h"
#include "tasks/sched/sched.h"
#include "tasks/thread/thread.h"

#define CODE_OFFSET 8u /* of si_code in siginfo_t */
#define VALUE_OFFSET 24u

struct signal_info signal_user_info(uint64_t signal, int32_t code)
{
    return (struct signal_info){.signal = (uint32_t)signal,
                                .code = code,
                                .pid = thread_current()->group->id,
                                .uid = thread_current()->context.credentials.uid};
}

int64_t signal_read_info(uint64_t address, uint64_t signal, uint32_t target, bool the_same, struct signal_info *info)
{
    uint8_t user[128];
    uint32_t ids[2], inside;

    if (user_read(user, address, sizeof(user)) != 0)
        return -EFAULT;
    memcpy(&inside, user, sizeof(inside));
    if (the_same && inside != (uint32_t)signal)
        return -EINVAL;
    *info = (struct signal_info){.signal = (uint32_t)signal <= SIGNALS ? (uint32_t)signal : 0};
    memcpy(&info->code, user + CODE_OFFSET, sizeof(info->code));
    memcpy(ids, user + 16, sizeof(ids));
    memcpy(&info->value, user + VALUE_OFFSET, sizeof(info->value));
    info->pid = ids[0];
    info->uid = ids[1];
    return (info->code >= 0 || info->code == SI_TKILL) && target != thread_current()->tid ? -EPERM : 0;
}

void signal_wait_due(uint64_t deadline)
{
    static const struct wait_reason reason = {.what = "a signal", .kernel = -1};

    sched_block(NULL, &reason, WAIT_INTERRUPTIBLE, deadline);
}

int64_t signal_wait_take(uint64_t set, uint64_t deadline, bool expired, struct signal_info *info)
{
    struct thread *thread = thread_current();
    struct thread_context *context = &thread->context;
    bool taken;

    for (;;) {
        thread->awaited = set;
        thread_clear_due(thread, THREAD_DUE_SIGNAL);
        taken = signal_take(thread, set, info);
        if (taken || expired)
            break;
        signal_mask_changed(thread); /* checks for other signals, and for those that have come since */
        if (wait_ops.ended(WAIT_INTERRUPTIBLE) && (thread->due & THREAD_DUE_SIGNAL) == 0)
            break; /* a move, a stop or the end is due */
        if ((thread->due & THREAD_DUE_SIGNAL) == 0)
            signal_wait_due(deadline);
        taken = signal_take(thread, set, info);
        if (taken || wait_ops.ended(WAIT_INTERRUPTIBLE))
            break;
        expired = deadline != 0 && clock_now() >= deadline;
    }
    thread->awaited = 0;
    signal_mask_changed(thread);
    signal_retarget(thread->group, set & context->signal_mask); /* one may have been directed to this thread */
    if (taken)
        return 0;
    if (expired)
        return -EAGAIN;
    return (thread->due & THREAD_DUE_INTERRUPTS & ~THREAD_DUE_SIGNAL) == 0 ? -EINTR : -ERESTARTSYS;
}

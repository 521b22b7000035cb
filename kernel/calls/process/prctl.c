/* prctl(2): names and attributes of threads and processes. Attributes of a thread move with it; those of a process are
 * stored at its home. There are no capabilities, so their attributes are only stored and returned. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/lib/string.h"
#include "mm/user/user_copy.h"
#include "tasks/process/attribute.h"
#include "tasks/process/process.h"
#include "tasks/thread/thread.h"

#define PR_SET_PDEATHSIG 1u
#define PR_GET_PDEATHSIG 2u
#define PR_GET_DUMPABLE 3u
#define PR_SET_DUMPABLE 4u
#define PR_GET_KEEPCAPS 7u
#define PR_SET_KEEPCAPS 8u
#define PR_GET_TIMING 13u
#define PR_SET_TIMING 14u
#define PR_SET_NAME 15u
#define PR_GET_NAME 16u
#define PR_GET_SECCOMP 21u
#define PR_CAPBSET_READ 23u
#define PR_GET_TSC 25u
#define PR_SET_TSC 26u
#define PR_GET_SECUREBITS 27u
#define PR_SET_TIMERSLACK 29u
#define PR_GET_TIMERSLACK 30u
#define PR_SET_CHILD_SUBREAPER 36u
#define PR_GET_CHILD_SUBREAPER 37u
#define PR_SET_NO_NEW_PRIVS 38u
#define PR_GET_NO_NEW_PRIVS 39u
#define PR_GET_TID_ADDRESS 40u

#define TSC_ENABLE 1u
#define CAPABILITY_LAST 40u

static int64_t set_name(struct thread *thread, uint64_t address)
{
    char name[THREAD_NAME_MAX] = {0};
    int64_t length = user_read_string(name, address, sizeof(name));

    if (length < 0 && length != -ENAMETOOLONG)
        return length;
    name[THREAD_NAME_MAX - 1] = '\0';
    memcpy(thread->context.name, name, sizeof(name));
    return 0;
}

static int64_t give(uint64_t address, int64_t value)
{
    int32_t number = (int32_t)value;

    return value < 0 ? value : user_write(address, &number, sizeof(number));
}

static int64_t set(enum process_attribute which, uint64_t value)
{
    int64_t old = process_attribute_set(which, (uint32_t)value);

    return old < 0 ? old : 0;
}

static int64_t set_flag(struct thread *thread, uint32_t flag, bool on)
{
    thread->context.flags = on ? thread->context.flags | flag : thread->context.flags & ~flag;
    return 0;
}

static int64_t get_flag(const struct thread *thread, uint32_t flag)
{
    return (thread->context.flags & flag) != 0;
}

int64_t call_prctl(struct call *c)
{
    struct thread *thread = thread_current();
    const uint64_t *a = c->a;

    switch ((uint32_t)a[0]) {
    case PR_SET_PDEATHSIG:
        return a[1] > SIGNALS ? -EINVAL : set(ATTRIBUTE_DEATH_SIGNAL, a[1]);
    case PR_GET_PDEATHSIG:
        return give(a[1], process_attribute(ATTRIBUTE_DEATH_SIGNAL));
    case PR_GET_DUMPABLE:
        return process_attribute(ATTRIBUTE_DUMPABLE);
    case PR_SET_DUMPABLE:
        return a[1] > 1 ? -EINVAL : set(ATTRIBUTE_DUMPABLE, a[1]);
    case PR_GET_KEEPCAPS:
        return get_flag(thread, CONTEXT_KEEP_CAPABILITIES);
    case PR_SET_KEEPCAPS:
        return a[1] > 1 ? -EINVAL : set_flag(thread, CONTEXT_KEEP_CAPABILITIES, a[1] != 0);
    case PR_GET_TIMING:
    case PR_GET_SECCOMP:
    case PR_GET_SECUREBITS:
        return 0;
    case PR_SET_TIMING: /* statistical */
        return a[1] != 0 ? -EINVAL : 0;
    case PR_SET_NAME:
        return set_name(thread, a[1]);
    case PR_GET_NAME:
        return user_write(a[1], thread->context.name, THREAD_NAME_MAX);
    case PR_CAPBSET_READ:
        return a[1] > CAPABILITY_LAST ? -EINVAL : 1;
    case PR_GET_TSC:
        return give(a[1], TSC_ENABLE);
    case PR_SET_TSC:
        return a[1] != TSC_ENABLE ? -EINVAL : 0;
    case PR_SET_TIMERSLACK:
        thread->context.timer_slack = (int64_t)a[1] > 0 ? a[1] : thread->context.timer_slack_usual;
        return 0;
    case PR_GET_TIMERSLACK:
        return (int64_t)thread->context.timer_slack;
    case PR_SET_CHILD_SUBREAPER:
        return set(ATTRIBUTE_REAPER, a[1] != 0 ? 1 : 0);
    case PR_GET_CHILD_SUBREAPER:
        return give(a[1], process_attribute(ATTRIBUTE_REAPER));
    case PR_SET_NO_NEW_PRIVS:
        if (a[1] != 1 || a[2] != 0 || a[3] != 0 || a[4] != 0)
            return -EINVAL;
        return set_flag(thread, CONTEXT_NO_NEW_PRIVILEGES, true);
    case PR_GET_NO_NEW_PRIVS:
        if (a[1] != 0 || a[2] != 0 || a[3] != 0 || a[4] != 0)
            return -EINVAL;
        return get_flag(thread, CONTEXT_NO_NEW_PRIVILEGES);
    case PR_GET_TID_ADDRESS:
        return user_write(a[1], &thread->context.clear_child_tid, sizeof(uint64_t));
    default:
        return -EINVAL;
    }
}

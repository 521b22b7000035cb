/* From the SYSCALL instruction to the function of the call, which a subject of kernel/calls defines. */
#include "kernel/abi/errno.h"
#include "kernel/abi/kettle.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/calls/calls.h"
#include "kernel/lib/log.h"
#include "tasks/oom/oom.h"
#include "tasks/thread/thread.h"
#include "tasks/user/before_user.h"

static const call_function functions[CALLS_MAX] = {
#define ABSENT(number, name)
#define CALL(number, name, function, status) [number] = function,
#include "kernel/abi/syscalls.def"
};

static const call_function kettle_functions[KETTLE_CALL_COUNT] = {
    [KETTLE_CALL_MIGRATE - KETTLE_CALL_BASE] = call_kettle_migrate,
    [KETTLE_CALL_KERNEL - KETTLE_CALL_BASE] = call_kettle_kernel,
    [KETTLE_CALL_KERNELS - KETTLE_CALL_BASE] = call_kettle_kernels,
    [KETTLE_CALL_NODE - KETTLE_CALL_BASE] = call_kettle_node,
    [KETTLE_CALL_START - KETTLE_CALL_BASE] = call_kettle_start,
    [KETTLE_CALL_STARTED - KETTLE_CALL_BASE] = call_kettle_started,
    [KETTLE_CALL_SPAWN - KETTLE_CALL_BASE] = call_kettle_spawn,
    [KETTLE_CALL_MESSAGES - KETTLE_CALL_BASE] = call_kettle_messages,
    [KETTLE_CALL_TALLY - KETTLE_CALL_BASE] = call_kettle_tally,
    [KETTLE_CALL_CONTROL - KETTLE_CALL_BASE] = call_kettle_control,
    [KETTLE_CALL_STOP - KETTLE_CALL_BASE] = call_kettle_stop,
    [KETTLE_CALL_AUDIT - KETTLE_CALL_BASE] = call_kettle_audit,
    [KETTLE_CALL_RETRIEVE - KETTLE_CALL_BASE] = call_kettle_retrieve,
    [KETTLE_CALL_NUMA - KETTLE_CALL_BASE] = call_kettle_numa,
    [KETTLE_CALL_LOCK - KETTLE_CALL_BASE] = call_kettle_lock,
    [KETTLE_CALL_KILL - KETTLE_CALL_BASE] = call_kettle_kill,
    [KETTLE_CALL_IMAGE - KETTLE_CALL_BASE] = call_kettle_image,
    [KETTLE_CALL_REPLICATE - KETTLE_CALL_BASE] = call_kettle_replicate,
    [KETTLE_CALL_FOLLOW - KETTLE_CALL_BASE] = call_kettle_follow,
    [KETTLE_CALL_GROUP - KETTLE_CALL_BASE] = call_kettle_group,
    [KETTLE_CALL_GATHER - KETTLE_CALL_BASE] = call_kettle_gather,
};

static call_function find(uint64_t number)
{
    if (number < CALLS_MAX)
        return functions[number];
    if (number - KETTLE_CALL_BASE < KETTLE_CALL_COUNT)
        return kettle_functions[number - KETTLE_CALL_BASE];
    return NULL;
}

/* A call that begins again, or one that is not there. */
static __attribute__((noinline)) int64_t do_other(struct call *call, uint64_t rax)
{
    uint64_t number = oom_number(rax);
    call_function function = number != rax ? find(number) : NULL;

    if (function != NULL)
        return function(call);
    if (number < CALLS_MAX && calls_count_absent((uint32_t)number))
        log_line("calls: %s (%lu) is not there: ENOSYS (logged once)", calls_name((uint32_t)number),
                 (unsigned long)number);
    return -ENOSYS;
}

bool syscall_dispatch(struct trap_frame *frame)
{
    struct call call = {frame->arguments, frame, false};
    call_function function = find(frame->rax);
    int64_t result;

    cpu_leave_user();
    result = function != NULL ? function(&call) : do_other(&call, frame->rax);
    if (__builtin_expect(call.replaced, 0)) /* the frame has new contents, which must stay as they are */
        return thread_settle(), false;
    if (__builtin_expect((uint64_t)result - (uint64_t)-ERESTART_RESTARTBLOCK <= ERESTART_RESTARTBLOCK - ERESTARTSYS,
                         0)) {
        thread_current()->context.interrupted = (uint16_t)-result;
        frame->rax = (uint64_t)-EINTR;
        return thread_settle(), false;
    }
    frame->rax = (uint64_t)result;
    return thread_before_user();
}

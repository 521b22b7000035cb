/* The steps of a stop that each kernel performs when the coordinator on kernel 0 (stop.c) orders them. See
 * kernel/machine/internal.h. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/file/descriptor_cache.h"
#include "kernel/file/move/lost.h"
#include "kernel/file/move/move.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/panic.h"
#include "kernel/machine/internal.h"
#include "mm/audit/audit.h"
#include "mm/evacuate/evacuate.h"
#include "mm/file/object.h"
#include "mm/page/replica.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "msg/reset.h"
#include "tasks/exit/lost.h"
#include "tasks/family/set.h"
#include "tasks/freeze/freeze.h"
#include "tasks/handover/handover.h"
#include "tasks/remote/operation.h"
#include "tasks/role/role.h"
#include "tasks/sched/sched.h"

static void halt_cpu(void)
{
    struct boot_page *page = window_boot_page();
    uint32_t number = cpu_self()->number;

    space_load(NULL);
    __atomic_store_n(&page->slots[number].state, SLOT_EMPTY, __ATOMIC_SEQ_CST);
    for (;;)
        cpu_stop();
}

/* Serves STOP_HALT. The handler answers; each CPU halts when it is idle. */
static int run_halt(const struct remote_request *request, void *result)
{
    (void)request;
    (void)result;
    sched_halt = halt_cpu;
    memory_fence();
    for (uint32_t i = 0; i < cpu_total; i++) { /* a sleeping CPU must see sched_halt */
        if (i != cpu_index())
            apic_send(cpus[i]->apic_id, VECTOR_FLUSH);
    }
    return 0;
}

static int run_look(const struct remote_request *request, void *result)
{
    struct freeze_state *state = result;

    if (!request->task && freeze_look_is_long())
        return REMOTE_TASK;
    freeze_look(state);
    if (request->task)
        state->working--; /* this one */
    return sizeof(struct freeze_state);
}

static void flush(void)
{
    kernel_set others = msg_peers_reachable();

    msg_gather(others, MSG_STOP_FLUSH, NULL, 0, NULL, NULL, "ordinary messages to be handled", 0);
    msg_gather(others, MSG_STOP_FLUSH_URGENT, NULL, 0, NULL, NULL, "urgent messages to be handled", 0);
}

/* How much keeps this kernel from being emptied: threads that are present, and what a task is about to send to process
 * groups. That of a clean-up waits for its end, which waits for this stop: it is left to handover_check. */
static int64_t drain(uint32_t successor)
{
    return (int64_t)freeze_drain(successor) + (msg_peers_fenced() == 0 && process_later_waits() ? 1 : 0);
}

/* Stages everything that this kernel is responsible for. The parts that are most likely to refuse come first. */
static int64_t prepare(uint32_t successor)
{
    int error = handover_check();

    if (error == 0)
        error = move_check();
    if (error == 0)
        error = evacuate_leases();
    replicas_give_up();
    if (error == 0)
        error = evacuate_frames(successor);
    if (error == 0)
        error = evacuate_send_pairs();
    if (error == 0)
        error = handover_prepare(successor);
    if (error == 0)
        error = evacuate_entries(successor, true);
    if (error == 0)
        error = move_files(successor);
    return error;
}

static void commit(uint32_t successor)
{
    int error = handover_commit(successor);

    if (error == 0)
        error = evacuate_entries(successor, false);
    if (error != 0)
        panic("kernel: what was prepared for kernel %u is not there (error %d)", successor, error);
}

static int64_t switch_over(uint32_t from, uint32_t to)
{
    handover_switch(from, to);
    evacuate_switch(from, to);
    move_switch(from, to);
    role_hand_over(from, to);
    return (int64_t)evacuate_audit(from);
}

/* Whether a kernel has died besides LOST, or one of them is not fenced here. What that one has cannot be asked for, and
 * must not be taken for what LOST had: programs that it has a part in are not ended yet. */
static bool another_has_died(kernel_set lost)
{
    for (uint32_t k = 0; k < instance.kernels; k++) {
        if (k != instance.kernel && msg_peer_fenced(k) && (lost >> k & 1) == 0)
            return true;
    }
    return (msg_peers_reachable() & lost) != 0;
}

/* Releases the frames of this kernel that those of LOST had, and forgets them. OTHERS are asked for what they have;
 * if one of them has died meanwhile, its error ends this. */
static int64_t reclaim(kernel_set lost)
{
    kernel_set others = msg_peers_reachable();
    int64_t frames = another_has_died(lost) ? -EAGAIN : 0;

    for (kernel_set rest = lost; rest != 0 && frames == 0; rest &= rest - 1)
        file_objects_lose((uint32_t)__builtin_ctzll(rest));
    for (kernel_set rest = lost; rest != 0 && frames == 0; rest &= rest - 1)
        frames = lost_pages((uint32_t)__builtin_ctzll(rest)) == 0 ? 0 : -EAGAIN;
    if (frames == 0)
        frames = audit_reclaim(others);
    if (frames < 0)
        return frames;
    descriptor_cache_forget_all();
    for (; lost != 0; lost &= lost - 1)
        role_hand_over((uint32_t)__builtin_ctzll(lost), ROLE_NONE);
    return frames;
}

static int64_t count(kernel_set lost)
{
    kernel_set others = msg_peers_reachable();

    return another_has_died(lost) ? -EAGAIN : lost_files_count(others);
}

/* The kernels that can be asked are found last, after what waits. */
static int64_t drop(kernel_set lost)
{
    int error = lost_children(lost);
    kernel_set others = msg_peers_reachable();

    if (error == 0 && another_has_died(lost))
        error = -EAGAIN;
    return error != 0 ? error : lost_files_drop(lost, others);
}

int64_t stop_take_step(const struct msg_stop_order *order)
{
    switch (order->step) {
    case STEP_LEAVE:
        msg_peer_leave(order->kernel);
        return 0;
    case STEP_STAY:
        msg_peer_start(order->kernel);
        return 0;
    case STEP_DRAIN:
        return drain(order->successor);
    case STEP_FREEZE:
        freeze_begin();
        return 0;
    case STEP_FLUSH:
        flush();
        return 0;
    case STEP_PREPARE:
        return prepare(order->successor);
    case STEP_DISCARD:
        move_discard();
        handover_discard();
        evacuate_discard();
        return 0;
    case STEP_REPLACE:
        evacuate_replace();
        return 0;
    case STEP_PUBLISH:
        handover_publish();
        return 1;
    case STEP_COMMIT:
        commit(order->successor);
        return 0;
    case STEP_SWITCH:
        return switch_over(order->kernel, order->successor);
    case STEP_RESET:
        return msg_peer_reset(order->kernel);
    case STEP_FENCE:
        return msg_peer_fence(order->kernel) ? 1 : 0;
    case STEP_LOST_END:
        lost_waits(order->kernel);
        return lost_end(order->kernel);
    case STEP_LOST_FREE:
        lost_free(order->kernel);
        return 0;
    case STEP_LOST_LEFT:
        return (int64_t)lost_left(order->kernel);
    case STEP_LOST_COUNT:
        return count(order->lost);
    case STEP_LOST_DROP:
        return drop(order->lost);
    case STEP_LOST_RECLAIM:
        return reclaim(order->lost);
    case STEP_CALLS:
        freeze_calls();
        return 0;
    case STEP_THAW:
        freeze_end();
        return 0;
    default:
        return -EPROTO;
    }
}

/* A fence is the handler's: every worker may wait for the kernel that has died, and it is the fence that ends their
 * waits. The other steps may wait, for handlers and for what the lowest rank of workers does. */
static int run_order(const struct remote_request *request, void *result)
{
    const struct msg_stop_order *order = request->data;

    if (order->kernel >= instance.kernels || order->successor >= instance.kernels ||
        (order->step == STEP_FENCE && order->kernel == request->kernel))
        return -EPROTO;
    if (!request->task && order->step != STEP_FENCE)
        return REMOTE_TASK;
    *(struct msg_stop_report *)result = (struct msg_stop_report){.value = stop_take_step(order)};
    return sizeof(struct msg_stop_report);
}

static int run_flush(const struct remote_request *request, void *result)
{
    (void)request;
    (void)result;
    return 0;
}

void stop_step_init(void)
{
    REMOTE_SERVE_TASK(STOP_ORDER, WORK_ROUND, run_order, NULL, struct msg_stop_order, struct msg_stop_report);
    REMOTE_SERVE_TASK(STOP_LOOK, WORK_LEAF, run_look, NULL, struct msg_none, struct freeze_state);
    remote_serve_short(MSG_STOP_LOOK, REMOTE_RESERVE);
    REMOTE_SERVE(STOP_HALT, run_halt, NULL, struct msg_none, struct msg_none);
    REMOTE_SERVE(STOP_FLUSH, run_flush, NULL, struct msg_none, struct msg_none);
    REMOTE_SERVE(STOP_FLUSH_URGENT, run_flush, NULL, struct msg_none, struct msg_none);
}

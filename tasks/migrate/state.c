/* The state of a moving thread: writing, checking and installing it. See the header. The caller holds the lock of the
 * thread's group, or has the only reference to the thread; a peer's message is checked before its state is used. */
#include "tasks/migrate/state.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "tasks/futex/donation/donation.h"
#include "tasks/thread/group.h"

#define CONTEXT_SIZE (uint32_t)sizeof(struct thread_context)
#define FRAME_SIZE (uint32_t)sizeof(struct trap_frame)

_Static_assert(sizeof(struct thread_context) % 8 == 0, "words");

static uint32_t state_most; /* [i] bytes of the state of a thread that uses all of the FPU */

/* Copies SIZE bytes, and returns what lies behind them in the message. */
static inline uint8_t *put(uint8_t *out, const void *from, uint32_t size)
{
    memcpy(out, from, size);
    return out + size;
}

static inline const uint8_t *get(void *to, const uint8_t *in, uint32_t size)
{
    memcpy(to, in, size);
    return in + size;
}

/* Bytes of a state with these COMPONENTS of the FPU state; -1: there are no such ones. */
static int64_t state_size(uint64_t components)
{
    int64_t size = CONTEXT_SIZE + FRAME_SIZE + FPU_BASIC_SIZE;

    if ((components & ~fpu_components_all()) != 0)
        return -1;
    for (uint32_t i = 0; i < fpu_part_count; i++) {
        if ((components >> fpu_parts[i].component & 1) != 0)
            size += fpu_parts[i].size;
    }
    return size;
}

/* What follows the state in MESSAGE: signals, and behind them donations. */
static const struct signal_info *infos_of(const struct msg_migrate *message)
{
    return (const struct signal_info *)(const void *)((const uint8_t *)(message + 1) + message->state);
}

static const struct pi_donation_update *donations_of(const struct msg_migrate *message)
{
    return (const struct pi_donation_update *)(infos_of(message) + message->signals);
}

uint32_t state_bound(const struct thread *thread)
{
    return (uint32_t)sizeof(struct msg_migrate) + state_most +
           thread->signals.count * (uint32_t)sizeof(struct signal_info) +
           pi_donations_count(thread) * (uint32_t)sizeof(struct pi_donation_update);
}

void state_fill(struct thread *thread, uint32_t kernel, struct msg_migrate *message)
{
    struct group *group = thread->group;
    const uint8_t *fpu = thread->fpu;
    uint8_t *out = (uint8_t *)(message + 1);

    *message = (struct msg_migrate){0};
    message->group = group->id;
    message->home = group->home;
    message->thread = thread->tid;
    message->visited = thread->visited | 1ull << kernel;
    message->clock = clock_now();
    message->signal_hint = group->signal_hint;
    message->signals = thread->signals.count;
    out = put(out, &thread->context, CONTEXT_SIZE);
    out = put(out, thread_frame(thread), FRAME_SIZE);
    out = put(out, fpu, FPU_BASIC_SIZE);
    message->components = fpu_components(fpu);
    for (uint32_t i = 0; i < fpu_part_count; i++) {
        if ((message->components >> fpu_parts[i].component & 1) != 0)
            out = put(out, fpu + fpu_parts[i].offset, fpu_parts[i].size);
    }
    message->state = (uint32_t)(out - (uint8_t *)(message + 1));
    signal_queue_list(&thread->signals, (struct signal_info *)infos_of(message), message->signals);
    message->donations = pi_donations_count(thread);
    pi_donations_list(thread, (struct pi_donation_update *)donations_of(message));
}

uint32_t state_length(const struct msg_migrate *message)
{
    return (uint32_t)sizeof(*message) + message->state + message->signals * (uint32_t)sizeof(struct signal_info) +
           message->donations * (uint32_t)sizeof(struct pi_donation_update);
}

int state_install(struct thread *thread, const struct msg_migrate *message)
{
    const struct signal_info *infos = infos_of(message);
    struct trap_frame *frame = thread_frame(thread);
    const uint8_t *in = (const uint8_t *)(message + 1);
    uint8_t *fpu = thread->fpu;

    in = get(&thread->context, in, CONTEXT_SIZE);
    in = get(frame, in, FRAME_SIZE);
    in = get(fpu, in, FPU_BASIC_SIZE);
    fpu_set_components(fpu, message->components); /* the others have their initial values, whatever lies there */
    for (uint32_t i = 0; i < fpu_part_count; i++) {
        if ((message->components >> fpu_parts[i].component & 1) != 0)
            in = get(fpu + fpu_parts[i].offset, in, fpu_parts[i].size);
    }
    if (!fpu_area_valid(thread->fpu) || frame->rip >= USER_END || thread->context.fs_base >= USER_END ||
        thread->context.gs_base >= USER_END)
        return -EPROTO;
    if (pi_donations_set(thread, donations_of(message), message->donations) != 0)
        return -ENOMEM;
    frame->cs = SELECTOR_USER_CODE;
    frame->ss = SELECTOR_USER_DATA;
    frame->rflags = (frame->rflags & RFLAGS_USER_MASK) | RFLAGS_USER_DEFAULT;
    thread->visited = message->visited;
    thread->fetched_before = group_space(thread->group)->stats.fetches;
    thread->context.moves++;
    signal_queue_remove(&thread->signals, ~0ull); /* the shadow's copies, kept in case the move failed */
    thread->context.name[THREAD_NAME_MAX - 1] = '\0';
    for (uint32_t i = 0; i < message->signals; i++)
        signal_queue_add(&thread->signals, &infos[i], thread->context.credentials.uid,
                         UINT64_MAX); /* no memory: lost, as if the queue were full */
    return 0;
}

static bool set_valid(kernel_set set)
{
    return instance.kernels == 64 || set >> instance.kernels == 0;
}

bool state_valid(const struct msg *m)
{
    const struct msg_migrate *message = m->data;
    const struct signal_info *infos;

    if (!set_valid(message->visited) || message->home >= instance.kernels || message->signals > SIGNAL_QUEUE_MAX ||
        (int64_t)message->state != state_size(message->components) ||
        message->donations > MSG_MAX / sizeof(struct pi_donation_update) || m->length != state_length(message))
        return false;
    infos = infos_of(message);
    for (uint32_t i = 0; i < message->signals; i++) {
        if (infos[i].signal == 0 || infos[i].signal > SIGNALS)
            return false;
    }
    return true;
}

void state_init(void)
{
    state_most = (uint32_t)state_size(fpu_components_all());
}

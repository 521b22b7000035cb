/* The state of a moving thread: packing, checking and installing it. See the header. The caller holds the lock of the
 * thread's group, or has the only reference to the thread; a peer's message is checked before its state is used. */
#include "tasks/migrate/state.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/instance.h"
#include "tasks/futex/donation/donation.h"
#include "tasks/migrate/pack.h"
#include "tasks/thread/group.h"

#define CONTEXT_WORDS (sizeof(struct thread_context) / 8)
#define FRAME_WORDS (sizeof(struct trap_frame) / 8)
#define RUNS_MAX (2 + FPU_PARTS_MAX)

_Static_assert(sizeof(struct thread_context) % 8 == 0, "packed by words");

static uint32_t packed_most; /* [i] maximal number of packed words of a thread */

/* The runs of words of THREAD that are packed. */
static uint32_t runs_of(struct thread *thread, struct pack_run runs[RUNS_MAX])
{
    uint8_t *fpu = thread->fpu;

    runs[0] = (struct pack_run){(uint64_t *)&thread->context, CONTEXT_WORDS};
    runs[1] = (struct pack_run){(uint64_t *)thread_frame(thread), FRAME_WORDS};
    for (uint32_t i = 0; i < fpu_part_count; i++)
        runs[2 + i] = (struct pack_run){(uint64_t *)(fpu + fpu_parts[i].offset), fpu_parts[i].size / 8};
    return 2 + fpu_part_count;
}

static const struct pi_donation_update *donations_of(const struct msg_migrate *message)
{
    const uint64_t *packed = (const uint64_t *)(message + 1);
    const struct signal_info *infos = (const struct signal_info *)(packed + message->packed);

    return (const struct pi_donation_update *)(infos + message->signals);
}

uint32_t state_bound(const struct thread *thread)
{
    return (uint32_t)sizeof(struct msg_migrate) + packed_most * 8 +
           thread->signals.count * (uint32_t)sizeof(struct signal_info) +
           pi_donations_count(thread) * (uint32_t)sizeof(struct pi_donation_update);
}

void state_fill(struct thread *thread, uint32_t kernel, struct msg_migrate *message)
{
    struct pack_run runs[RUNS_MAX];
    uint32_t count = runs_of(thread, runs);
    struct group *group = thread->group;
    uint64_t *packed;

    *message = (struct msg_migrate){0};
    message->group = group->id;
    message->home = group->home;
    message->thread = thread->tid;
    message->visited = thread->visited | 1ull << kernel;
    message->clock = clock_now();
    message->signal_hint = group->signal_hint;
    message->signals = thread->signals.count;
    packed = (uint64_t *)(message + 1);
    message->packed = pack(runs, count, packed);
    signal_queue_list(&thread->signals, (struct signal_info *)(packed + message->packed), message->signals);
    message->donations = pi_donations_count(thread);
    pi_donations_list(thread, (struct pi_donation_update *)donations_of(message));
}

uint32_t state_length(const struct msg_migrate *message)
{
    return (uint32_t)sizeof(*message) + message->packed * 8 + message->signals * (uint32_t)sizeof(struct signal_info) +
           message->donations * (uint32_t)sizeof(struct pi_donation_update);
}

int state_install(struct thread *thread, const struct msg_migrate *message)
{
    const uint64_t *packed = (const uint64_t *)(message + 1);
    const struct signal_info *infos = (const struct signal_info *)(packed + message->packed);
    struct trap_frame *frame = thread_frame(thread);
    struct pack_run runs[RUNS_MAX];
    uint32_t count = runs_of(thread, runs);

    if (!unpack(runs, count, packed, message->packed) || !fpu_area_valid(thread->fpu) || frame->rip >= USER_END ||
        thread->context.fs_base >= USER_END || thread->context.gs_base >= USER_END)
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
        message->packed > MSG_MAX / 8 || message->donations > MSG_MAX / sizeof(struct pi_donation_update) ||
        m->length != state_length(message))
        return false;
    infos = (const struct signal_info *)((const uint64_t *)(message + 1) + message->packed);
    for (uint32_t i = 0; i < message->signals; i++) {
        if (infos[i].signal == 0 || infos[i].signal > SIGNALS)
            return false;
    }
    return true;
}

void state_init(void)
{
    uint32_t words = CONTEXT_WORDS + FRAME_WORDS;

    for (uint32_t i = 0; i < fpu_part_count; i++)
        words += fpu_parts[i].size / 8;
    packed_most = pack_bound(words, 2 + fpu_part_count);
}

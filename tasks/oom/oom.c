/* The choice of a process to kill when there is no memory. See the header. Nothing here allocates. A kernel may have
 * many groups: each looks at some at a time, and whoever chooses asks again for the rest. */
#include "tasks/oom/oom.h"

#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "mm/frame/abroad.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/page/replica.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"
#include "tasks/freeze/freeze.h"
#include "tasks/oom/wire.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/work.h"
#include "tasks/sched/sched.h"

#define PAUSE 10000000ull   /* ns */
#define BEGINS_MAX 100u     /* so often a call of root's begins again when it is refused */
#define RECENT 100000000ull /* ns: a kernel that has refused itself memory may refuse it others so much later */
#define TRIES_MAX 5u        /* while no kernel lacks memory: it may just have come back */
#define CANDIDATES (4u * OOM_LARGEST_MAX)
#define AREAS_A_PAGE 32u
#define GROUPS_AT_ONCE 64u
#define LOOKS_MAX 8192u /* at one kernel, whatever it answers: more than it can have groups for */
#define WORTH 64u       /* pages: whoever has fewer is not killed in the place of the first process */

/* --- sizes --- */

/* In pages; 0 for a process that ends: its memory is that of the processes that use it, too (vfork), if there are any.
 * Copies of replicated pages do not count: they are given up before anybody is killed. Adds them to *COPIES. */
static uint32_t size_of(struct group *group, uint64_t *copies)
{
    struct space *space = NULL;
    uint64_t pages = 0;

    spin_lock(&group->lock);
    if (group->pinned != NULL ? group_exiting(group->pinned) : !group->exiting)
        space = group->space;
    if (space != NULL) { /* the group's lock keeps the space */
        spin_lock(&space->lock);
        pages = space->resident > 0 ? (uint64_t)space->resident : 0;
        pages = pages - (space->replicas < pages ? space->replicas : pages) + space->table_count +
                space->areas.count / AREAS_A_PAGE;
        *copies += space->replicas;
        spin_unlock(&space->lock);
    }
    spin_unlock(&group->lock);
    return pages > UINT32_MAX ? UINT32_MAX : (uint32_t)pages;
}

/* Whether the home of GROUP, which this is, is about to free its memory: it is not left to processes that use it, too.
 */
static bool is_about_to_free(struct group *group)
{
    const struct process *process = group->process;
    bool frees;

    spin_lock(&group->lock);
    frees = process != NULL && group->exiting && group->space != NULL && !process->is_pinned &&
            (group->pinned == NULL || group_exiting(group->pinned));
    spin_unlock(&group->lock);
    return frees;
}

/* Puts PROCESS with PAGES into LIST of COUNT, the largest first, if it belongs there. */
static void rank(struct oom_size *list, uint32_t count, uint32_t process, uint32_t pages)
{
    uint32_t at = count;

    while (at > 0 && list[at - 1].pages < pages)
        at--;
    if (at == count)
        return;
    memmove(&list[at + 1], &list[at], (count - at - 1) * sizeof(list[0]));
    list[at] = (struct oom_size){process, pages};
}

struct look {
    struct msg_oom_largest *out;
    uint64_t copies; /* of replicated pages */
};

static void look_at(struct group *group, void *context)
{
    struct look *look = context;
    uint32_t pages = size_of(group, &look->copies);

    if (is_about_to_free(group))
        look->out->ending = 1;
    rank(look->out->largest, OOM_LARGEST_MAX, group->id, pages);
}

static volatile uint32_t giving_up; /* [a] a worker drops all copies */

static void give_up(struct work *work)
{
    (void)work;
    replicas_give_up();
    __atomic_store_n(&giving_up, 0, __ATOMIC_RELEASE);
}

/* Looks at some groups, from PLACE on. */
static void look(uint64_t place, struct msg_oom_largest *out)
{
    static struct work work = {.run = give_up};
    struct look look = {.out = out};

    *out = (struct msg_oom_largest){.lacks = frame_is_short() ? 1 : 0};
    out->next = group_some(place, GROUPS_AT_ONCE, look_at, &look);
    if (look.copies == 0 || frame_is_ample())
        return;
    out->ending = 1; /* memory is about to be free, and no new copies are made */
    if (__atomic_exchange_n(&giving_up, 1, __ATOMIC_ACQ_REL) == 0)
        work_submit(&work);
}

static int serve_largest(const struct remote_request *request, void *result)
{
    const struct msg_oom_look *ask = request->data;

    look(ask->place, result);
    return sizeof(struct msg_oom_largest);
}

/* --- the choice --- */

struct choice {
    struct oom_size candidates[CANDIDATES];
    bool ending, lacks;
    uint64_t next[KERNELS_MAX]; /* where each kernel goes on; 0: it has looked at all */
};

/* Adds what a kernel has said, and where it goes on. Calls do not overlap. */
static void add_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct choice *choice = context;
    struct msg_oom_largest part;

    choice->next[kernel] = 0;
    if (length != (int)sizeof(part))
        return;
    memcpy(&part, reply, sizeof(part));
    choice->next[kernel] = part.next;
    choice->ending |= part.ending != 0;
    choice->lacks |= part.lacks != 0;
    for (uint32_t i = 0; i < OOM_LARGEST_MAX && part.largest[i].process != 0; i++) {
        uint32_t pages = part.largest[i].pages;

        for (uint32_t k = 0; k < CANDIDATES; k++) {
            struct oom_size *other = &choice->candidates[k];

            if (other->process != part.largest[i].process)
                continue;
            pages += other->pages;
            memmove(other, other + 1, (CANDIDATES - k - 1) * sizeof(*other));
            choice->candidates[CANDIDATES - 1] = (struct oom_size){0};
            break;
        }
        rank(choice->candidates, CANDIDATES, part.largest[i].process, pages);
    }
}

/* Whether the machine ends with PROCESS: its home is kernel 0, which is never stopped, and only there it is known. */
static bool is_first(uint32_t process)
{
    struct group *group = group_find(process);
    bool first = false;

    if (group == NULL)
        return false;
    first = group->process != NULL && group->process->first;
    group_put(group);
    return first;
}

/* Has KERNEL, which may be this one, look on from where it has stopped until it has looked at all. */
static void look_on(struct choice *choice, uint32_t kernel)
{
    for (uint32_t looks = 0; choice->next[kernel] != 0 && looks < LOOKS_MAX; looks++) {
        struct msg_oom_look ask = {.place = choice->next[kernel]};
        struct msg_oom_largest more;
        int length = sizeof(more);

        if (kernel == instance.kernel)
            look(ask.place, &more);
        else
            length = msg_call(kernel, MSG_OOM_LARGEST, &ask, sizeof(ask), &more, sizeof(more), "largest processes", 0);
        add_answer(choice, kernel, &more, length);
        slice_check();
    }
}

static void choose(struct choice *choice)
{
    struct msg_oom_look ask = {.place = 0};
    struct msg_oom_largest own;

    *choice = (struct choice){.ending = false};
    look(ask.place, &own);
    add_answer(choice, instance.kernel, &own, sizeof(own));
    msg_multicast(msg_peers_reachable(), MSG_OOM_LARGEST, &ask, sizeof(ask), add_answer, choice, "largest processes",
                  0);
    for (uint32_t k = 0; k < instance.kernels; k++)
        look_on(choice, k);
}

static void kill_largest(const struct choice *choice, uint32_t asker)
{
    const struct oom_size *victim = &choice->candidates[0];
    struct msg_process_call call = {.type = MSG_PROCESS_SIGNAL, .info = {.signal = SIGKILL, .code = SI_KERNEL}};
    struct msg_process_result result;
    struct frame_stats stats;

    if (is_first(victim->process) && victim[1].pages >= WORTH)
        victim++;
    if (victim->process == 0)
        return;
    frame_stats(&stats);
    log_line(
        "mm: no kernel has memory for process %u: process %u, the largest, is killed, which has %lu KiB; kernel %u "
        "has %lu of %lu KiB left",
        asker, victim->process, (unsigned long)(victim->pages * (PAGE_SIZE / 1024)), instance.kernel,
        (unsigned long)(stats.free * PAGE_SIZE / 1024), (unsigned long)(stats.total * PAGE_SIZE / 1024));
    call.id = victim->process;
    process_call_surely(&call, &result);
}

/* A thread that waits so that its death may end the wait counts as quiesced: it must not go on before a freeze is over,
 * although its pause is. */
static void pause_until(enum wait_end end, uint64_t deadline)
{
    static const struct wait_reason reason = {.what = "memory", .kernel = -1};

    sched_block(NULL, &reason, end, deadline);
    if (end == WAIT_KILLABLE)
        freeze_quiesce(thread_current());
}

bool oom_wait(uint32_t *tries, bool in_call)
{
    struct choice choice;

    if (thread_dying(thread_current()))
        return false;
    choose(&choice);
    if (!choice.lacks && ++*tries > TRIES_MAX)
        return false;
    if (choice.lacks && !choice.ending)
        kill_largest(&choice, thread_current()->group->id);
    pause_until(in_call ? WAIT_FIRM : WAIT_KILLABLE, clock_now() + PAUSE);
    return true;
}

/* --- kernel objects --- */

static volatile uint32_t reported; /* [a] a worker is to look */

/* A call of the current thread's, if that is root's, is refused memory that a process is killed for: if it fails by
 * that, it begins again. Any context. */
static void mark_call(void)
{
    struct thread *thread = thread_current();

    if (thread != NULL && thread->group != NULL && thread->context.credentials.euid == 0 && !msg_handling())
        __atomic_fetch_or(&thread->due, THREAD_DUE_MEMORY, __ATOMIC_SEQ_CST);
}

/* msg_lacks: KERNEL says ENOMEM also where a limit has been reached; its board tells whether it lacks memory. */
static void note_lacks(uint32_t kernel)
{
    const volatile uint64_t *board = msg_board_of(kernel);

    if (board != NULL && clock_now() - board[MSG_BOARD_LACKS] < RECENT)
        mark_call();
}

static bool has_pages_here(uint32_t process)
{
    struct group *group = group_find(process);
    uint64_t copies = 0;
    uint32_t pages = group != NULL ? size_of(group, &copies) : 0;

    if (group != NULL)
        group_put(group);
    return pages > 0;
}

/* Whether other kernels have frames of this one. For which processes is not known here. */
static bool is_any_abroad(void)
{
    uint32_t spaces, count = 0;

    for (uint64_t frame = 0; count < WORTH && (frame = frame_next_shared(frame, &spaces)) != 0; frame += PAGE_SIZE) {
        count += spaces != 0 && abroad_count(frame) != 0;
        slice_check();
    }
    return count == WORTH;
}

/* Leaves only candidates whose end gives this kernel frames. */
static void leave_out_others(struct choice *choice)
{
    uint32_t count = 0;

    if (is_any_abroad())
        return;
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        if (choice->candidates[i].process != 0 && has_pages_here(choice->candidates[i].process))
            choice->candidates[count++] = choice->candidates[i];
    }
    memset(&choice->candidates[count], 0, (CANDIDATES - count) * sizeof(choice->candidates[0]));
}

static void relieve(struct work *work)
{
    struct choice choice;

    (void)work;
    choose(&choice);
    if (!choice.ending && frame_is_short()) {
        leave_out_others(&choice);
        kill_largest(&choice, 0);
    }
    __atomic_store_n(&reported, 0, __ATOMIC_RELEASE);
}

/* This kernel has refused itself an object. A worker has the largest process killed. Any context; never waits. */
static void note_refused(void)
{
    static struct work work = {.run = relieve};

    msg_board_own()[MSG_BOARD_LACKS] = clock_now();
    mark_call();
    if (__atomic_exchange_n(&reported, 1, __ATOMIC_ACQ_REL) == 0)
        work_submit(&work);
}

bool (*oom_may_begin_again)(uint64_t number, const uint64_t *arguments);

bool oom_settle(void)
{
    struct thread *thread = thread_current();
    struct trap_frame *frame = thread_frame(thread);

    __atomic_fetch_and(&thread->due, ~THREAD_DUE_MEMORY, __ATOMIC_SEQ_CST);
    if (frame->vector != TRAP_SYSCALL || frame->rax != (uint64_t)-ENOMEM || thread->context.interrupted != 0 ||
        frame->error >> OOM_NUMBER_BITS >= BEGINS_MAX ||
        !oom_may_begin_again(oom_number(frame->error), frame->arguments))
        return false;
    frame->error += 1ull << OOM_NUMBER_BITS;
    pause_until(WAIT_KILLABLE, clock_now() + PAUSE);
    return true;
}

void oom_init(void)
{
    frame_set_refused(note_refused);
    msg_lacks = note_lacks;
    REMOTE_SERVE(OOM_LARGEST, serve_largest, NULL, struct msg_oom_look, struct msg_oom_largest);
}

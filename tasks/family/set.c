/* Process groups: performing an operation on every process of a group, on all kernels. See the header. */
#include "tasks/family/set.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/list.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"
#include "tasks/family/session.h"
#include "tasks/freeze/freeze.h"
#include "tasks/process/call.h"
#include "tasks/process/permission.h"
#include "tasks/process/process.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/post.h"
#include "tasks/remote/work.h"
#include "tasks/sched/sched.h"
#include "tasks/signal/signal.h"

#define LATER_KEPT 64u /* entries for when there is no memory */
#define AT_ONCE 64u    /* a task looks at more groups, in slices */
_Static_assert(sizeof(struct msg_process_group) <= REMOTE_SPARE_SIZE, "it can be asked without memory");

#define UNDER_WAY_MOST 256u /* messages of process_group_signal, unless there is no memory to put one off */

struct set_walk {
    const struct msg_process_group *asked;
    struct msg_process_group_found found;
    bool refused;
};

static bool visit(struct group *group, void *context)
{
    struct set_walk *walk = context;
    const struct msg_process_group *asked = walk->asked;
    bool fits;

    slice_check();
    if (group->process == NULL || group->id == asked->except)
        return true;
    if (asked->type == MSG_PROCESS_GROUP_LOOK) {
        session_look(group, asked, &walk->found);
        return true;
    }
    spin_lock(&group->lock);
    fits = asked->group == 0 || group->process->process_group == asked->group;
    if (fits && asked->type == MSG_PROCESS_GROUP_SIGNAL_AS &&
        !process_may_signal_locked(group->process, (uint32_t)asked->info.extra, asked->info.uid, asked->info.signal,
                                   asked->session)) {
        walk->refused = true;
        fits = false;
    }
    if (fits) {
        walk->found.count++;
        walk->found.session = group->process->session;
    }
    spin_unlock(&group->lock);
    if (fits && asked->type != MSG_PROCESS_GROUP_FIND && asked->info.signal != 0) {
        struct signal_info info = asked->info;

        if (asked->type == MSG_PROCESS_GROUP_SIGNAL_AS)
            info.extra = 0;
        signal_send_group(group, &info);
    }
    return true;
}

static void operate(const struct msg_process_group *asked, struct msg_process_group_found *found)
{
    struct set_walk walk = {.asked = asked};

    group_each(visit, &walk);
    *found = walk.found;
    if (asked->type == MSG_PROCESS_GROUP_SIGNAL_AS)
        found->session = walk.refused ? 1 : 0;
}

static int serve(const struct remote_request *request, void *result)
{
    const struct msg_process_group *asked = request->data;

    if (asked->type != request->type || asked->info.signal > SIGNALS)
        return -EPROTO;
    if (!request->task && (group_total() > AT_ONCE || process_child_total() > CHILDREN_AT_ONCE))
        return REMOTE_TASK;
    operate(asked, result);
    return sizeof(struct msg_process_group_found);
}

/* What kernels have answered. */
struct found {
    struct msg_process_group_found *sum;
    kernel_set again; /* they had no memory, and have done nothing */
};

static void add_found(void *context, uint32_t kernel, const void *reply, int length)
{
    struct found *found = context;
    struct msg_process_group_found *sum = found->sum, part;

    if (length == -ENOMEM)
        found->again |= 1ull << kernel;
    if (length < 0)
        return; /* else the kernel does not run, and so has no processes */
    memcpy(&part, reply, sizeof(part));
    sum->count += part.count;
    sum->stopped += part.stopped;
    sum->parents += part.parents;
    if (part.count > 0 || part.session != 0)
        sum->session = part.session;
}

/* Asks KERNELS, this one perhaps among them. A kernel that has no memory for the question is asked again, as a signal
 * must not miss processes there. */
static void ask(const struct msg_process_group *asked, kernel_set kernels, struct msg_process_group_found *sum)
{
    static const struct wait_reason reason = {.what = "memory for a question about a group", .kernel = -1};
    kernel_set own = kernels & 1ull << instance.kernel;
    struct found found = {.sum = sum, .again = kernels & ~own};
    struct msg_process_group_found here;
    uint32_t tries = 0;

    *sum = (struct msg_process_group_found){0};
    do {
        kernels = found.again;
        if (tries != 0)
            sched_block(NULL, &reason, WAIT_FIRM, clock_now() + REMOTE_PAUSE); /* a killable wait is quiesced */
        found.again = 0;
        msg_multicast(kernels, (enum msg_type)asked->type, asked, sizeof(*asked), add_found, &found,
                      "processes of a group", asked->group);
    } while (found.again != 0 && ++tries < REMOTE_TRIES && !wait_ops.ended(WAIT_KILLABLE));
    if (own == 0)
        return;
    operate(asked, &here);
    add_found(&found, instance.kernel, &here, (int)sizeof(here));
}

static void ask_all(const struct msg_process_group *asked, struct msg_process_group_found *sum)
{
    ask(asked, msg_peers_reachable() | 1ull << instance.kernel, sum);
}

void process_group_call(enum msg_type type, uint32_t group, uint32_t except, const struct signal_info *info,
                        struct msg_process_group_found *found)
{
    struct msg_process_group asked = {.type = type, .group = group, .except = except};

    if (info != NULL)
        asked.info = *info;
    if (type == MSG_PROCESS_GROUP_SIGNAL_AS) {
        const struct thread *self = thread_current();
        struct msg_process_call ask = {.id = self->group->id, .type = MSG_PROCESS_GET_SESSION};
        struct msg_process_result result;
        int64_t session = process_call(&ask, &result);

        asked.info.extra = self->context.credentials.euid;
        asked.session = session < 0 ? 0 : (uint32_t)session;
    }
    ask_all(&asked, found);
}

void process_group_look(uint32_t group, uint32_t session, uint32_t except, struct msg_process_group_found *found)
{
    struct msg_process_group asked = {
        .type = MSG_PROCESS_GROUP_LOOK, .group = group, .except = except, .session = session};

    ask_all(&asked, found);
}

/* Signals that cannot be sent now, because programs are quiesced or there is no memory for a message. A task sends them
 * later. A signal that is in the list already is not added again, just as a pending signal is not sent twice; so there
 * are at most as many as groups, times the signals that a terminal sends. Also groups that a death may have orphaned,
 * which is seen when every kernel has given up the parents there: after the clean-up. */
static struct spinlock later_lock;
struct later {
    struct list node;    /* [k] later_lock: in order of age, the oldest first; or in `spare` */
    enum msg_type type;  /* [i] PROCESS_GROUP_SIGNAL, or PROCESS_SIGNAL; PROCESS_GROUP_LOOK: session_look_after */
    uint32_t id, signal; /* PROCESS_GROUP_LOOK: instead of a signal, the session */
    kernel_set kernels;  /* [k] later_lock. PROCESS_GROUP_SIGNAL: kernels that have not got it yet */
};
static struct later kept[LATER_KEPT];
static struct list all_later = {&all_later, &all_later}; /* [k] later_lock */
static struct list spare = {&spare, &spare};             /* [k] later_lock: those of `kept` that are free */
static bool later_submitted;                             /* [k] later_lock */

/* From the heap, so that a death with many groups to look at leaves those of `kept` for when there is no memory. */
static struct later *new_later_locked(void)
{
    struct later *later = heap_alloc(sizeof(*later));

    if (later != NULL)
        return later;
    if (list_empty(&spare))
        return heap_alloc_sure(sizeof(*later));
    later = container_of(spare.next, struct later, node);
    list_remove(&later->node);
    return later;
}

static void free_later_locked(struct later *later)
{
    if (later >= kept && later < kept + LATER_KEPT)
        list_append(&spare, &later->node);
    else
        heap_free(later, sizeof(*later));
}

/* The oldest entry for which something can be done now. NULL: there is none, or programs are quiesced. */
static struct later *due_later_locked(void)
{
    bool cleaning = msg_peers_fenced() != 0;

    if (freeze_active())
        return NULL;
    list_for_each(node, &all_later) {
        struct later *later = container_of(node, struct later, node);

        if (later->type != MSG_PROCESS_GROUP_LOOK || !cleaning)
            return later;
    }
    return NULL;
}

/* Takes that entry. */
static bool take_later(struct later *out)
{
    struct later *due;

    spin_lock(&later_lock);
    due = due_later_locked();
    if (due != NULL) {
        *out = *due;
        list_remove(&due->node);
        free_later_locked(due);
    }
    later_submitted = due != NULL;
    spin_unlock(&later_lock);
    return due != NULL;
}

static void send_later(struct work *work)
{
    struct later next;

    (void)work;
    while (take_later(&next)) {
        struct signal_info info = {.signal = next.signal, .code = SI_KERNEL};
        struct msg_process_call call = {.id = next.id, .type = next.type, .info = info};
        struct msg_process_group asked = {.type = next.type, .group = next.id, .info = info};
        struct msg_process_group_found found;
        struct msg_process_result result;

        if (next.type == MSG_PROCESS_SIGNAL) {
            process_call_surely(&call, &result);
            continue;
        }
        if (next.type == MSG_PROCESS_GROUP_LOOK) {
            session_look_after(next.id, next.signal, 0);
            continue;
        }
        ask(&asked, next.kernels, &found);
    }
}

static void submit_later(void)
{
    static struct work work = {.run = send_later, .rank = WORK_ROUND};
    bool submit;

    spin_lock(&later_lock);
    submit = !later_submitted && due_later_locked() != NULL;
    later_submitted |= submit;
    spin_unlock(&later_lock);
    if (submit)
        work_submit(&work);
}

static struct later *find_later_locked(enum msg_type type, uint32_t id, uint32_t signal)
{
    list_for_each(node, &all_later) {
        struct later *later = container_of(node, struct later, node);

        if (later->type == type && later->id == id && later->signal == signal)
            return later;
    }
    return NULL;
}

/* False: there is no memory. */
static bool put_off(enum msg_type type, uint32_t id, uint32_t signal, kernel_set kernels)
{
    struct later *later;

    spin_lock(&later_lock);
    later = find_later_locked(type, id, signal);
    if (later == NULL && (later = new_later_locked()) != NULL) {
        *later = (struct later){.type = type, .id = id, .signal = signal};
        list_append(&all_later, &later->node);
    }
    if (later != NULL)
        later->kernels |= kernels;
    spin_unlock(&later_lock);
    submit_later();
    return later != NULL;
}

void process_look_later(uint32_t group, uint32_t session)
{
    if (!put_off(MSG_PROCESS_GROUP_LOOK, group, session, 0))
        log_line("tasks: no memory to find whether a death has orphaned process group %u", group);
}

void process_signal_later(uint32_t process, uint32_t signal)
{
    put_off(MSG_PROCESS_SIGNAL, process, signal, 0);
}

bool process_later_waits(void)
{
    bool waits;

    spin_lock(&later_lock);
    waits = !list_empty(&all_later);
    spin_unlock(&later_lock);
    return waits;
}

static uint32_t under_way; /* [a] messages that are not answered yet */

static void take_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    uint64_t what = (uint64_t)context;

    (void)reply;
    __atomic_fetch_sub(&under_way, 1, __ATOMIC_RELAXED);
    if (length == -ENOMEM)
        put_off(MSG_PROCESS_GROUP_SIGNAL, (uint32_t)what, (uint32_t)(what >> 32), 1ull << kernel);
}

static void send_all(const struct msg_process_group *asked, kernel_set kernels)
{
    for (; kernels != 0; kernels &= kernels - 1) {
        __atomic_fetch_add(&under_way, 1, __ATOMIC_RELAXED);
        post_answered((uint32_t)__builtin_ctzll(kernels), MSG_PROCESS_GROUP_SIGNAL, asked, sizeof(*asked), take_answer,
                      (void *)((uint64_t)asked->info.signal << 32 | asked->group));
    }
}

/* Programs may cause any number of these without waiting, by ioctl of a terminal: while too many messages are under
 * way, a signal is put off, and so merged with its like. */
void process_group_signal(uint32_t group, uint32_t signal)
{
    struct msg_process_group asked = {
        .type = MSG_PROCESS_GROUP_SIGNAL, .group = group, .info = {.signal = signal, .code = SI_KERNEL}};
    struct msg_process_group_found found;
    kernel_set others = msg_peers_reachable() & ~(1ull << instance.kernel);

    if (freeze_active()) {
        put_off(MSG_PROCESS_GROUP_SIGNAL, group, signal, others | 1ull << instance.kernel);
        return;
    }
    if (__atomic_load_n(&under_way, __ATOMIC_RELAXED) < UNDER_WAY_MOST ||
        !put_off(MSG_PROCESS_GROUP_SIGNAL, group, signal, others))
        send_all(&asked, others);
    if (group_total() <= AT_ONCE || !put_off(MSG_PROCESS_GROUP_SIGNAL, group, signal, 1ull << instance.kernel))
        operate(&asked, &found);
}

void process_set_init(void)
{
    freeze_over = submit_later;
    for (uint32_t i = 0; i < LATER_KEPT; i++)
        list_append(&spare, &kept[i].node);
    for (uint32_t type = MSG_PROCESS_GROUP_FIND; type <= MSG_PROCESS_GROUP_LOOK; type++) {
        remote_serve_task((enum msg_type)type, WORK_LEAF, serve, NULL, sizeof(struct msg_process_group),
                          sizeof(struct msg_process_group_found));
        remote_serve_short((enum msg_type)type, REMOTE_SPARE); /* it may end those who have all the memory */
    }
}

/* The coordinator of a stop, on kernel 0, and what every kernel does for it, step by step. See the header.
 *
 * Until the switch everything can be undone, and is, when something cannot be moved: then programs go on as if nothing
 * had been. From the switch on nothing can fail. A long file: the steps of both sides in the order of the protocol. */
#include "kernel/machine/stop.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/file/move/move.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "kernel/machine/machine.h"
#include "mm/evacuate/evacuate.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "msg/reset.h"
#include "tasks/freeze/freeze.h"
#include "tasks/handover/handover.h"
#include "tasks/remote/watch.h"
#include "tasks/remote/work.h"
#include "tasks/role/role.h"
#include "tasks/sched/sched.h"

#define DRAIN_TIMEOUT 10000000000ull /* ns: for all threads to leave, and for all programs to stand still */
#define FREEZE_TIMEOUT 2000000000ull /* ns: then programs may go on for a while */
#define CALLS_TIMEOUT 100000000ull   /* ns: for interrupted calls to wait again */
#define LOOK_INTERVAL 500000ull      /* ns between two looks at something that has no event */
#define HALT_TIMEOUT 5000000000ull   /* ns */
#define RESULTS 64u                  /* ended stops that are remembered */

enum stop_step {
    STEP_LEAVE = 1, /* programs go to KERNEL no more */
    STEP_STAY,      /* they do again */
    STEP_DRAIN,     /* KERNEL: order threads away; value: how many are present */
    STEP_FREEZE,
    STEP_LOOK,    /* what is under way? */
    STEP_FLUSH,   /* wait until every other kernel has handled what was sent to it */
    STEP_PREPARE, /* KERNEL: lay out at SUCCESSOR and at homes of spaces what it answers for; value: 0, -EBUSY, -ENOMEM
                   */
    STEP_DISCARD, /* forget that */
    STEP_COMMIT,  /* KERNEL: say that it holds */
    STEP_SWITCH,  /* SUCCESSOR is in KERNEL's place from now on; value: page table entries that name KERNEL's frames */
    STEP_HALT,    /* KERNEL */
    STEP_RESET,   /* its channel; value: 0 or -EBUSY */
    STEP_CALLS,   /* calls that were interrupted begin again */
    STEP_THAW
};

struct msg_stop_order {
    uint32_t step; /* enum stop_step */
    uint32_t kernel;
    uint32_t successor;
    uint32_t pad;
};

struct msg_stop_report {
    int64_t value;
    struct freeze_state state; /* STEP_LOOK */
};

struct msg_stop_wish {
    uint64_t ticket; /* 0: stop KERNEL; UINT64_MAX: nothing; else how did it end? */
    uint32_t kernel;
    uint32_t pad;
};

struct msg_stop_result {
    int64_t value; /* -EINPROGRESS: it is still being stopped */
    uint64_t ticket;
    uint64_t events; /* of the source, seen before */
};

_Static_assert(sizeof(struct msg_stop_report) == 32, "wire format");

/* --- what every kernel does --- */

static void halt_cpu(void)
{
    struct boot_page *page = window_boot_page();
    uint32_t number = cpu_self()->number;

    space_load(NULL);
    __atomic_store_n(&page->slots[number].state, SLOT_EMPTY, __ATOMIC_SEQ_CST);
    for (;;)
        cpu_stop();
}

static void halt(void)
{
    sched_halt = halt_cpu;
    memory_fence();
    for (uint32_t i = 0; i < cpu_total; i++) { /* whoever sleeps looks */
        if (i != cpu_index())
            apic_send(cpus[i]->apic_id, VECTOR_FLUSH);
    }
}

static void flush(void)
{
    kernel_set others = msg_peers_reachable();

    msg_gather(others, MSG_STOP_FLUSH, NULL, 0, NULL, NULL, "ordinary messages to be handled", 0);
    msg_gather(others, MSG_STOP_FLUSH_URGENT, NULL, 0, NULL, NULL, "urgent messages to be handled", 0);
}

/* KERNEL. All of its parts, those that are most likely to refuse first. */
static int64_t prepare(uint32_t successor)
{
    int error = handover_check();

    if (error == 0)
        error = move_check();
    if (error == 0)
        error = evacuate_leases();
    if (error == 0)
        error = evacuate_frames(successor);
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
    evacuate_tell_pairs();
    if (handover_commit(successor) != 0 || evacuate_entries(successor, false) != 0)
        panic("kernel: what was prepared for kernel %u is not there", successor);
}

static int64_t switch_over(uint32_t from, uint32_t to)
{
    handover_switch(from, to);
    evacuate_switch(from, to);
    move_switch(from, to);
    role_hand_over(from, to);
    return (int64_t)evacuate_audit(from);
}

static int64_t take_step(const struct msg_stop_order *order)
{
    switch (order->step) {
    case STEP_LEAVE:
        msg_peer_leave(order->kernel);
        return 0;
    case STEP_STAY:
        msg_peer_start(order->kernel);
        return 0;
    case STEP_DRAIN:
        return freeze_drain(order->successor);
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
    case STEP_COMMIT:
        commit(order->successor);
        return 0;
    case STEP_SWITCH:
        return switch_over(order->kernel, order->successor);
    case STEP_RESET:
        return msg_peer_reset(order->kernel);
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

struct step_work {
    struct work work;
    struct msg_kept kept;
    struct msg_stop_order order;
};

static void step_done(struct msg_kept *kept)
{
    heap_free(container_of(kept, struct step_work, kept), sizeof(struct step_work));
}

static void run_step(struct work *work)
{
    struct step_work *w = container_of(work, struct step_work, work);
    struct msg_stop_report report = {.value = take_step(&w->order)};

    msg_kept_reply(&w->kept, &report, sizeof(report), step_done);
}

static void handle_order(const struct msg *m)
{
    const struct msg_stop_order *order = m->data;
    struct msg_stop_report report = {0};
    struct step_work *w;

    if (order->kernel >= instance.kernels || order->successor >= instance.kernels || m->ticket.kernel != 0) {
        msg_reply_error(&m->ticket, -EPROTO);
    } else if (order->step == STEP_LOOK) {
        freeze_look(&report.state);
        msg_reply(&m->ticket, &report, sizeof(report));
    } else if (order->step == STEP_HALT) {
        msg_reply(&m->ticket, &report, sizeof(report));
        halt();
    } else {
        w = heap_alloc(sizeof(*w));
        if (w == NULL) {
            msg_reply_error(&m->ticket, -ENOMEM);
            return;
        }
        w->order = *order;
        w->work.run = run_step;
        msg_keep(m, &w->kept, NULL);
        work_submit(&w->work);
    }
}

static void handle_flush(const struct msg *m)
{
    msg_reply(&m->ticket, NULL, 0);
}

/* --- the coordinator --- */

static struct spinlock lock;
static struct watch_source ended; /* counts stops that have ended */
static uint64_t last_ticket;      /* [k] lock */
static bool busy;                 /* [k] lock: last_ticket is at work */
static int results[RESULTS];      /* [k] lock: by ticket */

struct stop {
    struct work work;
    uint32_t kernel, successor;
    uint64_t deadline; /* ns */
};

struct gathered {
    int64_t worst; /* the least value, or an errno of the channel */
    int64_t sum;
    struct freeze_state state; /* summed */
};

static void add_state(struct freeze_state *sum, const struct freeze_state *part)
{
    sum->moving += part->moving;
    sum->ending += part->ending;
    sum->working += part->working;
    sum->unanswered += part->unanswered;
    sum->taken += part->taken;
}

static void add_report(void *context, uint32_t kernel, const void *reply, int length)
{
    struct gathered *all = context;
    struct msg_stop_report report = {.value = length};

    (void)kernel;
    if (length == (int)sizeof(report))
        memcpy(&report, reply, sizeof(report));
    if (report.value < all->worst)
        all->worst = report.value;
    all->sum += report.value;
    add_state(&all->state, &report.state);
}

/* Has STEP done by every kernel of SET, this one last. Returns the least value. */
static int64_t have_done(const struct stop *stop, enum stop_step step, kernel_set set, struct gathered *out)
{
    struct msg_stop_order order = {.step = step, .kernel = stop->kernel, .successor = stop->successor};
    struct gathered all = {0};
    struct msg_stop_report own = {0};

    msg_gather(set & ~1ull, MSG_STOP_ORDER, &order, sizeof(order), add_report, &all, "step of a stop", step);
    if ((set & 1) != 0) {
        if (step == STEP_LOOK)
            freeze_look(&own.state);
        else
            own.value = take_step(&order);
        add_report(&all, 0, &own, (int)sizeof(own));
    }
    if (out != NULL)
        *out = all;
    return all.worst;
}

static void wait_a_moment(void)
{
    static const struct wait_reason reason = {.what = "the next look of a stop", .kernel = -1};

    sched_block(NULL, &reason, WAIT_FIRM, clock_now() + LOOK_INTERVAL);
}

/* Kernel 0's own work item is this one. */
static bool is_quiet(const struct freeze_state *state)
{
    return state->moving == 0 && state->ending == 0 && state->working == 1 && state->unanswered == 0;
}

/* Twice quiet, and in between no kernel has taken a message though all that were on their way have arrived: so nothing
 * was on its way (Mattern, Algorithms for distributed termination detection, 1987). */
static bool freeze_all(const struct stop *stop, kernel_set running)
{
    uint64_t limit = clock_now() + FREEZE_TIMEOUT;
    struct gathered before = {.worst = 0}, after;

    have_done(stop, STEP_FREEZE, running, NULL);
    while (clock_now() < limit) {
        have_done(stop, STEP_LOOK, running, &before);
        if (before.worst == 0 && is_quiet(&before.state)) {
            have_done(stop, STEP_FLUSH, running, NULL);
            have_done(stop, STEP_LOOK, running, &after);
            if (after.worst == 0 && is_quiet(&after.state) && after.state.taken == before.state.taken)
                return true;
        }
        wait_a_moment();
    }
    log_line("kernel: programs do not stand still: %u threads, %u groups, %u work items, %u requests",
             before.state.moving, before.state.ending, before.state.working, before.state.unanswered);
    return false;
}

/* Those that waited wait again before the others go on: nobody is passed over. Not for long: a call may do anything. */
static void thaw(const struct stop *stop, kernel_set running)
{
    uint64_t limit = clock_now() + CALLS_TIMEOUT;
    struct gathered all;

    have_done(stop, STEP_CALLS, running, NULL);
    for (;;) {
        have_done(stop, STEP_LOOK, running, &all);
        if (all.worst != 0 || all.state.moving == 0 || clock_now() >= limit)
            break;
        wait_a_moment();
    }
    have_done(stop, STEP_THAW, running, NULL);
}

/* Until all programs stand and none is on KERNEL. */
static int empty(const struct stop *stop, kernel_set running)
{
    kernel_set kernel = 1ull << stop->kernel;
    struct gathered present;

    while (clock_now() < stop->deadline) {
        if (have_done(stop, STEP_DRAIN, kernel, &present) < 0)
            return (int)present.worst;
        if (present.sum == 0) {
            if (freeze_all(stop, running) && have_done(stop, STEP_DRAIN, kernel, &present) == 0 && present.sum == 0)
                return 0;
            thaw(stop, running);
        }
        wait_a_moment();
    }
    return -EBUSY;
}

static bool wait_halted(uint32_t kernel)
{
    const struct boot_page *page = window_boot_page();
    uint64_t limit = clock_now() + HALT_TIMEOUT;
    bool halted;

    do {
        halted = true;
        for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
            if (instance.plan.cpus[i].kernel == (int32_t)kernel)
                halted = halted && __atomic_load_n(&page->slots[i].state, __ATOMIC_ACQUIRE) != SLOT_TAKEN;
        }
        if (halted)
            return true;
        wait_a_moment();
    } while (clock_now() < limit);
    return false;
}

static int try_stop(const struct stop *stop, kernel_set running)
{
    kernel_set kernel = 1ull << stop->kernel;
    struct gathered left = {.sum = 0};
    int error = empty(stop, running);

    if (error != 0)
        return error;
    error = (int)have_done(stop, STEP_PREPARE, kernel, NULL);
    if (error != 0) {
        have_done(stop, STEP_DISCARD, running, NULL);
        thaw(stop, running);
        return error;
    }
    if (have_done(stop, STEP_COMMIT, kernel, NULL) != 0 ||
        have_done(stop, STEP_SWITCH, running & ~kernel, &left) != 0 || left.sum != 0)
        panic("kernel: kernel %u is handed over, and %ld pages still are its own", stop->kernel, (long)left.sum);
    have_done(stop, STEP_HALT, kernel, NULL);
    if (!wait_halted(stop->kernel))
        panic("kernel: kernel %u does not halt", stop->kernel);
    if (have_done(stop, STEP_RESET, running & ~kernel, NULL) != 0)
        panic("kernel: somebody waits for kernel %u, which has stopped", stop->kernel);
    start_forget(stop->kernel);
    thaw(stop, running & ~kernel);
    return 0;
}

static uint32_t successor_of(uint32_t kernel, kernel_set running)
{
    uint32_t node = instance.plan.kernels[kernel].node, best = 0;

    for (kernel_set rest = running & ~(1ull << kernel); rest != 0; rest &= rest - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(rest);

        if (instance.plan.distance[node][instance.plan.kernels[k].node] <
            instance.plan.distance[node][instance.plan.kernels[best].node])
            best = k;
    }
    return best;
}

static void end_of_stop(int result)
{
    spin_lock(&lock);
    results[last_ticket % RESULTS] = result;
    busy = false;
    spin_unlock(&lock);
    watch_event(&ended);
}

static void run_stop(struct work *work)
{
    struct stop *stop = container_of(work, struct stop, work);
    kernel_set running;
    int error = 0;

    start_exclude();
    running = start_running();
    if ((running >> stop->kernel & 1) != 0) {
        stop->successor = successor_of(stop->kernel, running);
        stop->deadline = clock_now() + DRAIN_TIMEOUT;
        have_done(stop, STEP_LEAVE, running & ~(1ull << stop->kernel), NULL);
        error = try_stop(stop, running);
        if (error != 0)
            have_done(stop, STEP_STAY, running & ~(1ull << stop->kernel), NULL);
    }
    log_line("kernel: stop of kernel %u: %d", stop->kernel, error);
    start_release();
    heap_free(stop, sizeof(*stop));
    end_of_stop(error);
}

int stand_still(void (*what)(kernel_set running, void *context), void *context)
{
    struct stop stop = {.deadline = clock_now() + DRAIN_TIMEOUT};
    uint64_t began = 0, ended_at;
    kernel_set running;
    bool still = false;

    spin_lock(&lock);
    if (busy) {
        spin_unlock(&lock);
        return -EAGAIN;
    }
    busy = true;
    last_ticket++; /* nobody's: those of earlier stops are told how theirs ended */
    spin_unlock(&lock);
    start_exclude();
    running = start_running();
    while (!still && clock_now() < stop.deadline) {
        began = clock_now();
        still = freeze_all(&stop, running);
        if (still)
            what(running, context);
        thaw(&stop, running);
        if (!still)
            wait_a_moment();
    }
    start_release();
    for (ended_at = clock_now(); clock_now() - ended_at < ended_at - began;)
        wait_a_moment(); /* whoever asks again and again leaves the programs half of the time */
    end_of_stop(still ? 0 : -EBUSY);
    return still ? 0 : -EBUSY;
}

/* Kernel 0. */
static void begin_here(const struct msg_stop_wish *wish, struct msg_stop_result *result)
{
    struct stop *stop = wish->ticket == 0 ? heap_alloc(sizeof(*stop)) : NULL;

    *result = (struct msg_stop_result){.ticket = wish->ticket, .events = watch_events(&ended)};
    spin_lock(&lock);
    if (wish->ticket == UINT64_MAX) {
        result->value = busy ? -EINPROGRESS : 0;
    } else if (wish->ticket != 0) {
        if (wish->ticket > last_ticket)
            result->value = -EINVAL;
        else if (wish->ticket == last_ticket && busy)
            result->value = -EINPROGRESS;
        else /* asked for long ago: whoever waits is told that he does not know */
            result->value = last_ticket - wish->ticket < RESULTS ? results[wish->ticket % RESULTS] : -EBUSY;
    } else if (wish->kernel >= instance.kernels || instance.kernel != 0) {
        result->value = -EINVAL;
    } else if (wish->kernel == 0) {
        result->value = -EBUSY;
    } else if (stop == NULL) {
        result->value = -ENOMEM;
    } else if (busy) {
        result->value = -EAGAIN;
    } else if (!msg_peer_started(wish->kernel)) {
        result->value = -EALREADY;
    } else {
        busy = true;
        result->ticket = ++last_ticket;
        stop->kernel = wish->kernel;
        stop->work.run = run_stop;
        work_submit(&stop->work);
        stop = NULL;
    }
    spin_unlock(&lock);
    heap_free(stop, sizeof(*stop));
}

static void handle_wish(const struct msg *m)
{
    struct msg_stop_result result;

    begin_here(m->data, &result);
    msg_reply(&m->ticket, &result, sizeof(result));
}

static int ask(const struct msg_stop_wish *wish, struct msg_stop_result *result)
{
    int length;

    if (instance.kernel == 0) {
        begin_here(wish, result);
        return (int)result->value;
    }
    length = msg_call(0, MSG_STOP_KERNEL, wish, sizeof(*wish), result, sizeof(*result), "a stop", wish->kernel);
    return length < 0 ? length : (int)result->value;
}

int stop_kernel_begin(uint32_t kernel, uint64_t *ticket)
{
    struct msg_stop_wish wish = {.kernel = kernel};
    struct msg_stop_result result;
    int error = ask(&wish, &result);

    *ticket = result.ticket;
    return error;
}

int stop_kernel_result(uint64_t ticket)
{
    struct msg_stop_wish wish = {.ticket = ticket};
    struct msg_stop_result result;

    for (;;) {
        int error = ask(&wish, &result);

        if (error != -EINPROGRESS)
            return error;
        error = watch_wait_at(0, WATCH_STOP, 0, result.events, "end of a stop", 0);
        if (error != 0)
            return error;
    }
}

int stop_wait(void)
{
    return stop_kernel_result(UINT64_MAX);
}

static struct watch_source *find_ended(uint64_t id, void **held)
{
    (void)id;
    *held = NULL;
    return &ended;
}

static void put_ended(void *held)
{
    (void)held;
}

void stop_kernel_init(void)
{
    static const struct watch_lookup lookup = {find_ended, put_ended};

    watch_init(&ended);
    watch_register(WATCH_STOP, &lookup);
    msg_register(MSG_STOP_KERNEL, handle_wish, sizeof(struct msg_stop_wish), sizeof(struct msg_stop_result));
    msg_register(MSG_STOP_ORDER, handle_order, sizeof(struct msg_stop_order), sizeof(struct msg_stop_report));
    msg_register(MSG_STOP_FLUSH, handle_flush, 0, 0);
    msg_register(MSG_STOP_FLUSH_URGENT, handle_flush, 0, 0);
}

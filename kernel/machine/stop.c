/* The coordinator of a stop, on kernel 0, and the functions by which any kernel requests a stop. See the header.
 *
 * One stop is under way at a time (`busy`). Until the commit everything can be undone, and it is undone if something
 * cannot be moved; programs then go on unchanged. From the commit on nothing can fail: a failure is a panic. */
#include "kernel/machine/stop.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/machine/death.h"
#include "kernel/machine/internal.h"
#include "kernel/machine/machine.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "msg/alive.h"
#include "msg/channel.h"
#include "msg/reset.h"
#include "tasks/freeze/freeze.h"
#include "tasks/handover/handover.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/watch.h"
#include "tasks/remote/work.h"
#include "tasks/role/role.h"
#include "tasks/sched/sched.h"

#define DRAIN_TIMEOUT 10000000000ull /* ns: for all threads to leave, and for all programs to quiesce */
#define FREEZE_TIMEOUT 2000000000ull /* ns: of one attempt to quiesce; then programs run before the next attempt */
#define CALLS_TIMEOUT 100000000ull   /* ns: for interrupted calls to wait again */
#define LOOK_INTERVAL 500000ull      /* ns between two polls of a state that has no event */
#define HALT_TIMEOUT 5000000000ull   /* ns */
#define RESULTS 64u                  /* the results of this many stops are kept */

struct msg_stop_wish {
    uint64_t ticket; /* 0: stop KERNEL; UINT64_MAX: is a stop under way? else: what is the result of this stop? */
    uint32_t kernel;
    uint32_t pad;
};

struct msg_stop_result {
    int64_t value; /* -EINPROGRESS: the stop is still under way */
    uint64_t ticket;
    uint64_t events; /* the count of `ended`, read before VALUE, for a watch */
};

static struct spinlock lock;
static struct watch_source ended; /* counts stops that have ended */
static uint64_t last_ticket;      /* [k] lock */
static bool busy;                 /* [k] lock: the stop with last_ticket is under way */
static int results[RESULTS];      /* [k] lock: by ticket, modulo RESULTS */

static void add_report(void *context, uint32_t kernel, const void *reply, int length)
{
    struct gathered *all = context;
    int64_t value = length < 0 ? length : ((const struct msg_stop_report *)reply)->value;

    if (length == -ENOMEM) {
        all->again |= 1ull << kernel;
        return;
    }
    if (length < 0 && kernel != all->kernel && msg_peer_fenced(kernel))
        return; /* it has died meanwhile: kernel/machine/death.c sees to it */
    if (value < all->worst)
        all->worst = value;
    all->sum += value;
    all->positive += value > 0;
}

void stop_wait_a_moment(void)
{
    static const struct wait_reason reason = {.what = "the next look of a stop", .kernel = -1};

    sched_block(NULL, &reason, WAIT_FIRM, clock_now() + LOOK_INTERVAL);
}

/* Makes every kernel of SET perform STEP, this kernel last. Returns the least value of their reports. */
int64_t stop_have_done(const struct stop *stop, enum stop_step step, kernel_set set, struct gathered *out)
{
    struct msg_stop_order order = {
        .step = step, .kernel = stop->kernel, .successor = stop->successor, .lost = stop->lost};
    struct gathered all = {.kernel = stop->kernel};

    for (all.again = set & ~1ull; all.again != 0;) { /* who has no memory for the request is asked again */
        kernel_set asked = all.again;

        all.again = 0;
        msg_gather(asked, MSG_STOP_ORDER, &order, sizeof(order), add_report, &all, "step of a stop", step);
        if (all.again != 0)
            stop_wait_a_moment();
    }
    if ((set & 1) != 0) {
        struct msg_stop_report own = {.value = stop_take_step(&order)};

        add_report(&all, 0, &own, sizeof(own));
    }
    if (out != NULL)
        *out = all;
    return all.worst;
}

static void add_state(void *context, uint32_t kernel, const void *reply, int length)
{
    const struct freeze_state *part = reply;
    struct freeze_state *sum = context;

    if (length < 0 && msg_peer_fenced(kernel))
        return; /* nothing moves there any more */
    if (length < 0) {
        sum->moving++; /* the state is unknown: not quiet */
        return;
    }
    sum->moving += part->moving;
    sum->ending += part->ending;
    sum->working += part->working;
    sum->unanswered += part->unanswered;
    sum->events += part->events;
}

/* Sums up what is under way on all kernels of RUNNING, this kernel last. */
static void look(kernel_set running, struct freeze_state *out)
{
    struct freeze_state own;

    *out = (struct freeze_state){0};
    msg_gather(running & ~1ull, MSG_STOP_LOOK, NULL, 0, add_state, out, "look of a stop", 0);
    freeze_look(&own);
    add_state(out, 0, &own, sizeof(own));
}

static bool is_quiet(const struct stop *stop, const struct freeze_state *state)
{
    return state->moving == 0 && state->ending == 0 && state->working == stop->workers && state->unanswered == 0;
}

/* The machine is quiesced when all kernels are quiet twice, every message sent before the flush has been handled, and
 * no kernel has taken a message between the two looks: then no message was in transit (Mattern, Algorithms for
 * distributed termination detection, 1987). */
bool stop_wait_quiet(const struct stop *stop, kernel_set running)
{
    uint64_t limit = clock_now() + FREEZE_TIMEOUT;
    struct freeze_state before = {0}, after;

    while (clock_now() < limit) {
        look(running, &before);
        if (is_quiet(stop, &before)) {
            stop_have_done(stop, STEP_FLUSH, running, NULL);
            look(running, &after);
            if (is_quiet(stop, &after) && after.events == before.events)
                return true;
        }
        stop_wait_a_moment();
    }
    log_line("kernel: programs do not quiesce: %u threads, %u groups, %u work items, %u requests", before.moving,
             before.ending, before.working, before.unanswered);
    return false;
}

bool stop_freeze_all(const struct stop *stop, kernel_set running)
{
    stop_have_done(stop, STEP_FREEZE, running, NULL);
    return stop_wait_quiet(stop, running);
}

/* Ends the freeze. Threads whose interruptible wait was ended by the freeze wait again before any thread returns to its
 * program, so that they keep their places in queues. CALLS_TIMEOUT bounds this, because a restarted call may run for
 * any time. */
void stop_thaw(const struct stop *stop, kernel_set running)
{
    uint64_t limit = clock_now() + CALLS_TIMEOUT;
    struct freeze_state all;

    stop_have_done(stop, STEP_CALLS, running, NULL);
    for (;;) {
        look(running, &all);
        if (all.moving == 0 || clock_now() >= limit)
            break;
        stop_wait_a_moment();
    }
    stop_have_done(stop, STEP_THAW, running, NULL);
}

/* Returns 0 when all programs are quiesced and none has a thread on the stop's kernel; -EBUSY at the deadline. */
static int empty(const struct stop *stop, kernel_set running)
{
    kernel_set kernel = 1ull << stop->kernel;
    struct gathered present;

    while (clock_now() < stop->deadline) {
        if (stop_have_done(stop, STEP_DRAIN, kernel, &present) < 0)
            return (int)present.worst;
        if (present.sum == 0) {
            if (stop_freeze_all(stop, running) && stop_have_done(stop, STEP_DRAIN, kernel, &present) == 0 &&
                present.sum == 0)
                return 0;
            stop_thaw(stop, running);
        }
        stop_wait_a_moment();
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
        stop_wait_a_moment();
    } while (clock_now() < limit);
    return false;
}

static int try_stop(const struct stop *stop, kernel_set running)
{
    kernel_set kernel = 1ull << stop->kernel;
    struct gathered published = {.sum = 0}, left = {.sum = 0};
    int error = empty(stop, running);

    if (error != 0)
        return error;
    error = (int)stop_have_done(stop, STEP_PREPARE, kernel, NULL);
    if (error != 0) {
        stop_have_done(stop, STEP_DISCARD, running, NULL);
        stop_thaw(stop, running);
        return error;
    }
    if (stop_have_done(stop, STEP_REPLACE, running, NULL) != 0 ||
        stop_have_done(stop, STEP_PUBLISH, 1ull << stop->successor, &published) != 0 || published.sum != 1 ||
        stop_have_done(stop, STEP_COMMIT, kernel, NULL) != 0 ||
        stop_have_done(stop, STEP_SWITCH, running & ~kernel, &left) != 0 || left.sum != 0)
        panic("kernel: kernel %u is handed over, and %ld pages still are its own", stop->kernel, (long)left.sum);
    alive_forget(stop->kernel); /* its heart stops now */
    death_halts(stop->kernel);
    msg_gather(kernel, MSG_STOP_HALT, NULL, 0, NULL, NULL, "kernel to halt", stop->kernel);
    if (!wait_halted(stop->kernel))
        panic("kernel: kernel %u does not halt", stop->kernel);
    if (stop_have_done(stop, STEP_RESET, running & ~kernel, NULL) != 0)
        panic("kernel: somebody waits for kernel %u, which has stopped", stop->kernel);
    start_forget(stop->kernel);
    death_has_halted(stop->kernel);
    stop_thaw(stop, running & ~kernel);
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

/* Whether something else quiesces programs, or has to first: what a dead kernel has left may be asked of nobody. */
static bool is_busy_locked(void)
{
    return busy || msg_peers_fenced() != 0;
}

int stop_ticket_begin(uint64_t *ticket, bool cleans)
{
    int error = 0;

    spin_lock(&lock);
    if (cleans ? busy : is_busy_locked()) {
        error = -EAGAIN;
    } else {
        *ticket = ++last_ticket;
        busy = true;
    }
    spin_unlock(&lock);
    return error;
}

void stop_ticket_end(int result)
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
        stop_have_done(stop, STEP_LEAVE, running & ~(1ull << stop->kernel), NULL);
        error = try_stop(stop, running);
        if (error != 0)
            stop_have_done(stop, STEP_STAY, running & ~(1ull << stop->kernel), NULL);
    }
    log_line("kernel: stop of kernel %u: %d", stop->kernel, error);
    start_release();
    heap_free(stop, sizeof(*stop));
    stop_ticket_end(error);
}

int quiesce_machine(void (*what)(kernel_set running, void *context), void *context)
{
    struct stop stop = {.deadline = clock_now() + DRAIN_TIMEOUT, .workers = 1};
    uint64_t began = 0, ended_at, ticket;
    kernel_set running;
    bool still = false;

    if (stop_ticket_begin(&ticket, false) != 0) /* nobody waits for it; the results of earlier stops stay readable */
        return -EAGAIN;
    start_exclude();
    running = start_running();
    while (!still && clock_now() < stop.deadline) {
        began = clock_now();
        still = stop_freeze_all(&stop, running);
        if (still)
            what(running, context);
        stop_thaw(&stop, running);
        if (!still)
            stop_wait_a_moment();
    }
    start_release();
    for (ended_at = clock_now(); clock_now() - ended_at < ended_at - began;)
        stop_wait_a_moment(); /* so repeated calls leave programs at least half of the time */
    stop_ticket_end(still ? 0 : -EBUSY);
    return still ? 0 : -EBUSY;
}

/* Serves STOP_KERNEL. */
static int run_wish(const struct remote_request *request, void *answer)
{
    const struct msg_stop_wish *wish = request->data;
    struct msg_stop_result *result = answer;
    struct stop *stop = wish->ticket == 0 ? heap_alloc(sizeof(*stop)) : NULL;

    *result = (struct msg_stop_result){.ticket = wish->ticket, .events = watch_events(&ended)};
    spin_lock(&lock);
    if (wish->ticket == UINT64_MAX) {
        result->value = is_busy_locked() ? -EINPROGRESS : 0;
    } else if (wish->ticket != 0) {
        if (wish->ticket > last_ticket)
            result->value = -EINVAL;
        else if (wish->ticket == last_ticket && busy)
            result->value = -EINPROGRESS;
        else /* -EBUSY for a stop so long ago that its result is no longer kept */
            result->value = last_ticket - wish->ticket < RESULTS ? results[wish->ticket % RESULTS] : -EBUSY;
    } else if (wish->kernel >= instance.kernels) {
        result->value = -EINVAL;
    } else if (wish->kernel == 0) {
        result->value = -EBUSY;
    } else if (stop == NULL) {
        result->value = -ENOMEM;
    } else if (is_busy_locked()) {
        result->value = -EAGAIN;
    } else if (!msg_peer_started(wish->kernel)) {
        result->value = -EALREADY;
    } else {
        busy = true;
        result->ticket = ++last_ticket;
        stop->kernel = wish->kernel;
        stop->workers = 1;
        stop->work.run = run_stop;
        stop->work.rank = WORK_SHARE; /* waits for steps; for what else is under way only until its deadline */
        work_submit(&stop->work);
        stop = NULL;
    }
    spin_unlock(&lock);
    heap_free(stop, sizeof(*stop));
    return sizeof(*result);
}

static int ask(const struct msg_stop_wish *wish, struct msg_stop_result *result)
{
    const struct remote_how how = {.why = "a stop", .key = wish->kernel};
    int length = remote_call(0, MSG_STOP_KERNEL, wish, sizeof(*wish), result, sizeof(*result), &how);

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
    REMOTE_SERVE(STOP_KERNEL, run_wish, NULL, struct msg_stop_wish, struct msg_stop_result);
    stop_step_init();
}

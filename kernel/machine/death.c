/* The coordinator of deaths, on kernel 0. See the header and kernel/machine/death.md, whose states it has.
 *
 * Two threads of kernel 0: one stops the CPUs of whatever has died and ends its epoch, without waiting for anybody; the
 * other cleans up, and waits for the survivors. So a death that comes meanwhile completes what the cleaning waits for;
 * and that kernel is cleaned up in the same go, as nobody can be asked any more what it has. */
#include "kernel/machine/death.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/machine/end.h"
#include "kernel/machine/internal.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/stop.h"
#include "mm/frame/heap.h"
#include "mm/lock/lock.h"
#include "msg/alive.h"
#include "msg/channel.h"
#include "msg/inject.h"
#include "msg/request/call.h"
#include "tasks/remote/operation.h"
#include "tasks/sched/kernel_thread.h"
#include "tasks/sched/sched.h"
#include "tasks/sched/waitq.h"

#define NMI_TIMEOUT 5000000ull       /* ns: for the CPUs of the dead kernel to halt by themselves */
#define REPORT_TIMEOUT 100000000ull  /* ns: the same, after they have written where they are */
#define INIT_GRACE 1000000ull        /* ns from INIT to the moment when no store of that CPU is under way any more */
#define CLEAN_TIMEOUT 20000000000ull /* ns; then the machine ends */

struct msg_kill { /* KILL_KERNEL */
    uint32_t kernel;
    uint32_t how;
};

struct msg_killed {
    int64_t value;
    uint64_t ticket;
};

struct msg_die { /* DIE */
    uint32_t how;
    uint32_t pad;
};

/* What a survivor is told of deaths, one after the other, and of each until nothing is left to end: by one request at a
 * time, so that it needs no memory. */
struct telling {
    struct msg_asking asking;
    struct msg_stop_order order; /* [k] lock: the last one */
    kernel_set of;               /* [k] lock: of whose death; until it has fenced all of that kernel */
    bool asks;                   /* [k] lock: ORDER is under way */
};

static struct spinlock lock;
static struct waitq changed;             /* [k] lock: where the two threads wait */
static kernel_set noticed;               /* [k] lock: kernels that have died, and whose CPUs may still run */
static kernel_set dead;                  /* [k] lock: those that are fenced, and not yet cleaned up */
static kernel_set wished;                /* [k] lock: those whose end was asked for, so that a ticket is out for it */
static struct telling *tellings;         /* [i] for each kernel that may survive */
static kernel_set halting;               /* [k] lock: those that are told no more, as they halt after a stop */
static const char *why[KERNELS_MAX];     /* [k] lock */
static uint64_t noticed_at[KERNELS_MAX]; /* [k] lock: ns */

/* --- noticed --- */

/* The hook of msg/alive.h. */
static void note(uint32_t kernel, const char *reason)
{
    if (instance.kernel != 0)
        end_without_first(reason);
    spin_lock(&lock);
    noticed |= 1ull << kernel;
    why[kernel] = reason;
    noticed_at[kernel] = clock_now();
    waitq_wake_all(&changed);
    spin_unlock(&lock);
}

/* --- fenced --- */

static void each_cpu(uint32_t kernel, void (*send)(uint32_t target))
{
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].kernel == (int32_t)kernel)
            send(instance.plan.cpus[i].apic_id);
    }
}

/* Stops the CPUs of KERNEL: by an NMI, at which each halts between two instructions and says so; and in any case by
 * INIT, which no state of a CPU holds off. */
static void stop_cpus(uint32_t kernel)
{
    static const struct wait_reason reason = {.what = "CPUs of a dead kernel to halt", .kernel = -1};
    struct boot_page *page = window_boot_page();
    bool silent = (page->stopped >> kernel & 1) == 0;
    uint64_t limit = clock_now() + (silent ? REPORT_TIMEOUT : NMI_TIMEOUT);

    if (silent) /* the first of its CPUs to halt says where it was */
        __atomic_fetch_or(&page->probed, 1ull << kernel, __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&page->stopped, 1ull << kernel, __ATOMIC_SEQ_CST);
    each_cpu(kernel, apic_send_nmi);
    while (!end_has_halted(1ull << kernel) && clock_now() < limit)
        sched_block(NULL, &reason, WAIT_FIRM, clock_now() + INIT_GRACE / 4);
    each_cpu(kernel, apic_send_init);
    sched_block(NULL, &reason, WAIT_FIRM, clock_now() + INIT_GRACE);
    for (uint32_t i = 0; i < instance.plan.cpu_count; i++) {
        if (instance.plan.cpus[i].kernel == (int32_t)kernel)
            __atomic_store_n(&page->slots[i].state, SLOT_EMPTY, __ATOMIC_RELEASE);
    }
}

static void told(void *context, uint32_t survivor, const void *reply, int length);

/* Sends SURVIVOR the next order, unless one is under way or there is none. Does not wait: the coordinator may wait for
 * a kernel that waits for a dead one. */
static void tell_next(uint32_t survivor)
{
    struct telling *telling = &tellings[survivor];
    bool begins;

    spin_lock(&lock);
    begins = !telling->asks && telling->of != 0 && (halting >> survivor & 1) == 0;
    if (begins) {
        telling->order = (struct msg_stop_order){.step = STEP_FENCE, .kernel = (uint32_t)__builtin_ctzll(telling->of)};
        telling->asks = true;
    }
    spin_unlock(&lock);
    if (begins)
        msg_ask(&telling->asking, survivor, MSG_STOP_ORDER, &telling->order, sizeof(telling->order), told, telling);
}

/* SURVIVOR has done a part of its fence, the last one if it reports 0; or it has died, too. */
static void told(void *context, uint32_t survivor, const void *reply, int length)
{
    const struct msg_stop_report *report = reply;
    struct telling *telling = context;

    spin_lock(&lock);
    telling->asks = false;
    if (!msg_peer_reachable(survivor))
        telling->of = 0;
    else if (length != (int)sizeof(*report) || report->value <= 0)
        telling->of &= ~(1ull << telling->order.kernel);
    waitq_wake_all(&changed);
    spin_unlock(&lock);
    tell_next(survivor);
}

static void fence(uint32_t kernel)
{
    struct msg_stop_order order = {.step = STEP_FENCE, .kernel = kernel};

    stop_cpus(kernel);
    alive_forget(kernel);
    log_event("died kernel %u%s: %s", kernel,
              (window_boot_page()->asked >> kernel & 1) != 0 ? ", as a program asked" : "", why[kernel]);
    stop_take_step(&order);
    for (kernel_set rest = msg_peers_reachable(); rest != 0; rest &= rest - 1) {
        uint32_t survivor = (uint32_t)__builtin_ctzll(rest);

        spin_lock(&lock);
        tellings[survivor].of |= 1ull << kernel;
        spin_unlock(&lock);
        tell_next(survivor);
    }
}

void death_halts(uint32_t kernel)
{
    static const struct wait_reason reason = {.what = "a part of a fence", .kernel = -1};

    spin_lock(&lock);
    halting |= 1ull << kernel;
    while (tellings[kernel].asks)
        waitq_wait(&changed, &lock, &reason, WAIT_FIRM, 0);
    spin_unlock(&lock);
}

void death_has_halted(uint32_t kernel)
{
    spin_lock(&lock);
    halting &= ~(1ull << kernel);
    tellings[kernel].of = 0;
    spin_unlock(&lock);
}

/* The coordinator has had all fence LOST: they are told no more, so that none is told of one that runs again. */
static void stop_telling(kernel_set lost)
{
    static const struct wait_reason reason = {.what = "a part of a fence", .kernel = -1};

    spin_lock(&lock);
    for (uint32_t k = 0; k < instance.kernels; k++) {
        tellings[k].of &= ~lost;
        while (tellings[k].asks && (lost >> tellings[k].order.kernel & 1) != 0)
            waitq_wait(&changed, &lock, &reason, WAIT_FIRM, 0);
    }
    spin_unlock(&lock);
}

/* Stops the CPUs of kernels that have died, and ends their epochs. Waits for no other kernel, which may die, too: the
 * others are told, and the coordinator makes sure of it. */
static void run_fences(void *unused)
{
    static const struct wait_reason reason = {.what = "the death of a kernel", .kernel = -1};

    (void)unused;
    spin_lock(&lock);
    for (;;) {
        uint32_t kernel;

        while (noticed == 0)
            waitq_wait(&changed, &lock, &reason, WAIT_FIRM, 0);
        kernel = (uint32_t)__builtin_ctzll(noticed);
        noticed &= ~(1ull << kernel);
        spin_unlock(&lock);
        fence(kernel);
        spin_lock(&lock);
        dead |= 1ull << kernel;
        waitq_wake_all(&changed);
    }
}

/* --- cleaned --- */

static kernel_set survivors(const struct stop *death)
{
    return start_running() & ~death->lost;
}

/* Has STEP done for each of the dead. Returns the least value of all reports; *SUM has all. */
static int64_t have_done_for_each(const struct stop *death, enum stop_step step, struct gathered *sum)
{
    *sum = (struct gathered){.worst = 0};
    for (kernel_set rest = death->lost; rest != 0; rest &= rest - 1) {
        struct stop of_one = *death;
        struct gathered all;

        of_one.kernel = (uint32_t)__builtin_ctzll(rest);
        if (stop_have_done(&of_one, step, survivors(death), &all) < sum->worst)
            sum->worst = all.worst;
        sum->sum += all.sum;
        sum->positive += all.positive;
    }
    return sum->worst;
}

/* Has all fence the dead, in parts, until nothing is left to end. */
static void fence_all(const struct stop *death)
{
    struct gathered left;

    do
        have_done_for_each(death, STEP_FENCE, &left);
    while (left.positive > 0);
    stop_telling(death->lost);
}

/* Ends what had a part on the dead. True: nothing of it is left, and all programs are quiesced. The fence is repeated,
 * because a CPU may have been about to begin a request when it passed. */
static bool end_all(const struct stop *death)
{
    struct gathered left;

    fence_all(death);
    if (have_done_for_each(death, STEP_LOST_END, &left) < 0 || left.sum != 0)
        return false;
    have_done_for_each(death, STEP_LOST_FREE, &left);
    if (stop_freeze_all(death, survivors(death)) && have_done_for_each(death, STEP_LOST_LEFT, &left) == 0 &&
        left.sum == 0)
        return true;
    stop_thaw(death, survivors(death));
    return false;
}

/* Takes back what the dead had of survivors, and forgets them. False: somebody has no memory for it, or has died.
 * *TAKEN: opens, grants and references to frames, in all steps that every survivor has done. */
static bool take_back(const struct stop *death, int64_t *taken)
{
    kernel_set running = survivors(death);
    struct gathered all;

    if (stop_have_done(death, STEP_LOST_COUNT, running, NULL) != 0)
        return false;
    if (stop_have_done(death, STEP_LOST_DROP, running, &all) < 0)
        return false;
    *taken += all.sum;
    if (!stop_wait_quiet(death, running)) /* what was closed may release files and frames of others, by workers, too */
        return false;
    if (stop_have_done(death, STEP_LOST_RECLAIM, running, &all) < 0)
        return false;
    *taken += all.sum;
    return have_done_for_each(death, STEP_RESET, &all) == 0;
}

static void forget(uint32_t kernel)
{
    struct boot_page *page = window_boot_page();

    start_forget(kernel);
    __atomic_fetch_and(&page->asked, ~(1ull << kernel), __ATOMIC_SEQ_CST);
    __atomic_fetch_and(&page->stopped, ~(1ull << kernel), __ATOMIC_SEQ_CST);
}

static kernel_set all_dead(void)
{
    kernel_set set;

    spin_lock(&lock);
    set = dead;
    spin_unlock(&lock);
    return set;
}

/* Whether a kernel is fenced besides LOST, which will be in all_dead soon. */
static bool another_is_fenced(kernel_set lost)
{
    for (uint32_t k = 1; k < instance.kernels; k++) {
        if (msg_peer_fenced(k) && (lost >> k & 1) == 0)
            return true;
    }
    return false;
}

/* Cleans up after all kernels that are dead, and those that die until all of it is done. Returns them. */
static kernel_set recover(void)
{
    struct stop death = {.lost = all_dead()};
    uint64_t limit = clock_now() + CLEAN_TIMEOUT;
    int64_t taken = 0;
    bool done = false;

    fence_all(&death); /* or a start waits for it */
    start_exclude();
    while (!done) {
        kernel_set now_dead = all_dead();

        if (now_dead != death.lost) /* a kernel that kept this from its end, perhaps, and has died of it */
            limit = clock_now() + CLEAN_TIMEOUT;
        death.lost = now_dead;
        death.kernel = (uint32_t)__builtin_ctzll(death.lost);
        if (end_all(&death)) {
            done = take_back(&death, &taken);
            for (kernel_set rest = done ? death.lost : 0; rest != 0; rest &= rest - 1)
                forget((uint32_t)__builtin_ctzll(rest));
            stop_thaw(&death, survivors(&death));
        }
        if (!done && clock_now() >= limit && !another_is_fenced(death.lost))
            panic("kernel: what kernel %u has left cannot be cleaned up", death.kernel);
        if (!done)
            stop_wait_a_moment();
    }
    start_release();
    for (kernel_set rest = death.lost; rest != 0; rest &= rest - 1) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(rest);

        log_line("kernel: kernel %u is cleaned up after %lu us: %ld references were its", kernel,
                 (unsigned long)((clock_now() - noticed_at[kernel]) / 1000), (long)taken);
    }
    return death.lost;
}

/* Nothing else may quiesce programs meanwhile. *OWN: this has taken a ticket; else that of a death that was asked for
 * is out. */
static void exclude_stops(bool *own)
{
    uint64_t ticket;

    for (;;) {
        *own = stop_ticket_begin(&ticket, true) == 0;
        if (*own || wished != 0)
            return;
        stop_wait_a_moment();
    }
}

static void coordinate(void *unused)
{
    static const struct wait_reason reason = {.what = "a fenced kernel", .kernel = -1};

    (void)unused;
    spin_lock(&lock);
    for (;;) {
        kernel_set cleaned;
        bool own, asked;

        while (dead == 0)
            waitq_wait(&changed, &lock, &reason, WAIT_FIRM, 0);
        spin_unlock(&lock);
        exclude_stops(&own);
        cleaned = recover();
        spin_lock(&lock);
        dead &= ~cleaned;
        asked = (wished & cleaned) != 0;
        wished &= ~cleaned;
        spin_unlock(&lock);
        if (own || asked)
            stop_ticket_end(0);
        spin_lock(&lock);
    }
}

/* --- caused, for tests --- */

static _Noreturn void die(uint32_t how)
{
    if (how == KETTLE_KILL_PANIC)
        panic("kernel: a program asks for this");
    for (;;) { /* with interrupts off */
        if (how != KETTLE_KILL_SPIN)
            cpu_stop();
        cpu_pause();
    }
}

/* On KERNEL: ends it, after the answer. */
static void handle_die(const struct msg *m)
{
    const struct msg_die *asked = m->data;

    if (m->ticket.kernel != 0) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    msg_reply(&m->ticket, NULL, 0);
    die(asked->how);
}

/* Ends this kernel at a message: whoever watches it finds that at its next look. */
static void die_now(void)
{
    bool noticed_now = end_is_noticed(instance.kernel);

    __atomic_fetch_or(&window_boot_page()->asked, 1ull << instance.kernel, __ATOMIC_SEQ_CST);
    if (!noticed_now)
        die(KETTLE_KILL_PANIC);
    __atomic_fetch_or(&window_boot_page()->stopped, 1ull << instance.kernel, __ATOMIC_SEQ_CST);
    die(KETTLE_KILL_HALT);
}

/* Ends kernel 0, which this is, and the machine with it. -EBUSY: nobody would notice. */
static int die_first(uint32_t how)
{
    struct boot_page *page = window_boot_page();

    if (how != KETTLE_KILL_PANIC && !end_is_noticed(0))
        return -EBUSY;
    __atomic_fetch_or(&page->asked, 1, __ATOMIC_SEQ_CST);
    if (how == KETTLE_KILL_NOW) {
        __atomic_fetch_or(&page->stopped, 1, __ATOMIC_SEQ_CST);
        each_cpu(0, apic_send_nmi);
    }
    die(how);
}

/* The ticket is taken: no clean-up is under way, unless it is that of a kernel that has died already. */
static void end_kernel(uint32_t kernel, uint32_t how)
{
    const struct msg_die message = {.how = how};
    const struct remote_how asking = {.why = "death of a kernel", .key = kernel};
    struct boot_page *page = window_boot_page();

    __atomic_fetch_or(&page->asked, 1ull << kernel, __ATOMIC_SEQ_CST);
    if (how == KETTLE_KILL_NOW) { /* wherever its CPUs are: kernel 0 notices it at its next look */
        __atomic_fetch_or(&page->stopped, 1ull << kernel, __ATOMIC_SEQ_CST);
        each_cpu(kernel, apic_send_nmi);
    }
    spin_lock(&lock); /* last: once this is seen, the coordinator may clean up and reset those bits */
    wished |= 1ull << kernel;
    spin_unlock(&lock);
    if (how != KETTLE_KILL_NOW) /* an error: it dies without this */
        remote_call(kernel, MSG_DIE, &message, sizeof(message), NULL, 0, &asking);
}

static int64_t begin(const struct msg_kill *asked, uint64_t *ticket)
{
    int64_t error;

    if (asked->kernel >= instance.kernels || asked->how > KETTLE_KILL_HALT)
        return -EINVAL;
    if (asked->kernel == 0)
        return die_first(asked->how);
    if (!end_is_noticed(asked->kernel))
        return msg_peer_started(asked->kernel) ? -EBUSY : -EALREADY;
    error = stop_ticket_begin(ticket, false);
    if (error != 0)
        return error;
    if (!end_is_noticed(asked->kernel)) { /* it has died and was cleaned up meanwhile */
        stop_ticket_end(-EALREADY);
        return -EALREADY;
    }
    end_kernel(asked->kernel, asked->how);
    return 0;
}

static int run_kill(const struct remote_request *request, void *answer)
{
    struct msg_killed *killed = answer;

    *killed = (struct msg_killed){.value = 0};
    killed->value = begin(request->data, &killed->ticket);
    return sizeof(*killed);
}

int death_cause(uint32_t kernel, uint32_t how, uint64_t *ticket)
{
    const struct remote_how asking = {.why = "death of a kernel", .key = kernel};
    struct msg_kill wish = {kernel, how};
    struct msg_killed killed;
    int length = remote_call(0, MSG_KILL_KERNEL, &wish, sizeof(wish), &killed, sizeof(killed), &asking);

    if (length < 0)
        return length;
    *ticket = killed.ticket;
    return (int)killed.value;
}

static void start_thread(const char *name, void (*function)(void *))
{
    struct thread *thread = thread_create_kernel(name, function, NULL);

    if (thread == NULL)
        panic("kernel: no memory for the thread %s", name);
    sched_start(thread);
}

void death_init(void)
{
    alive_init(note);
    inject_die = die_now;
    waitq_init(&changed);
    msg_register(MSG_DIE, handle_die, sizeof(struct msg_die), 0);
    REMOTE_SERVE_TASK(KILL_KERNEL, WORK_PROGRAMS, run_kill, NULL, struct msg_kill, struct msg_killed);
    if (instance.kernel != 0)
        return;
    tellings = heap_alloc(instance.kernels * sizeof(*tellings));
    if (tellings == NULL)
        panic("kernel: no memory to tell of deaths");
    start_thread("fences", run_fences);
    start_thread("deaths", coordinate);
}

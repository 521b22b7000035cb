/* test-sched: the scheduler as programs see it: yielding, several CPUs of one kernel, affinity, policies, CPU clocks.
 * Nothing here is about how long something takes: only about who runs, and where. Runs on Linux, too. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define CPUS_MAX 256
#define UNIT 20000 /* turns of a loop that are one piece of work */
#define HANDOFFS 500
#define YIELDS_FOR_ONE 20 /* that a handoff may take */
#define HOPS 200
#define RETURNS 50
#define FUTEX_WAIT 128 /* of linux/futex.h, with FUTEX_PRIVATE_FLAG */
#define FUTEX_WAKE 129
#define REFUSALS 2000
#define LOCKINGS 100        /* calls that want a lock which another CPU takes all the time */
#define CALLS_MEANWHILE 100 /* of the other CPU that are too many: where they take turns, it makes thousands in one */

struct mask { /* of cpu_set_t's layout, usable in threads that the C library does not know */
    unsigned long words[CPUS_MAX / 64];
};

static int cpus[CPUS_MAX]; /* those of the kernel that is the home of the program */
static int cpu_count;
static int everywhere[CPUS_MAX]; /* those of all kernels that run */
static int everywhere_count;
static atomic_bool over;
static atomic_int begun;
static _Atomic uint32_t rung;

static long bind_thread(long tid, int cpu)
{
    struct mask mask = {{0}};

    mask.words[cpu / 64] = 1ul << cpu % 64;
    return x86_syscall3(SYS_sched_setaffinity, tid, sizeof(mask), (long)&mask);
}

static long bind_all(const struct mask *mask)
{
    return x86_syscall3(SYS_sched_setaffinity, 0, sizeof(*mask), (long)mask);
}

static int current_cpu(void)
{
    unsigned cpu = 0;

    x86_syscall3(SYS_getcpu, (long)&cpu, 0, 0);
    return (int)cpu;
}

/* Binds itself to each CPU in turn: on Kettle one of another kernel moves it there. */
static void cpus_find(void)
{
    struct mask all = {{0}};
    int home;

    thread_move(getpid() >> 16); /* home, wherever it was placed: there a wake is done when it returns */
    home = thread_kernel();

    x86_syscall3(SYS_sched_getaffinity, 0, sizeof(all), (long)&all);
    for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
        if ((all.words[cpu / 64] >> cpu % 64 & 1) == 0 || bind_thread(0, cpu) != 0)
            continue;
        everywhere[everywhere_count++] = cpu;
        if (thread_kernel() == home)
            cpus[cpu_count++] = cpu;
    }
    bind_thread(0, cpus[0]);
    bind_all(&all);
}

static void work(void)
{
    for (volatile int i = 0; i < UNIT; i++) {
    }
    x86_pause(); /* lets another CPU of an emulator run */
}

static void nap(void)
{
    struct timespec time = {.tv_nsec = 2000000};

    nanosleep(&time, NULL);
}

static long clock_ns(clockid_t id)
{
    struct timespec time = {0};

    return x86_syscall3(SYS_clock_gettime, id, (long)&time, 0) == 0 ? time.tv_sec * 1000000000l + time.tv_nsec : -1;
}

/* --- yielding --- */

static atomic_int ball;
static atomic_long yields;

static void run_player(struct thread *thread)
{
    long mine = 0;

    bind_thread(0, cpus[0]);
    atomic_fetch_add(&begun, 1);
    while (atomic_load(&begun) < 2)
        x86_syscall0(SYS_sched_yield);
    while (atomic_load(&ball) < 2 * HANDOFFS) {
        if (atomic_load(&ball) % 2 == thread->index)
            atomic_fetch_add(&ball, 1);
        x86_syscall0(SYS_sched_yield);
        mine++;
    }
    atomic_fetch_add(&yields, mine);
}

static void test_yield(void)
{
    static struct thread players[2];

    atomic_store(&begun, 0);
    for (int i = 0; i < 2; i++) {
        players[i].index = i;
        if (!CHECK(thread_start(&players[i], run_player), "%s", strerror(errno)))
            return;
    }
    for (int i = 0; i < 2; i++)
        CHECK(thread_join(&players[i]), "player %d does not end", i);
    /* Linux gives the CPU back to who yields until its clock has gone on, on a busy host by a tick. */
    CHECK(!tap_on_kettle() || atomic_load(&yields) < 2l * HANDOFFS * YIELDS_FOR_ONE, "%ld yields for %d handoffs",
          atomic_load(&yields), 2 * HANDOFFS);
}

/* --- several CPUs --- */

static struct thread spinners[CPUS_MAX];
static atomic_int where[CPUS_MAX]; /* the CPU that each saw last, or -1 */

static void run_spinner(struct thread *thread)
{
    while (!atomic_load(&over)) {
        work();
        atomic_store(&where[thread->index], current_cpu());
    }
}

static bool all_apart(int count)
{
    struct mask seen = {{0}};

    for (int i = 0; i < count; i++) {
        int cpu = atomic_load(&where[i]);

        if (cpu < 0 || (seen.words[cpu / 64] >> cpu % 64 & 1) != 0)
            return false;
        seen.words[cpu / 64] |= 1ul << cpu % 64;
    }
    return true;
}

static void test_at_once(void)
{
    bool apart = false;
    int started = 0;

    if (cpu_count < 2) {
        tap_skip("one CPU");
        return;
    }
    atomic_store(&over, false);
    for (int i = 0; i < cpu_count; i++) {
        atomic_store(&where[i], -1);
        spinners[i].index = i;
        if (!CHECK(thread_start(&spinners[i], run_spinner), "%s", strerror(errno)))
            break;
        started++;
    }
    for (int i = 0; i < 10000 && started == cpu_count && !apart; i++) {
        nap();
        apart = all_apart(cpu_count);
    }
    atomic_store(&over, true);
    for (int i = 0; i < started; i++)
        CHECK(thread_join(&spinners[i]), "thread %d does not end", i);
    CHECK(apart, "%d busy threads never were on %d CPUs", cpu_count, cpu_count);
}

/* --- a lock of the kernel that another CPU wants all the time --- */

static atomic_long calls;

/* Maps and unmaps a page: both take the lock of the address space. */
static void map_and_unmap(void)
{
    long area = x86_syscall(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    x86_syscall3(SYS_munmap, area, 4096, 0);
}

static void run_caller(struct thread *thread)
{
    bind_thread(0, cpus[1]);
    (void)thread;
    for (atomic_store(&begun, 1); !atomic_load(&over); atomic_fetch_add(&calls, 1))
        map_and_unmap();
}

/* A CPU that releases a lock and takes it again does not keep it from one that waits for it meanwhile. A turn of the
 * waiting CPU may end in the middle of a call, and so some calls may take a turn of the other. */
static void test_lock(void)
{
    static struct thread caller;
    struct mask before = {{0}};
    int starved = 0;

    if (cpu_count < 2 || !tap_on_kettle()) {
        tap_skip("not a kernel of Kettle with two CPUs");
        return;
    }
    x86_syscall3(SYS_sched_getaffinity, 0, sizeof(before), (long)&before);
    atomic_store(&begun, 0);
    atomic_store(&over, false);
    if (!CHECK(thread_start(&caller, run_caller), "%s", strerror(errno)))
        return;
    bind_thread(0, cpus[0]);
    while (!atomic_load(&begun))
        nap();
    for (int i = 0; i < LOCKINGS; i++) {
        long first;

        x86_pause();
        first = atomic_load(&calls);
        map_and_unmap();
        starved += atomic_load(&calls) - first > CALLS_MEANWHILE;
    }
    atomic_store(&over, true);
    CHECK(thread_join(&caller), "the thread does not end");
    bind_all(&before);
    CHECK(starved <= LOCKINGS / 10, "%d of %d calls took more than %d of another thread", starved, LOCKINGS,
          CALLS_MEANWHILE);
}

static void test_bound(void)
{
    struct mask before = {{0}}, now;

    x86_syscall3(SYS_sched_getaffinity, 0, sizeof(before), (long)&before);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < cpu_count; i++) {
            CHECK(bind_thread(0, cpus[i]) == 0, "CPU %d: cannot be bound", cpus[i]);
            CHECK(current_cpu() == cpus[i], "bound to CPU %d, and on %d", cpus[i], current_cpu());
            now = (struct mask){{0}};
            x86_syscall3(SYS_sched_getaffinity, 0, sizeof(now), (long)&now);
            CHECK((now.words[cpus[i] / 64] >> cpus[i] % 64) == 1, "CPU %d is not the only one", cpus[i]);
        }
    }
    CHECK(bind_all(&before) == 0, "cannot be unbound");
    now = (struct mask){{0}};
    CHECK(bind_all(&now) == -EINVAL, "no CPU at all is allowed");
    CHECK(x86_syscall3(SYS_sched_setaffinity, 0, sizeof(now), 16) == -EFAULT, "a bad pointer is none");
    CHECK(x86_syscall3(SYS_sched_setaffinity, 0x7ffffff0, sizeof(before), (long)&before) == -ESRCH,
          "a thread that is not there is bound");
}

/* From each CPU of the machine to each other one, twice: the first time it may be new to a kernel, then it comes back
 * to where it was on another CPU. */
static void test_bound_everywhere(void)
{
    struct mask before = {{0}};

    if (everywhere_count == cpu_count) {
        tap_skip("one kernel");
        return;
    }
    x86_syscall3(SYS_sched_getaffinity, 0, sizeof(before), (long)&before);
    for (int i = 0; i < 2 * everywhere_count; i++) {
        for (int j = 0; j < everywhere_count; j++) {
            for (int k = 0; k < 2; k++) {
                int cpu = everywhere[k == 0 ? i % everywhere_count : j], there;

                CHECK(bind_thread(0, cpu) == 0, "CPU %d: cannot be bound", cpu);
                there = current_cpu();
                CHECK(there == cpu, "bound to CPU %d, and on %d", cpu, there);
            }
        }
    }
    CHECK(bind_thread(0, cpus[0]) == 0, "CPU %d: cannot be bound", cpus[0]);
    CHECK(bind_all(&before) == 0, "cannot be unbound");
}

/* Sleeps until it is called, and counts how often it then runs on another CPU than the one that it is bound to. */
static void run_called(struct thread *thread)
{
    int cpu = cpus[1];
    long elsewhere = bind_thread(0, cpu) == 0 ? 0 : -1;

    atomic_fetch_add(&begun, 1);
    for (uint32_t seen = atomic_load(&rung); elsewhere >= 0 && !atomic_load(&over); seen = atomic_load(&rung)) {
        x86_syscall(SYS_futex, (long)&rung, FUTEX_WAIT, seen, 0, 0, 0);
        elsewhere += current_cpu() != cpu;
    }
    atomic_store(&thread->result, elsewhere);
}

static void run_busy(struct thread *thread)
{
    atomic_store(&thread->result, bind_thread(0, cpus[1]));
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&over))
        work();
}

static void run_calling(struct thread *thread)
{
    atomic_store(&thread->result, bind_thread(0, cpus[2]));
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&over)) {
        atomic_fetch_add(&rung, 1);
        x86_syscall(SYS_futex, (long)&rung, FUTEX_WAKE, 1, 0, 0, 0);
    }
}

/* On four CPUs the thread is woken all the time while it is refused CPUs that are not there. Its own CPU is busy and
 * another one idle, so that it goes there if it may. */
static void test_refused(void)
{
    static struct thread called, busy, calling;
    struct mask before = {{0}}, bound = {{0}}, after = {{0}};

    x86_syscall3(SYS_sched_getaffinity, 0, sizeof(before), (long)&before);
    CHECK(bind_thread(0, cpus[0]) == 0, "cannot be bound");
    x86_syscall3(SYS_sched_getaffinity, 0, sizeof(bound), (long)&bound);
    CHECK(bind_thread(0, CPUS_MAX - 1) == -EINVAL, "CPU %d is there", CPUS_MAX - 1);
    x86_syscall3(SYS_sched_getaffinity, 0, sizeof(after), (long)&after);
    CHECK(memcmp(&bound, &after, sizeof(bound)) == 0, "a refused affinity is kept");
    if (cpu_count < 4) {
        CHECK(bind_all(&before) == 0, "cannot be unbound");
        return;
    }
    atomic_store(&begun, 0);
    atomic_store(&over, false);
    CHECK(thread_start(&called, run_called) && thread_start(&busy, run_busy) && thread_start(&calling, run_calling),
          "%s", strerror(errno));
    while (atomic_load(&begun) < 3)
        nap();
    for (int i = 0; i < REFUSALS; i++)
        CHECK(bind_thread(called.tid_first, CPUS_MAX - 1) == -EINVAL, "CPU %d is there", CPUS_MAX - 1);
    atomic_store(&over, true);
    atomic_fetch_add(&rung, 1);
    x86_syscall(SYS_futex, (long)&rung, FUTEX_WAKE, 1, 0, 0, 0);
    CHECK(thread_join(&called) && thread_join(&busy) && thread_join(&calling), "the threads do not end");
    CHECK(atomic_load(&called.result) == 0, "%ld times on another CPU", (long)atomic_load(&called.result));
    CHECK(bind_all(&before) == 0, "cannot be unbound");
}

/* Another thread, which runs or is ready, goes where it is sent. */
static void test_sent(void)
{
    bool there = true;

    if (cpu_count < 2) {
        tap_skip("one CPU");
        return;
    }
    atomic_store(&over, false);
    for (int i = 0; i < 3; i++) {
        atomic_store(&where[i], -1);
        spinners[i].index = i;
        if (!CHECK(thread_start(&spinners[i], run_spinner), "%s", strerror(errno)))
            return;
    }
    for (int round = 0; round < 10 && there; round++) {
        int cpu = cpus[round % cpu_count];

        for (int i = 0; i < 3; i++)
            CHECK(bind_thread(spinners[i].tid_first, cpu) == 0, "thread %d cannot be bound", i);
        there = false;
        for (int i = 0; i < 10000 && !there; i++) {
            nap();
            there = atomic_load(&where[0]) == cpu && atomic_load(&where[1]) == cpu && atomic_load(&where[2]) == cpu;
        }
        CHECK(there, "round %d: CPUs %d %d %d, not %d", round, atomic_load(&where[0]), atomic_load(&where[1]),
              atomic_load(&where[2]), cpu);
    }
    atomic_store(&over, true);
    for (int i = 0; i < 3; i++)
        CHECK(thread_join(&spinners[i]), "thread %d does not end", i);
}

/* Keeps a sum in a vector register across changes of the CPU. */
static void run_hopper(struct thread *thread)
{
    double sum = thread->index;
    bool good = true;

    for (int hop = 0; hop < HOPS; hop++) {
        good = good && bind_thread(0, cpus[(hop + thread->index) % cpu_count]) == 0;
        for (int i = 0; i < 100; i++)
            sum += 0.5 * (thread->index + 1);
        if (hop % 8 == 0)
            x86_syscall0(SYS_sched_yield);
    }
    atomic_store(&thread->result, good && sum == thread->index + HOPS * 50.0 * (thread->index + 1));
}

static void test_registers(void)
{
    enum { HOPPERS = 6 };
    static struct thread hoppers[HOPPERS];
    int started = 0;

    for (; started < HOPPERS; started++) {
        hoppers[started].index = started;
        if (!CHECK(thread_start(&hoppers[started], run_hopper), "%s", strerror(errno)))
            break;
    }
    for (int i = 0; i < started; i++) {
        CHECK(thread_join(&hoppers[i]), "thread %d does not end", i);
        CHECK(atomic_load(&hoppers[i].result) == 1, "thread %d has a wrong sum, or could not be bound", i);
    }
}

/* --- policies --- */

static long set_policy(int policy, int priority)
{
    return x86_syscall3(SYS_sched_setscheduler, 0, policy, (long)&priority);
}

static void test_policies(void)
{
    static const int valid[][2] = {
        {SCHED_BATCH, 0}, {SCHED_IDLE, 0}, {SCHED_FIFO, 1}, {SCHED_RR, 99}, {SCHED_OTHER, 0}};
    static const int invalid[][2] = {{SCHED_OTHER, 1}, {SCHED_FIFO, 0}, {SCHED_RR, 100}, {4, 0}, {99, 0}, {-1, 0}};
    int priority = -1; /* no byte of it may stay */

    for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
        CHECK(set_policy(invalid[i][0], invalid[i][1]) == -EINVAL, "policy %d with priority %d", invalid[i][0],
              invalid[i][1]);
    for (int policy = 0; policy <= 5; policy++) {
        bool real = policy == SCHED_FIFO || policy == SCHED_RR;

        if (policy == 4)
            continue;
        CHECK(x86_syscall1(SYS_sched_get_priority_max, policy) == (real ? 99 : 0), "policy %d", policy);
        CHECK(x86_syscall1(SYS_sched_get_priority_min, policy) == (real ? 1 : 0), "policy %d", policy);
    }
    CHECK(x86_syscall1(SYS_sched_get_priority_max, 77) == -EINVAL, "policy 77 has priorities");
    CHECK(x86_syscall1(SYS_sched_getscheduler, -1) == -EINVAL, "thread -1 has a policy");
    CHECK(x86_syscall1(SYS_sched_getscheduler, 0x7ffffff0) == -ESRCH, "a thread that is not there has a policy");
    for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++) {
        long result = set_policy(valid[i][0], valid[i][1]);

        if (result == -EPERM) {
            tap_skip("not allowed to be real-time");
            continue;
        }
        CHECK(result == 0, "policy %d: %ld", valid[i][0], result);
        CHECK(x86_syscall1(SYS_sched_getscheduler, 0) == valid[i][0], "not %d", valid[i][0]);
        CHECK(x86_syscall3(SYS_sched_getparam, 0, (long)&priority, 0) == 0 && priority == valid[i][1], "%d, not %d",
              priority, valid[i][1]);
    }
}

static void run_formerly_real(struct thread *thread)
{
    bool bound = bind_thread(0, cpus[cpu_count - 1]) == 0;
    bool real = bound && set_policy(SCHED_FIFO, 1) == 0;

    atomic_store(&thread->result, bound && set_policy(SCHED_OTHER, 0) == 0 ? 1 + real : 0);
    while (!atomic_load(&over))
        work();
}

static void run_passer(struct thread *thread)
{
    atomic_store(&thread->result, bind_thread(0, cpus[cpu_count - 1]) == 0);
}

/* A real-time thread may run for ever; when it is one no more it has to share, though nobody waited when it became so.
 */
static void test_real_no_more(void)
{
    static struct thread spinner, passer;
    struct mask before = {{0}};

    if (cpu_count < 2) {
        tap_skip("one CPU");
        return;
    }
    x86_syscall3(SYS_sched_getaffinity, 0, sizeof(before), (long)&before);
    CHECK(bind_thread(0, cpus[0]) == 0, "cannot be bound");
    atomic_store(&over, false);
    spinner = passer = (struct thread){0};
    atomic_store(&spinner.result, -1);
    atomic_store(&passer.result, -1);
    if (CHECK(thread_start(&spinner, run_formerly_real), "%s", strerror(errno))) {
        while (atomic_load(&spinner.result) < 0)
            nap();
        if (atomic_load(&spinner.result) == 1)
            tap_skip("not allowed to be real-time");
        CHECK(atomic_load(&spinner.result) > 0, "cannot be bound, or be SCHED_OTHER again");
        if (CHECK(thread_start(&passer, run_passer), "%s", strerror(errno))) {
            for (int i = 0; i < 2000 && atomic_load(&passer.result) < 0; i++)
                nap();
            CHECK(atomic_load(&passer.result) == 1, "a thread does not get on beside one that was real-time");
            atomic_store(&over, true);
            CHECK(thread_join(&passer), "it does not end");
        }
        atomic_store(&over, true);
        CHECK(thread_join(&spinner), "the spinner does not end");
    }
    CHECK(bind_all(&before) == 0, "cannot be unbound");
}

static atomic_uint call; /* number of the round in which the waiter is woken */
static atomic_uint heard;

static void run_waiter(struct thread *thread)
{
    atomic_store(&thread->result, bind_thread(0, cpus[0]) == 0);
    while (!atomic_load(&over)) {
        unsigned last = atomic_load(&heard);

        if (atomic_load(&call) == last)
            x86_syscall3(SYS_futex, (long)&call, FUTEX_WAIT, last);
        atomic_store(&heard, atomic_load(&call));
    }
}

static void call_waiter(void)
{
    atomic_fetch_add(&call, 1);
    x86_syscall3(SYS_futex, (long)&call, FUTEX_WAKE, 1);
}

/* A thread becomes real-time on another kernel and comes back, often before the CPU that it has left has stopped to
 * poll for messages; then it wakes a thread on that CPU, and gives way to nobody. */
static void returns_real(int there)
{
    for (int round = 0; round < RETURNS; round++) {
        bool heard_early;

        nap(); /* the waiter sleeps meanwhile, so the CPU has nothing to do when this thread leaves it */
        if (!CHECK(bind_thread(0, there) == 0 && set_policy(SCHED_FIFO, 1) == 0 && bind_thread(0, cpus[0]) == 0,
                   "cannot be bound or become real-time"))
            return;
        call_waiter();
        for (int i = 0; i < 10; i++)
            sched_yield();
        heard_early = atomic_load(&heard) == atomic_load(&call);
        CHECK(!heard_early, "round %d: a real-time thread gave way to one that is none", round);
        CHECK(set_policy(SCHED_OTHER, 0) == 0, "cannot be SCHED_OTHER again");
        UNTIL(atomic_load(&heard) == atomic_load(&call), "the waiter to run");
    }
}

static void test_real_return(void)
{
    static struct thread waiter;
    struct mask before = {{0}};
    int there = everywhere[everywhere_count - 1] != cpus[cpu_count - 1] ? everywhere[everywhere_count - 1]
                                                                        : everywhere[0];

    if (everywhere_count == cpu_count) {
        tap_skip("one kernel");
        return;
    }
    x86_syscall3(SYS_sched_getaffinity, 0, sizeof(before), (long)&before);
    CHECK(bind_thread(0, cpus[0]) == 0, "cannot be bound");
    atomic_store(&over, false);
    waiter = (struct thread){0};
    if (CHECK(thread_start(&waiter, run_waiter), "%s", strerror(errno))) {
        returns_real(there);
        atomic_store(&over, true);
        call_waiter();
        CHECK(thread_join(&waiter) && atomic_load(&waiter.result) == 1, "the waiter does not end, or was not bound");
    }
    CHECK(bind_all(&before) == 0, "cannot be unbound");
}

static void test_values(void)
{
    struct {
        unsigned size, policy;
        unsigned long flags;
        int nice;
        unsigned priority;
        unsigned long runtime, deadline, period;
    } attr = {.size = 48, .nice = 7};
    struct timespec interval;
    unsigned long big[16] = {128};

    CHECK(x86_syscall3(SYS_sched_setattr, 0, (long)&attr, 0) == 0, "nice 7 is not taken");
    CHECK(x86_syscall3(SYS_getpriority, PRIO_PROCESS, 0, 0) == 20 - 7, "it is not 7");
    CHECK(x86_syscall(SYS_sched_getattr, 0, (long)&attr, sizeof(attr), 0, 0, 0) == 0 && attr.nice == 7,
          "sched_getattr says %d", attr.nice);
    CHECK(x86_syscall(SYS_sched_getattr, 0, (long)&attr, 40, 0, 0, 0) == -EINVAL, "40 bytes are enough");
    big[10] = 1;
    CHECK(x86_syscall3(SYS_sched_setattr, 0, (long)big, 0) == -E2BIG, "unknown fields are taken");
    CHECK(x86_syscall3(SYS_setpriority, 3, 0, 0) == -EINVAL, "there is a fourth kind of who");
    CHECK(x86_syscall3(SYS_setpriority, PRIO_PROCESS, 0x7ffffff0, 0) == -ESRCH, "a thread that is not there is nice");
    CHECK(x86_syscall3(SYS_sched_rr_get_interval, 0, (long)&interval, 0) == 0, "there is no interval");
    CHECK(interval.tv_sec == 0 && interval.tv_nsec >= 0, "the interval is %ld s", (long)interval.tv_sec);
    CHECK(x86_syscall3(SYS_setpriority, PRIO_PROCESS, 0, 0) == 0 ||
              x86_syscall3(SYS_getpriority, PRIO_PROCESS, 0, 0) == 13,
          "nice 0 is lost");
}

/* --- CPU clocks --- */

static void run_clocked(struct thread *thread)
{
    long first = clock_ns(CLOCK_THREAD_CPUTIME_ID), last = first, now;
    bool good = first >= 0;

    for (int i = 0; i < 200; i++) {
        for (int turn = 0; turn < 100; turn++) { /* a Linux that finds its counters unstable counts by ticks */
            work();
            now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
            if (now != last)
                break;
        }
        good = good && now > last;
        last = now;
    }
    atomic_store(&thread->result, good ? last : -1);
}

static void test_clocks(void)
{
    static struct thread clocked[2];
    struct timespec resolution = {.tv_sec = 1};
    long process = clock_ns(CLOCK_PROCESS_CPUTIME_ID), own = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    long others = 0, used;

    CHECK(process >= own && own > 0, "the process has used %ld ns, its thread %ld", process, own);
    CHECK(x86_syscall3(SYS_clock_getres, CLOCK_THREAD_CPUTIME_ID, (long)&resolution, 0) == 0 && resolution.tv_sec == 0,
          "the resolution is %ld s", (long)resolution.tv_sec);
    for (int i = 0; i < 2; i++)
        CHECK(thread_start(&clocked[i], run_clocked), "%s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        CHECK(thread_join(&clocked[i]), "thread %d does not end", i);
        CHECK(atomic_load(&clocked[i].result) > 0, "the clock of thread %d stands still or goes back", i);
        others += atomic_load(&clocked[i].result);
    }
    used = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    CHECK(used >= process + others, "the process has used %ld ns, two of its threads alone %ld", used - process,
          others);
}

static const struct tap_test tests[] = {
    {"yield", "threads that yield to each other take turns", test_yield},
    {"at-once", "as many busy threads as a kernel has CPUs run on all of them", test_at_once},
    {"lock", "a CPU gets a lock that another one takes again and again", test_lock},
    {"bound", "a thread that binds itself to a CPU runs there", test_bound},
    {"bound-everywhere", "a thread that binds itself to a CPU of any kernel runs there", test_bound_everywhere},
    {"refused", "a thread that is refused other CPUs stays on its own", test_refused},
    {"sent", "threads that are bound by another thread go to that CPU", test_sent},
    {"registers", "registers are kept when a thread changes its CPU", test_registers},
    {"policies", "scheduling policies are checked, kept and read back", test_policies},
    {"real-no-more", "a thread that is no longer real-time shares its CPU", test_real_no_more},
    {"real-return", "a thread that becomes real-time on another kernel is so when it returns", test_real_return},
    {"values", "attributes and nice values are checked, kept and read back", test_values},
    {"clocks", "CPU clocks go on while a thread works", test_clocks},
};

int main(int argc, char **argv)
{
    cpus_find();
    if (cpu_count == 0) {
        tap_note("no CPU can be bound to");
        return 1;
    }
    tap_note("%d CPUs of this kernel", cpu_count);
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}

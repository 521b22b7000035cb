/* test-thread-state: whatever a thread has and a program can see is the same after every move.
 *
 * Each kind of state is a row of states[]: put there from random numbers, checked after each move, and checked once
 * more at the end in the way that uses it up. Each kind has a test of its own; then come all at once. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/registers_random.h"
#include "userland/x86.h"

#define PAGE 4096
#define MOVES_ALL 1000
#define MOVES_ONE 100
#define THREADS 6
#define QUEUED 4
#define GET_FS 0x1003
#define SET_GS 0x1001
#define GET_GS 0x1004
#define RSEQ_SIGNATURE 0x4b455454

/* What the C library declares only for its own use. */
struct robust_list_words {
    void *next;
    long offset;
    void *pending;
};

struct rseq_words {
    uint32_t cpu_id_start, cpu_id;
    uint64_t rseq_cs;
    uint32_t flags, unused[3];
};

/* What one thread expects of itself. */
struct expected {
    uint64_t random;
    pid_t pid, tid;
    uint64_t fs;
    uint64_t gs_words[16];
    uint64_t *gs;
    uint64_t mask; /* as the kernel has it */
    int values[QUEUED];
    char *stack;
    size_t stack_size;
    struct robust_list_words robust;
    char name[16];
    int nice;
    cpu_set_t cpus;
    int parent_death;
    unsigned long slack;
    int64_t cpu_first, cpu_time;
    int64_t time_first, time;
    alignas(32) struct rseq_words rseq;
    struct registers *before, *after; /* of the one thread that has them */
};

static uint64_t components;

static uint64_t mask_bit(int signal)
{
    return 1ul << (signal - 1);
}

/* --- identity and bases --- */

static void ids_set(struct expected *expected)
{
    expected->pid = getpid();
    expected->tid = (pid_t)syscall(SYS_gettid);
    MUST(syscall(SYS_arch_prctl, GET_FS, &expected->fs));
}

static void ids_check(struct expected *expected)
{
    uint64_t fs = 0;

    CHECK(getpid() == expected->pid && syscall(SYS_gettid) == expected->tid, "pid %d tid %ld", (int)getpid(),
          syscall(SYS_gettid));
    MUST(syscall(SYS_arch_prctl, GET_FS, &fs));
    CHECK(fs == expected->fs && x86_thread_pointer() == expected->fs, "FS base %#lx, was %#lx", fs, expected->fs);
}

static void gs_set(struct expected *expected)
{
    expected->gs = &expected->gs_words[tap_random(&expected->random) % 16];
    *expected->gs = tap_random(&expected->random);
    MUST(syscall(SYS_arch_prctl, SET_GS, expected->gs));
}

static void gs_check(struct expected *expected)
{
    uint64_t gs = 0;

    MUST(syscall(SYS_arch_prctl, GET_GS, &gs));
    CHECK(gs == (uintptr_t)expected->gs, "GS base %#lx, was %p", gs, (void *)expected->gs);
    CHECK(x86_gs_word() == *expected->gs, "the word at GS");
}

/* --- signals --- */

static void mask_set(struct expected *expected)
{
    uint64_t never = mask_bit(SIGKILL) | mask_bit(SIGSTOP) | mask_bit(32) | mask_bit(33) | mask_bit(34);

    /* With the signals that wait in it, and none that others need. */
    expected->mask = (tap_random(&expected->random) & ~never) | mask_bit(SIGRTMIN + 1) | mask_bit(SIGUSR1) |
                     mask_bit(SIGRTMIN + 4);
    MUST(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &expected->mask, NULL, 8));
}

static void mask_check(struct expected *expected)
{
    uint64_t mask = 0;

    MUST(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8));
    CHECK(mask == expected->mask, "mask %#lx, was %#lx", mask, expected->mask);
}

static void pending_set(struct expected *expected)
{
    siginfo_t info = {.si_code = SI_QUEUE};

    mask_set(expected);
    MUST(syscall(SYS_tgkill, expected->pid, expected->tid, SIGUSR1));
    for (int i = 0; i < QUEUED; i++) {
        expected->values[i] = (int)tap_random(&expected->random);
        info.si_value.sival_int = expected->values[i];
        MUST(syscall(SYS_rt_tgsigqueueinfo, expected->pid, expected->tid, SIGRTMIN + 1, &info));
    }
}

static void pending_check(struct expected *expected)
{
    uint64_t pending = 0;

    mask_check(expected);
    MUST(syscall(SYS_rt_sigpending, &pending, 8));
    CHECK(pending == (mask_bit(SIGUSR1) | mask_bit(SIGRTMIN + 1)), "pending %#lx", pending);
}

static void pending_end(struct expected *expected)
{
    uint64_t set = mask_bit(SIGUSR1) | mask_bit(SIGRTMIN + 1);
    struct timespec none = {0, 0};
    siginfo_t info;

    CHECK(syscall(SYS_rt_sigtimedwait, &set, &info, &none, 8) == SIGUSR1 && info.si_code == SI_TKILL &&
              info.si_pid == expected->pid,
          "SIGUSR1: code %d pid %d", info.si_code, info.si_pid);
    for (int i = 0; i < QUEUED; i++) {
        memset(&info, 0, sizeof(info));
        CHECK(syscall(SYS_rt_sigtimedwait, &set, &info, &none, 8) == SIGRTMIN + 1 &&
                  info.si_value.sival_int == expected->values[i] && info.si_code == SI_QUEUE,
              "queued signal %d has value %d, had %d", i, info.si_value.sival_int, expected->values[i]);
    }
    CHECK_ERROR(syscall(SYS_rt_sigtimedwait, &set, &info, &none, 8), EAGAIN);
}

static void altstack_set(struct expected *expected)
{
    stack_t stack;

    expected->stack_size = (8 + tap_random(&expected->random) % 8) * PAGE;
    expected->stack = mmap(NULL, expected->stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(expected->stack != MAP_FAILED, "no memory");
    stack = (stack_t){.ss_sp = expected->stack, .ss_size = expected->stack_size};
    MUST(sigaltstack(&stack, NULL));
}

static void altstack_check(struct expected *expected)
{
    stack_t stack = {0};

    MUST(sigaltstack(NULL, &stack));
    CHECK(stack.ss_sp == expected->stack && stack.ss_size == expected->stack_size && stack.ss_flags == 0,
          "stack %p size %zu flags %#x", stack.ss_sp, stack.ss_size, (unsigned)stack.ss_flags);
}

static void altstack_end(struct expected *expected)
{
    MUST(sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL));
    MUST(munmap(expected->stack, expected->stack_size));
}

/* --- what the C library tells the kernel --- */

static void robust_set(struct expected *expected)
{
    expected->robust.next = &expected->robust;
    expected->robust.offset = (long)(tap_random(&expected->random) % 4096) * 8;
    MUST(syscall(SYS_set_robust_list, &expected->robust, sizeof(expected->robust)));
}

static void robust_check(struct expected *expected)
{
    void *head = NULL;
    size_t length = 0;

    MUST(syscall(SYS_get_robust_list, 0, &head, &length));
    CHECK(head == &expected->robust && length == sizeof(expected->robust), "head %p length %zu", head, length);
}

static void robust_end(struct expected *expected)
{
    (void)expected;
    MUST(syscall(SYS_set_robust_list, NULL, sizeof(expected->robust)));
}

static void rseq_set(struct expected *expected)
{
    expected->rseq.cpu_id = (uint32_t)-1;
    MUST(syscall(SYS_rseq, &expected->rseq, sizeof(expected->rseq), 0, RSEQ_SIGNATURE));
}

static void rseq_check(struct expected *expected)
{
    const volatile uint32_t *cpu = &expected->rseq.cpu_id;
    cpu_set_t before, one;
    int here = sched_getcpu();

    /* A kernel of several CPUs may give the thread another one at any time, so it is bound to the one where it is. That
     * moves nothing when it is still there, and so does not make up for a value that was not brought up to date. */
    CPU_ZERO(&one);
    CPU_SET((size_t)here, &one);
    MUST(sched_getaffinity(0, sizeof(before), &before));
    MUST(sched_setaffinity(0, sizeof(one), &one));
    CHECK(*cpu == (uint32_t)here && sched_getcpu() == here, "rseq says CPU %u, getcpu %d, bound to %d", *cpu,
          sched_getcpu(), here);
    MUST(sched_setaffinity(0, sizeof(before), &before));
    CHECK_ERROR(syscall(SYS_rseq, &expected->rseq, sizeof(expected->rseq), 0, RSEQ_SIGNATURE), EBUSY);
}

static void rseq_end(struct expected *expected)
{
    MUST(syscall(SYS_rseq, &expected->rseq, sizeof(expected->rseq), 1, RSEQ_SIGNATURE));
}

/* --- what prctl and the scheduler have --- */

static void name_set(struct expected *expected)
{
    snprintf(expected->name, sizeof(expected->name), "%015lx", tap_random(&expected->random) >> 4);
    MUST(prctl(PR_SET_NAME, expected->name));
}

static void name_check(struct expected *expected)
{
    char name[16] = "";

    MUST(prctl(PR_GET_NAME, name));
    CHECK(strcmp(name, expected->name) == 0, "'%s', was '%s'", name, expected->name);
}

static void nice_set(struct expected *expected)
{
    expected->nice = (int)(tap_random(&expected->random) % 10) + 1;
    MUST(setpriority(PRIO_PROCESS, (id_t)expected->tid, expected->nice));
}

static void nice_check(struct expected *expected)
{
    errno = 0;
    CHECK(getpriority(PRIO_PROCESS, (id_t)expected->tid) == expected->nice && errno == 0, "%d, was %d: %s",
          getpriority(PRIO_PROCESS, (id_t)expected->tid), expected->nice, tap_error(errno));
    CHECK(syscall(SYS_sched_getscheduler, 0) == 0, "the policy is %ld", syscall(SYS_sched_getscheduler, 0));
}

/* On Kettle moves leave the affinity alone, where it allows them; elsewhere they are made of it. */
static void affinity_set(struct expected *expected)
{
    if (!tap_on_kettle())
        return;
    for (int place = 0; place < place_count(); place++) {
        int first = 0;
        int count = place_cpus(place, &first);

        /* All CPUs, less the first of a kernel that has others. */
        for (int i = count > 1; i < count; i++)
            CPU_SET((size_t)(first + i), &expected->cpus);
    }
    MUST(sched_setaffinity(0, sizeof(expected->cpus), &expected->cpus));
}

static void affinity_check(struct expected *expected)
{
    cpu_set_t cpus;

    if (!tap_on_kettle())
        return;
    CPU_ZERO(&cpus);
    MUST(sched_getaffinity(0, sizeof(cpus), &cpus));
    CHECK(CPU_EQUAL(&cpus, &expected->cpus), "%d CPUs, were %d", CPU_COUNT(&cpus), CPU_COUNT(&expected->cpus));
    CHECK(CPU_ISSET((size_t)sched_getcpu(), &expected->cpus), "runs on CPU %d", sched_getcpu());
}

static void prctl_set(struct expected *expected)
{
    expected->slack = tap_random(&expected->random) % 100000 + 1;
    MUST(prctl(PR_SET_TIMERSLACK, expected->slack));
}

static void prctl_check(struct expected *expected)
{
    CHECK((unsigned long)prctl(PR_GET_TIMERSLACK) == expected->slack, "timer slack %d, was %lu",
          prctl(PR_GET_TIMERSLACK), expected->slack);
}

static int64_t thread_time(void)
{
    struct timespec time;

    MUST(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time));
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void clocks_set(struct expected *expected)
{
    expected->time_first = expected->time = tap_time();
    expected->cpu_first = expected->cpu_time = thread_time();
}

static void clocks_check(struct expected *expected)
{
    int64_t cpu_time = thread_time();
    int64_t time = tap_time();

    CHECK(time >= expected->time, "the clock went back by %ld ns", (long)(expected->time - time));
    CHECK(cpu_time >= expected->cpu_time, "the thread's time went back by %ld ns",
          (long)(expected->cpu_time - cpu_time));
    /* A thread works no more than time goes by; clocks of CPUs may differ a little. */
    CHECK(cpu_time - expected->cpu_first <= (time - expected->time_first) * 11 / 10 + 100000000,
          "%ld ns of work in %ld ns", (long)(cpu_time - expected->cpu_first), (long)(time - expected->time_first));
    expected->time = time;
    expected->cpu_time = cpu_time;
}

/* --- registers: the move is made while all are filled --- */

static void registers_move(struct expected *expected, int place)
{
    struct place_call call = place_call(place);
    char text[80];

    gs_set(expected);
    registers_fill(expected->before, &expected->random);
    expected->before->rax = (uint64_t)call.number;
    expected->before->rdi = (uint64_t)call.arguments[0];
    expected->before->rsi = (uint64_t)call.arguments[1];
    expected->before->rdx = (uint64_t)call.arguments[2];
    memset(expected->after, 0xdb, sizeof(*expected->after));
    registers_hold(expected->before, expected->after, components, 0);
    CHECK(expected->after->rax == 0, "the move returns %ld", (long)expected->after->rax);
    CHECK(!registers_differ(expected->before, expected->after, false, *expected->gs, text, sizeof(text)), "%s", text);
}

static void registers_begin(struct expected *expected)
{
    static struct registers before;
    static struct registers after;

    gs_set(expected);
    components = registers_find();
    expected->before = &before;
    expected->after = &after;
}

/* --- the table --- */

struct state {
    void (*set)(struct expected *expected);
    void (*check)(struct expected *expected);
    void (*end)(struct expected *expected);
};

enum { IDS, GS, PENDING, ALTSTACK, ROBUST, RSEQ, NAME, NICE, AFFINITY, PRCTL, CLOCKS, STATES };

static const struct state states[STATES] = {
    [IDS] = {ids_set, ids_check, NULL},
    [GS] = {gs_set, gs_check, NULL},
    [PENDING] = {pending_set, pending_check, pending_end},
    [ALTSTACK] = {altstack_set, altstack_check, altstack_end},
    [ROBUST] = {robust_set, robust_check, robust_end},
    [RSEQ] = {rseq_set, rseq_check, rseq_end},
    [NAME] = {name_set, name_check, NULL},
    [NICE] = {nice_set, nice_check, NULL},
    [AFFINITY] = {affinity_set, affinity_check, NULL},
    [PRCTL] = {prctl_set, prctl_check, NULL},
    [CLOCKS] = {clocks_set, clocks_check, NULL},
};

/* Sets the states of SET, bit i for states[i], moves, and checks them after each move. */
static void states_run(struct expected *expected, unsigned set, int moves)
{
    ids_set(expected);
    for (int i = 0; i < STATES; i++) {
        if ((set & 1u << i) != 0)
            states[i].set(expected);
    }
    for (int move = 0; move < moves; move++) {
        /* Every place in turn first, then any. */
        int place = move < place_count() ? move : (int)(tap_random(&expected->random) % (uint64_t)place_count());

        if (expected->before != NULL)
            registers_move(expected, place);
        else
            place_go(place);
        CHECK(place_here() == place, "moved to %d, am at %d", place, place_here());
        for (int i = 0; i < STATES; i++) {
            if ((set & 1u << i) != 0)
                states[i].check(expected);
        }
    }
    for (int i = 0; i < STATES; i++) {
        if ((set & 1u << i) != 0 && states[i].end != NULL)
            states[i].end(expected);
    }
}

static void states_run_one(int state)
{
    struct expected expected = {.random = 100 + (uint64_t)state};

    states_run(&expected, 1u << state, MOVES_ONE);
}

#define STATE_CASE(name, state)                                                                                        \
    static void test_##name(void)                                                                                      \
    {                                                                                                                  \
        states_run_one(state);                                                                                         \
    }

STATE_CASE(ids, IDS)
STATE_CASE(gs, GS)
STATE_CASE(pending, PENDING)
STATE_CASE(altstack, ALTSTACK)
STATE_CASE(robust, ROBUST)
STATE_CASE(rseq, RSEQ)
STATE_CASE(name, NAME)
STATE_CASE(nice, NICE)
STATE_CASE(affinity, AFFINITY)
STATE_CASE(prctl, PRCTL)
STATE_CASE(clocks, CLOCKS)

static void test_registers(void)
{
    struct expected expected = {.random = 1};

    registers_begin(&expected);
    states_run(&expected, 1u << IDS | 1u << GS, MOVES_ALL);
}

/* rseq is a call a kernel may do without; its own test says so. */
static unsigned states_all(void)
{
    unsigned all = (1u << STATES) - 1;

    return syscall(SYS_rseq, NULL, 0, 0, 0) == -1 && errno == ENOSYS ? all & ~(1u << RSEQ) : all;
}

static void test_all(void)
{
    struct expected expected = {.random = 2};

    registers_begin(&expected);
    states_run(&expected, states_all(), MOVES_ALL);
}

static atomic_int ended;
static atomic_int cleared[THREADS];

static void *thread_all(void *argument)
{
    int index = (int)(intptr_t)argument;
    struct expected expected = {.random = 10 + (uint64_t)index};

    /* The word to clear when the thread ends stays known through all moves. The C library's own, by which it joins, it
     * loses: so these threads are waited for by this word. */
    atomic_store(&cleared[index], 1);
    CHECK(syscall(SYS_set_tid_address, &cleared[index]) == syscall(SYS_gettid), "%s", tap_error(errno));
    if (index == 0)
        registers_begin(&expected);
    states_run(&expected, states_all(), MOVES_ALL / 4);
    atomic_fetch_add(&ended, 1);
    syscall(SYS_exit, 0);
    return NULL;
}

static void test_threads(void)
{
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;

        REQUIRE(pthread_create(&thread, NULL, thread_all, (void *)(intptr_t)i) == 0, "no thread");
    }
    UNTIL(atomic_load(&ended) == THREADS, "threads that move and check their state");
    for (int i = 0; i < THREADS; i++)
        UNTIL(atomic_load(&cleared[i]) == 0, "the word of an ended thread to be cleared");
}

static const struct tap_test tests[] = {
    {"ids", "process id, thread id and thread pointer survive moves", test_ids},
    {"gs", "the base of GS survives moves", test_gs},
    {"pending", "the signal mask and the thread's pending signals with their values survive moves", test_pending},
    {"altstack", "the alternate signal stack survives moves", test_altstack},
    {"robust", "the list of robust futexes survives moves", test_robust},
    {"rseq", "the registration of restartable sequences survives moves, and its CPU is the current one", test_rseq},
    {"name", "the thread's name survives moves", test_name},
    {"nice", "nice value and policy survive moves", test_nice},
    {"affinity", "the CPU affinity survives moves", test_affinity},
    {"prctl", "the timer slack survives moves", test_prctl},
    {"clocks", "the thread's CPU time and the clock never go back over moves", test_clocks},
    {"registers", "all registers survive 1000 moves", test_registers},
    {"all", "all state of a thread together survives 1000 moves", test_all},
    {"threads", "all state of many threads survives moves at once, and the word to clear is cleared at their end",
     test_threads},
};

static const struct tap_program program = {.tests = tests, .count = TAP_COUNT(tests), .apart = true};

int main(int argc, char **argv)
{
    return tap_main(argc, argv, &program);
}

/* test-threads: threads of one program on all kernels at once share one memory and end as one.
 *
 * Threads are made with clone and joined without futexes (thread.h). Thread number i works on the kernel that
 * place_kernel(i) names. With one kernel, Kettle or not, the same tests run without moves.
 *
 * Children of this program, started with the name of a row of children[], end as that row says.
 *
 * Long because it is a list: every test is short and stands alone. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGE 4096l
#define PAGE_WORDS (PAGE / (long)sizeof(long))
#define THREADS_MIN 4
#define THREADS_MAX 16
#define SURVIVED 99
#define STUCK 98
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)

/* What a thread leaves in its result. */
#define RESULT_GOOD 1
#define RESULT_WRONG 2
#define RESULT_STUCK 3
#define RESULT_REFUSED 4 /* a system call failed */

static int kernels[64];
static int kernel_count;
static int home;
static int thread_count;

static struct thread threads[THREADS_MAX];
static atomic_int gate; /* threads that have come to the running test's barrier, in all its rounds */
static _Atomic(long) *shared_words;
static long shared_pages;

static int place_kernel(int index)
{
    return kernels[index % thread_count * kernel_count / thread_count % kernel_count];
}

/* A barrier for thread_count threads: the ROUND-th use, from 1. */
static bool meet(int round)
{
    atomic_fetch_add(&gate, 1);
    return thread_wait(&gate, round * thread_count);
}

static _Atomic(long) *page_word(long page, long word)
{
    return &shared_words[page * PAGE_WORDS + word];
}

static bool shared_map(long pages)
{
    void *area = mmap(NULL, (size_t)(pages * PAGE), READ_WRITE, ANONYMOUS, -1, 0);

    shared_words = area;
    shared_pages = pages;
    return CHECK(area != MAP_FAILED, "%s", strerror(errno));
}

static void shared_unmap(void)
{
    CHECK(munmap((void *)shared_words, (size_t)(shared_pages * PAGE)) == 0, "%s", strerror(errno));
}

/* Runs RUN in all threads and expects that each finds everything good. */
static void threads_run(void (*run)(struct thread *))
{
    int started = 0;

    atomic_store(&gate, 0);
    for (int i = 0; i < thread_count; i++) {
        memset(&threads[i], 0, sizeof(threads[i]));
        threads[i].index = i;
    }
    while (started < thread_count && thread_start(&threads[started], run))
        started++;
    if (!CHECK(started == thread_count, "thread %d: %s", started, strerror(errno)))
        exit(1); /* the others would wait for it for a long time */
    for (int i = 0; i < thread_count; i++) {
        static const char *const results[] = {"ended early", "good", "found wrong values", "is stuck", "was refused"};
        bool joined = thread_join(&threads[i]);
        long result = atomic_load(&threads[i].result);

        CHECK(joined, "thread %d does not end", i);
        CHECK(result == RESULT_GOOD, "thread %d %s", i,
              result >= 0 && result <= RESULT_REFUSED ? results[result] : "says nonsense");
    }
}

/* --- start and end --- */

static _Thread_local long local_value = 77;
static _Thread_local char local_zeroed[100];

static void run_identity(struct thread *thread)
{
    bool good = atomic_load(&thread->tid) == x86_syscall0(SYS_gettid) && x86_syscall0(SYS_getpid) == getpid() &&
                local_value == 77 && local_zeroed[50] == 0;

    local_value = thread->index;
    local_zeroed[50] = 1;
    good = good && meet(1) && thread_move(place_kernel(thread->index)) == 0 && local_value == thread->index;
    /* All live at the same time, so no two may have the same id. */
    for (int i = 0; i < thread_count; i++)
        good = good && (i == thread->index || atomic_load(&threads[i].tid) != atomic_load(&thread->tid));
    good = good && x86_syscall0(SYS_gettid) == atomic_load(&thread->tid) && meet(2);
    atomic_store(&thread->result, good ? RESULT_GOOD : RESULT_WRONG);
}

static void test_identity(void)
{
    threads_run(run_identity);
    for (int i = 0; i < thread_count; i++)
        CHECK(threads[i].tid_first > 0 && threads[i].tid_first != getpid(), "thread id %d", threads[i].tid_first);
    CHECK(local_value == 77 && local_zeroed[50] == 0, "a thread changed the first thread's variables");
}

static void run_short(struct thread *thread)
{
    atomic_store(&thread->result, RESULT_GOOD);
}

static void test_many(void)
{
    for (int i = 0; i < 100; i++) {
        memset(&threads[0], 0, sizeof(threads[0]));
        if (!CHECK(thread_start(&threads[0], run_short), "thread %d: %s", i, strerror(errno)))
            return;
        CHECK(thread_join(&threads[0]) && atomic_load(&threads[0].result) == RESULT_GOOD, "thread %d", i);
    }
}

static void run_exit_away(struct thread *thread)
{
    long moved = thread_move(place_kernel(thread->index));

    atomic_store(&thread->result, moved == 0 ? RESULT_GOOD : RESULT_REFUSED);
    if (meet(1))
        thread_exit(thread->index);
}

static void test_exit_away(void)
{
    for (int i = 0; i < 5; i++)
        threads_run(run_exit_away);
}

static void run_grandchild(struct thread *thread)
{
    struct thread *starter = thread->argument;

    atomic_store(&thread->result, atomic_load(&starter->tid) != 0 ? RESULT_GOOD : RESULT_WRONG);
}

static void run_starter(struct thread *thread)
{
    static struct thread grandchildren[THREADS_MAX];
    struct thread *child = &grandchildren[thread->index];
    long result = RESULT_REFUSED;

    memset(child, 0, sizeof(*child));
    child->argument = thread;
    if (thread_move(place_kernel(thread->index)) == 0 && thread_start(child, run_grandchild))
        result = thread_join(child) ? atomic_load(&child->result) : RESULT_STUCK;
    atomic_store(&thread->result, result);
}

static void test_start_away(void)
{
    threads_run(run_starter);
}

static int never_run(void *argument)
{
    (void)argument;
    return 0;
}

static void test_clone_errors(void)
{
    static char stack[4096];

    CHECK_ERROR(clone(never_run, stack + sizeof(stack), CLONE_THREAD | CLONE_VM, NULL), EINVAL);
    CHECK_ERROR(clone(never_run, stack + sizeof(stack), CLONE_SIGHAND, NULL), EINVAL);
}

/* --- one memory --- */

static void run_visit(struct thread *thread)
{
    long result = RESULT_GOOD;

    /* Each starts elsewhere, so that all kernels are full all the time. */
    for (int i = 0; i <= kernel_count && result == RESULT_GOOD; i++) {
        int kernel = kernels[(thread->index + i) % kernel_count];

        if (thread_move(kernel) != 0)
            result = RESULT_REFUSED;
        else if (thread_kernel() != kernel)
            result = RESULT_WRONG;
    }
    atomic_store(&thread->result, result);
}

static void test_visit(void)
{
    threads_run(run_visit);
}

enum { ADD_PAGES = 4, ADD_ROUNDS = 250 };

static void run_add(struct thread *thread)
{
    if (thread_move(place_kernel(thread->index)) != 0) {
        atomic_store(&thread->result, RESULT_REFUSED);
        return;
    }
    if (!meet(1)) {
        atomic_store(&thread->result, RESULT_STUCK);
        return;
    }
    for (int i = 0; i < ADD_ROUNDS; i++) {
        for (long page = 0; page < ADD_PAGES; page++)
            atomic_fetch_add(page_word((page + thread->index) % ADD_PAGES, 3), 1);
    }
    atomic_store(&thread->result, RESULT_GOOD);
}

static void test_add(void)
{
    for (int round = 0; round < 5; round++) {
        if (!shared_map(ADD_PAGES))
            return;
        threads_run(run_add);
        for (long page = 0; page < ADD_PAGES; page++) {
            long sum = atomic_load(page_word(page, 3));

            CHECK(sum == (long)thread_count * ADD_ROUNDS, "page %ld counts %ld of %ld", page, sum,
                  (long)thread_count * ADD_ROUNDS);
        }
        shared_unmap();
    }
}

enum { TOUCH_PAGES = 64 };

static void run_touch(struct thread *thread)
{
    long result = thread_move(place_kernel(thread->index)) == 0 ? RESULT_GOOD : RESULT_REFUSED;

    if (!meet(1))
        result = RESULT_STUCK;
    /* Half go up and half down, so that they meet in pages nobody has touched. */
    for (long i = 0; i < TOUCH_PAGES; i++) {
        long page = thread->index % 2 == 0 ? i : TOUCH_PAGES - 1 - i;

        atomic_store(page_word(page, thread->index), page * 100 + thread->index + 1);
    }
    if (!meet(2))
        result = RESULT_STUCK;
    for (long page = 0; page < TOUCH_PAGES; page++) {
        for (long i = 0; i < thread_count; i++) {
            if (atomic_load(page_word(page, i)) != page * 100 + i + 1 && result == RESULT_GOOD)
                result = RESULT_WRONG;
        }
    }
    atomic_store(&thread->result, result);
}

static void test_touch(void)
{
    for (int round = 0; round < 3; round++) {
        if (!shared_map(TOUCH_PAGES))
            return;
        threads_run(run_touch);
        shared_unmap();
    }
}

enum { TOKEN_ROUNDS = 30 };
static atomic_int token;
static long token_time;
static long token_payload[THREADS_MAX];

/* The token's holder owns the plain variables beside it. */
static void run_token(struct thread *thread)
{
    long result = thread_move(place_kernel(thread->index)) == 0 ? RESULT_GOOD : RESULT_REFUSED;

    for (int round = 0; round < TOKEN_ROUNDS && result == RESULT_GOOD; round++) {
        int turn = round * thread_count + thread->index;
        long now;

        if (!thread_wait(&token, turn)) {
            result = RESULT_STUCK;
            break;
        }
        now = thread_time();
        if (now < token_time)
            result = RESULT_WRONG;
        for (int i = 0; i < thread_count; i++) {
            if (token_payload[i] != round + (i < thread->index))
                result = RESULT_WRONG;
        }
        token_time = now;
        token_payload[thread->index]++;
        atomic_store(&token, turn + 1);
    }
    atomic_store(&thread->result, result);
}

static void test_token(void)
{
    atomic_store(&token, 0);
    threads_run(run_token);
    CHECK(atomic_load(&token) == TOKEN_ROUNDS * thread_count, "the token was passed %d times", atomic_load(&token));
}

enum { CHURN_ROUNDS = 60 };

static void run_churn(struct thread *thread)
{
    uint64_t state = (uint64_t)thread->index + 1;
    long result = RESULT_GOOD;
    long own = 0;

    for (int i = 0; i < CHURN_ROUNDS && result == RESULT_GOOD; i++) {
        int kernel = kernels[tap_random(&state) % (uint64_t)kernel_count];

        if (thread_move(kernel) != 0)
            result = RESULT_REFUSED;
        atomic_fetch_add(page_word(i % shared_pages, 0), 1);
        /* A word of its own in a page that the others write too. */
        if (atomic_load(page_word(0, 1 + thread->index)) != own)
            result = RESULT_WRONG;
        atomic_store(page_word(0, 1 + thread->index), ++own);
    }
    atomic_store(&thread->result, result);
}

static void test_churn(void)
{
    long sum = 0;

    if (!shared_map(3))
        return;
    threads_run(run_churn);
    for (long page = 0; page < shared_pages; page++)
        sum += atomic_load(page_word(page, 0));
    CHECK(sum == (long)thread_count * CHURN_ROUNDS, "%ld of %ld additions", sum, (long)thread_count * CHURN_ROUNDS);
    shared_unmap();
}

/* --- one set of mappings --- */

enum { MAP_ROUNDS = 25, MAP_PAGES = 3 };

/* Maps, fills, checks and unmaps pages of its own, all through raw calls. */
static long map_once(long mark)
{
    long area = x86_syscall(SYS_mmap, 0, MAP_PAGES * PAGE, READ_WRITE, ANONYMOUS, -1, 0);
    volatile long *words;

    if ((unsigned long)area > -4096ul)
        return RESULT_REFUSED;
    words = (volatile long *)area;
    for (long page = 0; page < MAP_PAGES; page++) {
        if (words[page * PAGE_WORDS] != 0)
            return RESULT_WRONG;
        words[page * PAGE_WORDS] = mark + page;
    }
    x86_syscall0(SYS_sched_yield);
    for (long page = 0; page < MAP_PAGES; page++) {
        if (words[page * PAGE_WORDS] != mark + page)
            return RESULT_WRONG;
    }
    if (x86_syscall3(SYS_munmap, area, MAP_PAGES * PAGE, 0) != 0)
        return RESULT_REFUSED;
    return RESULT_GOOD;
}

static void run_map(struct thread *thread)
{
    long result = thread_move(place_kernel(thread->index)) == 0 ? RESULT_GOOD : RESULT_REFUSED;

    if (!meet(1))
        result = RESULT_STUCK;
    for (long i = 0; i < MAP_ROUNDS && result == RESULT_GOOD; i++)
        result = map_once(thread->index * 1000000l + i * 100 + 1);
    atomic_store(&thread->result, result);
}

static void test_map(void)
{
    threads_run(run_map);
}

enum { PROTECT_ROUNDS = 20 };

/* Opens and closes its own page while the others read it. */
static void run_protect(struct thread *thread)
{
    long result = thread_move(place_kernel(thread->index)) == 0 ? RESULT_GOOD : RESULT_REFUSED;
    long page = (long)page_word(thread->index, 0);
    long seen[THREADS_MAX] = {0};

    if (!meet(1))
        result = RESULT_STUCK;
    for (long i = 1; i <= PROTECT_ROUNDS && result == RESULT_GOOD; i++) {
        if (x86_syscall3(SYS_mprotect, page, PAGE, READ_WRITE) != 0)
            result = RESULT_REFUSED;
        atomic_store(page_word(thread->index, 0), i);
        if (x86_syscall3(SYS_mprotect, page, PAGE, PROT_READ) != 0)
            result = RESULT_REFUSED;
        /* The kernel may not write where the program may not. */
        if (x86_syscall3(SYS_clock_gettime, 1, page + 64, 0) != -EFAULT)
            result = RESULT_WRONG;
        for (int other = 0; other < thread_count; other++) {
            long now = atomic_load(page_word(other, 0));

            if (now < seen[other] || now > PROTECT_ROUNDS)
                result = RESULT_WRONG;
            seen[other] = now;
        }
    }
    atomic_store(&thread->result, result);
}

static void test_protect(void)
{
    if (!shared_map(thread_count))
        return;
    threads_run(run_protect);
    for (int i = 0; i < thread_count; i++)
        CHECK(atomic_load(page_word(i, 0)) == PROTECT_ROUNDS, "page %d holds %ld", i, atomic_load(page_word(i, 0)));
    shared_unmap();
}

enum { REUSE_ROUNDS = 20 };

/* In each round one thread replaces the mapping under the others, who must then all see the new one. */
static void run_reuse(struct thread *thread)
{
    long result = thread_move(place_kernel(thread->index)) == 0 ? RESULT_GOOD : RESULT_REFUSED;
    long page = (long)page_word(0, 0);

    for (int i = 0; i < REUSE_ROUNDS && result != RESULT_STUCK; i++) {
        bool mine = i % thread_count == thread->index;

        if (mine && x86_syscall(SYS_mmap, page, PAGE, READ_WRITE, ANONYMOUS | MAP_FIXED, -1, 0) != page)
            result = RESULT_REFUSED;
        if (!meet(3 * i + 1))
            result = RESULT_STUCK;
        if (atomic_load(page_word(0, 0)) != 0)
            result = RESULT_WRONG;
        if (!meet(3 * i + 2))
            result = RESULT_STUCK;
        if (mine)
            atomic_store(page_word(0, 0), i + 1);
        if (!meet(3 * i + 3))
            result = RESULT_STUCK;
        if (atomic_load(page_word(0, 0)) != i + 1)
            result = RESULT_WRONG;
        /* Nobody maps anew before all have looked. */
        atomic_fetch_add(page_word(1, 0), 1);
        while (atomic_load(page_word(1, 0)) < (long)(i + 1) * thread_count) {
            x86_pause();
            x86_syscall0(SYS_sched_yield);
        }
    }
    atomic_store(&thread->result, result);
}

static void test_reuse(void)
{
    if (!shared_map(2))
        return;
    threads_run(run_reuse);
    shared_unmap();
}

/* --- one end: these run in children --- */

static atomic_int ready;

/* The other thread of a child, on a kernel other than home where there is one. */
static bool away(void)
{
    bool moved = thread_move(kernels[kernel_count - 1] == home ? kernels[0] : kernels[kernel_count - 1]) == 0;

    atomic_fetch_add(&ready, 1);
    return moved;
}

static void other_start(void (*run)(struct thread *))
{
    static struct thread other;

    if (!thread_start(&other, run) || !thread_wait(&ready, 1))
        _exit(STUCK);
}

static _Noreturn void spin(void)
{
    for (;;)
        x86_pause();
}

static void other_exit_group(struct thread *thread)
{
    (void)thread;
    x86_syscall1(SYS_exit_group, away() ? 33 : STUCK);
}

/* The whole program ends while its first thread is busy. */
static void child_exit_group(void)
{
    other_start(other_exit_group);
    spin();
}

static void other_spin(struct thread *thread)
{
    (void)thread;
    away();
    spin();
}

static void child_exit_busy(void)
{
    other_start(other_spin);
    _exit(34);
}

static void other_sleep(struct thread *thread)
{
    static const long minute[2] = {60, 0};

    (void)thread;
    away();
    x86_syscall3(SYS_nanosleep, (long)minute, 0, 0);
}

static void child_exit_asleep(void)
{
    other_start(other_sleep);
    _exit(35);
}

static void other_fault(struct thread *thread)
{
    (void)thread;
    if (away())
        x86_null_write();
}

static void child_fault(void)
{
    other_start(other_fault);
    spin();
}

static void other_late(struct thread *thread)
{
    static const long moment[2] = {0, 30000000};

    (void)thread;
    away();
    x86_syscall3(SYS_nanosleep, (long)moment, 0,
                 0); /* the first thread has ended by then; the status is the same when not */
    x86_syscall1(SYS_exit_group, 36);
}

/* The first thread ends alone; the program goes on without it. */
static void child_first_ends(void)
{
    other_start(other_late);
    thread_exit(1);
}

static void other_last(struct thread *thread)
{
    static const long moment[2] = {0, 30000000};

    (void)thread;
    away();
    x86_syscall3(SYS_nanosleep, (long)moment, 0, 0); /* the first thread has ended by then, or ends after this one */
    thread_exit(37);
}

/* All threads end alone, and all with the status that is then the program's. */
static void child_all_end(void)
{
    other_start(other_last);
    thread_exit(37);
}

static void other_write(struct thread *thread)
{
    (void)thread;
    if (!away())
        x86_syscall1(SYS_exit_group, STUCK);
    for (;;)
        atomic_fetch_add(page_word(0, 0), 1);
}

static void child_shared(void)
{
    shared_words = mmap(NULL, (size_t)PAGE, READ_WRITE, ANONYMOUS, -1, 0);
    other_start(other_write);
    UNTIL(atomic_load(page_word(0, 0)) != 0, "the other thread to write");
}

static void child_unmap(void)
{
    child_shared();
    munmap((void *)shared_words, PAGE);
    spin();
}

static void child_protect(void)
{
    child_shared();
    mprotect((void *)shared_words, PAGE, PROT_READ);
    spin();
}

struct child {
    const char *name;
    void (*run)(void);
    int signal; /* it dies of, or 0 */
    int status; /* it exits with */
};

static const struct child children[] = {
    {"exit-group", child_exit_group, 0, 33},   {"exit-busy", child_exit_busy, 0, 34},
    {"exit-asleep", child_exit_asleep, 0, 35}, {"fault", child_fault, SIGSEGV, 0},
    {"first-ends", child_first_ends, 0, 36},   {"all-end", child_all_end, 0, 37},
    {"unmap", child_unmap, SIGSEGV, 0},        {"protect", child_protect, SIGSEGV, 0},
};

static const struct child *child_find(const char *name)
{
    for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
        if (strcmp(children[i].name, name) == 0)
            return &children[i];
    }
    return NULL;
}

static void child_expect(const char *name)
{
    const struct child *child = child_find(name);

    if (!CHECK(child != NULL, "no child %s", name))
        return;
    for (int i = 0; i < 3; i++) {
        if (child->signal != 0)
            CHECK_CHILD_DIES(name, NULL, child->signal);
        else
            CHECK_CHILD_EXITS(name, NULL, child->status);
    }
}

static void test_exit_group(void)
{
    child_expect("exit-group");
}

static void test_exit_others(void)
{
    child_expect("exit-busy");
    child_expect("exit-asleep");
}

static void test_fault(void)
{
    child_expect("fault");
}

static void test_first_ends(void)
{
    child_expect("first-ends");
    child_expect("all-end");
}

static void test_change_under(void)
{
    child_expect("unmap");
    child_expect("protect");
}

static const struct tap_test tests[] = {
    {"identity", "threads have ids and thread-local variables of their own", test_identity},
    {"many", "a hundred threads come and go", test_many},
    {"exit-away", "threads end on other kernels and are joined at home", test_exit_away},
    {"start-away", "threads on other kernels start threads", test_start_away},
    {"clone-errors", "clone refuses flags that contradict each other", test_clone_errors},
    {"visit", "threads visit all kernels at the same time", test_visit},
    {"add", "atomic additions from all kernels to new pages add up", test_add},
    {"touch", "all threads see what all threads write to 64 new pages", test_touch},
    {"token", "a token and the time go forward around all threads", test_token},
    {"churn", "threads that keep moving lose no addition", test_churn},
    {"map", "mmap and munmap from all kernels at once never overlap", test_map},
    {"protect", "mprotect from all kernels at once holds at once", test_protect},
    {"reuse", "a mapping replaced by one thread is replaced for all", test_reuse},
    {"exit-group", "exit_group on another kernel ends the program with its status", test_exit_group},
    {"exit-others", "a program ends though a thread is busy or asleep elsewhere", test_exit_others},
    {"fault", "a fault of one thread kills the program", test_fault},
    {"first-ends", "a program outlives its first thread", test_first_ends},
    {"change-under", "unmapping or protecting under a busy thread kills the program", test_change_under},
};

int main(int argc, char **argv)
{
    const struct child *child = argc == 2 && argv[1][0] == '@' ? child_find(argv[1] + 1) : NULL;

    kernel_count = tap_kernels(kernels);
    home = kettle_kernel();
    thread_count = kernel_count < THREADS_MIN ? THREADS_MIN : kernel_count;
    thread_count = thread_count > THREADS_MAX ? THREADS_MAX : thread_count;
    if (child != NULL) {
        child->run();
        return SURVIVED;
    }
    tap_note("%d threads on %d kernels", thread_count, kernel_count);
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}

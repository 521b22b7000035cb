/* leak-tasks: many short processes that use everything, all waited for; then every kernel has what it had before.
 *
 * /proc/kettle/objects tells what each kernel has. It is read after a warm-up, in which every kind of process has been
 * everywhere, and again at the end. Counts of things must be equal. Frames in use may differ by SLACK: page tables of
 * the kernel's own stacks. Kernel stacks, the frames of small objects and the channel's buffers are kept for reuse, so
 * they follow the most that was in use at one time, not the number of processes: they may grow by CACHE, however many
 * there were.
 *
 * Elsewhere than on a Kettle the processes are made and waited for, and nothing is compared. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/proc_file.h"

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define TOGETHER 4 /* processes at a time */
#define THREADS_MAX 8
#define COUNTS 18
#define SLACK 8       /* frames of one kernel */
#define LOOKS 3       /* tables of processes that go on: init, a suite, and this one */
#define CACHE 256     /* frames of one kernel */
#define WARM_ROUNDS 8 /* of threads, with a process that goes on */
#define PAGES 8
#define PAGE 4096

static long processes = 300;
static const char *only; /* the kind to make, NULL: all */

/* --- what the processes do: each returns its exit status, or ends otherwise --- */

struct shared {
    atomic_int ready[TOGETHER]; /* the process may be killed */
};
static struct shared *shared;
static int slot; /* of this process */

static atomic_int arrived;
static uint32_t never; /* a futex that nobody wakes */

static void futex_wait(uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void *thread_waits(void *place)
{
    place_go((int)(intptr_t)place);
    atomic_fetch_add(&arrived, 1);
    for (;;)
        futex_wait(&never, 0);
    return NULL;
}

static void *thread_visits(void *place)
{
    place_go((int)(intptr_t)place);
    atomic_fetch_add(&arrived, 1);
    place_go((int)(intptr_t)place + 1);
    return NULL;
}

static void *thread_leaves(void *place)
{
    thread_visits(place);
    syscall(SYS_exit, 13);
    return NULL;
}

static int threads_start(void *(*run)(void *), int place, pthread_t *threads)
{
    int count = place_few(THREADS_MAX);

    for (int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, run, (void *)(intptr_t)(place + i)) != 0)
            _exit(99);
    }
    return count;
}

static int threads_everywhere(int place)
{
    pthread_t threads[THREADS_MAX];
    int count = threads_start(thread_waits, place, threads);

    while (atomic_load(&arrived) < count)
        sched_yield();
    return count;
}

static int do_join(int place)
{
    pthread_t threads[THREADS_MAX];
    int count = threads_start(thread_visits, place, threads);

    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 11;
}

static int do_exit_group(int place)
{
    threads_everywhere(place);
    place_go(place + 1);
    return 12;
}

/* The last thread ends the process. All leave with one status: by the version of Linux that of the first or the last
 * counts. */
static int do_last_thread(int place)
{
    pthread_t threads[THREADS_MAX];

    threads_start(thread_leaves, place, threads);
    place_go(place);
    syscall(SYS_exit, 13);
    return 0;
}

static int do_kill(int place)
{
    threads_everywhere(place);
    atomic_store(&shared->ready[slot], 1);
    for (;;)
        pause();
    return 99;
}

static int do_stop(int place)
{
    threads_everywhere(place);
    place_go(place);
    atomic_store(&shared->ready[slot], 1);
    for (;;)
        raise(SIGSTOP);
    return 99;
}

static int do_exec(int place)
{
    threads_everywhere(place);
    place_go(place);
    tap_exec("fourteen", NULL, NULL);
}

static int child_fourteen(int argc, char **argv)
{
    (void)argv;
    return argc == 2 ? 14 : 1;
}

static bool ends_with(pid_t child, int status)
{
    int got;

    while (waitpid(child, &got, 0) != child) {
        if (errno != EINTR)
            return false;
    }
    return WIFEXITED(got) && WEXITSTATUS(got) == status;
}

static int do_vfork(int place)
{
    pid_t child;

    place_go(place);
    child = vfork();
    if (child == 0)
        _exit(1);
    if (!ends_with(child, 1))
        return 99;
    child = vfork();
    if (child == 0) {
        execl(tap_self(), tap_self(), "@fourteen", (char *)NULL);
        _exit(2);
    }
    return ends_with(child, 14) ? 15 : 99;
}

static int do_shared(int place)
{
    uint32_t *words = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = words == MAP_FAILED ? -1 : fork();

    if (child < 0)
        return 99;
    place_go(place + (child == 0));
    for (uint32_t i = 0; i < 4; i++) { /* in turn */
        while (__atomic_load_n(words, __ATOMIC_SEQ_CST) % 2 != (child == 0))
            futex_wait(words, __atomic_load_n(words, __ATOMIC_SEQ_CST) % 2 != (child == 0) ? 2 * i + (child != 0) : 99);
        __atomic_fetch_add(words, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, words, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
    if (child == 0)
        _exit(3);
    return ends_with(child, 3) ? 16 : 99;
}

static int do_pipes(int place)
{
    char text[PAGE];
    size_t size = 0;
    ssize_t more;
    int ends[2];
    pid_t child;

    memset(text, 'x', sizeof(text));
    place_go(place);
    if (pipe(ends) != 0 || (child = fork()) < 0)
        return 99;
    if (child == 0) {
        place_go(place + 1);
        close(ends[0]);
        for (int i = 0; i < 20; i++) {
            if (write(ends[1], text, sizeof(text)) != sizeof(text))
                _exit(99);
        }
        _exit(4);
    }
    close(ends[1]);
    while ((more = read(ends[0], text, sizeof(text))) > 0)
        size += (size_t)more;
    return ends_with(child, 4) && size == 20 * sizeof(text) ? 17 : 99;
}

static void *thread_polls(void *place)
{
    struct pollfd files[2] = {{.events = POLLIN}, {.events = POLLIN}};
    int ends[2], others[2];

    place_go((int)(intptr_t)place);
    if (pipe(ends) != 0)
        _exit(99);
    place_go((int)(intptr_t)place + 1);
    if (pipe(others) != 0)
        _exit(99);
    files[0].fd = ends[0];
    files[1].fd = others[0];
    atomic_fetch_add(&arrived, 1);
    poll(files, 2, -1);
    return NULL;
}

/* Ends with a timer that has not fired, threads in poll, in read, and in sleep. */
static int do_waits(int place)
{
    struct itimerval later = {.it_value = {.tv_sec = 1000}};
    pthread_t threads[THREADS_MAX];
    int count = threads_start(thread_polls, place, threads);

    setitimer(ITIMER_REAL, &later, NULL);
    while (atomic_load(&arrived) < count)
        sched_yield();
    return 18;
}

static int do_memory(int place)
{
    volatile char *bytes = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid_t child;

    if (bytes == MAP_FAILED)
        return 99;
    for (int i = 0; i < PAGES; i++) {
        place_go(place + i);
        bytes[i * PAGE] = (char)i;
    }
    child = fork();
    for (int i = 0; i < PAGES; i += 2) {
        place_go(place + i + (child == 0));
        bytes[i * PAGE] += 1;
    }
    munmap((void *)(uintptr_t)(bytes + PAGE), PAGE);
    for (int i = 2; i < PAGES; i++) {
        if (bytes[i * PAGE] != i + (i % 2 == 0))
            _exit(99);
    }
    if (child == 0)
        _exit(5);
    return ends_with(child, 5) ? 19 : 99;
}

static int do_orphan(int place)
{
    pid_t parent = getpid();
    pid_t child;

    place_go(place);
    child = fork();
    if (child == 0) {
        place_go(place + 1);
        while (getppid() == parent)
            sched_yield();
        _exit(0);
    }
    return child > 0 ? 20 : 99;
}

/* A process that ends with a child that has ended and that it has not waited for. */
static int do_zombie(int place)
{
    siginfo_t info;
    pid_t child;

    place_go(place);
    child = fork();
    if (child == 0) {
        place_go(place + 1);
        _exit(0);
    }
    return child > 0 && waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0 ? 22 : 99;
}

static int do_spawn(int place)
{
    char *argv[] = {(char *)(uintptr_t)tap_self(), "@fourteen", NULL};
    pid_t child = kettle_spawn(place % kettle_kernels(), tap_self(), argv, environ, NULL);

    return child > 0 && ends_with(child, 14) ? 21 : 99;
}

static const struct kind {
    const char *name;
    int (*run)(int place);
    int status; /* that it exits with; negative: the signal that it is killed with when it is ready */
} kinds[] = {
    {"join", do_join, 11},
    {"exit-group", do_exit_group, 12},
    {"last-thread", do_last_thread, 13},
    {"kill", do_kill, -9},
    {"stop", do_stop, -9},
    {"exec", do_exec, 14},
    {"vfork", do_vfork, 15},
    {"shared", do_shared, 16},
    {"pipes", do_pipes, 17},
    {"waits", do_waits, 18},
    {"memory", do_memory, 19},
    {"orphan", do_orphan, 20},
    {"spawn", do_spawn, 21},
    {"zombie", do_zombie, 22},
};

/* --- making them --- */

/* Process NUMBER of all: the kind and the place follow from it. */
static const struct kind *kind_of(long number)
{
    for (size_t i = 0; only != NULL && i < TAP_COUNT(kinds); i++) {
        if (strcmp(kinds[i].name, only) == 0)
            return &kinds[i];
    }
    return &kinds[(size_t)number % TAP_COUNT(kinds)];
}

static pid_t process_start(long number)
{
    const struct kind *kind = kind_of(number);
    pid_t child;

    atomic_store(&shared->ready[number % TOGETHER], 0);
    child = FORK();
    if (child != 0)
        return child;
    slot = (int)(number % TOGETHER);
    _exit(kind->run((int)(number / (only != NULL ? 1 : (long)TAP_COUNT(kinds)))));
}

static void process_end(long number, pid_t child)
{
    const struct kind *kind = kind_of(number);

    if (kind->status > 0) {
        CHECK_EXITS(child, kind->status);
        return;
    }
    UNTIL(atomic_load(&shared->ready[number % TOGETHER]) != 0, "a process to be ready for its end");
    kill(child, -kind->status);
    CHECK_DIES(child, -kind->status);
}

static void processes_run(long count)
{
    pid_t children[TOGETHER];

    for (long first = 0; first < count; first += TOGETHER) {
        long last = first + TOGETHER < count ? first + TOGETHER : count;

        for (long i = first; i < last; i++)
            children[i - first] = process_start(i);
        for (long i = first; i < last; i++)
            process_end(i, children[i - first]);
    }
}

/* --- comparing --- */

struct counts {
    int kernels;
    char names[COUNTS][16];
    long value[64][COUNTS];
};

static void counts_read(struct counts *counts)
{
    char *text = proc_file_read("/proc/kettle/objects");

    memset(counts, 0, sizeof(*counts));
    REQUIRE(text != NULL, "/proc/kettle/objects: %s", tap_error(errno));
    for (char *line = text; *line != '\0' && counts->kernels < 64; counts->kernels++) {
        char *at = line;
        long kernel = -1;

        REQUIRE(sscanf(at, "kernel %ld", &kernel) == 1 && kernel == counts->kernels, "'%.40s'", line);
        at = strchr(strchr(at, ' ') + 1, ' ');
        for (int i = 0;
             at != NULL && i < COUNTS && sscanf(at, " %15s %ld", counts->names[i], &counts->value[kernel][i]) == 2;
             i++) {
            at = strchr(strchr(at + 1, ' ') + 1, ' ');
            if (at == NULL || (strchr(line, '\n') != NULL && at > strchr(line, '\n')))
                break;
        }
        line = strchr(line, '\n') == NULL ? line + strlen(line) : strchr(line, '\n') + 1;
    }
    free(text);
}

/* How much more of count NAME there may be. */
static long allowance(const char *name)
{
    if (strcmp(name, "used") == 0)
        return SLACK;
    if (strcmp(name, "looks") == 0)
        return LOOKS;
    return strlen(name) > 7 && strcmp(name + strlen(name) - 7, "-frames") == 0 ? CACHE : 0;
}

static bool is_cache(const char *name)
{
    return allowance(name) == CACHE;
}

static bool fits(const char *name, long before, long after)
{
    long more = after - before;

    return more <= allowance(name) && (more >= -allowance(name) || is_cache(name));
}

static bool counts_fit(const struct counts *before, const struct counts *after)
{
    for (int k = 0; k < after->kernels; k++) {
        for (int i = 0; i < COUNTS; i++) {
            if (!fits(after->names[i], before->value[k][i], after->value[k][i]))
                return false;
        }
    }
    return after->kernels == before->kernels;
}

/* What ends does so soon after its parent has heard of it: reads until nothing changes any more. */
static void counts_settle(struct counts *counts)
{
    struct timespec step = {.tv_nsec = 20000000};
    struct counts last;
    int64_t begin = tap_time();
    int same = 0;

    counts_read(&last);
    while (same < 5 && tap_time() - begin < TAP_PATIENCE) {
        nanosleep(&step, NULL);
        counts_read(counts);
        same = memcmp(counts, &last, sizeof(last)) == 0 ? same + 1 : 0;
        last = *counts;
    }
    CHECK(same == 5, "what the kernels have does not settle");
}

static void counts_compare(const struct counts *before, const struct counts *after)
{
    for (int k = 0; k < after->kernels; k++) {
        for (int i = 0; i < COUNTS; i++) {
            if (allowance(after->names[i]) > 0 && after->value[k][i] != before->value[k][i])
                tap_note("kernel %d: %s %ld, before %ld", k, after->names[i], after->value[k][i], before->value[k][i]);
            CHECK(fits(after->names[i], before->value[k][i], after->value[k][i]), "kernel %d had %s %ld, and has %ld",
                  k, after->names[i], before->value[k][i], after->value[k][i]);
        }
    }
    CHECK(counts_fit(before, after) && after->kernels == kettle_kernels(), "%d kernels", after->kernels);
}

static void test_leak(void)
{
    static struct counts before, after;
    long first;

    shared = tap_share(sizeof(*shared));
    first = (long)TAP_COUNT(kinds) * place_few(THREADS_MAX) * (only != NULL ? 1 : 2);
    processes_run(first);
    if (!tap_on_kettle()) {
        processes_run(processes);
        return;
    }
    counts_settle(&before);
    processes_run(processes);
    counts_settle(&after);
    counts_compare(&before, &after);
}

/* Threads that visit the kernels and end, of a process that goes on: no shadow of them stays. */
static void test_threads(void)
{
    static struct counts before, after;

    for (int round = 0; round < WARM_ROUNDS; round++)
        do_join(round);
    if (!tap_on_kettle())
        return;
    counts_settle(&before);
    for (int round = 0; round < WARM_ROUNDS; round++)
        do_join(round);
    counts_settle(&after);
    counts_compare(&before, &after);
}

static const struct tap_test tests[] = {
    {"leak", "every kernel has what it had before as many processes", test_leak},
    {"threads", "every kernel has what it had before the threads of a process visited it and ended", test_threads},
};
static const struct tap_child children[] = {{"fourteen", child_fourteen}};
static struct tap_program program = {
    .tests = tests, .count = TAP_COUNT(tests), .apart = true, .children = children, .child_count = TAP_COUNT(children)};

static int usage(int status)
{
    fputs("usage: leak-tasks [PROCESSES [KIND]]\n\nMakes that many processes of one kind or of all, and compares what "
          "the kernels have; writes TAP.\nKIND is one of",
          status == 0 ? stdout : stderr);
    for (size_t i = 0; i < TAP_COUNT(kinds); i++)
        fprintf(status == 0 ? stdout : stderr, " %s", kinds[i].name);
    fputs(".\n", status == 0 ? stdout : stderr);
    return status;
}

int main(int argc, char **argv)
{
    char *end = "";

    if (argc > 1 && argv[1][0] == '@')
        return tap_main(argc, argv, &program);
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return usage(0);
    if (argc > 1)
        processes = strtol(argv[1], &end, 10);
    if (argc > 3 || *end != '\0' || processes < 1 || processes > 10000000)
        return usage(2);
    if (argc > 2) {
        only = argv[2];
        if (strcmp(kind_of(0)->name, only) != 0)
            return usage(2);
    }
    program.extra = processes * 1000000000;
    tap_note("%ld processes, %s", processes, only != NULL ? only : "of all kinds");
    return tap_main(1, argv, &program);
}

/* test-survive: a user without privileges takes all that the kernels give, and then does what nobody can refuse. The
 * machine lives on, and everything comes back. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "libc/numa.h"
#include "tests/guest/exhaust/hog.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/events.h"
#include "userland/thread.h"

#define LOST_MAX 256 /* pages that caches may have taken */
#define READERS_MAX 4096
#define PAGE 4096l
#define COPIED 1024l

static struct shared {
    atomic_int ready, got, over;
    atomic_long count[4];
    atomic_int error[4];
} * shared;

/* Says what the kernels have. */
static void note_objects(void)
{
    FILE *file = fopen("/proc/kettle/objects", "r");
    char line[512];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        tap_note("%s", line);
    if (file != NULL)
        fclose(file);
}

/* Pages of kernel stacks, which are kept for reuse. */
static long stack_pages(void)
{
    FILE *file = fopen("/proc/kettle/objects", "r");
    char line[512];
    long sum = 0;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *at = strstr(line, "stack-frames ");

        sum += at != NULL ? atol(at + strlen("stack-frames ")) : 0;
    }
    if (file != NULL)
        fclose(file);
    return sum;
}

/* Free pages, and those kept in stacks. */
static long settled_pages(void)
{
    return hog_free_pages() + stack_pages();
}

/* As many pages as BEFORE are free, but for a few: the last frames of a process may come back behind its end. */
static void expect_back(long before)
{
    int64_t limit = tap_time() + TAP_PATIENCE;

    while (settled_pages() <= before - LOST_MAX && tap_time() < limit)
        usleep(10000);
    tap_note("free before %ld pages, after %ld pages", before, settled_pages());
    if (!CHECK(settled_pages() > before - LOST_MAX, "memory is lost"))
        note_objects();
    CHECK(hog_root_works(), "%s", tap_error(errno));
}

/* --- signals --- */

static void note_signal(int signal)
{
    (void)signal;
    atomic_fetch_add(&shared->got, 1);
}

/* On another kernel, and the only thread that takes SIGUSR1. */
static void take_signal(struct thread *thread)
{
    sigset_t set;

    (void)thread;
    kernels_go(1);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    atomic_store(&shared->ready, 1);
    while (atomic_load(&shared->got) == 0 && atomic_load(&shared->over) == 0)
        usleep(1000);
    thread_exit(0);
}

static void note_refusal(int which, long count)
{
    atomic_store(&shared->error[which], errno);
    atomic_store(&shared->count[which], count);
}

static int signal_self(void *unused)
{
    static struct thread thread;
    struct sigaction action = {.sa_handler = note_signal};
    sigset_t set;
    int error = 0;

    (void)unused;
    hog_become_user();
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (!thread_start(&thread, take_signal) || !thread_wait(&shared->ready, 1))
        return 1;
    note_refusal(0, hog_pipes());
    note_refusal(1, hog_names(0));
    note_refusal(2, hog_protections());
    note_refusal(1, atomic_load(&shared->count[1]) + hog_names(atomic_load(&shared->count[1])));
    if (kill(getpid(), SIGUSR1) != 0)
        error = errno;
    else if (!thread_wait(&shared->got, 1))
        error = ETIMEDOUT;
    atomic_store(&shared->over, 1);
    return error;
}

static void test_signal(void)
{
    long before;
    int end;

    memset(shared, 0, sizeof(*shared));
    hog_names_begin();
    CHECK(hog_root_works(), "%s", tap_error(errno));
    before = settled_pages();
    end = tap_fork(signal_self, NULL);
    tap_note("%ld pipes (%s), %ld names (%s), %ld areas (%s)", shared->count[0], tap_error(shared->error[0]),
             shared->count[1], tap_error(shared->error[1]), shared->count[2], tap_error(shared->error[2]));
    CHECK(end == 0 || end == EAGAIN || end == 1000 + SIGKILL, "it ends with %d", end);
    CHECK(hog_root_works(), "%s", tap_error(errno));
    hog_names_end();
    expect_back(before);
}

/* --- signals that merge --- */

#define SENDER 2 /* sends, and has what it sends of at home; not kernel 0, over which options are changed */
#define DEAF 1   /* takes no message of the sender until it is told to; of a machine with a kernel for each CPU */
#define FOREVER_US 600000000l
#define SIGNALS 2000

/* How many messages TYPE a kernel has sent. */
static long messages_sent(long of, const char *type)
{
    FILE *file = fopen("/proc/kettle/messages", "r");
    char line[1024], name[64];
    long sum = 0, sent, kernel;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        sum += sscanf(line, "kernel %ld %63s sent %ld", &kernel, name, &sent) == 3 && kernel == of &&
                       strcmp(name, type) == 0
                   ? sent
                   : 0;
    if (file != NULL)
        fclose(file);
    return sum;
}

/* From now on, for US, the deaf kernel takes no message of kernel PEER. */
static void become_deaf(int peer, long us)
{
    char words[64];

    snprintf(words, sizeof(words), "kernel=%d inject=hold:%ld,peer:%d", DEAF, us, peer);
    MUST(kettle_control(words));
}

/* Threads that are started from now on begin on this kernel or the deaf one. */
static void stay(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(SENDER, &set);
    CPU_SET(DEAF, &set);
    MUST(thread_move(SENDER));
    MUST(sched_setaffinity(0, sizeof(set), &set));
}

/* On the deaf kernel, and the only thread that takes SIGUSR1. */
static void take_hints(struct thread *thread)
{
    sigset_t set;

    (void)thread;
    MUST(thread_move(DEAF));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    atomic_store(&shared->ready, 1);
    while (atomic_load(&shared->over) == 0)
        usleep(1000);
    thread_exit(0);
}

static int kill_self(void *unused)
{
    static struct thread thread;
    struct sigaction action = {.sa_handler = note_signal};
    sigset_t set;
    long before;

    (void)unused;
    stay();
    MUST(sigaction(SIGUSR1, &action, NULL));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    if (!thread_start(&thread, take_hints) || !thread_wait(&shared->ready, 1))
        return 1;
    before = messages_sent(SENDER, "GROUP_HINT");
    become_deaf(SENDER, FOREVER_US);
    for (int i = 0; i < SIGNALS; i++)
        MUST(kill(getpid(), SIGUSR1));
    if (atomic_load(&shared->got) != 0)
        return 2;
    MUST(kettle_control("inject=off"));
    if (!thread_wait(&shared->got, 1))
        return ETIMEDOUT;
    shared->count[0] = messages_sent(SENDER, "GROUP_HINT") - before;
    atomic_store(&shared->over, 1);
    return 0;
}

static void test_hints(void)
{
    if (kettle_kernels() <= SENDER) {
        tap_skip("fewer than 3 kernels");
        return;
    }
    memset(shared, 0, sizeof(*shared));
    MUST(thread_move(SENDER));
    CHECK(tap_fork(kill_self, NULL) == 0, "it does not end well");
    kernels_go(0);
    CHECK(shared->count[0] >= 1 && shared->count[0] <= 4, "%ld hints for %d signals", shared->count[0], SIGNALS);
}

/* --- stops --- */

#define ROUNDS 200

static void count_there(struct thread *thread)
{
    (void)thread;
    MUST(thread_move(DEAF));
    atomic_store(&shared->ready, 1);
    for (;;) {
        atomic_fetch_add(&shared->count[3], 1);
        usleep(1000);
    }
}

/* At home on the sender's kernel, with a thread there and one on the deaf kernel. */
static int count_on_both(void)
{
    static struct thread thread;

    stay();
    if (!thread_start(&thread, count_there))
        return 1;
    for (;;) {
        atomic_fetch_add(&shared->count[1], 1);
        sched_yield();
    }
}

/* What COUNTER is once it does not change any more. */
static long still(atomic_long *counter)
{
    for (;;) {
        long before = atomic_load(counter);

        for (int i = 0; i < 100; i++)
            sched_yield();
        if (atomic_load(counter) == before)
            return before;
    }
}

static void test_stops(void)
{
    long before, sent, at;
    int status;
    pid_t child;

    if (kettle_kernels() <= SENDER) {
        tap_skip("fewer than 3 kernels");
        return;
    }
    memset(shared, 0, sizeof(*shared));
    MUST(thread_move(SENDER));
    child = FORK();
    if (child == 0)
        _exit(count_on_both());
    UNTIL(atomic_load(&shared->ready) != 0 && atomic_load(&shared->count[1]) > 0, "a thread on each kernel");
    before = messages_sent(SENDER, "GROUP_STOP");
    become_deaf(SENDER, FOREVER_US);
    for (int i = 0; i < ROUNDS; i++) {
        MUST(kill(child, SIGSTOP));
        at = still(&shared->count[1]);
        MUST(kill(child, SIGCONT));
        UNTIL(atomic_load(&shared->count[1]) != at, "the thread at home to go on");
    }
    MUST(kettle_control("inject=off"));
    sent = messages_sent(SENDER, "GROUP_STOP") - before;
    CHECK(sent >= 1 && sent <= 6, "%ld messages for %d stops and continues", sent, ROUNDS);
    at = atomic_load(&shared->count[3]);
    UNTIL(atomic_load(&shared->count[3]) > at + 1, "the thread there to go on");
    MUST(kill(child, SIGSTOP));
    CHECK(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "%x", (unsigned)status);
    at = atomic_load(&shared->count[3]);
    CHECK(still(&shared->count[3]) == at, "a thread of a stopped process runs");
    MUST(kill(child, SIGCONT));
    UNTIL(atomic_load(&shared->count[3]) > at + 1, "the thread there to go on");
    MUST(kill(child, SIGKILL));
    CHECK_DIES(child, SIGKILL);
    kernels_go(0);
}

/* --- window sizes --- */

#define HOLD_US                                                                                                        \
    400000l /* for a machine whose clock goes by instructions: options reach a deaf kernel from kernel 0, too */

#define TERMINALS 80 /* more than have an entry each where there is no memory */

/* A pseudo-terminal with a foreground group of its own, that of *LEADER. Returns the master, or -1. */
static int open_terminal(pid_t *leader)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), slave, ready[2];
    char byte;

    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 || pipe(ready) != 0)
        return -1;
    *leader = FORK();
    if (*leader == 0) {
        setsid();
        slave = open(ptsname(master), O_RDWR);
        if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) != 0 || write(ready[1], "r", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        master = -1;
    close(ready[0]);
    return master;
}

static int resize(void *unused)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    int masters[TERMINALS];
    pid_t leaders[TERMINALS];
    int64_t begin;
    long before;

    (void)unused;
    MUST(thread_move(0));
    for (int i = 0; i < TERMINALS; i++) {
        masters[i] = open_terminal(&leaders[i]);
        if (masters[i] < 0)
            return 1;
    }
    before = messages_sent(0, "PROCESS_GROUP_SIGNAL");
    become_deaf(0, HOLD_US);
    begin = tap_time();
    while (tap_time() - begin < HOLD_US * 1000 / 2) {
        size.ws_row ^= 1;
        for (int i = 0; i < TERMINALS; i++) {
            MUST(ioctl(masters[i], TIOCSWINSZ, &size));
            shared->count[1]++;
        }
    }
    MUST(kettle_control("inject=off"));
    shared->count[0] = messages_sent(0, "PROCESS_GROUP_SIGNAL") - before;
    for (int i = 0; i < TERMINALS; i++) {
        MUST(kill(leaders[i], SIGKILL));
        tap_wait(leaders[i]);
    }
    return 0;
}

static void test_sizes(void)
{
    if (tap_skip_alone())
        return;
    memset(shared, 0, sizeof(*shared));
    kernels_go(0); /* not to the deaf one */
    CHECK(tap_fork(resize, NULL) == 0, "it does not end well");
    tap_note("%ld messages for %ld changes", shared->count[0], shared->count[1]);
    CHECK(shared->count[0] > 0 && shared->count[0] < shared->count[1] / 2, "%ld messages for %ld changes",
          shared->count[0], shared->count[1]); /* else one to each other kernel for each change */
}

/* --- readers --- */

static int reader_pipe[2], readers = READERS_MAX;

static void read_there(struct thread *thread)
{
    char byte;

    (void)thread;
    kernels_go(1);
    atomic_fetch_add(&shared->ready, 1);
    if (read(reader_pipe[0], &byte, 1) != 0)
        atomic_fetch_add(&shared->got, 1);
    thread_exit(0);
}

static int many_readers(void *unused)
{
    static struct thread threads[READERS_MAX];
    int started = 0;

    (void)unused;
    kernels_go(0);
    if (pipe(reader_pipe) != 0)
        return 1;
    while (started < readers && thread_start(&threads[started], read_there))
        started++;
    note_refusal(0, started);
    if (!thread_wait(&shared->ready, started))
        return 2;
    kernels_go(1);
    atomic_store(&shared->count[1], tap_time());
    return 0; /* from the other kernel, as exit_group */
}

static void test_readers(void)
{
    int end;

    if (tap_skip_alone())
        return;
    memset(shared, 0, sizeof(*shared));
    CHECK(hog_root_works(), "%s", tap_error(errno));
    end = tap_fork(many_readers, NULL);
    tap_note("%ld threads (%s) end in %ld us", shared->count[0], tap_error(shared->error[0]),
             (long)(tap_time() - shared->count[1]) / 1000);
    CHECK(end == 0, "it ends with %d", end);
    CHECK(hog_root_works(), "%s", tap_error(errno));
}

/* --- copies of replicated pages --- */

static bool all_read(const volatile char *pages)
{
    bool right = true;

    for (int kernel = 0; kernel < kettle_kernels(); kernel++) {
        kernels_go(kernel);
        for (long i = 0; i < COPIED; i++)
            right &= pages[i * PAGE] == (char)(i % 100 + 1);
    }
    kernels_go(0);
    return right;
}

/* Copies are not worth a process: where there is no memory, they are gone when one is killed that takes it all. */
static void test_copies(void)
{
    char *pages = mmap(NULL, COPIED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long made, dropped;
    int status;
    pid_t child;

    REQUIRE(pages != MAP_FAILED, "%s", strerror(errno));
    madvise(pages, COPIED * PAGE, MADV_NOHUGEPAGE);
    memset(shared, 0, sizeof(*shared));
    child = fork(); /* before there are copies, which a fork drops */
    REQUIRE(child >= 0, "%s", strerror(errno));
    if (child == 0) {
        thread_wait(&shared->ready, 1);
        hog_become_user();
        hog_pages();
        _exit(0);
    }
    for (long i = 0; i < COPIED; i++)
        pages[i * PAGE] = (char)(i % 100 + 1);
    CHECK(kettle_block_replicate(pages, (size_t)(COPIED * PAGE)) == COPIED, "%s", tap_error(errno));
    made = events_everywhere("replicas_made");
    dropped = events_everywhere("replicas_dropped");
    CHECK(all_read(pages), "wrong at first");
    made = events_everywhere("replicas_made") - made;
    atomic_store(&shared->ready, 1);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %x",
          status);
    dropped = events_everywhere("replicas_dropped") - dropped;
    tap_note("%lu copies made, %lu given up", made, dropped);
    /* a kernel that still had memory when the hog's own had none for page tables keeps its copies */
    CHECK(made == 0 || dropped >= (unsigned long)COPIED, "no kernel has given up all of its copies");
    CHECK(all_read(pages), "wrong when copies have been given up");
    munmap(pages, COPIED * PAGE);
}

/* --- root beside a user who takes all there is --- */

static const struct hog {
    const char *name;
    long (*take)(void);
} hogs[] = {
    {"pipes", hog_pipes},         {"protections", hog_protections},
    {"processes", hog_processes}, {"threads", hog_threads},
    {"signals", hog_signals},     {"timers", hog_timers},
    {"sockets", hog_sockets},     {"polls", hog_polls},
    {"mappings", hog_mappings},   {"file", hog_file},
    {"tables", hog_tables},       {"pages", hog_pages},
    {"locks", hog_locks},         {"watches", hog_watches},
    {"terminals", hog_terminals}, {"sparse", hog_sparse},
    {"nested", hog_nested},       {"flying", hog_flying},
};

/* Takes, on the kernel ready, and keeps it until it is told to end. */
static int take(void *context)
{
    const struct hog *hog = context;

    hog_become_user();
    kernels_go(atomic_load(&shared->ready));
    note_refusal(0, hog->take());
    atomic_store(&shared->got, 1);
    while (atomic_load(&shared->over) == 0)
        usleep(1000);
    return 0;
}

static const char *only;
/* ms that root's work takes at most, tried again where it is refused; 0: however long, where the time is the host's,
 * and it is never refused. */
static long within;
static bool refuses = true; /* with WITHIN: root's work may be refused */

/* Root's work succeeds while HOG is at it and when it has all it can get, and all comes back. */
static void beside(const struct hog *hog, int kernel)
{
    long before = settled_pages();
    int64_t longest = 0, begin = 0;
    int status = 0, works = 0, fails = 0;
    bool worked = true;
    pid_t child, ended = 0;

    memset(shared, 0, sizeof(*shared));
    atomic_store(&shared->ready, kernel);
    child = fork();
    if (child == 0)
        _exit(take((void *)(uintptr_t)hog));
    CHECK(child > 0, "%s", tap_error(errno));
    for (bool last = false; !last && ended == 0;) {
        last = atomic_load(&shared->got) != 0;
        if (worked)
            begin = tap_time();
        worked = hog_root_works();
        if (worked)
            works++;
        else if (fails++ == 0)
            tap_note("%s on kernel %d: root is refused: %s: %s", hog->name, kernel, hog_refused, tap_error(errno));
        if (tap_time() - begin > longest)
            longest = tap_time() - begin;
        ended = waitpid(child, &status, WNOHANG);
        sched_yield();
    }
    atomic_store(&shared->over, 1);
    if (ended == 0) {
        kill(child, SIGKILL);
        CHECK(waitpid(child, &status, 0) == child, "%s", tap_error(errno));
    }
    tap_note("%s on kernel %d: %ld (%s), ends with %x; root worked %d times, failed %d, longest %ld ms", hog->name,
             kernel, shared->count[0], tap_error(shared->error[0]), (unsigned)status, works, fails,
             (long)(longest / 1000000));
    CHECK(within == 0 || longest <= within * 1000000, "%s on kernel %d: root's work took %ld ms", hog->name, kernel,
          (long)(longest / 1000000));
    CHECK(hog_root_works(), "%s on kernel %d: root is refused when the user is gone: %s", hog->name, kernel,
          tap_error(errno));
    CHECK((within != 0 && refuses) || fails == 0, "%s on kernel %d: root failed %d of %d times", hog->name, kernel,
          fails, works + fails);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%s: %x", hog->name, (unsigned)status);
    expect_back(before);
}

static void test_beside(void)
{
    for (size_t i = 0; i < TAP_COUNT(hogs); i++) {
        if (only != NULL && strcmp(only, hogs[i].name) != 0)
            continue;
        for (int kernel = 0; kernel < (hogs[i].take == hog_protections ? 1 : 2) && /* elsewhere each takes a message */
                             kernel < kernels_count();
             kernel++)
            beside(&hogs[i], kernel);
    }
}

/* --- objects too large for a full kernel --- */

#define LARGE_TRIES 20
#define LARGE_STRINGS 200000 /* bytes, which need 64 frames in a row for a moment */
#define LARGE_LEAST 16384    /* frames of a kernel: fewer, and the last blocks of a full one never have so many */

/* What a kernel has, in pages. */
static long kernel_pages(void)
{
    struct sysinfo info;

    MUST(sysinfo(&info));
    return (long)(info.totalram * info.mem_unit / PAGE) / kettle_kernels();
}

/* Has all pages of the kernel ready and some of others, until it is told to end. */
static int fill(void *unused)
{
    long pages = kernel_pages() * 3 / 2; /* they do not all have the same */
    char *region = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)unused;
    hog_become_user();
    kernels_go(atomic_load(&shared->ready));
    if (region == MAP_FAILED)
        return 1;
    madvise(region, pages * PAGE, MADV_NOHUGEPAGE);
    for (long i = 0; i < pages; i++)
        *(volatile char *)(region + i * PAGE) = 1;
    atomic_store(&shared->got, 1);
    while (atomic_load(&shared->over) == 0)
        usleep(1000);
    return 0;
}

/* On the same kernel, another user's process: programs with so many arguments that their strings find no room. */
static int ask_much(void *unused)
{
    static char string[LARGE_STRINGS / 2];
    char *argv[] = {"/none", string, string, NULL};

    (void)unused;
    memset(string, 'x', sizeof(string) - 1);
    hog_become_user();
    kernels_go(atomic_load(&shared->ready));
    thread_wait(&shared->got, 1);
    for (int i = 0; i < LARGE_TRIES; i++) {
        execve(argv[0], argv, argv + 3);
        if (errno != ENOMEM && errno != ENOENT)
            return errno;
        atomic_fetch_add(&shared->count[1], errno == ENOMEM);
    }
    return 0;
}

static pid_t start(int (*what)(void *))
{
    pid_t child = FORK();

    if (child == 0)
        _exit(what(NULL));
    return child;
}

/* Who asks a kernel that is full of pages for more in a row than it can have is refused, and nobody is killed for it:
 * neither for a user's call, nor for an audit, which does with less. */
static void test_large(void)
{
    static char report[16384];
    long before = settled_pages();
    int status, kernel = kettle_kernels() > 1 ? 1 : 0;
    pid_t asker, filler;

    if (tap_skip_alone())
        return; /* a kernel alone has no pages for anybody then */
    memset(shared, 0, sizeof(*shared));
    atomic_store(&shared->ready, kernel);
    asker = start(ask_much); /* has what it needs before there is nothing left */
    filler = start(fill);
    CHECK(waitpid(asker, &status, 0) == asker, "%s", tap_error(errno));
    tap_note("%ld programs are refused", shared->count[1]);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the asker ends with %x", (unsigned)status);
    CHECK(kernel_pages() >= LARGE_LEAST || shared->count[1] == LARGE_TRIES, "%ld are refused", shared->count[1]);
    CHECK(kettle_audit(KETTLE_AUDIT_MACHINE, report, sizeof(report)) == 0, "%s", report);
    CHECK(hog_root_works(), "%s", tap_error(errno));
    CHECK(waitpid(filler, &status, WNOHANG) == 0, "the largest process is killed: %x", (unsigned)status);
    atomic_store(&shared->over, 1);
    CHECK_EXITS(filler, 0);
    expect_back(before);
}

static const struct tap_test tests[] = {
    {"signal", "a signal is passed on where the kernels have no memory left", test_signal},
    {"stops", "a kernel that does not answer has one stop and one continue of a process, however many there are",
     test_stops},
    {"hints", "a kernel that does not answer has one hint of a process's signals, however many are sent", test_hints},
    {"sizes", "a kernel that does not answer has few signals of a terminal, however many are sent", test_sizes},
    {"beside", "root works beside a user who takes all there is of anything, and all of it comes back", test_beside},
    {"large", "nobody is killed for objects that are too large for a full kernel", test_large},
    {"copies", "copies of replicated pages are given up before a process is killed for want of memory", test_copies},
    {"readers", "a process ends whose thousands of threads wait for another kernel", test_readers},
};

int main(int argc, char **argv)
{
    const char *many;

    kernels_find();
    shared = tap_share(sizeof(*shared));
    only = tap_take_value(&argc, &argv, "hog");
    many = tap_take_value(&argc, &argv, "within");
    within = many != NULL ? atol(many) : 0;
    many = tap_take_value(&argc, &argv, "refuses");
    refuses = many == NULL || atoi(many) != 0;
    many = tap_take_value(&argc, &argv, "count");
    if (many != NULL && atoi(many) > 0 && atoi(many) < READERS_MAX)
        readers = atoi(many);
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}

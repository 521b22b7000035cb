/* test-death: a kernel dies at a message of each type. Which load has a kernel take which types is measured first, with
 * nobody dying; then, for each type, that load runs again, and the kernel dies when it is about to take one of them, or
 * its reply. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/machine/death.h"

#define RUN INT64_C(600000000) /* ns that a load runs */
#define PIDS 4096
#define WORDS 16

static const char *const types[] = {
#define RETIRED(number)
#define REQUEST(number, name, ...) #name,
#define NOTICE(number, name, ...) #name,
#include "msg/messages.def"
};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* Programs of the image, and those of their tests that take long to come; HOME: at home on the kernel that dies. None:
 * death_wanderer. Not test-retrieve: a process with the strategy chain ends the machine with the kernel
 * (docs/limits.md). */
static const struct {
    const char *program, *arguments;
    bool home;
} loads[] = {
    {NULL, NULL, false},
    {"test-files", NULL, true},
    {"test-names", NULL, true},
    {"test-descriptors", NULL, true},
    {"test-clone-files", NULL, true},
    {"test-pipes", NULL, true},
    {"test-memfd", NULL, true},
    {"test-filemap", NULL, false},
    {"test-filemap", NULL, true},
    {"test-file-locks", NULL, true},
    {"test-xattr", NULL, true},
    {"test-root", NULL, true},
    {"test-sysv", NULL, true},
    {"test-mqueue", NULL, true},
    {"test-pty", NULL, true},
    {"test-sockets", NULL, true},
    {"test-splice", NULL, false},
    {"test-epoll-remote", NULL, false},
    {"test-epoll", NULL, true},
    {"test-futex", NULL, false},
    {"test-pi", NULL, false},
    {"test-signals", NULL, false},
    {"test-signals", NULL, true},
    {"test-timers", NULL, true},
    {"test-proc", NULL, false},
    {"test-proc", NULL, true},
    {"test-sched", NULL, false},
    {"test-exec", NULL, false},
    {"test-threads", NULL, false},
    {"test-fork-memory", NULL, false},
    {"test-directory", NULL, false},
    {"test-map", NULL, false},
    {"test-remap", NULL, false},
    {"test-advise", NULL, false},
    {"test-mempolicy", NULL, false},
    {"test-move", "12", false},
    {"test-resident", NULL, false},
    {"test-prefetch", NULL, false},
    {"test-membarrier", NULL, false},
    {"test-handoff", NULL, false},
    {"test-lease", NULL, false},
    {"msgbench", NULL, false},
    {"msgbench", NULL, true},
    {"test-pi", "requeue owner-ends chain mix", false},
    {"test-pi", "requeue owner-ends chain mix", true},
    {"test-signals", "stop stop-handled child-stops kill-groups sessions group-errors", false},
    {"test-signals", "stop stop-handled child-stops kill-groups sessions group-errors", true},
    {"test-signals", "alarm timer poll-pending group-any storm", false},
    {"test-users", "kill reach memory take schedule", false},
    {"test-users", "kill reach memory take schedule", true},
    {"test-users", "limits look-after peers", true},
    {"test-accounting", "io-threads io-thread peak-child memory-child listing", false},
    {"test-accounting", "io-child peak-child memory-user listing", true},
    {"test-timers", "overrun process-clock itimers", true},
    {"test-limits", NULL, false},
    {"test-limits", NULL, true},
    {"test-pidfd", NULL, false},
    {"test-pidfd", NULL, true},
    {"test-mempolicy", "fork move file moving other", false},
    {"test-mempolicy", "fork move file moving other", true},
    {"test-resident", "mlock lock-fork mincore", true},
    {"test-tree", "links facts fifo", true},
    {"test-tree", "rename directories nameless", true},
    {"test-inotify", NULL, true},
    {"test-moved", NULL, false},
    {"test-lazy", "fork target moved together storm", false},
    {"test-exec-change", NULL, false},
    {"test-shm", "bytes places pieces fork exec permission no-more proc", false},
    {"test-shm", "bytes places pieces fork exec permission no-more proc", true},
    {"test-file-lock-wait", NULL, false},
    {"test-file-lock-wait", NULL, true},
    {"test-fork", "waitid-info usage stopped orphan", false},
    {"test-fork", "waitid-info usage stopped orphan", true},
    {"test-sched", "bound bound-everywhere sent registers policies", false},
    {"test-thread-state", "robust affinity threads", false},
    {"test-newcomer", NULL, false},
    {"test-filemap", "shared grow two-places race", false},
    {"test-filemap", "shared grow two-places race", true},
    {"test-move", "file files file-cut", false},
    {"test-move", "shared sharers crowd", false},
    {"test-hint", NULL, false},
    {"test-audit", "during", false},
    {"test-hostname", NULL, true},
    {"test-pty", "leader-ends hang-up terminal-of-session", true},
    {"test-epoll", "moved child messages open-files", false},
    {"test-kept-reads", NULL, false},
    {"test-signalfd", NULL, false},
    {"test-partial-io", NULL, false},
    {"test-prefetch", "sequence scattered", true},
    {"test-exec", NULL, true},
    {"test-proc", "times threads moving", false},
    {"stress-tasks", NULL, false},
    {"test-users", "reach", false},
    {"test-users", "reach", true},
    {"test-accounting", "io-child peak-child faults", false},
    {"test-fork", "usage groups", false},
    {"test-move", "file-cut", true},
    {"test-memfd", NULL, false},
    {"test-content", NULL, false},
    {"test-content", NULL, true},
    {"test-timers", "interval overrun thread-id", false},
    {"test-pi", "signal killed forgotten", false},
    {"test-resident", "mincore msync", true},
    {"test-thread-state", "robust affinity", true},
    {"test-exec-change", NULL, true},
    {"test-vdso", NULL, true},
    {"test-files", "away away-shared", false},
    {"test-descriptors", NULL, false},
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

static long counts[2][TYPES], most[TYPES];
static size_t best[TYPES];

/* How many messages of each type, with replies, KERNEL has taken. */
static void count_messages(int kernel, long *received)
{
    static char text[262144];
    int fd = (int)MUST(open("/proc/kettle/messages", O_RDONLY));
    ssize_t got = 0, more;

    while ((more = read(fd, text + got, sizeof(text) - 1 - (size_t)got)) > 0)
        got += more;
    close(fd);
    text[got] = '\0';
    memset(received, 0, TYPES * sizeof(*received));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char name[32];
        int of;
        long taken;

        if (sscanf(line, "kernel %d %31s sent %*u received %ld", &of, name, &taken) != 3 || of != kernel)
            continue;
        if (strchr(name, '.') != NULL) /* the reply to it */
            *strchr(name, '.') = '\0';
        for (size_t i = 0; i < TYPES; i++)
            received[i] += strcmp(types[i], name) == 0 ? taken : 0;
    }
}

static int processes(pid_t *pids)
{
    char line[8192];
    int fd = (int)MUST(open("/proc", O_RDONLY | O_DIRECTORY)), found = 0;
    ssize_t got;

    while ((got = syscall(SYS_getdents64, fd, line, sizeof(line))) > 0) {
        for (ssize_t at = 0; at < got; at += *(unsigned short *)(void *)(line + at + 16)) {
            pid_t pid = atoi(line + at + 19);

            if (pid > 0 && found < PIDS)
                pids[found++] = pid;
        }
    }
    close(fd);
    return found;
}

static pid_t before[PIDS];
static int before_count;

/* Starts load NUMBER for KERNEL. What it prints is dropped: its own promises are not for a machine that loses kernels.
 */
static pid_t start(size_t number, int kernel)
{
    char path[64], words[256], *argv[WORDS + 2] = {path};
    pid_t child;
    int null, count = 1;

    before_count = processes(before);
    if (loads[number].program == NULL)
        return death_wanderer(number);
    snprintf(path, sizeof(path), "/bin/%s", loads[number].program);
    snprintf(words, sizeof(words), "%s", loads[number].arguments != NULL ? loads[number].arguments : "");
    for (char *word = strtok(words, " "); word != NULL && count <= WORDS; word = strtok(NULL, " "))
        argv[count++] = word;
    null = (int)MUST(open("/dev/null", O_RDWR));
    if (loads[number].home) {
        const int fds[] = {null, null, null, KETTLE_FDS_END};

        child = kettle_spawn(kernel, path, argv, (char *[]){NULL}, fds);
    } else {
        child = FORK();
        if (child == 0) {
            for (int i = 0; i < 3; i++)
                dup2(null, i);
            execv(path, argv);
            _exit(1);
        }
    }
    close(null);
    return child;
}

/* Ends the load, with whatever processes it has made. */
static void end(pid_t child)
{
    static pid_t now[PIDS];
    int left = 1;

    while (left > 0) {
        int total = processes(now);

        left = 0;
        for (int i = 0; i < total; i++) {
            bool old = now[i] == getpid();

            for (int k = 0; k < before_count && !old; k++)
                old = now[i] == before[k];
            if (!old && kill(now[i], SIGKILL) == 0)
                left++;
        }
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        sched_yield();
    }
    (void)child;
}

static void measure(int kernel)
{
    for (size_t i = 0; i < LOADS; i++) {
        pid_t child;
        int64_t since = tap_time();

        count_messages(kernel, counts[0]);
        child = start(i, kernel);
        while (tap_time() - since < RUN && waitpid(child, NULL, WNOHANG) == 0)
            sched_yield();
        end(child);
        count_messages(kernel, counts[1]);
        for (size_t k = 0; k < TYPES; k++) {
            if (counts[1][k] - counts[0][k] <= most[k])
                continue;
            most[k] = counts[1][k] - counts[0][k];
            best[k] = i;
        }
    }
}

/* The kernel dies at one of the first messages of type NUMBER. */
static bool dies_at(size_t number, int dying, int living)
{
    pid_t worker, load;
    char words[128];
    int64_t since;
    bool came = false;

    death_state = types[number];
    death_begin();
    worker = FORK();
    if (worker == 0)
        death_work(0, 0, living);
    snprintf(words, sizeof(words), "kernel=%d inject=type:%s,delay:0,dies:%ld", dying, types[number],
             1 + (long)number % (most[number] < 3 ? most[number] : 3));
    CHECK(kettle_control(words) == 0, "%s: %s", words, tap_error(errno));
    load = start(best[number], dying);
    for (since = tap_time(); !came && tap_time() - since < 3 * RUN; sched_yield())
        came = kettle_started(dying) == 0;
    if (!came) {
        snprintf(words, sizeof(words), "kernel=%d inject=off", dying);
        kettle_control(words); /* it may die at this very message */
        came = death_comes(dying, RUN / 4);
    }
    if (came) {
        death_audit();
        death_start_again(dying);
    }
    for (long done = death_board->done[0]; death_board->done[0] == done;)
        sched_yield();
    death_board->over = 1;
    CHECK_EXITS(worker, 0); /* before the load is ended, with all processes that are new */
    end(load);
    CHECK(death_board->wrong == 0, "%s: %ld things went wrong", types[number], (long)death_board->wrong);
    return came;
}

static void note(const char *what, bool (*is)(size_t number), size_t *count)
{
    char line[128] = "";

    *count = 0;
    for (size_t i = 0; i < TYPES; i++)
        *count += is(i) ? 1 : 0;
    tap_note("%zu of %zu types %s:", *count, TYPES, what);
    for (size_t i = 0; i < TYPES; i++) {
        if (!is(i))
            continue;
        if (strlen(line) + strlen(types[i]) + 2 >= sizeof(line)) {
            tap_note("   %s", line);
            line[0] = '\0';
        }
        strcat(strcat(line, " "), types[i]);
    }
    if (line[0] != '\0')
        tap_note("   %s", line);
}

static bool reached[TYPES];
static size_t step; /* of so many types one is tried */

static bool is_tried(size_t number)
{
    return most[number] > 0 && number % step == (size_t)death_rounds % step;
}

static bool is_reached(size_t number)
{
    return reached[number];
}

static bool is_missed(size_t number)
{
    return is_tried(number) && !reached[number];
}

static bool is_not_taken(size_t number)
{
    return most[number] == 0;
}

void death_test_types(void)
{
    int dying = death_victim(0), living = death_neighbour(dying);
    size_t count, missed, none;

    step = death_rounds < 100 ? 5 : 1;
    measure(dying);
    for (size_t i = 0; i < TYPES; i++)
        reached[i] = is_tried(i) && dies_at(i, dying, living);
    death_audit();
    note("were reached by a death", is_reached, &count);
    note("came without injection only", is_missed, &missed);
    note("no load has the kernel take", is_not_taken, &none);
    CHECK(count > 0 && missed <= count, "%zu types were reached, %zu not", count, missed);
    CHECK(none < TYPES * 2 / 3, "the loads have the kernel take only %zu types", TYPES - none);
}

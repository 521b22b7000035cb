/* test-death: a kernel dies at a message of each type. Which load has a kernel take which types is measured first, with
 * nobody dying; then, for each type, that load runs again, and the kernel dies when it is about to take one of them, or
 * its reply. From 100 rounds on all types are tried, from type ROUNDS - 100 on, for as long as LIMIT says; from 1000 on
 * only with the loads from ROUNDS - 1000 on. With "at NAMES" those types alone are tried, each with several loads,
 * which run longer. */
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
#define LONGER 2               /* times that, and so many loads more for a type, where few are tried */
#define STEP 5
#define LIMIT INT64_C(900000000000) /* ns after which no further type is tried */
#define STUCK INT64_C(20000000000)  /* ns: processes that are killed have ended by then */
#define WORDS 16
#define CALLS "calls"
#define RARE "rare"
#define USUAL "prefetch=4 retrieve=home numa=none numaperiod=100 alloc=0" /* options */

static const char *const types[] = {
#define RETIRED(number)
#define REQUEST(number, name, ...) #name,
#define NOTICE(number, name, ...) #name,
#include "msg/messages.def"
};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* Programs of the image, and those of their tests that take long to come; HOME: at home on the kernel that dies. None:
 * death_wanderer; CALLS: death_calls.c; RARE: death_rare.c. OPTIONS: set while the load runs. */
static const struct {
    const char *program, *arguments;
    bool home;
    bool often; /* has the kernel take types that a short run tries, of which the number modulo STEP is 1 */
    const char *options;
} loads[] = {
    {NULL, NULL, false, false, NULL},
    {"test-files", NULL, true, false, NULL},
    {"test-names", NULL, true, false, NULL},
    {"test-descriptors", NULL, true, true, NULL},
    {"test-clone-files", NULL, true, false, NULL},
    {"test-pipes", NULL, true, true, NULL},
    {"test-memfd", NULL, true, true, NULL},
    {"test-filemap", NULL, false, false, NULL},
    {"test-filemap", NULL, true, false, NULL},
    {"test-file-locks", NULL, true, true, NULL},
    {"test-xattr", NULL, true, false, NULL},
    {"test-root", NULL, true, true, NULL},
    {"test-sysv", NULL, true, true, NULL},
    {"test-mqueue", NULL, true, false, NULL},
    {"test-pty", NULL, true, true, NULL},
    {"test-sockets", NULL, true, false, NULL},
    {"test-splice", NULL, false, true, NULL},
    {"test-epoll-remote", NULL, false, false, NULL},
    {"test-epoll", NULL, true, false, NULL},
    {"test-futex", NULL, false, true, NULL},
    {"test-pi", NULL, false, true, NULL},
    {"test-signals", NULL, false, false, NULL},
    {"test-signals", NULL, true, true, NULL},
    {"test-timers", NULL, true, false, NULL},
    {"test-proc", NULL, false, false, NULL},
    {"test-proc", NULL, true, false, NULL},
    {"test-sched", NULL, false, false, NULL},
    {"test-exec", NULL, false, false, NULL},
    {"test-threads", NULL, false, false, NULL},
    {"test-fork-memory", NULL, false, false, NULL},
    {"test-directory", NULL, false, false, NULL},
    {"test-map", NULL, false, true, NULL},
    {"test-remap", NULL, false, true, NULL},
    {"test-advise", NULL, false, true, NULL},
    {"test-mempolicy", NULL, false, false, NULL},
    {"test-move", "12", false, false, NULL},
    {"test-resident", NULL, false, false, NULL},
    {"test-prefetch", NULL, false, false, NULL},
    {"test-membarrier", NULL, false, false, NULL},
    {"test-handoff", NULL, false, false, NULL},
    {"test-lease", NULL, false, true, NULL},
    {"msgbench", NULL, false, false, NULL},
    {"msgbench", NULL, true, true, NULL},
    {"test-pi", "requeue owner-ends chain mix", false, false, NULL},
    {"test-pi", "requeue owner-ends chain mix", true, true, NULL},
    {"test-signals", "stop stop-handled child-stops kill-groups sessions group-errors", false, false, NULL},
    {"test-signals", "stop stop-handled child-stops kill-groups sessions group-errors", true, true, NULL},
    {"test-signals", "alarm timer poll-pending group-any storm", false, false, NULL},
    {"test-users", "kill reach memory take schedule", false, false, NULL},
    {"test-users", "kill reach memory take schedule", true, true, NULL},
    {"test-users", "limits look-after peers", true, false, NULL},
    {"test-accounting", "io-threads io-thread peak-child memory-child listing", false, false, NULL},
    {"test-accounting", "io-child peak-child memory-user listing", true, false, NULL},
    {"test-timers", "overrun process-clock itimers", true, false, NULL},
    {"test-limits", NULL, false, true, NULL},
    {"test-limits", NULL, true, false, NULL},
    {"test-pidfd", NULL, false, false, NULL},
    {"test-pidfd", NULL, true, true, NULL},
    {"test-mempolicy", "fork move file moving other", false, false, NULL},
    {"test-mempolicy", "fork move file moving other", true, true, NULL},
    {"test-resident", "mlock lock-fork mincore", true, true, NULL},
    {"test-tree", "links facts fifo", true, false, NULL},
    {"test-tree", "rename directories nameless", true, false, NULL},
    {"test-inotify", NULL, true, false, NULL},
    {"test-moved", NULL, false, false, NULL},
    {"test-lazy", "fork target moved together storm", false, false, NULL},
    {"test-exec-change", NULL, false, false, NULL},
    {"test-shm", "bytes places pieces fork exec permission no-more proc", false, false, NULL},
    {"test-shm", "bytes places pieces fork exec permission no-more proc", true, true, NULL},
    {"test-file-lock-wait", NULL, false, false, NULL},
    {"test-file-lock-wait", NULL, true, false, NULL},
    {"test-fork", "waitid-info usage stopped orphan", false, false, NULL},
    {"test-fork", "waitid-info usage stopped orphan", true, false, NULL},
    {"test-sched", "bound bound-everywhere sent registers policies", false, false, NULL},
    {"test-thread-state", "robust affinity threads", false, false, NULL},
    {"test-newcomer", NULL, false, false, NULL},
    {"test-filemap", "shared grow two-places race", false, false, NULL},
    {"test-filemap", "shared grow two-places race", true, false, NULL},
    {"test-move", "file files file-cut", false, false, NULL},
    {"test-move", "shared sharers crowd", false, true, NULL},
    {"test-hint", NULL, false, false, NULL},
    {"test-audit", "during", false, true, NULL},
    {"test-hostname", NULL, true, false, NULL},
    {"test-pty", "leader-ends hang-up terminal-of-session", true, true, NULL},
    {"test-epoll", "moved child messages open-files", false, false, NULL},
    {"test-kept-reads", NULL, false, false, NULL},
    {"test-signalfd", NULL, false, false, NULL},
    {"test-partial-io", NULL, false, false, NULL},
    {"test-prefetch", "sequence scattered", true, false, NULL},
    {"test-exec", NULL, true, false, NULL},
    {"test-proc", "times threads moving", false, false, NULL},
    {"stress-tasks", NULL, false, true, NULL},
    {"test-users", "reach", false, false, NULL},
    {"test-users", "reach", true, false, NULL},
    {"test-accounting", "io-child peak-child faults", false, true, NULL},
    {"test-fork", "usage groups", false, false, NULL},
    {"test-move", "file-cut", true, true, NULL},
    {"test-memfd", NULL, false, true, NULL},
    {"test-content", NULL, false, false, NULL},
    {"test-content", NULL, true, false, NULL},
    {"test-timers", "interval overrun thread-id", false, true, NULL},
    {"test-pi", "signal killed forgotten", false, true, NULL},
    {"test-resident", "mincore msync", true, false, NULL},
    {"test-thread-state", "robust affinity", true, false, NULL},
    {"test-exec-change", NULL, true, false, NULL},
    {"test-vdso", NULL, true, false, NULL},
    {"test-files", "away away-shared", false, true, NULL},
    {"test-descriptors", NULL, false, false, NULL},
    {CALLS, NULL, false, false, NULL},
    {CALLS, NULL, true, true, NULL},
    {CALLS, NULL, false, false, "prefetch=32"},
    {NULL, NULL, false, false, "prefetch=32"},
    {NULL, NULL, false, false, "numa=share numaperiod=1"},
    {"test-map", NULL, false, false, "prefetch=32"},
    {NULL, NULL, false, false, "retrieve=chain"},
    {"test-group", NULL, true, false, NULL},
    {"test-draw", "comes", true, false, NULL},
    {RARE, "files", false, false, NULL},
    {RARE, "waits", false, false, NULL},
    {RARE, "families", false, false, NULL},
    {RARE, "audits", false, false, NULL},
    {RARE, "share", false, false, "numa=share numaperiod=1"},
    {RARE, "refused", false, false, NULL},
    {RARE, "memory", false, false, NULL},
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

static long counts[2][TYPES], most[TYPES], taken[LOADS][TYPES];
static size_t best[TYPES];
static bool comes[TYPES]; /* some load has the kernel take it */
static int64_t run = RUN;

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

static pid_t before[DEATH_PIDS];
static int before_count;

static pid_t start_calls(bool home, int kernel)
{
    char *argv[] = {(char *)(uintptr_t)tap_self(), "@calls", NULL};
    pid_t child;

    if (home)
        return kettle_spawn(kernel, argv[0], argv, (char *[]){NULL}, NULL);
    child = FORK();
    if (child == 0)
        death_call_from(kernel);
    return child;
}

/* Starts load NUMBER for KERNEL. What it prints is dropped: its own promises are not for a machine that loses kernels.
 */
static pid_t start(size_t number, int kernel)
{
    char path[64], words[256], *argv[WORDS + 2] = {path};
    pid_t child;
    int null, count = 1;

    before_count = death_processes(before);
    if (loads[number].options != NULL)
        CHECK(kettle_control(loads[number].options) == 0, "%s: %s", loads[number].options, tap_error(errno));
    if (loads[number].program == NULL)
        return death_wanderer(number);
    if (strcmp(loads[number].program, CALLS) == 0)
        return start_calls(loads[number].home, kernel);
    if (strcmp(loads[number].program, RARE) == 0)
        return death_rare(loads[number].arguments, kernel);
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

/* Says what the process PID is that stays. */
static void note_process(pid_t pid)
{
    char name[64], text[2048] = "";
    int fd;

    snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
    fd = open(name, O_RDONLY);
    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
        tap_note("%s: still there: %.60s", death_state, text);
    close(fd);
}

/* Ends the load, with whatever processes it has made. */
static void end(pid_t child)
{
    static pid_t now[DEATH_PIDS];
    int64_t since = tap_time();
    int left = 1;

    if (child > 0) { /* it could be made: the kernel may have died of that */
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    while (kettle_control("alloc=0") != 0 && errno == ENOMEM) /* or the kernels could refuse what follows */
        sched_yield();
    while (left > 0) {
        int total = death_processes(now);
        bool stuck = tap_time() - since > STUCK;

        left = 0;
        for (int i = 0; i < total; i++) {
            bool old = now[i] == getpid();

            for (int k = 0; k < before_count && !old; k++)
                old = now[i] == before[k];
            if (!old && kill(now[i], SIGKILL) == 0)
                left++;
            if (!old && stuck)
                note_process(now[i]);
        }
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        REQUIRE(!stuck, "%s: %d processes stay", death_state, left);
        sched_yield();
    }
    CHECK(kettle_control(USUAL) == 0, "%s: %s", USUAL, tap_error(errno));
}

/* Load NUMBER leaves no kernel any memory: what a process gets then may be borrowed from the kernel that dies, and is
 * lost with it. So whoever is to work with the right results begins after the death. It runs for OOM_LARGEST alone: how
 * long root's calls take meanwhile depends on how the machine's time passes. */
static bool takes_memory(size_t number)
{
    return loads[number].program != NULL && strcmp(loads[number].program, RARE) == 0 &&
           strcmp(loads[number].arguments, "memory") == 0;
}

static size_t step;       /* of so many types one is tried */
static size_t first_load; /* those before are not run */

static void measure(int kernel)
{
    for (size_t i = 0; i < LOADS; i++) {
        pid_t child;
        int64_t since = tap_time();

        if (i < first_load || (step > 1 && !loads[i].often))
            continue;
        if (takes_memory(i) && (death_types == NULL || strstr(death_types, "OOM_LARGEST") == NULL))
            continue;
        count_messages(kernel, counts[0]);
        child = start(i, kernel);
        while (tap_time() - since < run && waitpid(child, NULL, WNOHANG) == 0)
            sched_yield();
        end(child);
        count_messages(kernel, counts[1]);
        for (size_t k = 0; k < TYPES; k++)
            taken[i][k] = counts[1][k] - counts[0][k];
    }
}

/* Finds the load that has the kernel take most messages of type NUMBER. */
static void find_best(size_t number)
{
    most[number] = 0;
    for (size_t i = 0; i < LOADS; i++) {
        if (taken[i][number] <= most[number])
            continue;
        most[number] = taken[i][number];
        best[number] = i;
    }
}

static pid_t start_worker(int living)
{
    pid_t worker = FORK();

    if (worker == 0) {
        kettle_numa(getpid(), "none"); /* or its memory may be moved to the kernel that dies */
        death_work(0, 0, living);
    }
    return worker;
}

/* The kernel dies at one of the first messages of type NUMBER. */
static bool dies_at(size_t number, int dying, int living)
{
    bool late = takes_memory(best[number]);
    pid_t worker = 0, load;
    char words[128];
    int64_t since;
    bool came = false;

    death_state = types[number];
    death_begin();
    if (!late)
        worker = start_worker(living);
    snprintf(words, sizeof(words), "kernel=%d inject=type:%s,delay:0,dies:%ld", dying, types[number],
             1 + (long)number % (most[number] < 3 ? most[number] : 3));
    CHECK(kettle_control(words) == 0, "%s: %s", words, tap_error(errno));
    load = start(best[number], dying);
    for (since = tap_time(); !came && tap_time() - since < 3 * run; sched_yield())
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
    if (late)
        worker = start_worker(living);
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

static size_t first, past; /* types that are tried, if there is time */

static bool is_chosen(size_t number)
{
    const char *at = death_types;
    size_t length = strlen(types[number]);

    if (at == NULL)
        return number % step == (step > 1 ? 1 : 0);
    for (; at != NULL; at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, types[number], length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* Each name that was given is a type's. */
static bool all_are_types(void)
{
    size_t chosen = 0, names = 1;

    for (const char *at = death_types; (at = strchr(at, ',')) != NULL; at++)
        names++;
    for (size_t i = 0; i < TYPES; i++)
        chosen += is_chosen(i) ? 1 : 0;
    return chosen == names;
}

static bool is_tried(size_t number)
{
    return comes[number] && number >= first && number < past && is_chosen(number);
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
    return !comes[number] && (death_types == NULL || is_chosen(number));
}

static bool is_survived(size_t number, int dying, int living)
{
    for (int loads_more = death_types != NULL ? LONGER : 0; most[number] > 0 && is_chosen(number); loads_more--) {
        if (dies_at(number, dying, living))
            return true;
        if (loads_more == 0)
            return false;
        taken[best[number]][number] = 0;
        find_best(number);
    }
    return false;
}

void death_test_types(void)
{
    int dying = death_victim(0), living = death_neighbour(dying);
    int64_t since = tap_time();
    size_t count, missed, none;

    step = death_rounds < 100 ? STEP : 1;
    first_load = death_rounds < 1000 ? 0 : (size_t)death_rounds - 1000;
    first = death_rounds < 100 || first_load != 0 ? 0 : (size_t)death_rounds - 100;
    run = death_types != NULL ? LONGER * RUN : RUN;
    if (death_types != NULL)
        REQUIRE(all_are_types(), "not all of %s are types, or one is there twice", death_types);
    measure(dying);
    for (size_t i = 0; i < TYPES; i++) {
        find_best(i);
        comes[i] = most[i] > 0;
    }
    for (past = first; past < TYPES && tap_time() - since < LIMIT; past++)
        reached[past] = is_survived(past, dying, living);
    death_audit();
    if (past < TYPES)
        tap_note("the time is over: test-death %zu types tries the types from %s on", 100 + past, types[past]);
    note("were reached by a death", is_reached, &count);
    note("came without injection only", is_missed, &missed);
    note("no load has the kernel take", is_not_taken, &none);
    CHECK(death_types != NULL || (count > 0 && missed <= count), "%zu types were reached, %zu not", count, missed);
    CHECK(first_load != 0 || none < TYPES * 2 / 3, "the loads have the kernel take only %zu types", TYPES - none);
}

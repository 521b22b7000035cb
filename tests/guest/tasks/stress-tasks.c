/* stress-tasks: storms of moves, forks, clones, signals, execs, exits and stops over all places, and an audit.
 *
 * Workers live as long as the storm. Each takes its decisions from random numbers of its own, which the seed begins;
 * what they do to each other and to their children stands in the ledger, which the root audits when all have ended. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/tasks/stress_ledger.h"
#include "userland/x86.h"

#define TEXT_MAX 400
#define OUTSTANDING 4  /* children of one worker that are not waited for yet */
#define QUEUE_ROOM 64  /* numbered signals on the way between two workers */
#define PIPE_ROOM 4096 /* bytes on the way in a pipe, which always has that much room */
#define SIGNAL_NUMBERED (SIGRTMIN + 1)
#define SIGNAL_STANDARD SIGUSR1

enum operation { MOVE, PUSH, CHILD, REAP, THREADS, QUEUE, STANDARD, WRITE, READ, OPERATIONS };

static const char *const steps[OPERATIONS] = {
    [MOVE] = "moves",          [PUSH] = "pushes another worker", [CHILD] = "makes a child",     [REAP] = "reaps",
    [THREADS] = "has threads", [QUEUE] = "queues a signal",      [STANDARD] = "sends a signal", [WRITE] = "writes",
    [READ] = "reads"};

/* How often each operation is chosen, by mode. */
static const struct mode {
    const char *name;
    int weights[OPERATIONS];
    unsigned kinds; /* of children, bit i for kind i */
} modes[] = {
    {"all", {10, 3, 10, 10, 2, 20, 10, 10, 10}, (1u << LEDGER_KINDS) - 1},
    {"move", {50, 0, 4, 4, 2, 10, 5, 10, 10}, 1u << LEDGER_EXIT},
    {"push", {10, 30, 4, 4, 2, 10, 5, 10, 10}, 1u << LEDGER_EXIT | 1u << LEDGER_EXEC | 1u << LEDGER_STOP},
    {"fork",
     {5, 0, 20, 20, 0, 1, 1, 1, 1},
     1u << LEDGER_EXIT | 1u << LEDGER_KILLED | 1u << LEDGER_ORPHAN | 1u << LEDGER_GROUP},
    {"exec", {5, 1, 20, 20, 0, 1, 1, 1, 1}, 1u << LEDGER_EXEC | 1u << LEDGER_CROWD},
    {"signal", {5, 0, 1, 1, 1, 50, 30, 5, 5}, 1u << LEDGER_KILLED},
    {"stop", {5, 2, 10, 10, 1, 5, 5, 5, 5}, 1u << LEDGER_STOP | 1u << LEDGER_KILLED},
};

static const struct mode *mode = &modes[0];
static uint64_t seed = 1;
static int64_t seconds = 5;
static struct ledger *ledger;
static bool no_pipes;
static int pipes[WORKERS][2]; /* worker i writes to pipes[i], worker i + 1 reads it */

/* --- a worker's own --- */

struct outstanding {
    pid_t pid;
    struct ledger_child *child;
};

static int self;
static struct ledger_worker *me;
static uint64_t random_state;
static struct outstanding outstanding[OUTSTANDING];

/* Notes what this worker does, with CHILD unless that is 0. */
static void note_step(const char *step, pid_t child)
{
    atomic_store(&me->step, step);
    if (child != 0)
        atomic_store(&me->child, child);
}

static int chance(int below)
{
    return (int)(tap_random(&random_state) % (uint64_t)below);
}

static void go(int place)
{
    if (mode->weights[PUSH] > 0)
        place_try(place);
    else
        place_go(place);
}

static void handler_numbered(int signal, siginfo_t *info, void *context)
{
    int sender = info->si_value.sival_int >> 24;
    long number = info->si_value.sival_int & 0xffffff;

    (void)signal;
    (void)context;
    if (sender < 0 || sender >= WORKERS || ((atomic_load(&me->taken[sender]) + 1) & 0xffffff) != number) {
        atomic_fetch_add(&me->order_broken, 1);
        return;
    }
    atomic_fetch_add(&me->taken[sender], 1);
}

static void handler_standard(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    atomic_fetch_add(&me->standard_handled, 1);
}

/* --- children --- */

/* A child's first act: it is nobody's receiver, and says what it sees. */
static void child_begin(struct ledger_child *child)
{
    signal(SIGNAL_NUMBERED, SIG_DFL);
    signal(SIGNAL_STANDARD, SIG_DFL);
    atomic_store(&child->parent_seen, getppid());
    atomic_store(&child->group_seen, getpgid(0));
    atomic_store(&child->session_seen, getsid(0));
    atomic_fetch_add(&child->begun, 1);
}

static void child_work(void)
{
    for (int i = chance(4); i > 0; i--) {
        go(chance(64));
        for (int k = chance(20); k > 0; k--)
            sched_yield();
    }
}

static void *crowd_run(void *argument)
{
    go((int)(intptr_t)argument);
    for (;;)
        sched_yield();
    return NULL;
}

static _Noreturn void child_orphans(struct ledger_child *child, int status)
{
    pid_t parent = getpid();
    int count = 1 + chance(ORPHANS_MAX);

    atomic_store(&child->orphans_left, count);
    for (int i = 0; i < count; i++) {
        pid_t orphan = FORK();

        if (orphan == 0) {
            child_work();
            UNTIL(getppid() != parent, "an orphan's new parent");
            atomic_fetch_add(&child->orphans_ended, 1);
            _exit(1);
        }
        atomic_store(&child->orphans[i], orphan);
    }
    _exit(status);
}

static _Noreturn void child_run(struct ledger_child *child, enum ledger_kind kind, int status)
{
    child_begin(child);
    if (kind == LEDGER_GROUP) {
        bool session = chance(2) == 0;

        if (session)
            CHECK(setsid() == getpid(), "setsid: %s", tap_error(errno));
        else
            MUST(setpgid(0, 0));
        atomic_store(&child->group, getpid());
        atomic_store(&child->session, session ? getpid() : atomic_load(&child->session));
        atomic_store(&child->group_seen, getpgid(0));
        atomic_store(&child->session_seen, getsid(0));
    }
    child_work();
    if (kind == LEDGER_EXEC) {
        char first[16];
        char second[64];

        snprintf(first, sizeof(first), "%d", status);
        snprintf(second, sizeof(second), "%d,%d,%d,%d", (int)getpid(), (int)getppid(), (int)getpgid(0), (int)getsid(0));
        tap_exec("leaf", first, second);
    }
    if (kind == LEDGER_ORPHAN)
        child_orphans(child, status);
    if (kind == LEDGER_CROWD) {
        for (int i = 1 + chance(3); i > 0; i--) {
            pthread_t thread;

            REQUIRE(pthread_create(&thread, NULL, crowd_run, (void *)(intptr_t)chance(64)) == 0, "no thread");
        }
        child_work();
    }
    while (kind == LEDGER_KILLED || kind == LEDGER_STOP) {
        if (chance(2) == 0)
            sched_yield();
        else
            x86_pause();
    }
    _exit(status);
}

/* @leaf STATUS PID,PPID,PGID,SID: exits with STATUS when it is who it was. */
static int child_leaf(int argc, char **argv)
{
    int ids[4];

    if (argc < 4 || sscanf(argv[3], "%d,%d,%d,%d", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
        return 70;
    if (getpid() != ids[0] || getppid() != ids[1] || getpgid(0) != ids[2] || getsid(0) != ids[3])
        return 69;
    return atoi(argv[2]);
}

static void reaped(struct outstanding *entry, int status)
{
    atomic_store(&entry->child->status, status);
    atomic_fetch_add(&entry->child->reaped, 1);
    entry->pid = 0;
}

/* Stops and continues the child a few times. */
static void stop_child(pid_t pid)
{
    for (int i = 1 + chance(3); i > 0; i--) {
        int status;

        note_step("sends SIGSTOP", pid);
        MUST(kill(pid, SIGSTOP));
        if (chance(2) == 0) {
            note_step("pushes a child that stops", pid);
            place_push(pid, chance(64));
        }
        note_step("waits for a child to stop", pid);
        CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "status %#x", (unsigned)status);
        note_step("sends SIGCONT", pid);
        MUST(kill(pid, SIGCONT));
        note_step("waits for a child to continue", pid);
        CHECK(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status), "status %#x", (unsigned)status);
        atomic_fetch_add(&me->stops, 1);
    }
}

static void do_child(void)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGHUP, 40};
    enum ledger_kind kind = (enum ledger_kind)chance(LEDGER_KINDS);
    int signal = signals[chance(4)];
    int status = chance(200);
    uint64_t child_seed = tap_random(&random_state);
    struct outstanding *entry = NULL;
    struct ledger_child *child;
    bool killed;

    while ((mode->kinds & 1u << kind) == 0)
        kind = (kind + 1) % LEDGER_KINDS;
    killed = kind == LEDGER_KILLED || kind == LEDGER_STOP;
    for (int i = 0; i < OUTSTANDING; i++) {
        if (outstanding[i].pid == 0)
            entry = &outstanding[i];
    }
    if (entry == NULL)
        return;
    child = ledger_child(ledger, kind, killed ? signal : status << 8);
    if (child == NULL)
        return;
    atomic_store(&child->parent, getpid());
    atomic_store(&child->group, getpgid(0));
    atomic_store(&child->session, getsid(0));
    entry->child = child;
    entry->pid = FORK();
    if (entry->pid == 0) {
        random_state = child_seed;
        child_run(child, kind, status);
    }
    if (killed) {
        note_step("waits for a child to begin", entry->pid);
        UNTIL(atomic_load(&child->begun) == 1, "a child to begin");
        if (kind == LEDGER_STOP)
            stop_child(entry->pid);
        note_step("kills a child", entry->pid);
        MUST(kill(entry->pid, signal));
    } else if (mode->weights[PUSH] > 0 && chance(2) == 0) {
        note_step("pushes a child", entry->pid);
        place_push(entry->pid, chance(64));
    }
}

/* Waits for the end of the child of ENTRY, if there is one. */
static void reap(struct outstanding *entry)
{
    if (entry->pid == 0)
        return;
    note_step("waits for the end of a child", entry->pid);
    reaped(entry, tap_wait(entry->pid));
}

static void reap_all(void)
{
    for (int i = 0; i < OUTSTANDING; i++)
        reap(&outstanding[i]);
}

static void do_reap(void)
{
    int chosen = chance(OUTSTANDING);
    int way = chance(3);
    int status;
    pid_t pid;

    if (way == 0) {
        reap(&outstanding[chosen]);
        return;
    }
    tap_await("any child of a worker");
    do {
        pid = waitpid(-1, &status, way == 1 ? WNOHANG : 0);
    } while (pid == -1 && errno == EINTR);
    if (pid == 0 || (pid == -1 && errno == ECHILD))
        return;
    for (int i = 0; i < OUTSTANDING; i++) {
        if (outstanding[i].pid == pid) {
            reaped(&outstanding[i], status);
            return;
        }
    }
    CHECK(false, "worker %d reaps %d, which is not its child: %s", self, (int)pid, tap_error(errno));
}

/* --- the other operations --- */

static void *thread_run(void *argument)
{
    uint64_t random = (uint64_t)(uintptr_t)argument;

    for (uint64_t i = random % 3; i > 0; i--)
        go((int)(random >> (i * 8) & 63));
    atomic_fetch_add(&me->threads_ended, 1);
    return NULL;
}

static void do_threads(void)
{
    pthread_t threads[3];
    int count = 1 + chance(3);
    sigset_t all;
    sigset_t before;

    /* Signals stay with the main thread, whose numbers they are compared with. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (int i = 0; i < count; i++) {
        atomic_fetch_add(&me->threads, 1);
        REQUIRE(pthread_create(&threads[i], NULL, thread_run, (void *)(uintptr_t)tap_random(&random_state)) == 0,
                "no thread");
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    note_step("joins threads", 0);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void do_queue(int other)
{
    struct ledger_worker *receiver = &ledger->workers[other];
    long number = atomic_load(&me->queued[other]);
    union sigval value = {.sival_int = (int)(self << 24 | ((number + 1) & 0xffffff))};

    if (number - atomic_load(&receiver->taken[self]) >= QUEUE_ROOM)
        return;
    /* Noted first: the receiver may be faster than this line's successor. */
    atomic_store(&me->queued[other], number + 1);
    MUST(sigqueue(atomic_load(&receiver->pid), SIGNAL_NUMBERED, value));
}

static void do_standard(int other)
{
    struct ledger_worker *receiver = &ledger->workers[other];

    atomic_fetch_add(&receiver->standard_sent, 1);
    atomic_store(&me->standard_before[other], atomic_load(&receiver->standard_handled));
    MUST(kill(atomic_load(&receiver->pid), SIGNAL_STANDARD));
}

static uint8_t byte_at(int worker, long position)
{
    return (uint8_t)(position * 7 + position / 255 + worker);
}

static void do_write(void)
{
    uint8_t bytes[512];
    long position = atomic_load(&me->written);
    int count = 1 + chance(sizeof(bytes));

    if (position + count - atomic_load(&me->read) > PIPE_ROOM)
        return;
    for (int i = 0; i < count; i++)
        bytes[i] = byte_at(self, position + i);
    CHECK(write(pipes[self][1], bytes, (size_t)count) == count, "%s", tap_error(errno));
    atomic_store(&me->written, position + count);
}

static void do_read(void)
{
    int other = (self + WORKERS - 1) % WORKERS;
    struct ledger_worker *writer = &ledger->workers[other];
    long position = atomic_load(&writer->read);
    uint8_t bytes[700];
    ssize_t count;

    if (atomic_load(&writer->written) == position)
        return;
    count = read(pipes[other][0], bytes, (size_t)(1 + chance(sizeof(bytes))));
    REQUIRE(count > 0, "read: %s", tap_error(errno));
    for (ssize_t i = 0; i < count; i++) {
        if (bytes[i] != byte_at(other, position + i))
            atomic_fetch_add(&writer->bytes_wrong, 1);
    }
    atomic_store(&writer->read, position + count);
}

static void operate(enum operation operation)
{
    int other = chance(WORKERS);

    note_step(steps[operation], 0);
    switch (operation) {
    case MOVE:
        go(chance(64));
        atomic_fetch_add(&me->moves, 1);
        break;
    case PUSH:
        REQUIRE(place_push(atomic_load(&ledger->workers[other].pid), chance(64)) == 0, "sched_setaffinity");
        atomic_fetch_add(&me->pushes, 1);
        break;
    case CHILD:
        do_child();
        break;
    case REAP:
        do_reap();
        break;
    case THREADS:
        do_threads();
        break;
    case QUEUE:
        do_queue(other);
        break;
    case STANDARD:
        do_standard(other);
        break;
    case WRITE:
        if (!no_pipes)
            do_write();
        break;
    default:
        if (!no_pipes)
            do_read();
    }
    atomic_fetch_add(&me->operations, 1);
}

static enum operation choose(void)
{
    int sum = 0;
    int chosen;
    int operation = 0;

    for (int i = 0; i < OPERATIONS; i++)
        sum += mode->weights[i];
    chosen = chance(sum);
    while (chosen >= mode->weights[operation])
        chosen -= mode->weights[operation++];
    return (enum operation)operation;
}

/* Says which workers have not finished, and what they do. */
static const char *unfinished(void)
{
    static char text[TEXT_MAX];
    size_t length = (size_t)snprintf(text, sizeof(text), "all workers to finish");

    for (int i = 0; i < WORKERS && length < sizeof(text); i++) {
        struct ledger_worker *worker = &ledger->workers[i];
        const char *step = atomic_load(&worker->step);

        if (atomic_load(&worker->finished) == 0)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "; worker %d, process %d, %s (child %d)",
                                       i, atomic_load(&worker->pid), step != NULL ? step : "has not begun",
                                       atomic_load(&worker->child));
    }
    return text;
}

static bool all_finished(void)
{
    for (int i = 0; i < WORKERS; i++) {
        if (atomic_load(&ledger->workers[i].finished) == 0)
            return false;
    }
    return true;
}

/* What was sent to this worker has come, and its pipe is empty. */
static bool drained(void)
{
    struct ledger_worker *writer = &ledger->workers[(self + WORKERS - 1) % WORKERS];

    for (int i = 0; i < WORKERS; i++) {
        if (atomic_load(&ledger->workers[i].queued[self]) != atomic_load(&me->taken[i]) ||
            atomic_load(&ledger->workers[i].standard_before[self]) >= atomic_load(&me->standard_handled))
            return false;
    }
    do_read();
    return atomic_load(&writer->written) == atomic_load(&writer->read);
}

static _Noreturn void worker_run(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};

    me = &ledger->workers[self];
    random_state = seed * 1000 + (uint64_t)self;
    action.sa_sigaction = handler_numbered;
    MUST(sigaction(SIGNAL_NUMBERED, &action, NULL));
    action.sa_sigaction = handler_standard;
    MUST(sigaction(SIGNAL_STANDARD, &action, NULL));
    atomic_store(&me->pid, getpid());
    for (int i = 0; i < WORKERS; i++)
        UNTIL(atomic_load(&ledger->workers[i].pid) != 0, "all workers to begin");
    while (atomic_load(&ledger->stop) == 0)
        operate(choose());
    reap_all();
    atomic_store(&me->finished, 1);
    UNTIL(all_finished(), unfinished());
    UNTIL(drained(), "the last signals and bytes");
    _exit(100 + self);
}

/* --- the root --- */

/* Not only have the orphans of CHILD said that they end: they are gone. Whoever looks for processes that this program
 * has left would find one between the two. */
static bool orphans_gone(const struct ledger_child *child)
{
    int left = atomic_load(&child->orphans_left);

    if (left != atomic_load(&child->orphans_ended))
        return false;
    for (int i = 0; i < left; i++) {
        if (kill(atomic_load(&child->orphans[i]), 0) == 0)
            return false;
    }
    return true;
}

static bool orphans_ended(void)
{
    for (int i = 0; i < atomic_load(&ledger->children); i++) {
        if (!orphans_gone(&ledger->table[i]))
            return false;
    }
    return true;
}

static void test_storm(void)
{
    struct timespec step = {0, 10000000};
    int64_t begin = tap_time();
    pid_t workers[WORKERS];

    ledger = tap_share(sizeof(*ledger));
    for (int i = 0; i < WORKERS; i++) {
        for (int k = 0; k < WORKERS; k++)
            atomic_store(&ledger->workers[i].standard_before[k], -1);
        /* Without pipes the rest of the storm still tells something. */
        no_pipes = !CHECK(pipe(pipes[i]) == 0, "pipe: %s", tap_error(errno)) || no_pipes;
    }
    for (self = 0; self < WORKERS; self++) {
        workers[self] = FORK();
        if (workers[self] == 0)
            worker_run();
    }
    while (tap_time() - begin < seconds * 1000000000) {
        /* A worker that ends early is told by the wait below. */
        if (waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) != 0)
            break;
        nanosleep(&step, NULL);
    }
    atomic_store(&ledger->stop, 1);
    for (int i = 0; i < WORKERS; i++)
        CHECK_EXITS(workers[i], 100 + i);
    UNTIL(orphans_ended(), "orphans");
    ledger_totals(ledger);
    ledger_audit(ledger);
}

static const struct tap_test tests[] = {
    {"storm", "every child, signal and byte is accounted for once", test_storm},
};
static const struct tap_child children[] = {{"leaf", child_leaf}};
static struct tap_program program = {
    .tests = tests, .count = TAP_COUNT(tests), .apart = true, .children = children, .child_count = TAP_COUNT(children)};

static int usage(int status)
{
    fputs(
        "usage: stress-tasks [SEED [SECONDS [MODE]]]\n\nA storm of moves, processes, threads and signals; writes TAP. "
        "Decisions depend on SEED alone.\nMODE is one of",
        status == 0 ? stdout : stderr);
    for (size_t i = 0; i < TAP_COUNT(modes); i++)
        fprintf(status == 0 ? stdout : stderr, " %s", modes[i].name);
    fputs(".\n", status == 0 ? stdout : stderr);
    return status;
}

int main(int argc, char **argv)
{
    char *end = NULL;

    if (argc > 1 && argv[1][0] == '@')
        return tap_main(argc, argv, &program);
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return usage(0);
    if (argc > 4)
        return usage(2);
    if (argc > 1)
        seed = strtoull(argv[1], &end, 0);
    if (argc > 2 && *end == '\0')
        seconds = strtol(argv[2], &end, 10);
    if ((end != NULL && *end != '\0') || seconds < 0 || seconds > 1000000)
        return usage(2);
    if (argc > 3) {
        mode = NULL;
        for (size_t i = 0; i < TAP_COUNT(modes); i++) {
            if (strcmp(argv[3], modes[i].name) == 0)
                mode = &modes[i];
        }
        if (mode == NULL)
            return usage(2);
    }
    program.extra = seconds * 1000000000;
    tap_note("seed %lu, %ld s, mode %s", seed, (long)seconds, mode->name);
    return tap_main(1, argv, &program);
}

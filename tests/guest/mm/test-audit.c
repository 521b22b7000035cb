/* test-audit: the audit finds nothing wrong with memory that is used in every way on all kernels, and finds each thing
 * that a kernel tells wrong (option audit= of the kernel, mm/audit/audit.md).
 *
 *     test-audit                        the tests
 *     test-audit under PROGRAM ARGS...  runs PROGRAM and audits it and the machine all the while, and the machine at
 * its end; its status, or 99 when an audit found something */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"

#define PAGE 4096l
#define PAGES 96l
#define BLOCK_PAGES 512l /* of 2 MiB */
#define READ_WRITE (PROT_READ | PROT_WRITE)
#define FOUND 99
#define ROUNDS 30
#define TRIES 6 /* of an audit of the machine, which gives up after 10 s: CPUs are slow */

static int kernels[64], kernel_count;
static char report[32768];

/* Notes what an audit of PID says, made TRIES times while it is refused because programs run. */
static int audit_until(pid_t pid, int tries)
{
    int violations;

    do
        violations = kettle_audit(pid, report, sizeof(report));
    while (violations < 0 && errno == EBUSY && --tries > 0);
    if (violations > 0) {
        for (char *line = strtok(report, "\n"); line != NULL; line = strtok(NULL, "\n"))
            tap_note("%s", line);
    }
    return violations;
}

static int audit(pid_t pid)
{
    return audit_until(pid, TRIES);
}

static char *map_area(long pages, int prot, int type)
{
    char *area = mmap(NULL, (size_t)(pages * PAGE), prot, type | MAP_ANONYMOUS, -1, 0);

    CHECK(area != MAP_FAILED, "%ld pages: %s", pages, strerror(errno));
    return area == MAP_FAILED ? NULL : area;
}

/* Each kernel touches pages of AREA, some of them all kernels. */
static void touch(char *area, long pages)
{
    for (int k = 0; k < kernel_count; k++) {
        CHECK(kettle_migrate(kernels[k]) == 0, "%s", strerror(errno));
        for (long i = 0; i < pages; i++) {
            if (i % kernel_count == k || i % 3 == 0)
                area[i * PAGE]++;
        }
    }
}

static void test_clean(void)
{
    char *area = map_area(PAGES, READ_WRITE, MAP_PRIVATE), *shared = map_area(PAGES, READ_WRITE, MAP_SHARED);
    unsigned long pages;
    pid_t child;

    if (area == NULL || shared == NULL)
        return;
    CHECK(audit(KETTLE_AUDIT_OWN) == 0, "%s", strerror(errno));
    touch(area, PAGES);
    touch(shared, PAGES);
    CHECK(kettle_audit(KETTLE_AUDIT_OWN, report, sizeof(report)) == 0, "%s", report);
    CHECK(strstr(report, "counts of frames not looked at") != NULL, "%s", report);
    CHECK(sscanf(report, "0 violations (0 told): 1 spaces, %*u areas, %lu pages", &pages) == 1 && pages >= 2 * PAGES,
          "%s", report);
    CHECK(mprotect(area + 8 * PAGE, 16 * PAGE, PROT_READ) == 0 && munmap(area + 40 * PAGE, 9 * PAGE) == 0 &&
              mprotect(area + 70 * PAGE, 5 * PAGE, PROT_NONE) == 0,
          "%s", strerror(errno));
    CHECK(audit(KETTLE_AUDIT_OWN) == 0, "%s", strerror(errno));
    fflush(stdout);
    child = fork();
    if (child == 0) {
        area[0] = 'c'; /* copied */
        _exit(kettle_audit(KETTLE_AUDIT_OWN, report, sizeof(report)) == 0 &&
                      kettle_audit(getppid(), report, sizeof(report)) == 0
                  ? 7
                  : 8);
    }
    CHECK(audit(KETTLE_AUDIT_OWN) == 0, "%s", strerror(errno));
    CHECK(audit(KETTLE_AUDIT_MACHINE) == 0, "%s", strerror(errno));
    if (CHECK(child > 0, "%s", strerror(errno))) {
        int status = 0;

        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the child ends with %x", status);
    }
    touch(area, 8); /* writable again on one kernel after the other */
    CHECK(audit(KETTLE_AUDIT_OWN) == 0, "%s", strerror(errno));
    CHECK(audit(KETTLE_AUDIT_MACHINE) == 0, "%s", strerror(errno));
    munmap(area, PAGES * PAGE);
    munmap(shared, PAGES * PAGE);
    CHECK(audit(KETTLE_AUDIT_MACHINE) == 0, "%s", strerror(errno));
}

/* A mapping with frames of all kernels moves to addresses that have had none, and a child has it there. */
static void test_owners(void)
{
    char *room = map_area(4 * BLOCK_PAGES, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE), *area;
    pid_t child;

    if (room == NULL)
        return;
    area = (char *)(((uintptr_t)room + BLOCK_PAGES * PAGE - 1) & ~((uintptr_t)(BLOCK_PAGES * PAGE) - 1));
    CHECK(mprotect(area, 16 * PAGE, READ_WRITE) == 0, "%s", strerror(errno));
    touch(area, 16);
    for (int move = 0; move < 2; move++) { /* ordered at the home, and elsewhere */
        char *to = area + BLOCK_PAGES * PAGE;

        CHECK(kettle_migrate(kernels[move == 0 ? 0 : kernel_count - 1]) == 0, "%s", strerror(errno));
        CHECK(mremap(area, 16 * PAGE, 16 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to, "%s", strerror(errno));
        area = to;
        CHECK(audit(KETTLE_AUDIT_MACHINE) == 0, "%s", strerror(errno));
    }
    fflush(stdout);
    child = fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    CHECK(child > 0 && audit(KETTLE_AUDIT_MACHINE) == 0, "%s", strerror(errno));
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    munmap(room, 4 * BLOCK_PAGES * PAGE);
}

/* Connections that nobody has accepted yet are open once, and so is what is in their packets. */
static void test_backlog(void)
{
    const struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0audit-backlog"};
    int server = socket(AF_UNIX, SOCK_SEQPACKET, 0), client = socket(AF_UNIX, SOCK_SEQPACKET, 0), end;
    char text[4];

    CHECK(bind(server, (const struct sockaddr *)&name, sizeof(name)) == 0 && listen(server, 4) == 0, "%s",
          strerror(errno));
    CHECK(connect(client, (const struct sockaddr *)&name, sizeof(name)) == 0 && write(client, "x", 1) == 1, "%s",
          strerror(errno));
    CHECK(audit(KETTLE_AUDIT_MACHINE) == 0, "%s", strerror(errno));
    end = accept(server, NULL, NULL);
    CHECK(end >= 0 && read(end, text, sizeof(text)) == 1, "%s", strerror(errno));
    CHECK(audit(KETTLE_AUDIT_MACHINE) == 0, "%s", strerror(errno));
    close(end);
    close(client);
    close(server);
    CHECK(audit(KETTLE_AUDIT_MACHINE) == 0, "%s", strerror(errno));
}

/* --- while threads change the memory --- */

static atomic_bool over;
static atomic_long changes;

static void *change(void *argument)
{
    uint64_t state = (uint64_t)(long)argument;

    while (!over) {
        long pages = 1 + (long)(tap_random(&state) % 40);
        char *area = mmap(NULL, (size_t)(pages * PAGE), READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (area == MAP_FAILED || kettle_migrate(kernels[tap_random(&state) % (uint64_t)kernel_count]) != 0)
            break;
        for (long i = 0; i < pages; i++)
            area[i * PAGE] = 'x';
        kettle_migrate(kernels[tap_random(&state) % (uint64_t)kernel_count]);
        mprotect(area, (size_t)((pages + 1) / 2 * PAGE), PROT_READ);
        for (long i = pages / 2; i < pages; i++)
            changes += area[i * PAGE] == 'x';
        munmap(area, (size_t)(pages * PAGE));
    }
    return NULL;
}

static void test_during(void)
{
    pthread_t threads[4];

    over = false;
    for (long i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, change, (void *)(i + 1)) == 0, "no thread");
    for (int i = 0; i < ROUNDS; i++) {
        long before = changes;

        kettle_migrate(kernels[i % kernel_count]);
        if (!CHECK(audit(i % 3 == 2 ? KETTLE_AUDIT_MACHINE : KETTLE_AUDIT_OWN) == 0, "round %d: %s", i,
                   strerror(errno)))
            break;
        while (changes == before) /* they go on */
            sched_yield();
    }
    over = true;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

/* --- what is told wrong is found --- */

static const struct lie {
    const char *word, *rule;
    bool machine; /* only an audit of the machine looks there */
    bool several; /* it takes a second kernel */
} lies[] = {
    {"frame", "R1 one frame", false, true},       {"rights", "R2 protection", false, false},
    {"bits", "R2 protection", false, true},       {"backing", "R3 backing", false, true},
    {"cow", "R4 copy-on-write", false, false},    {"area", "R5 area", false, true},
    {"owned", "owned once", false, false},        {"pending", "no pending free", false, false},
    {"remote", "remote mark", false, false},      {"outside", "inside an area", false, false},
    {"count", "count of a frame", true, false},   {"mark", "marked at home", false, true},
    {"owner", "whose memory", true, true},        {"open", "opens of a file", true, true},
    {"grant", "grants of an object", true, true},
};

static void report_wrongly(const char *what, int kernel)
{
    char words[64];

    snprintf(words, sizeof(words), "audit=%s kernel=%d", what, kernel);
    CHECK(kettle_control(words) == 0, "%s: %s", words, strerror(errno));
}

static void test_lies(void)
{
    int liar = kernels[kernel_count - 1];
    char *area = map_area(16, READ_WRITE, MAP_PRIVATE);
    volatile int *ready = tap_share(sizeof(*ready));
    pid_t child;

    if (area == NULL)
        return;
    for (int k = 0; k < kernel_count; k++) {
        kettle_migrate(kernels[k]);
        area[0]++;
    }
    fflush(stdout);
    child = fork(); /* at home there: it has files and objects of kernel 0 */
    if (child == 0) {
        if (mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, open("/bin/test-audit", O_RDONLY), 0) == MAP_FAILED)
            _exit(1);
        *ready = 1;
        for (;;)
            pause();
    }
    while (child > 0 && *ready == 0)
        sched_yield();
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        const struct lie *lie = &lies[i];
        bool mark = strcmp(lie->word, "mark") == 0;
        int found, teller = mark ? kernels[0] : liar; /* only the home has marks, and with a directory */

        if (lie->several && kernel_count == 1)
            continue;
        kettle_migrate(kernels[0]);
        if (mark)
            CHECK(kettle_retrieve(getpid(), "home") == 0, "%s", strerror(errno));
        report_wrongly(lie->word, teller);
        found = kettle_audit(lie->machine ? KETTLE_AUDIT_MACHINE : KETTLE_AUDIT_OWN, report, sizeof(report));
        report_wrongly("off", teller);
        CHECK(found > 0 && strstr(report, lie->rule) != NULL, "%s: %d violations: %s", lie->word, found, report);
        CHECK(audit(KETTLE_AUDIT_OWN) == 0, "after %s: %s", lie->word, strerror(errno));
    }
    if (CHECK(child > 0, "%s", strerror(errno))) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    munmap(area, 16 * PAGE);
}

static void test_errors(void)
{
    char little[5] = "xxxx";

    CHECK_ERROR(kettle_audit(999999, report, sizeof(report)), ESRCH);
    CHECK_ERROR(kettle_audit(-2, report, sizeof(report)), ESRCH);
    CHECK_ERROR(kettle_audit(1, report, sizeof(report)), ESRCH);
    CHECK_ERROR(kettle_audit(KETTLE_AUDIT_OWN, (char *)8, 100), EFAULT);
    CHECK_ERROR(kettle_control("audit=nonsense"), EINVAL);
    CHECK(kettle_audit(KETTLE_AUDIT_OWN, little, 4) == 0 && strcmp(little, "0 v") == 0, "%s", little);
    CHECK(kettle_audit(KETTLE_AUDIT_OWN, NULL, 0) == 0, "%s", strerror(errno));
}

static void test_killed(void)
{
    /* Whoever asks may die while it waits: the audit goes on, or is not begun. */
    volatile long *asked = (volatile long *)(void *)map_area(1, READ_WRITE, MAP_SHARED);

    for (int i = 0; asked != NULL && i < 10; i++) {
        pid_t child;
        int status = 0;

        fflush(stdout);
        child = fork();
        if (child == 0) {
            kettle_migrate(kernels[i % kernel_count]);
            for (;; (*asked)++)
                kettle_audit(KETTLE_AUDIT_MACHINE, report, sizeof(report));
        }
        if (!CHECK(child > 0, "%s", strerror(errno)))
            return;
        for (long before = *asked; *asked < before + 2;)
            sched_yield();
        kill(child, SIGKILL);
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status), "%x", status);
    }
    CHECK(audit(KETTLE_AUDIT_MACHINE) == 0, "%s", strerror(errno));
}

/* --- under --- */

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int run_under(char **argv)
{
    int status = 0, found = 0, done = 0, refused = 0, violations;
    pid_t child = fork(), ended = 0;

    if (child == 0) {
        execvp(argv[0], argv);
        _exit(127);
    }
    if (child < 0) {
        perror(argv[0]);
        return FOUND;
    }
    for (int round = 0; ended == 0; round++) {
        int64_t begin = now(), took;

        violations = audit_until(round % 3 == 0 ? KETTLE_AUDIT_MACHINE : child, 1);
        found += violations > 0;
        done += violations >= 0;
        refused += violations < 0; /* ESRCH: just ending; EBUSY: not at rest for long enough */
        took = now() - begin;
        nanosleep(&(struct timespec){took / 1000000000, took % 1000000000}, NULL); /* the program has its share */
        ended = waitpid(child, &status, WNOHANG);
    }
    violations = audit(KETTLE_AUDIT_MACHINE);
    found += violations != 0;
    tap_note("%d audits, %d refused; the last one: %s", done, refused,
             violations == 0 ? strtok(report, "\n") : "not clean");
    if (found > 0)
        return FOUND;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const struct tap_test tests[] = {
    {"clean", "the audit finds memory consistent that all kernels touch, change and fork", test_clean},
    {"owners", "kernels know whose memory they map where mappings have moved to, and in children", test_owners},
    {"backlog", "a connection that nobody has accepted is accounted for", test_backlog},
    {"during", "the audit finds memory consistent while threads on all kernels change it, and they go on", test_during},
    {"lies", "a violation that a kernel reports for the test is found, by the name of its rule", test_lies},
    {"errors", "wrong arguments are refused", test_errors},
    {"killed", "a process that audits can be killed", test_killed},
};

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "under") == 0)
        return run_under(argv + 2);
    kernel_count = tap_kernels(kernels);
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}

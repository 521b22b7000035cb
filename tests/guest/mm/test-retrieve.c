/* test-retrieve: the retrieval strategy of a process changes while it runs. Each strategy after each other finds what
 * kernels have touched under the one before, and every kernel uses the new one; and test-vm finds nothing wrong while
 * its strategy changes again and again. The arguments are test-vm's. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/events.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGE 4096ul
#define PAGES 16ul /* of each kernel, in a mapping */
#define SHARE 8    /* of the mapping, for kernels */
#define AUDIT_EVERY 8
#define OUTPUT 65536
#define TRAVELLERS 24
#define TRAVEL_NS 40000000 /* about as long as one is on the way when messages are held back */
#define PAUSE_NS 30000000

#define STRATEGIES_MAX 16

/* The strategies of this machine, as /proc/kettle/strategies lists them. */
static struct strategy {
    char name[32];
    bool asking; /* has no directory at the home */
} strategies[STRATEGIES_MAX];
static size_t strategy_count;

static bool strategies_read(void)
{
    FILE *file = fopen("/proc/kettle/strategies", "r");
    char finds[16];

    if (file == NULL)
        return false;
    while (strategy_count < STRATEGIES_MAX &&
           fscanf(file, "%31s %15s %*[^\n]", strategies[strategy_count].name, finds) == 2)
        strategies[strategy_count++].asking = strcmp(finds, "asking") == 0;
    fclose(file);
    return strategy_count > 0 && strategy_count < STRATEGIES_MAX;
}

static char **arguments; /* of test-vm, with a place for its name */

/* --- pages of all kernels --- */

static void go(int kernel)
{
    CHECK(thread_move(kernel) == 0, "no move to kernel %d", kernel);
}

static volatile char *page_of(char *mapping, int place, unsigned long page)
{
    return mapping + ((unsigned long)place * PAGES + page) * PAGE;
}

static char *mapping_make(void)
{
    void *memory = mmap(NULL, SHARE * PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return CHECK(memory != MAP_FAILED, "%s", strerror(errno)) ? memory : NULL;
}

/* Each kernel writes to pages of its own. */
static void write_all(char *mapping, int places, char value)
{
    for (int place = 0; place < places; place++) {
        go(place);
        for (unsigned long i = 0; i < PAGES; i++)
            *page_of(mapping, place, i) = (char)(value + place);
    }
    go(0);
}

/* Each kernel reads all pages, the last one first: home is not to be asked before. */
static void read_all(char *mapping, int places, char value, const char *when)
{
    for (int reader = places - 1; reader >= 0; reader--) {
        int wrong = 0;

        go(reader);
        for (int place = 0; place < places; place++) {
            for (unsigned long i = 0; i < PAGES; i++)
                wrong += *page_of(mapping, place, i) != (char)(value + place);
        }
        CHECK(wrong == 0, "%s: kernel %d finds %d pages wrong", when, reader, wrong);
    }
    go(0);
}

/* How many of PAGES new pages this thread, which is elsewhere than home, locks when it touches them. */
static unsigned long locks_here(char *mapping, int kernel)
{
    unsigned long before = events_of(kernel, "page_locks"); /* brings here what looking needs */

    before = events_of(kernel, "page_locks");
    for (unsigned long i = 0; i < PAGES; i++)
        *page_of(mapping, kernel, i) = 1;
    return events_of(kernel, "page_locks") - before;
}

/* A kernel that has touched pages in a row has got a lease of what follows, which the lock of one page recalls. */
#define LEASES 1

/* New pages elsewhere: with the page's lock, unless the home is asked by the short way. */
static void uses(const struct strategy *strategy, int places)
{
    char *mapping = mapping_make();

    for (int place = 1; place < places && mapping != NULL; place++) {
        unsigned long locked;

        go(place);
        locked = locks_here(mapping, place);
        CHECK(strategy->asking ? locked == PAGES : locked <= LEASES, "%s: kernel %d locks %lu of %lu pages",
              strategy->name, place, locked, PAGES);
    }
    go(0);
    if (mapping != NULL)
        munmap(mapping, SHARE * PAGES * PAGE);
}

static void change(const struct strategy *from, const struct strategy *to, int places)
{
    char when[80];
    char *old = mapping_make(), *shared = mapping_make();
    int status;
    pid_t child;

    snprintf(when, sizeof(when), "%.31s after %.31s", to->name, from->name);
    if (old == NULL || shared == NULL ||
        !CHECK(kettle_retrieve(0, from->name) == 0, "%s: %s", from->name, strerror(errno)))
        return;
    write_all(shared, places, 20);
    child = fork(); /* so that SHARED is copy-on-write */
    if (child == 0) {
        for (;;)
            pause();
    }
    write_all(old, places, 40);
    CHECK(kettle_retrieve(0, to->name) == 0, "%s: %s", when, strerror(errno));
    CHECK(audit_own(), "%s", when);
    read_all(old, places, 40, when);
    read_all(shared, places, 20, when);
    write_all(shared, places, 60);
    read_all(shared, places, 60, when);
    uses(to, places);
    CHECK(audit_own(), "%s, at the end", when);
    CHECK(child > 0 && kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child, "%s", strerror(errno));
    munmap(old, SHARE * PAGES * PAGE);
    munmap(shared, SHARE * PAGES * PAGE);
}

static void test_pairs(void)
{
    int places = place_few(SHARE);

    for (size_t from = 0; from < strategy_count; from++) {
        for (size_t to = 0; to < strategy_count; to++)
            change(&strategies[from], &strategies[to], places);
    }
    CHECK(kettle_retrieve(0, "home") == 0, "%s", strerror(errno));
}

static void test_refusals(void)
{
    CHECK_ERROR(kettle_retrieve(0, "nearest"), EINVAL);
    CHECK_ERROR(kettle_retrieve(0, ""), EINVAL);
    CHECK_ERROR(kettle_retrieve(0, "a name that is far longer than any strategy's"), EINVAL);
    CHECK_ERROR(kettle_retrieve(0, TAP_UNMAPPED), EFAULT);
    CHECK_ERROR(kettle_retrieve(54321, "members"), ESRCH);
    CHECK_ERROR(kettle_retrieve(-5, "members"), ESRCH);
}

/* --- another process --- */

/* What a child and its parent tell each other. */
static struct travel {
    atomic_int turn;     /* counts children that are there */
    atomic_int switched; /* of them have another strategy now */
} * travel;

/* Goes to kernel after kernel, each of which joins; then each is to ask for new pages without a lock. */
static _Noreturn void travel_child(char *mapping, int turn, int places)
{
    int wrong = 0;

    atomic_store(&travel->turn, turn);
    for (int kernel = 1; kernel < places; kernel++)
        wrong |= thread_move(kernel) != 0 ? 1 : 0;
    if (!thread_wait(&travel->switched, turn))
        _exit(2);
    for (int kernel = 1; kernel < places && wrong == 0; kernel++) {
        wrong |= thread_move(kernel) != 0 ? 1 : 0;
        wrong |= locks_here(mapping, kernel) > LEASES ? 4 : 0;
    }
    _exit(wrong);
}

/* The answer to a kernel that joins may be overtaken by the word of the change. */
static void test_joins(void)
{
    int places = place_few(SHARE);
    uint64_t random = 7;
    char *mapping = mapping_make();

    travel = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapping == NULL ||
        !CHECK(travel != MAP_FAILED && kettle_control("retrieve=members") == 0, "%s", strerror(errno)))
        return;
    go(0);
    for (int turn = 1; turn <= TRAVELLERS; turn++) {
        pid_t child = fork();
        int status = -1;

        if (child == 0)
            travel_child(mapping, turn, places);
        CHECK(thread_wait(&travel->turn, turn), "child %d does not begin", turn);
        for (long until = thread_time() + (long)(tap_random(&random) % TRAVEL_NS); thread_time() < until;)
            x86_pause();
        CHECK(kettle_retrieve(child, "home") == 0, "%s", strerror(errno));
        atomic_store(&travel->switched, turn);
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child %d ends with %x", turn,
              (unsigned)status);
    }
    CHECK(kettle_control("retrieve=home") == 0, "%s", strerror(errno));
    munmap(mapping, SHARE * PAGES * PAGE);
}

static struct {
    int pipe[2];
    atomic_int over;
    char text[OUTPUT];
    size_t length;
} output;

/* Keeps what the other process writes. */
static void keep_output(struct thread *thread)
{
    char rest[256] = {0};
    long more;

    (void)thread;
    do {
        bool full = output.length == OUTPUT - 1;

        more = x86_syscall3(SYS_read, output.pipe[0], (long)(full ? rest : output.text + output.length),
                            (long)(full ? sizeof(rest) : OUTPUT - 1 - output.length));
        output.length += more > 0 && !full ? (size_t)more : 0;
    } while (more > 0);
    atomic_store(&output.over, 1);
}

static pid_t start_vm(void)
{
    pid_t child;

    if (pipe2(output.pipe, O_CLOEXEC) != 0)
        return -1;
    child = fork();
    if (child == 0) {
        dup2(output.pipe[1], 1);
        execv("/bin/test-vm", arguments);
        _exit(99);
    }
    close(output.pipe[1]);
    return child;
}

static void test_storm(void)
{
    struct thread reader = {0};
    unsigned long changes = 0, refused = 0;
    uint64_t random = 1;
    int status = -1;
    pid_t child = start_vm();

    if (!CHECK(child > 0 && thread_start(&reader, keep_output), "%s", strerror(errno)))
        return;
    while (waitpid(child, &status, WNOHANG) == 0) {
        const char *strategy = strategies[tap_random(&random) % strategy_count].name;
        struct timespec pause = {.tv_nsec = (long)(tap_random(&random) % PAUSE_NS)};

        nanosleep(&pause, NULL);                           /* else test-vm does little but wait */
        go((int)(changes % (unsigned long)place_count())); /* of another kernel the home is asked */
        if (kettle_retrieve(child, strategy) == 0)
            changes++;
        else if (CHECK(errno == ESRCH, "%s: %s", strategy, strerror(errno)))
            refused++; /* it ends, or begins another program */
        if (changes % AUDIT_EVERY == 0) {
            static char report[16384];
            int found = kettle_audit(child, report, sizeof(report));

            CHECK(found == 0 || (found < 0 && errno == ESRCH), "%d: %s", found, found < 0 ? strerror(errno) : report);
        }
    }
    CHECK(thread_join(&reader), "the reader does not end");
    close(output.pipe[0]);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "test-vm: status %x after %lu changes", (unsigned)status,
          changes);
    output.text[output.length] = '\0';
    for (char *line = strtok(output.text, "\n"); line != NULL && status != 0; line = strtok(NULL, "\n"))
        tap_note("test-vm: %s", line);
    CHECK(changes > 10, "%lu changes, %lu too early or late", changes, refused);
    tap_note("%lu changes of strategy while test-vm ran", changes);
}

/* A child of vfork was made on the caller's kernel, and pins memory whose home is another. */
static void test_vfork(void)
{
    int status = -1;
    pid_t child;

    go(1);
    child = vfork();
    if (child == 0)
        _exit(kettle_retrieve(0, "members") == 0 ? 0 : errno);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "status %x", (unsigned)status);
    CHECK(kettle_retrieve(0, "home") == 0, "%s", strerror(errno));
    go(0);
}

static const struct tap_test tests[] = {
    {"pairs", "after each strategy every other one finds all pages, and every kernel uses it", test_pairs},
    {"refusals", "invalid arguments are refused", test_refusals},
    {"vfork", "a child of vfork changes the strategy of the memory that it pins", test_vfork},
    {"joins", "a kernel that joins during a change has the new strategy", test_joins},
    {"storm", "test-vm finds nothing wrong while its strategy changes", test_storm},
};

int main(int argc, char **argv)
{
    (void)argc;
    arguments = argv;
    if (place_count() < 2) {
        fprintf(stderr, "usage: test-retrieve [ARGUMENTS OF TEST-VM], on a machine of two kernels\n");
        return 2;
    }
    if (!strategies_read()) {
        fprintf(stderr, "test-retrieve: no strategies in /proc/kettle/strategies, or too many\n");
        return 1;
    }
    return tap_run(1, argv, tests, TAP_COUNT(tests));
}

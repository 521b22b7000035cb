/* test-events: what a kernel counts of an address space (docs/events.md) is what happens: known numbers of each event.
 * On a machine of two kernels or more, retrieve=home or members, without prefetch. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/events.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGE 4096ul
#define COUNT 24ul
#define LONG_NS 60000000000l

static int home;  /* of this process */
static int other; /* another kernel */

struct counted {
    const char *name;
    unsigned long expected;
    unsigned long before;
};

static char *pages_make(void)
{
    void *memory = mmap(NULL, COUNT * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED, "%s", strerror(errno));
    return memory == MAP_FAILED ? NULL : memory;
}

static void pages_write(char *pages)
{
    for (unsigned long i = 0; i < COUNT; i++)
        ((volatile char *)pages)[i * PAGE] = 1;
}

/* Goes to KERNEL, lets RUN work on PAGES there, and expects that the events there have become as many more as they
 * should. The first look brings all that looking needs to where the thread is. */
static void count(int kernel, void (*run)(char *pages), char *pages, struct counted *events, size_t number)
{
    if (!CHECK(thread_move(kernel) == 0, "no move to kernel %d", kernel))
        return;
    for (int look = 0; look < 2; look++) {
        for (size_t i = 0; i < number; i++)
            events[i].before = events_of(kernel, events[i].name);
    }
    run(pages);
    for (size_t i = 0; i < number; i++) {
        unsigned long after = events_of(kernel, events[i].name);

        CHECK(after - events[i].before == events[i].expected, "kernel %d: %s went from %lu to %lu, not up by %lu",
              kernel, events[i].name, events[i].before, after, events[i].expected);
    }
    CHECK(thread_move(home) == 0, "no move home");
}

/* In an order in which no page follows others: the home would lease the rest of the pages, and hear of no more. */
static void write_apart(char *pages)
{
    for (unsigned long i = 0; i < COUNT; i++)
        pages[i * 5 % COUNT * PAGE] = 1;
}

static void test_new(void)
{
    struct counted there[] = {{"fetches", COUNT, 0}, {"area_anonymous", COUNT, 0}, {"frame_anonymous", 0, 0}};
    char *pages = pages_make();

    if (pages != NULL)
        count(other, write_apart, pages, there, TAP_COUNT(there));
}

static void test_frames(void)
{
    struct counted there[] = {
        {"fetches", COUNT, 0}, {"area_anonymous", 0, 0}, {"frame_anonymous", COUNT, 0}, {"frame_file", 0, 0}};
    char *pages = pages_make();

    if (pages == NULL)
        return;
    pages_write(pages);
    count(other, pages_write, pages, there, TAP_COUNT(there));
}

/* A call that reads its argument where nothing is mapped. */
static void touch_nothing(char *pages)
{
    (void)pages;
    for (unsigned long i = 0; i < COUNT; i++)
        CHECK(x86_syscall3(SYS_nanosleep, (long)TAP_UNMAPPED, 0, 0) == -EFAULT, "there is something");
}

static void test_none(void)
{
    struct counted there[] = {{"fetched_none", COUNT, 0}, {"area_anonymous", 0, 0}, {"frame_anonymous", 0, 0}};

    count(other, touch_nothing, NULL, there, TAP_COUNT(there));
}

/* The home makes a new page alone, or, where it does not know of all pages, asks. */
static void test_local(void)
{
    unsigned long local, asked;
    char *pages = pages_make();

    if (pages == NULL)
        return;
    local = events_of(home, "faults_local");
    asked = events_of(home, "area_anonymous");
    pages_write(pages);
    local = events_of(home, "faults_local") - local;
    asked = events_of(home, "area_anonymous") - asked;
    CHECK(local + asked == COUNT, "%lu local, %lu asked for", local, asked);
}

static void test_copies(void)
{
    struct counted copied[] = {{"cow_copies", COUNT, 0}, {"cow_upgrades", 0, 0}};
    struct counted kept[] = {{"cow_copies", 0, 0}, {"cow_upgrades", COUNT, 0}};
    char *first = pages_make();
    char *second = pages_make();
    int status;
    pid_t child;

    if (first == NULL || second == NULL)
        return;
    pages_write(first);
    pages_write(second);
    child = fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    if (!CHECK(child > 0, "%s", strerror(errno)))
        return;
    count(home, pages_write, first, copied, TAP_COUNT(copied));
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child, "%s", strerror(errno));
    count(home, pages_write, second, kept, TAP_COUNT(kept));
}

static void change(char *pages)
{
    for (unsigned long i = 0; i < COUNT; i++) {
        char *range = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        CHECK(range != MAP_FAILED && munmap(range, 2 * PAGE) == 0, "%s", strerror(errno));
    }
    for (unsigned long i = 0; i < COUNT; i++)
        CHECK(mprotect(pages, 2 * PAGE, (i & 1) == 0 ? PROT_READ : PROT_READ | PROT_WRITE) == 0, "%s", strerror(errno));
    for (unsigned long i = 0; i < COUNT; i++)
        CHECK(madvise(pages, 2 * PAGE, MADV_DONTNEED) == 0, "%s", strerror(errno));
    for (unsigned long i = 0; i < COUNT; i++)
        CHECK(mremap(pages, PAGE, PAGE, 0) == pages, "%s", strerror(errno));
    for (unsigned long i = 0; i < COUNT; i++)
        CHECK(x86_syscall1(SYS_brk, 0) > 0, "no break");
}

static void test_changes(void)
{
    struct counted events[] = {{"maps", COUNT, 0},     {"unmaps", COUNT, 0}, {"protects", COUNT, 0},
                               {"discards", COUNT, 0}, {"remaps", COUNT, 0}, {"breaks", COUNT, 0}};
    char *pages = pages_make();

    if (pages == NULL)
        return;
    count(home, change, pages, events, TAP_COUNT(events));
    count(other, change, pages, events, TAP_COUNT(events));
}

static void lock(char *pages)
{
    for (unsigned long i = 0; i < COUNT; i++)
        CHECK(mprotect(pages, PAGE, PROT_READ) == 0 && mprotect(pages, 2 * PAGE, PROT_READ | PROT_WRITE) == 0, "%s",
              strerror(errno));
    for (unsigned long i = 0; i < 2; i++) {
        pid_t child = fork();
        int status;

        if (child == 0)
            _exit(0);
        CHECK(child > 0 && waitpid(child, &status, 0) == child, "%s", strerror(errno));
    }
}

static void test_locks(void)
{
    struct counted range[] = {{"range_locks", COUNT, 0},
                              {"heavy_locks", 2, 0},
                              {"forks", 2, 0},
                              {"range_lock_waits", 0, 0},
                              {"heavy_lock_waits", 0, 0}};
    unsigned long before;
    char *pages = pages_make();

    if (pages == NULL)
        return;
    before = events_of(other, "page_locks");
    count(other, lock, pages, range, TAP_COUNT(range));
    CHECK(events_of(other, "page_locks") - before >= COUNT, "from %lu to %lu", before, events_of(other, "page_locks"));
}

/* Two threads lock the same range again and again until each has waited. */
static char *contended;
static atomic_bool enough;

static void contend(struct thread *thread)
{
    long result = thread_move(other);

    while (result == 0 && !atomic_load(&enough))
        result = x86_syscall3(SYS_mprotect, (long)contended, 2 * PAGE, PROT_READ);
    atomic_store(&thread->result, result);
}

static void test_waits(void)
{
    unsigned long here = events_of(home, "range_lock_waits"), there = events_of(other, "range_lock_waits");
    long ends = thread_time() + LONG_NS;
    struct thread thread = {0};
    unsigned long rounds = 0;
    bool waited = false;

    contended = pages_make();
    if (contended == NULL || !CHECK(thread_start(&thread, contend), "%s", strerror(errno)))
        return;
    while (!waited && thread_time() < ends) {
        for (int i = 0; i < 64; i++)
            CHECK(mprotect(contended, 2 * PAGE, PROT_READ) == 0, "%s", strerror(errno));
        rounds += 64;
        waited = events_of(home, "range_lock_waits") > here && events_of(other, "range_lock_waits") > there;
    }
    atomic_store(&enough, true);
    CHECK(thread_join(&thread) && atomic_load(&thread.result) == 0, "the other thread: %ld",
          atomic_load(&thread.result));
    CHECK(waited, "nobody has waited in %lu rounds", rounds);
}

/* For whoever compares them with what the end of the process tells: nothing more happens of these. */
static void test_say(void)
{
    static const char *const names[] = {"protects", "discards", "remaps", "forks", "fetched_none"};

    CHECK(thread_move(home) == 0, "no move");
    for (size_t i = 0; i < TAP_COUNT(names); i++) {
        tap_note("counted %d %s %lu", home, names[i], events_of(home, names[i]));
        tap_note("counted %d %s %lu", other, names[i], events_of(other, names[i]));
    }
}

static const struct tap_test tests[] = {
    {"new", "each touch of a new page elsewhere is a retrieval of the area only", test_new},
    {"frames", "each touch elsewhere of a page that has a frame is a retrieval of area and frame", test_frames},
    {"none", "each touch elsewhere of an address that is not mapped is a retrieval of nothing", test_none},
    {"local", "each touch of a new page at home is a fault, local or asked for", test_local},
    {"copies", "each write to a page shared with a child is a copy, and a write to a page shared before is none",
     test_copies},
    {"changes", "each call that changes mappings counts on its kernel", test_changes},
    {"locks", "each lock of a page, of a range and of everything counts", test_locks},
    {"waits", "each wait for a lock is counted", test_waits},
    {"say", "the counts can be printed", test_say},
};

int main(int argc, char **argv)
{
    if (place_count() < 2) {
        fprintf(stderr, "usage: test-events, on a machine of two kernels\n");
        return 2;
    }
    home = thread_kernel();
    other = home == 0 ? 1 : 0;
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}

/* test-lease: mappings that a kernel makes, changes and fills by itself (mm/lease/lease.md), and others who want
 * something of them. Where there is one kernel, and on a Linux, the same checks hold. */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/numa/node.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGES 40l
#define ROUNDS 20
#define CREW KERNELS_MAX
#define LINE 512
#define TABLE 256l /* pages */

static void test_seen(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area, *second;

        kernels_go(k);
        area = spread_memory_map(PAGES, PRIVATE);
        second = spread_memory_map(PAGES, SHARED);
        if (area == NULL || second == NULL)
            return;
        memset(area, 'a' + k, PAGES * PAGE / 2);
        memset(second, 'A' + k, PAGE);
        for (int other = 0; other < kernels_count(); other++) {
            kernels_go(k + 1 + other);
            CHECK(area[0] == 'a' + k && area[PAGES * PAGE / 2 - 1] == 'a' + k && area[PAGES * PAGE / 2] == 0,
                  "what kernel %d wrote, kernel %d does not see", k, k + 1 + other);
            CHECK(second[0] == 'A' + k && second[PAGE] == other, "shared memory of kernel %d holds %d", k,
                  second[PAGE]);
            second[PAGE]++;
        }
        kernels_go(k + 1);
        CHECK(munmap(area, PAGES * PAGE) == 0 && munmap(second, PAGES * PAGE) == 0, "%s", strerror(errno));
        kernels_go(k);
        CHECK(!memory_readable(area) && !memory_readable(second), "what kernel %d unmapped, kernel %d sees", k + 1, k);
    }
    kernels_go(0);
}

static void test_changed(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area;

        kernels_go(k);
        area = spread_memory_map(PAGES, PRIVATE);
        if (area == NULL)
            return;
        memset(area, 1, PAGES * PAGE);
        CHECK(munmap(area + 4 * PAGE, 4 * PAGE) == 0 && mprotect(area + 10 * PAGE, 2 * PAGE, PROT_READ) == 0, "%s",
              strerror(errno));
        kernels_go(k + 1);
        CHECK(!memory_readable(area + 4 * PAGE) && memory_readable(area + 8 * PAGE), "the hole of kernel %d", k);
        CHECK(mmap(area + 5 * PAGE, PAGE, READ_WRITE, PRIVATE | MAP_FIXED, -1, 0) == area + 5 * PAGE, "%s",
              strerror(errno));
        CHECK(area[5 * PAGE] == 0, "what fills the hole is not new");
        CHECK(mprotect(area + 20 * PAGE, PAGE, PROT_NONE) == 0 && madvise(area + 30 * PAGE, PAGE, MADV_DONTNEED) == 0,
              "%s", strerror(errno));
        kernels_go(k);
        area[5 * PAGE]++;
        CHECK(!memory_readable(area + 20 * PAGE) && area[30 * PAGE] == 0 && area[31 * PAGE] == 1,
              "kernel %d does not see what another changed", k);
        CHECK(mmap(area + 4 * PAGE, PAGE, READ_WRITE, PRIVATE | MAP_FIXED_NOREPLACE, -1, 0) == area + 4 * PAGE,
              "the rest of the hole: %s", strerror(errno));
        CHECK(munmap(area, PAGES * PAGE) == 0, "%s", strerror(errno));
        kernels_go(k + 2);
        for (long i = 0; i < PAGES; i++)
            CHECK(!memory_readable(area + i * PAGE), "page %ld is still there", i);
    }
    kernels_go(0);
}

/* True when /proc/PID/maps has one line that says that START to END may be read and written. */
static bool listed(pid_t pid, const char *start, const char *end)
{
    char name[64], line[LINE];
    bool found = false;
    FILE *file;

    snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
    file = fopen(name, "r");
    if (file == NULL) {
        CHECK(false, "%s: %s", name, strerror(errno));
        return false;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        char *rest;
        unsigned long low = strtoul(line, &rest, 16), high = strtoul(rest + 1, &rest, 16);

        found = found || (low <= (unsigned long)start && high >= (unsigned long)end && strncmp(rest, " rw-p", 5) == 0);
    }
    fclose(file);
    return found;
}

static void test_listed(void)
{
    char *areas[KERNELS_MAX];

    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        areas[k] = spread_memory_map(PAGES, PRIVATE);
    }
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k + 1);
        CHECK(listed(getpid(), areas[k], areas[k] + PAGES * PAGE), "what kernel %d maps is not listed on the next", k);
    }
    for (int k = 0; k < kernels_count(); k++)
        munmap(areas[k], PAGES * PAGE);
    kernels_go(0);
}

/* A child on every kernel, from a parent on every kernel, with what the parent has just mapped. */
static void test_inherited(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area, *later;
        pid_t child;
        int status;

        kernels_go(k);
        area = spread_memory_map(PAGES, PRIVATE);
        if (area == NULL)
            return;
        memset(area, 'p', PAGES * PAGE);
        child = fork();
        if (child == 0) {
            kernels_go(k + 1);
            if (area[0] != 'p' || area[PAGES * PAGE - 1] != 'p')
                _exit(1);
            memset(area, 'c', PAGES * PAGE);
            later = spread_memory_map(1, PRIVATE);
            later[0] = 1;
            _exit(area[7] == 'c' && later[0] == 1 ? 0 : 2);
        }
        later = spread_memory_map(1, PRIVATE);
        later[0] = 'l';
        memset(area, 'q', PAGE);
        CHECK(waitpid(child, &status, 0) == child && status == 0, "child of kernel %d: status %x", k, (unsigned)status);
        CHECK(area[0] == 'q' && area[PAGE] == 'p' && later[0] == 'l', "parent on kernel %d", k);
        munmap(area, PAGES * PAGE);
        munmap(later, PAGE);
    }
    kernels_go(0);
}

/* --- ranges that go from hand to hand --- */

struct hand {
    _Atomic(char *) range; /* PAGES pages for the next one, or NULL */
    atomic_long stamp;
};

static struct hand hands[CREW];
static atomic_int crew_failed;

static void fail(struct thread *thread, long what)
{
    thread->result = what;
    crew_failed = 1;
}

/* Maps a range, writes to it, gives it to the next one, and takes one from the one before, looks at it and ends it. */
static void run_hand(struct thread *thread)
{
    int self = thread->index, count = kernels_count() > 1 ? kernels_count() : 2;
    struct hand *to = &hands[(self + 1) % count], *from = &hands[self];

    if (thread_move(self % kernels_count()) != 0)
        fail(thread, -1);
    for (long round = 1; round <= ROUNDS && crew_failed == 0; round++) {
        char *range = (char *)x86_syscall(SYS_mmap, 0, PAGES * PAGE, READ_WRITE, PRIVATE, -1,
                                          0); // NOLINT(performance-no-int-to-ptr)
        volatile char *got;

        for (long i = 0; i < PAGES; i += 3)
            *(volatile long *)(range + i * PAGE) = round * PAGES + i;
        while (to->range != NULL && crew_failed == 0)
            x86_syscall0(SYS_sched_yield);
        to->stamp = round;
        to->range = range;
        while ((got = from->range) == NULL && crew_failed == 0)
            x86_syscall0(SYS_sched_yield);
        if (crew_failed != 0)
            return;
        for (long i = 0; i < PAGES; i++) {
            long value = *(volatile long *)(got + i * PAGE);

            if (value != (i % 3 == 0 ? from->stamp * PAGES + i : 0))
                fail(thread, 1000 * round + i);
        }
        if (x86_syscall3(SYS_munmap, (long)got, PAGES * PAGE, 0) != 0)
            fail(thread, -2);
        from->range = NULL;
    }
}

static void test_handed_on(void)
{
    int count = kernels_count() > 1 ? kernels_count() : 2;
    struct thread crew[CREW];

    memset(crew, 0, sizeof(crew));
    for (int i = 0; i < count; i++) {
        crew[i].index = i;
        if (!CHECK(thread_start(&crew[i], run_hand), "thread %d: %s", i, strerror(errno)))
            return;
    }
    for (int i = 0; i < count; i++) {
        CHECK(thread_join(&crew[i]), "thread %d does not end", i);
        CHECK(crew[i].result == 0, "thread %d: round and page %ld", i, (long)crew[i].result);
    }
}

/* --- several leases at once --- */

#define SETS 12
#define LARGE (70l << 20) /* bytes: a lease has room for four of them */

struct unmapping {
    char *low, *high;
    atomic_int go, ready;
};

static void wait_for_go(struct unmapping *unmapping)
{
    unmapping->ready++;
    while (unmapping->go == 0)
        x86_syscall0(SYS_sched_yield);
}

/* As the thread of a kernel of its own: unmaps all of the range, too. */
static void run_unmap(struct thread *thread)
{
    struct unmapping *unmapping = thread->argument;

    thread->result = thread_move(thread->index % kernels_count());
    wait_for_go(unmapping);
    if (x86_syscall3(SYS_munmap, (long)unmapping->low, unmapping->high - unmapping->low, 0) != 0)
        thread->result = -1;
}

/* Those whose leases are looked at: what the first kernel maps is elsewhere. */
static int first_holder(void)
{
    return kernels_count() > 1 ? 1 : 0;
}

/* Each kernel but the first maps LARGE bytes, SETS times in turn, and touches a page at both ends. */
static bool map_sets(char *sets[SETS][KERNELS_MAX], struct unmapping *unmapping)
{
    unmapping->low = (char *)UINTPTR_MAX; // NOLINT(performance-no-int-to-ptr)
    for (int set = 0; set < SETS; set++) {
        for (int k = first_holder(); k < kernels_count(); k++) {
            char *at;

            kernels_go(k);
            at = sets[set][k] = spread_memory_map(LARGE / PAGE, PRIVATE | MAP_NORESERVE);
            if (at == NULL)
                return false;
            at[0] = at[LARGE - PAGE] = (char)('a' + k);
            unmapping->low = at < unmapping->low ? at : unmapping->low;
            unmapping->high = at + LARGE > unmapping->high ? at + LARGE : unmapping->high;
        }
    }
    return true;
}

/* Two unmap a range at once in which every kernel has several leases: both need what all of them have there. */
static void test_several(void)
{
    char *sets[SETS][KERNELS_MAX];

    for (int round = 0; round < 3; round++) {
        struct unmapping unmapping = {NULL, NULL, 0, 0};
        struct thread thread = {.index = round + 1, .argument = &unmapping};

        if (!map_sets(sets, &unmapping))
            return;
        kernels_go(0); /* the thread's stack is not to be in the range */
        if (!CHECK(thread_start(&thread, run_unmap), "%s", strerror(errno)))
            return;
        kernels_go(round);
        UNTIL(unmapping.ready == 1, "the other thread");
        unmapping.go = 1;
        CHECK(munmap(unmapping.low, (size_t)(unmapping.high - unmapping.low)) == 0, "%s", strerror(errno));
        CHECK(thread_join(&thread) && thread.result == 0, "the thread ends with %ld", (long)thread.result);
        for (int set = 0; set < SETS; set++) {
            for (int k = first_holder(); k < kernels_count(); k++) {
                kernels_go(k + set);
                CHECK(!memory_readable(sets[set][k]) && !memory_readable(sets[set][k] + LARGE - PAGE),
                      "set %d of kernel %d is still there", set, k);
            }
        }
        CHECK(audit_own(), "round %d", round);
    }
    kernels_go(0);
}

/* --- what it costs others --- */

/* Of kernel KERNEL's line in /proc/self/kettle the figure behind NAME; -1: there is none. */
static long figure(int kernel, const char *name)
{
    FILE *file = fopen("/proc/self/kettle", "r");
    char line[LINE], start[32];
    long value = -1;

    if (file == NULL)
        return -1;
    snprintf(start, sizeof(start), "kernel %d ", kernel);
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *at = strncmp(line, start, strlen(start)) == 0 ? strstr(line, name) : NULL;

        if (at != NULL)
            value = strtol(at + strlen(name), NULL, 10);
    }
    fclose(file);
    return value;
}

static void test_alone(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        long fetches = 0, changes = 0;

        for (int round = 0; round < 2; round++) { /* the first one takes the lease */
            kernels_go(k);
            fetches = figure(k, " fetches ");
            changes = figure(k, " changes ");
            for (int i = 0; i < 100; i++) {
                char *range = spread_memory_map(4, PRIVATE);

                if (range == NULL)
                    return;
                CHECK(madvise(range, PAGE, MADV_NOHUGEPAGE) == 0 &&
                          madvise(range - PAGE, 2 * PAGE, MADV_DONTDUMP) == -1 && errno == ENOMEM,
                      "advice: %s", strerror(errno));
                memset(range, i, 4 * PAGE);
                mprotect(range, PAGE, PROT_READ);
                munmap(range, 4 * PAGE);
            }
            fetches = figure(k, " fetches ") - fetches;
            changes = figure(k, " changes ") - changes;
        }
        CHECK(fetches < 50 && changes < 50, "kernel %d: %ld questions and %ld changes for 500 operations of its own", k,
              fetches, changes);
    }
    kernels_go(0);
}

/* A thread that touches interleaved memory of its own kernel's lease gets frames of other nodes' kernels, and keeps the
 * lease; so does the home with what no other kernel knows, over a fork. */
static void test_kept(void)
{
    unsigned long nodes = 3;
    int status;

    for (int k = 0; k < kernels_count(); k++) {
        unsigned char there[64];
        long fetches, changes;
        char *range;
        pid_t child;

        kernels_go(k);
        range = spread_memory_map(64, PRIVATE);
        if (range == NULL)
            return;
        if (k == 0) {
            child = fork();
            if (child == 0)
                _exit(0);
            CHECK(child > 0 && waitpid(child, &status, 0) == child, "%s", strerror(errno));
        }
        fetches = figure(k, " fetches ");
        changes = figure(k, " changes ");
        CHECK(x86_syscall3(SYS_set_mempolicy, 3 /* MPOL_INTERLEAVE */, (long)&nodes, 3) == 0, "%s", strerror(errno));
        for (int i = 0; i < 64; i++)
            range[i * PAGE] = 'a';
        fetches = figure(k, " fetches ") - fetches;
        CHECK(x86_syscall3(SYS_set_mempolicy, 0, 0, 0) == 0, "%s", strerror(errno));
        kernels_go(k + 1); /* queries do not end the lease either */
        CHECK(listed(getpid(), range, range + 64 * PAGE) && mincore(range, 64 * PAGE, there) == 0 &&
                  memchr(there, 0, 64) == NULL && node_of(range) + node_of(range + PAGE) == 1,
              "what kernel %d has: nodes %d, %d", k, node_of(range), node_of(range + PAGE));
        kernels_go(k);
        for (int i = 0; i < 64; i++)
            mprotect(range + i * PAGE, PAGE, PROT_READ);
        changes = figure(k, " changes ") - changes;
        CHECK(fetches < 10 && changes < 10, "kernel %d: %ld questions and %ld changes", k, fetches, changes);
        for (int other = 0; other < kernels_count(); other++) {
            kernels_go(other);
            for (int i = 0; i < 64; i++)
                CHECK(range[i * PAGE] == 'a', "page %d of kernel %d on kernel %d", i, k, other);
        }
        CHECK(munmap(range, 64 * PAGE) == 0, "%s", strerror(errno));
    }
    kernels_go(0);
}

/* --- forks that leave leases as they are --- */

/* True if each of the first COUNT pages of RANGE begins with WHAT. */
static bool all_are(const char *range, long count, char what)
{
    for (long i = 0; i < count; i++) {
        if (range[i * PAGE] != what)
            return false;
    }
    return true;
}

/* A child that waits until it may read PIPE, and then exits with 0 if RANGE is as it was, with its writes apart. */
static pid_t child_waiting(char *range, const int pipe[2])
{
    pid_t child = fork();
    char word;

    if (child != 0)
        return child;
    close(pipe[1]);
    if (read(pipe[0], &word, 1) != 0 || !all_are(range, PAGES, 'a'))
        _exit(1);
    memset(range, 'c', PAGES * PAGE);
    _exit(all_are(range, PAGES, 'c') ? 0 : 2);
}

/* Kernel K maps and fills a range and kernel FORKING forks; then K writes to half of it, which others then read. */
static void forked(int k, int forking)
{
    long fetches, changes;
    char *range, *more;
    int pipe_ends[2], status = -1;
    pid_t child;

    kernels_go(k);
    range = spread_memory_map(PAGES, PRIVATE);
    if (range == NULL || !CHECK(pipe(pipe_ends) == 0, "%s", strerror(errno)))
        return;
    for (int i = 0; i < PAGES; i++)
        range[i * PAGE] = 'a';
    kernels_go(forking);
    child = child_waiting(range, pipe_ends);
    kernels_go(k);
    fetches = figure(k, " fetches ");
    changes = figure(k, " changes ");
    for (int i = 0; i < PAGES / 2; i++)
        range[i * PAGE] = 'b';
    more = spread_memory_map(PAGES, PRIVATE);
    memset(more, 'm', PAGES * PAGE);
    mprotect(more, PAGE, PROT_READ);
    munmap(more, PAGES * PAGE);
    fetches = figure(k, " fetches ") - fetches;
    changes = figure(k, " changes ") - changes;
    CHECK(fetches < 10 && changes < 3, "kernel %d after a fork on %d: %ld questions and %ld changes", k, forking,
          fetches, changes);
    for (int other = 0; other < kernels_count(); other++) { /* what is copy-on-write is so for others, too */
        kernels_go(other);
        CHECK(all_are(range, PAGES / 2, 'b') && all_are(range + PAGES / 2 * PAGE, PAGES - PAGES / 2 - other, 'a'),
              "what kernel %d wrote on kernel %d", k, other);
        range[(PAGES - 1 - other) * PAGE] = 'd';
    }
    close(pipe_ends[1]);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child of %d, memory of %d: status %x",
          forking, k, (unsigned)status);
    close(pipe_ends[0]);
    CHECK(range[(PAGES - 1) * PAGE] == 'd' && munmap(range, PAGES * PAGE) == 0, "%s", strerror(errno));
}

static void test_forked(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        forked(k, k);
        forked(k, 0);
        forked(k, k + 1);
    }
    kernels_go(0);
}

/* Memory that parent and child share has been mapped in a lease, and is not all touched. */
static void test_forked_shared(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *range, *apart;
        int status = -1;
        pid_t child;

        kernels_go(k);
        range = spread_memory_map(PAGES, SHARED);
        apart = spread_memory_map(PAGES, PRIVATE);
        if (range == NULL || apart == NULL)
            return;
        apart[0] = range[0] = 'p';
        kernels_go(k + 1);
        child = fork();
        if (child == 0) {
            kernels_go(k);
            range[PAGE] = range[0];
            apart[0] = range[(PAGES - 1) * PAGE] = 'c';
            _exit(0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child: status %x", (unsigned)status);
        CHECK(range[PAGE] == 'p' && range[(PAGES - 1) * PAGE] == 'c' && apart[0] == 'p', "shared memory of kernel %d",
              k);
        munmap(range, PAGES * PAGE);
        munmap(apart, PAGES * PAGE);
    }
    kernels_go(0);
}

#define FORKS 24

/* What each member of the crew has mapped and written last. */
static struct {
    long *volatile page;
} * orders[CREW];
static atomic_int orders_over;

/* Maps a page in a lease of its kernel and writes to it, tells of it in memory that all know, and unmaps the page
 * before; every other member has frames of other nodes, too. */
static void run_order(struct thread *thread)
{
    int self = thread->index;
    unsigned long nodes = 3;
    long *before = NULL;

    if (thread_move(self % kernels_count()) != 0)
        fail(thread, -1);
    if (self % 2 != 0)
        x86_syscall3(SYS_set_mempolicy, 3 /* MPOL_INTERLEAVE */, (long)&nodes, 3);
    for (long round = 1; orders_over == 0 && crew_failed == 0; round++) {
        long *page = (long *)x86_syscall(SYS_mmap, 0, PAGE, READ_WRITE, PRIVATE, -1,
                                         0); // NOLINT(performance-no-int-to-ptr)

        page[0] = round;
        page[1] = round;
        orders[self]->page = page;
        if (page[0] != round || (before != NULL && x86_syscall3(SYS_munmap, (long)before, PAGE, 0) != 0))
            fail(thread, round);
        before = page;
        /* where CPUs take turns, one that waits for a lock of the space gets its turn when this one has none */
        for (int i = 0; i < 100; i++)
            x86_pause();
    }
}

/* A child that sees a write also sees those that the same thread has made before. */
static void test_forked_order(void)
{
    int count = kernels_count() > 1 ? kernels_count() : 2, status;
    char *known = spread_memory_map(CREW, PRIVATE);
    struct thread crew[CREW];

    if (known == NULL)
        return;
    memset(crew, 0, sizeof(crew));
    memset(known, 0, CREW * PAGE);
    orders_over = 0;
    for (int i = 0; i < count; i++) {
        crew[i].index = i;
        orders[i] = (void *)(known + i * PAGE);
        if (!CHECK(thread_start(&crew[i], run_order), "thread %d: %s", i, strerror(errno)))
            return;
    }
    for (int i = 0; i < count; i++) {
        while (orders[i]->page == NULL && crew_failed == 0)
            x86_syscall0(SYS_sched_yield);
    }
    for (int i = 0; i < FORKS && crew_failed == 0; i++) {
        pid_t child;

        kernels_go(i);
        child = fork();
        if (child == 0) {
            for (int j = 0; j < count; j++) { /* a page that is not there is a signal */
                if (orders[j]->page[0] == 0 || orders[j]->page[0] != orders[j]->page[1])
                    _exit(1 + j);
            }
            _exit(0);
        }
        if (!CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "fork %d: %s, status %x", i,
                   strerror(errno), (unsigned)status))
            break;
    }
    orders_over = 1;
    for (int i = 0; i < count; i++) {
        CHECK(thread_join(&crew[i]), "thread %d does not end", i);
        CHECK(crew[i].result == 0, "thread %d: %ld", i, (long)crew[i].result);
    }
    kernels_go(0);
    munmap(known, CREW * PAGE);
}

/* Where small mappings of every kernel but the home begin, modulo what tables of addresses have entries for. */
static void test_apart(void)
{
    char *areas[KERNELS_MAX];
    int count = kernels_count();

    for (int k = 0; k < count; k++) {
        kernels_go(k);
        areas[k] = spread_memory_map(PAGES, PRIVATE);
        if (areas[k] == NULL)
            return;
        for (int other = 1; other < k; other++)
            CHECK((areas[k] - areas[other]) % (TABLE * PAGE) != 0, "kernels %d and %d map at the same place: %p, %p",
                  other, k, (void *)areas[other], (void *)areas[k]);
    }
    for (int k = 0; k < count; k++)
        CHECK(munmap(areas[k], PAGES * PAGE) == 0, "%s", strerror(errno));
    kernels_go(0);
}

static const struct tap_test tests[] = {
    {"seen", "what one kernel maps and fills every other kernel finds, until it is unmapped", test_seen},
    {"changed", "other kernels split, protect and replace what a kernel has mapped", test_changed},
    {"listed", "/proc lists what any kernel has mapped", test_listed},
    {"inherited", "a child has what its parent has just mapped, and later mappings are separate", test_inherited},
    {"forked-shared", "memory that a kernel has mapped by itself is shared with a child", test_forked_shared},
    {"forked-order", "a child that sees a write sees all that was written before it", test_forked_order},
    {"apart", "mappings of several kernels do not begin at equal places of their leases", test_apart},
    {"handed-on", "ranges that go from thread to thread hold what was written", test_handed_on},
    {"several", "an unmap of a range in which kernels have several leases unmaps what each of them has", test_several},
};
static const struct tap_test alone[] = {
    {"kept", "a lease is kept where a frame comes from another node, and the home's over a fork", test_kept},
    {"forked", "a kernel keeps its lease over a fork, and copies what it writes there", test_forked},
    {"alone", "a kernel that works on memory of its own sends no messages", test_alone},
};

int main(int argc, char **argv)
{
    kernels_find();
    if (tap_take(&argc, &argv, "alone"))
        return tap_run(argc, argv, alone, TAP_COUNT(alone));
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}

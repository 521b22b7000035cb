/* test-replicate: pages that are read from several nodes have a copy on each kernel of another node, and one frame
 * again when somebody writes to them. Copies and collapses are counted; nobody ever reads what was before a write that
 * is over, whatever else is done with the pages meanwhile.
 *
 * On a machine of one node there are no copies, and all else must hold all the same. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "libc/numa.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/events.h"
#include "userland/thread.h"

#define PAGE 4096l
#define PAGES 32l
#define BLOCK (16 * PAGE) /* of which a policy decides */
#define BYTES (PAGES * PAGE)
#define STORM_PAGES 8l
#define LARGE (1l << 34)
#define LARGE_BLOCK (2l << 20) /* the largest of numablock= */
#define KERNELS 16

enum { MOVE = 2, MOVE_ALL = 4 };
enum { MPOL_BIND = 2 };

static int kernels[64], kernel_count, home;
static char *area;

static volatile long *word_of(const char *memory, long page)
{
    return (volatile long *)(uintptr_t)(memory + page * PAGE + page * 64 % PAGE);
}

static void go(int kernel)
{
    long error = kettle_kernel() != kernel ? thread_move(kernel) : 0;

    REQUIRE(error == 0, "to kernel %d: %s", kernel, tap_error((int)-error));
}

/* A kernel of another node than the home's memory has copies. */
static bool is_far(int kernel)
{
    return kettle_node(kernel) != kettle_node(home);
}

static long far_count(void)
{
    long count = 0;

    for (int i = 0; i < kernel_count; i++)
        count += is_far(kernels[i]);
    return count;
}

static void fill(char *memory, long value)
{
    for (long i = 0; i < PAGES; i++)
        *word_of(memory, i) = value + i;
}

static bool holds(const char *memory, long value, const char *when)
{
    for (long i = 0; i < PAGES; i++) {
        if (*word_of(memory, i) != value + i)
            return CHECK(false, "%s, kernel %d: page %ld has %ld, not %ld", when, kettle_kernel(), i,
                         *word_of(memory, i), value + i);
    }
    return true;
}

static void all_hold(const char *memory, long value, const char *when)
{
    for (int i = 0; i < kernel_count; i++) {
        go(kernels[i]);
        holds(memory, value, when);
    }
    go(home);
}

/* Whole blocks, in which nothing else is. */
static void map_area(void)
{
    char *memory = mmap(NULL, BYTES + BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    REQUIRE(memory != MAP_FAILED, "%s", strerror(errno));
    area = memory + (BLOCK - (uintptr_t)memory % BLOCK) % BLOCK;
    madvise(area, BYTES, MADV_NOHUGEPAGE);
}

static void begin(long value)
{
    go(home);
    map_area();
    fill(area, value);
}

static void replicate(const char *when)
{
    long count = kettle_block_replicate(area, BYTES);

    CHECK(count == PAGES, "%s: %ld pages of %ld are replicated: %s", when, count, PAGES,
          count < 0 ? tap_error(errno) : "");
}

/* Copies on all far kernels. */
static void copies(long value, const char *when)
{
    unsigned long before = events_everywhere("replicas_made");

    replicate(when);
    all_hold(area, value, when);
    CHECK(events_everywhere("replicas_made") - before == (unsigned long)(far_count() * PAGES), "%s: %lu copies made",
          when, events_everywhere("replicas_made") - before);
}

static void finish(void)
{
    CHECK(audit_own(), "at the end");
    munmap(area, BYTES);
    CHECK(events_everywhere("replicas_made") == events_everywhere("replicas_dropped"), "%lu copies made, %lu dropped",
          events_everywhere("replicas_made"), events_everywhere("replicas_dropped"));
}

/* --- one after the other --- */

static void test_read(void)
{
    unsigned long before;

    begin(100);
    all_hold(area, 100, "before");
    for (int i = 0; i < kernel_count; i++)
        CHECK(events_of(kernels[i], "replicas_made") == 0, "kernel %d has copies", kernels[i]);
    copies(100, "replicated");
    before = events_everywhere("replicas_made");
    for (int i = 0; i < kernel_count; i++) {
        unsigned long made = events_of(kernels[i], "replicas_made");

        CHECK(made == (is_far(kernels[i]) ? (unsigned long)PAGES : 0), "kernel %d has made %lu copies", kernels[i],
              made);
    }
    CHECK(audit_own(), "with copies");
    all_hold(area, 100, "again");
    replicate("again");
    all_hold(area, 100, "replicated again");
    CHECK(events_everywhere("replicas_made") == before, "%lu copies more", events_everywhere("replicas_made") - before);
    finish();
}

static void test_write(void)
{
    for (int i = 0; i < kernel_count; i++) {
        unsigned long before;

        begin(1000);
        copies(1000, "before a write");
        before = events_everywhere("collapses");
        go(kernels[i]);
        fill(area, 2000);
        holds(area, 2000, "just written");
        CHECK(events_everywhere("collapses") - before == (unsigned long)PAGES, "kernel %d: %lu collapses", kernels[i],
              events_everywhere("collapses") - before);
        all_hold(area, 2000, "written");
        go(kernels[(i + 1) % kernel_count]);
        fill(area, 3000);
        all_hold(area, 3000, "written by the next kernel");
        CHECK(events_everywhere("collapses") - before == (unsigned long)PAGES, "later writes collapse something");
        copies(3000, "again");
        finish();
    }
}

/* The pages were another kernel's, which has written them first. */
static void test_elsewhere(void)
{
    for (int i = 0; i < kernel_count; i++) {
        begin(1);
        munmap(area, BYTES);
        go(kernels[i]);
        map_area();
        fill(area, 50);
        copies(50, "written elsewhere");
        go(kernels[i]);
        fill(area, 60);
        all_hold(area, 60, "written there again");
        finish();
    }
}

static int child_of(void *context)
{
    long value = *(const long *)context;
    bool right = true;

    for (int i = 0; i < kernel_count; i++) {
        go(kernels[i]);
        right &= holds(area, value, "in the child");
    }
    fill(area, value + 500);
    for (int i = 0; i < kernel_count; i++) {
        go(kernels[i]);
        right &= holds(area, value + 500, "written by the child");
    }
    return right && audit_own() ? 0 : 1;
}

static void test_fork(void)
{
    for (int i = 0; i < kernel_count; i++) {
        long value = 7000;

        begin(value);
        copies(value, "before a fork");
        go(kernels[i]);
        CHECK(tap_fork(child_of, &value) == 0, "the child of kernel %d", kernels[i]);
        all_hold(area, value, "after a fork");
        fill(area, value + 1);
        all_hold(area, value + 1, "written after a fork");
        CHECK(tap_fork(child_of, &(long){value + 1}) == 0, "the second child");
        finish();
    }
}

static void protect(void)
{
    CHECK(mprotect(area, BYTES, PROT_READ) == 0, "%s", tap_error(errno));
    all_hold(area, 10, "read-only");
    CHECK(mprotect(area, BYTES, PROT_READ | PROT_WRITE) == 0, "%s", tap_error(errno));
}

static void move_away(void)
{
    void *addresses[PAGES];
    int nodes[PAGES], status[PAGES];

    for (long i = 0; i < PAGES; i++) {
        addresses[i] = area + i * PAGE;
        nodes[i] = kettle_node(kernels[kernel_count - 1]);
    }
    CHECK(syscall(SYS_move_pages, 0, PAGES, addresses, nodes, status, MOVE) == 0, "%s", tap_error(errno));
    for (long i = 0; i < PAGES; i++)
        CHECK(status[i] == nodes[i], "page %ld is on node %d, not %d", i, status[i], nodes[i]);
}

static void remap(void)
{
    char *there = mmap(NULL, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    there = mremap(area, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, there + BYTES);
    if (CHECK(there != MAP_FAILED, "%s", tap_error(errno)))
        area = there;
}

static void lock_pages(void)
{
    CHECK(mlock(area, BYTES) == 0, "%s", tap_error(errno));
    CHECK(munlock(area, BYTES) == 0, "%s", tap_error(errno));
}

static void touch_later(void)
{
    CHECK(kettle_block_move_later(area, BYTES, KETTLE_TOUCHER, 0) == 0, "%s", tap_error(errno));
}

static void change_strategy(void)
{
    CHECK(kettle_retrieve(0, "members") == 0, "%s", tap_error(errno));
    CHECK_ERROR(kettle_block_replicate(area, BYTES), EOPNOTSUPP);
    all_hold(area, 10, "found by asking");
    CHECK(audit_own(), "with members");
    CHECK(kettle_retrieve(0, "home") == 0, "%s", tap_error(errno));
}

static void upfront(void)
{
    CHECK(kettle_retrieve(0, "upfront") == 0, "%s", tap_error(errno));
    all_hold(area, 10, "upfront");
    CHECK(kettle_retrieve(0, "home") == 0, "%s", tap_error(errno));
}

static void write_from_outside(void)
{
    char path[40];
    long value = 10;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)getpid());
    file = fopen(path, "r+");
    CHECK(file != NULL, "%s", tap_error(errno));
    if (file == NULL)
        return;
    setvbuf(file, NULL, _IONBF, 0);
    for (long i = 0; i < PAGES; i++) {
        value = 10 + i;
        fseek(file, (long)(uintptr_t)word_of(area, i), SEEK_SET);
        CHECK(fwrite(&value, sizeof(value), 1, file) == 1, "page %ld", i);
    }
    fclose(file);
}

/* After each change all kernels have the content that they had, and what is written is everywhere. */
static void test_changes(void)
{
    static const struct {
        const char *name;
        void (*make)(void);
    } changes[] = {
        {"mprotect", protect}, {"move_pages", move_away},     {"mremap", remap},    {"mlock", lock_pages},
        {"lazy", touch_later}, {"strategy", change_strategy}, {"upfront", upfront}, {"mem", write_from_outside},
    };

    for (size_t c = 0; c < TAP_COUNT(changes); c++) {
        for (int i = 0; i < kernel_count; i++) {
            begin(10);
            copies(10, changes[c].name);
            go(kernels[i]);
            changes[c].make();
            CHECK(audit_own(), "after %s", changes[c].name);
            all_hold(area, 10, changes[c].name);
            go(kernels[(i + 1) % kernel_count]);
            fill(area, 20);
            all_hold(area, 20, "written after a change");
            CHECK(kettle_block_replicate(area, BYTES) >= 0, "%s", tap_error(errno));
            all_hold(area, 20, "replicated after a change");
            finish();
        }
    }
}

static void test_gone(void)
{
    begin(5);
    copies(5, "to be discarded");
    CHECK(madvise(area, BYTES, MADV_DONTNEED) == 0, "%s", tap_error(errno));
    for (int i = 0; i < kernel_count; i++) {
        go(kernels[i]);
        for (long page = 0; page < PAGES; page++)
            CHECK(*word_of(area, page) == 0, "kernel %d: page %ld is not empty", kernels[i], page);
    }
    go(home);
    CHECK(kettle_block_replicate(area, BYTES) >= 0, "%s", tap_error(errno));
    fill(area, 6);
    copies(6, "to be unmapped");
    finish();
    CHECK(kettle_block_replicate(area, BYTES) == 0, "pages that are not there: %s", tap_error(errno));
    CHECK_ERROR(kettle_block_replicate(area + 1, BYTES), EINVAL);
    area = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(area != MAP_FAILED, "%s", strerror(errno));
    madvise(area, LARGE, MADV_NOHUGEPAGE);
    area[LARGE / 2] = area[LARGE - 1] = 1;
    CHECK(kettle_block_replicate(area, LARGE) == 2, "the two pages of a large range");
    munmap(area, LARGE);
    area = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(area != MAP_FAILED, "%s", strerror(errno));
    fill(area, 8);
    CHECK(kettle_block_replicate(area, BYTES) == 0, "shared memory is not replicated");
    all_hold(area, 8, "shared");
    munmap(area, BYTES);
}

/* --- by the policy --- */

static atomic_int reading, over;

static void *read_often(void *argument)
{
    go(kernels[(intptr_t)argument]);
    atomic_fetch_add(&reading, 1);
    while (!atomic_load(&over)) {
        holds(area, 100, "read often");
        sched_yield();
    }
    return NULL;
}

static bool all_copied(void)
{
    for (int i = 0; i < kernel_count; i++) {
        if (is_far(kernels[i]) && events_of(kernels[i], "replicas_made") < (unsigned long)PAGES)
            return false;
    }
    return true;
}

static pthread_t readers[KERNELS];
static int reader_count;

/* The process asks for copies, and all kernels read the area, which is filled with 100. */
static void policy_begin(void)
{
    MUST(kettle_numa(0, "replicate"));
    reader_count = kernel_count < KERNELS ? kernel_count : KERNELS;
    atomic_store(&reading, 0);
    atomic_store(&over, 0);
    for (intptr_t i = 0; i < reader_count; i++)
        REQUIRE(pthread_create(&readers[i], NULL, read_often, (void *)i) == 0, "no thread");
    UNTIL(atomic_load(&reading) == reader_count, "readers on all kernels");
}

static void readers_end(void)
{
    atomic_store(&over, 1);
    for (int i = 0; i < reader_count; i++)
        pthread_join(readers[i], NULL);
}

static bool several_nodes(void)
{
    if (far_count() == 0)
        tap_skip("one node");
    return far_count() != 0;
}

/* What all nodes read is replicated sooner or later, and a write is not lost. */
static void test_policy(void)
{
    if (!several_nodes())
        return;
    begin(100);
    policy_begin();
    UNTIL(all_copied(), "copies on all other nodes");
    readers_end();
    CHECK(audit_own(), "with copies by the policy");
    fill(area, 200);
    all_hold(area, 200, "written");
    CHECK(events_everywhere("collapses") >= (unsigned long)PAGES, "%lu collapses", events_everywhere("collapses"));
    MUST(kettle_numa(0, "none"));
    CHECK(audit_own(), "at the end");
    munmap(area, BYTES);
}

/* Readers have used other nodes' memory in several looks at all of it. */
static bool looked(unsigned long before)
{
    return events_everywhere("seen_remote") >= before + (unsigned long)(5 * PAGES);
}

/* A large block that all nodes read a part of is replicated as a whole, unless somebody writes elsewhere in it. */
static void test_blocks(void)
{
    unsigned long before, replicated;
    char *memory;

    if (!several_nodes())
        return;
    go(home);
    memory = mmap(NULL, 2 * LARGE_BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED, "%s", strerror(errno));
    area = memory + (LARGE_BLOCK - (uintptr_t)memory % LARGE_BLOCK) % LARGE_BLOCK;
    madvise(memory, 2 * LARGE_BLOCK, MADV_NOHUGEPAGE);
    for (long page = 0; page < LARGE_BLOCK / PAGE; page++)
        area[page * PAGE] = 1;
    fill(area, 100);
    MUST(kettle_control("numablock=2048"));
    policy_begin();
    before = events_everywhere("seen_remote");
    UNTIL((area[LARGE_BLOCK - PAGE]++, looked(before)), "looks while one page is written");
    replicated = events_everywhere("pages_replicated");
    CHECK(replicated < (unsigned long)PAGES, "%lu pages of a written block are replicated", replicated);
    UNTIL(events_everywhere("pages_replicated") >= (unsigned long)(LARGE_BLOCK / PAGE), "the whole block");
    UNTIL(all_copied(), "copies on all other nodes");
    readers_end();
    MUST(kettle_control("numablock=64"));
    MUST(kettle_numa(0, "none"));
    CHECK(audit_own(), "at the end");
    munmap(memory, 2 * LARGE_BLOCK);
}

/* Memory with a policy of its own is not replicated by numa=, as it does not follow its users. When the program asks
 * for it, it is; the policy allows no copies, then. Other memory of the program is replicated, too. */
static void test_bound(void)
{
    unsigned long nodes = 1ul << kettle_node(home), before;

    if (!several_nodes())
        return;
    begin(100);
    policy_begin();
    CHECK(syscall(SYS_mbind, area, BYTES, MPOL_BIND, &nodes, 65ul, 0) == 0, "%s", tap_error(errno));
    before = events_everywhere("seen_remote");
    UNTIL(looked(before), "looks at bound memory");
    readers_end();
    MUST(kettle_numa(0, "none"));
    before = events_everywhere("pages_replicated");
    replicate("bound");
    CHECK(events_everywhere("pages_replicated") - before == (unsigned long)PAGES, "%lu pages, others were before",
          events_everywhere("pages_replicated") - before);
    before = events_everywhere("replicas_made");
    all_hold(area, 100, "bound");
    CHECK(events_everywhere("replicas_made") - before < (unsigned long)PAGES, "%lu copies where they are not allowed",
          events_everywhere("replicas_made") - before);
    CHECK(audit_own(), "at the end");
    munmap(area, BYTES);
}

/* --- all at once --- */

/* The writer writes a number to a page, and then here that it has; so whoever reads here first must find it there. */
static struct {
    char *pages;
    atomic_long written[STORM_PAGES];
    atomic_int over, ready;
    atomic_long wrong, reads, failed;
} storm;

static void *read_all(void *argument)
{
    int kernel = kernels[(intptr_t)argument];

    go(kernel);
    atomic_fetch_add(&storm.ready, 1);
    while (!atomic_load(&storm.over)) {
        for (long i = 0; i < STORM_PAGES; i++) {
            long least = atomic_load(&storm.written[i]), found = *word_of(storm.pages, i);

            if (found < least)
                atomic_fetch_add(&storm.wrong, 1);
        }
        atomic_fetch_add(&storm.reads, 1);
        sched_yield();
    }
    return NULL;
}

static void *replicate_all(void *argument)
{
    (void)argument;
    while (!atomic_load(&storm.over)) {
        if (kettle_block_replicate(storm.pages, STORM_PAGES * PAGE) < 0 && errno != ENOMEM)
            atomic_store(&storm.failed, errno);
        sched_yield();
    }
    return NULL;
}

static void disturb(long round, long page)
{
    char *at = storm.pages + page * PAGE;
    int node = kettle_node(kernels[round % kernel_count]), status;

    if (round % 7 == 3) {
        pid_t child = FORK();

        if (child == 0) {
            bool right = *word_of(storm.pages, page) == atomic_load(&storm.written[page]);

            *word_of(storm.pages, page) = -1;
            _exit(right ? 0 : 1);
        }
        CHECK_EXITS(child, 0);
    } else if (round % 7 == 5) {
        syscall(SYS_move_pages, 0, 1l, &(void *){at}, &node, &status, MOVE);
    } else if (round % 7 == 6) {
        CHECK(mprotect(at, PAGE, PROT_READ) == 0 && mprotect(at, PAGE, PROT_READ | PROT_WRITE) == 0, "%s",
              tap_error(errno));
    }
}

static long rounds = 200;

/* A write has found copies; the thread that makes them may have had no turn of a CPU for long. */
static bool has_collapsed(void)
{
    return far_count() == 0 || events_everywhere("collapses") > 0;
}

static void test_storm(void)
{
    pthread_t threads[KERNELS + 1];
    int count = kernel_count < KERNELS ? kernel_count : KERNELS;
    long round = 0;

    go(home);
    memset(&storm, 0, sizeof(storm));
    storm.pages = mmap(NULL, STORM_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(storm.pages != MAP_FAILED, "%s", strerror(errno));
    madvise(storm.pages, STORM_PAGES * PAGE, MADV_NOHUGEPAGE);
    for (long i = 0; i < STORM_PAGES; i++)
        *word_of(storm.pages, i) = 0;
    for (intptr_t i = 0; i < count; i++)
        REQUIRE(pthread_create(&threads[i], NULL, read_all, (void *)i) == 0, "no thread");
    REQUIRE(pthread_create(&threads[count], NULL, replicate_all, NULL) == 0, "no thread");
    UNTIL(atomic_load(&storm.ready) == count, "readers on all kernels");
    for (; round < rounds || !has_collapsed(); round++) {
        long page = round % STORM_PAGES, reads = atomic_load(&storm.reads);

        go(kernels[round / 3 % kernel_count]);
        *word_of(storm.pages, page) += 1;
        atomic_store(&storm.written[page], *word_of(storm.pages, page));
        disturb(round, page);
        UNTIL(atomic_load(&storm.reads) > reads, "a reader");
    }
    atomic_store(&storm.over, 1);
    for (int i = 0; i <= count; i++)
        pthread_join(threads[i], NULL);
    go(home);
    CHECK(atomic_load(&storm.wrong) == 0, "%ld reads found what was before a write", atomic_load(&storm.wrong));
    CHECK(atomic_load(&storm.failed) == 0, "replication fails: %s", tap_error((int)atomic_load(&storm.failed)));
    for (long i = 0; i < STORM_PAGES; i++)
        CHECK(*word_of(storm.pages, i) == round / STORM_PAGES + (i < round % STORM_PAGES), "page %ld has %ld", i,
              *word_of(storm.pages, i));
    CHECK(audit_own(), "after the storm");
    tap_note("%lu pages replicated, %lu copies, %lu collapses", events_everywhere("pages_replicated"),
             events_everywhere("replicas_made"), events_everywhere("collapses"));
    munmap(storm.pages, STORM_PAGES * PAGE);
}

static const struct tap_test tests[] = {
    {"read", "each kernel of another node makes one copy of a page that it reads", test_read},
    {"write", "a write of any kernel takes all copies away, and all read what was written", test_write},
    {"elsewhere", "pages that another kernel has written first are replicated, too", test_elsewhere},
    {"fork", "a fork copies pages that have copies, and parent and child write apart", test_fork},
    {"changes", "what is done with pages that have copies is done with the page", test_changes},
    {"gone", "pages that are gone have no copies, and what cannot have any is left alone", test_gone},
    {"policy", "numa=replicate gives copies to the nodes that read a block", test_policy},
    {"blocks", "with numablock= a block is replicated as a whole, and not while a part of it is written", test_blocks},
    {"bound", "memory with a policy of its own is not replicated by numa=", test_bound},
    {"storm", "nobody reads what was before a write that is over", test_storm},
};

int main(int argc, char **argv)
{
    static const struct tap_program program = {
        .tests = tests, .count = TAP_COUNT(tests), .apart = true, .parameters = "[ROUNDS]"};
    long number;
    int status;

    if (tap_take_number(&argc, &argv, &number) && number > 0)
        rounds = number;
    kernel_count = tap_kernels(kernels);
    home = kettle_kernel();
    kettle_control("numaperiod=20");
    status = tap_main(argc, argv, &program);
    kettle_control("numaperiod=100");
    return status;
}

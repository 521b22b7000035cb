/* test-move: pages go round all nodes while threads on every kernel use them. Readers never wait for a copy, which the
 * kernels count; no write is lost and no read is stale, beside mprotect, fork, exit, and threads that move. The
 * argument is the number of rounds.
 *
 * Each page has a line for each writer, with a count and a word that follows from it. A writer knows what it has
 * written last, and a reader what it has read last, which no later read precedes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/events.h"
#include "tests/guest/numa/move.h"
#include "tests/guest/numa/node.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define F_ALLOWED 4
#define LARGE (2l << 20)

long move_rounds = 24;
int move_node_count;
struct page *move_area;
atomic_int move_arrived;
atomic_ulong move_wrong;
unsigned long move_written[WRITERS][PAGES], move_seen[READERS][PAGES][WRITERS];
static atomic_bool over;

long move_call(void *first, long count, const int *wanted, int *status, int flags)
{
    static _Thread_local void *addresses[PAGES];

    for (long i = 0; i < count; i++)
        addresses[i] = (char *)first + i * PAGE;
    return x86_syscall(SYS_move_pages, 0, count, (long)addresses, (long)wanted, (long)status, flags);
}

/* Moves COUNT pages, page i to node (FIRST + i / STEP). */
void move_round(void *at, long count, long first, long step, int flags)
{
    int wanted[PAGES], status[PAGES];

    for (long i = 0; i < count; i++)
        wanted[i] = (int)((first + i / step) % move_node_count);
    CHECK(move_call(at, count, wanted, status, flags) == 0, "move_pages");
    for (long i = 0; i < count; i++) /* while a child has the page, or has just ended, it stays */
        CHECK(status[i] == wanted[i] || status[i] == -EACCES, "page %ld: %d, not %d", i, status[i], wanted[i]);
}

bool move_skip_one_node(void)
{
    if (move_node_count > 1)
        return false;
    tap_skip("one node");
    return true;
}

/* --- readers --- */

unsigned long move_mark_of(long page, long writer, unsigned long count)
{
    return (count * 0x9e3779b97f4a7c15ul) ^ (unsigned long)(page * WRITERS + writer);
}

void move_read_line(int reader, long page, int writer)
{
    unsigned long count = atomic_load(&move_area[page].line[writer * 8].count);

    if (count < move_seen[reader][page][writer])
        atomic_fetch_add(&move_wrong, 1);
    move_seen[reader][page][writer] = count;
}

static void reader(struct thread *thread)
{
    uint64_t random = (uint64_t)thread->index + 77;

    kernels_go(thread->index);
    for (long i = 0; i < PAGES; i++)
        move_read_line(thread->index, i, 0);
    for (long i = 0; !atomic_load(&over); i++) {
        uint64_t next = tap_random(&random);

        move_read_line(thread->index, (long)(next % PAGES), (int)((next >> 32) % WRITERS));
        if (i == 0) /* its kernel has all that the loop uses */
            atomic_fetch_add(&move_arrived, 1);
        x86_pause();
    }
}

void move_fill(void)
{
    memset(move_written, 0, sizeof(move_written));
    memset(move_seen, 0, sizeof(move_seen));
    atomic_store(&move_arrived, 0);
    atomic_store(&move_wrong, 0);
    for (long i = 0; i < PAGES; i++) {
        for (int k = 0; k < WRITERS; k++)
            atomic_store(&move_area[i].line[k * 8].mark, move_mark_of(i, k, 0));
    }
}

void move_alone(void)
{
    if (tap_on_kettle())
        MUST(kettle_numa(0, "none"));
}

void move_others(void)
{
    if (tap_on_kettle())
        MUST(kettle_numa(0, "default"));
}

static bool begin(void)
{
    move_area = (struct page *)(void *)spread_memory_map(PAGES, PRIVATE);
    if (move_area == NULL)
        return false;
    atomic_store(&over, false);
    move_fill();
    return true;
}

static void test_readers(void)
{
    static const char *const events[] = {"fetches", "page_locks", "page_lock_waits"};
    struct thread threads[READERS] = {{0}};
    unsigned long before[TAP_COUNT(events)], moved;

    if (move_skip_one_node() || !begin())
        return;
    move_alone();
    for (int i = 0; i < READERS; i++) {
        threads[i].index = i;
        REQUIRE(thread_start(&threads[i], reader), "%s", strerror(errno));
    }
    UNTIL(atomic_load(&move_arrived) == READERS, "readers");
    move_round(move_area, PAGES, 1, 1, MOVE); /* what else the threads need is there afterwards */
    for (size_t i = 0; i < TAP_COUNT(events); i++)
        before[i] = events_everywhere(events[i]);
    moved = events_everywhere("pages_moved");
    for (size_t i = 0; i < TAP_COUNT(events); i++)
        before[i] = events_everywhere(events[i]);
    for (long round = 0; round < move_rounds; round++)
        move_round(move_area, PAGES, round, 1 + round % 7, MOVE);
    for (size_t i = 0; i < TAP_COUNT(events); i++) {
        unsigned long after = events_everywhere(events[i]);

        CHECK(after == before[i], "%s: %lu while only readers ran", events[i], after - before[i]);
    }
    moved = events_everywhere("pages_moved") - moved;
    CHECK(moved >= (unsigned long)(move_rounds * PAGES / 4) || !tap_on_kettle(), "%lu pages have moved", moved);
    atomic_store(&over, true);
    for (int i = 0; i < READERS; i++)
        CHECK(thread_join(&threads[i]), "reader %d", i);
    CHECK(atomic_load(&move_wrong) == 0, "%lu reads are wrong", atomic_load(&move_wrong));
    CHECK(audit_own(), "at the end");
    munmap(move_area, PAGES * PAGE);
    move_others();
}

/* Reads pages that its kernel has not mapped yet. */
static void newcomer(struct thread *thread)
{
    kernels_go(thread->index + 1);
    atomic_fetch_add(&move_arrived, 1);
    while (atomic_load(&move_arrived) < READERS)
        x86_pause();
    for (long i = 0; i < PAGES; i++) {
        for (int k = 0; k < WRITERS; k++) {
            if (atomic_load(&move_area[i].line[k * 8].mark) != move_mark_of(i, k, 0))
                atomic_fetch_add(&move_wrong, 1);
        }
    }
    atomic_fetch_add(&move_arrived, 1);
}

static void test_newcomers(void)
{
    unsigned long before = events_everywhere("moving_read");

    for (long round = 0; round < move_rounds && move_node_count > 1; round++) {
        struct thread threads[READERS] = {{0}};

        if (!begin())
            return;
        kernels_go(round);
        for (int i = 0; i < READERS; i++) {
            threads[i].index = i;
            REQUIRE(thread_start(&threads[i], newcomer), "%s", strerror(errno));
        }
        for (long i = 0; atomic_load(&move_arrived) < 2 * READERS; i++)
            move_round(move_area, PAGES, i, 1, MOVE);
        for (int i = 0; i < READERS; i++)
            CHECK(thread_join(&threads[i]), "newcomer %d", i);
        CHECK(atomic_load(&move_wrong) == 0, "%lu reads are wrong", atomic_load(&move_wrong));
        munmap(move_area, PAGES * PAGE);
    }
    kernels_go(0);
    tap_note("%lu pages were read the first time while they moved", events_everywhere("moving_read") - before);
}

/* --- writers --- */

void move_write_line(int writer, long page)
{
    struct line *line = &move_area[page].line[writer * 8];
    unsigned long count = atomic_load(&line->count);

    if (count != move_written[writer][page] || atomic_load(&line->mark) != move_mark_of(page, writer, count))
        atomic_fetch_add(&move_wrong, 1);
    atomic_store(&line->count, ++count);
    atomic_store(&line->mark, move_mark_of(page, writer, count));
    move_written[writer][page] = count;
}

static void writer(struct thread *thread)
{
    uint64_t random = (uint64_t)thread->index;

    for (long i = 0; !atomic_load(&over); i++) {
        if (i % WRITES_STAYING == 0)
            kernels_go((long)(tap_random(&random) % KERNELS_MAX));
        move_write_line(thread->index, (long)(tap_random(&random) % PAGES));
        x86_pause();
    }
}

/* Moves single pages, beside the mover of all. */
static void other_mover(struct thread *thread)
{
    uint64_t random = 5;

    (void)thread;
    while (!atomic_load(&over)) {
        uint64_t next = tap_random(&random);
        int wanted = (int)((next >> 32) % (unsigned)move_node_count), status;

        kernels_go((long)(next >> 40));
        if (move_call(&move_area[next % PAGES], 1, &wanted, &status, MOVE) != 0)
            atomic_fetch_add(&move_wrong, 1);
    }
}

/* What a child finds: each line as its writer has left it, perhaps between its two stores. */
static int look_at_all(void *unused)
{
    (void)unused;
    for (long i = 0; i < PAGES; i++) {
        for (int k = 0; k < WRITERS; k++) {
            unsigned long count = atomic_load(&move_area[i].line[k * 8].count);
            unsigned long mark = atomic_load(&move_area[i].line[k * 8].mark);

            if (mark != move_mark_of(i, k, count) && (count == 0 || mark != move_mark_of(i, k, count - 1)))
                return 1;
        }
    }
    move_round(move_area, PAGES, 1, 3, MOVE | MOVE_ALL); /* copies of its own */
    return 0;
}

static void disturb(long round)
{
    if (round % 3 == 1)
        CHECK(mprotect(move_area, PAGES * PAGE, READ_WRITE | (round % 2 == 0 ? PROT_EXEC : 0)) == 0, "%s",
              strerror(errno));
    if (round % 8 == 5) {
        int status = tap_fork(look_at_all, NULL);

        CHECK(status == 0, "a child finds a line that nobody has written: %d", status);
    }
}

static void test_writers(void)
{
    struct thread threads[WRITERS + READERS + 1] = {{0}};
    unsigned long all = 0;

    if (move_skip_one_node() || !begin())
        return;
    for (int i = 0; i < WRITERS + READERS + 1; i++) {
        threads[i].index = i < WRITERS ? i : i - WRITERS;
        REQUIRE(thread_start(&threads[i], i < WRITERS             ? writer
                                          : i < WRITERS + READERS ? reader
                                                                  : other_mover),
                "%s", strerror(errno));
    }
    for (long round = 0; round < move_rounds; round++) {
        unsigned long node = 1ul << round % move_node_count;

        kernels_go(round);
        if (round % 4 == 3)
            CHECK(syscall(SYS_mbind, move_area, PAGES * PAGE, MOVE_BIND, &node, BITS + 1, MOVE) == 0, "%s",
                  strerror(errno));
        else
            move_round(move_area, round % 2 == 0 ? PAGES : PAGES - 5, round, 1 + round % 5,
                       MOVE | (round % 6 == 0 ? MOVE_ALL : 0));
        disturb(round);
    }
    atomic_store(&over, true);
    for (int i = 0; i < WRITERS + READERS + 1; i++)
        CHECK(thread_join(&threads[i]), "thread %d", i);
    kernels_go(0);
    for (long i = 0; i < PAGES; i++) {
        for (int k = 0; k < WRITERS; k++) {
            CHECK(atomic_load(&move_area[i].line[k * 8].count) == move_written[k][i], "page %ld, writer %d", i, k);
            all += move_written[k][i];
        }
    }
    CHECK(atomic_load(&move_wrong) == 0, "%lu lines were wrong", atomic_load(&move_wrong));
    CHECK(audit_own(), "at the end");
    tap_note("%lu writes, %lu of which waited for a move", all, events_everywhere("moving_written"));
    munmap(move_area, PAGES * PAGE);
}

/* Writers stay on kernel 0, and readers on the others: whatever waits there is a reader. */
static void writer_home(struct thread *thread)
{
    uint64_t random = (uint64_t)thread->index;

    kernels_go(0);
    atomic_fetch_add(&move_arrived, 1);
    while (!atomic_load(&over)) {
        move_write_line(thread->index, (long)(tap_random(&random) % PAGES));
        x86_pause();
    }
}

static void reader_away(struct thread *thread)
{
    uint64_t random = (uint64_t)thread->index + 77;

    kernels_go(1 + thread->index % (kernels_count() - 1));
    for (long i = 0; i < PAGES; i++)
        move_read_line(thread->index, i, 0);
    for (long i = 0; !atomic_load(&over); i++) {
        uint64_t next = tap_random(&random);

        move_read_line(thread->index, (long)(next % PAGES), (int)((next >> 32) % WRITERS));
        if (i == 0) /* its kernel has all that the loop uses */
            atomic_fetch_add(&move_arrived, 1);
        x86_pause();
    }
}

static unsigned long counted_away(const char *event)
{
    return events_everywhere(event) - events_of(0, event);
}

static void test_beside(void)
{
    static const char *const events[] = {"fetches", "page_locks", "page_lock_waits", "moving_written"};
    struct thread threads[WRITERS + READERS] = {{0}};
    unsigned long before[TAP_COUNT(events)], moved, all = 0, waited;

    if (move_skip_one_node() || kernels_count() < 2 || !begin())
        return;
    move_alone();
    for (int i = 0; i < WRITERS + READERS; i++) {
        threads[i].index = i < WRITERS ? i : i - WRITERS;
        REQUIRE(thread_start(&threads[i], i < WRITERS ? writer_home : reader_away), "%s", strerror(errno));
    }
    UNTIL(atomic_load(&move_arrived) == WRITERS + READERS, "threads");
    move_round(move_area, PAGES, 1, 1, MOVE); /* what else the threads need is there afterwards */
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < TAP_COUNT(events); i++)
            before[i] = counted_away(events[i]);
    }
    moved = events_everywhere("pages_moved");
    waited = events_everywhere("moving_written");
    for (long round = 0; round < move_rounds; round++)
        move_round(move_area, PAGES, round, 1 + round % 7, MOVE);
    for (size_t i = 0; i < TAP_COUNT(events); i++) {
        unsigned long after = counted_away(events[i]);

        CHECK(after == before[i], "%s: %lu where only readers ran", events[i], after - before[i]);
    }
    moved = events_everywhere("pages_moved") - moved;
    waited = events_everywhere("moving_written") - waited;
    CHECK(moved >= (unsigned long)(move_rounds * PAGES / 4) || !tap_on_kettle(), "%lu pages have moved", moved);
    atomic_store(&over, true);
    for (int i = 0; i < WRITERS + READERS; i++)
        CHECK(thread_join(&threads[i]), "thread %d", i);
    for (long i = 0; i < PAGES; i++) {
        for (int k = 0; k < WRITERS; k++) {
            CHECK(atomic_load(&move_area[i].line[k * 8].count) == move_written[k][i], "page %ld, writer %d", i, k);
            all += move_written[k][i];
        }
    }
    CHECK(atomic_load(&move_wrong) == 0, "%lu lines were wrong", atomic_load(&move_wrong));
    CHECK(audit_own(), "at the end");
    tap_note("%lu pages moved beside %lu writes, %lu of which waited, and no read", moved, all, waited);
    munmap(move_area, PAGES * PAGE);
    move_others();
}

/* --- what else moves, and what does not --- */

static int forked(void *at)
{
    int wanted = 1, status = -1;

    if (move_call(at, 1, &wanted, &status, MOVE) != 0 || status != -EACCES)
        return 1;
    if (move_call(at, 1, &wanted, &status, MOVE | MOVE_ALL) != 0 || status != 1)
        return 2;
    return strcmp(at, "forked") == 0 ? 0 : 3;
}

/* On each kernel in turn the page at AT is written and moved to node 0, where it stays when a child has it, too. */
static void fork_everywhere(char *at)
{
    for (int k = 0; k < kernels_count(); k++) {
        int wanted = 0, status = -1, left;

        kernels_go(k);
        strcpy(at, "forked");
        CHECK(move_call(at, 1, &wanted, &status, MOVE) == 0 && status == 0, "kernel %d: %d", k, status);
        left = tap_fork(forked, at);
        CHECK(left == 0, "the child on kernel %d: %d", k, left);
        CHECK(node_of(at) == 0 && strcmp(at, "forked") == 0, "kernel %d: %s on node %d", k, at, node_of(at));
    }
    kernels_go(0);
}

static void test_forked(void)
{
    char *at;

    if (move_skip_one_node() || (at = spread_memory_map(1, PRIVATE)) == NULL)
        return;
    CHECK(mprotect(at, PAGE, READ_WRITE) == 0, "%s", strerror(errno));
    fork_everywhere(at);
    munmap(at, PAGE);
}

/* A private copy of a file's page, which a child has, too, is like any other page that a child has. */
static void test_forked_file(void)
{
    int fd = open("/tmp/moves", O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *at;

    if (move_skip_one_node() || !CHECK(fd >= 0 && pwrite(fd, "file", 5, 0) == 5, "%s", strerror(errno)))
        return;
    at = mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE, fd, 0);
    if (!CHECK(at != MAP_FAILED, "%s", strerror(errno)))
        return;
    fork_everywhere(at);
    munmap(at, PAGE);
    close(fd);
    unlink("/tmp/moves");
}

static void test_file(void)
{
    int wanted = 0, status = -1, fd = open("/tmp/moves", O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *at;

    if (move_skip_one_node() || !CHECK(fd >= 0 && pwrite(fd, "file", 5, 0) == 5, "%s", strerror(errno)))
        return;
    at = mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE, fd, 0);
    if (!CHECK(at != MAP_FAILED, "%s", strerror(errno)))
        return;
    for (int k = 0; k < 2 * move_node_count; k++) {
        kernels_go(k);
        wanted = k % move_node_count;
        CHECK(strcmp(at, "file") == 0, "round %d", k); /* read, and never written */
        CHECK(move_call(at, 1, &wanted, &status, MOVE) == 0 && status == wanted, "round %d: %d", k, status);
        CHECK(strcmp(at, "file") == 0, "moved in round %d", k);
        CHECK(madvise(at, PAGE, MADV_DONTNEED) == 0, "%s", strerror(errno));
    }
    kernels_go(0);
    munmap(at, PAGE);
    close(fd);
    unlink("/tmp/moves");
}

/* A process whose migrate_pages goes through 64 TiB, where there is nothing, ends when it is killed. */
static void test_killed(void)
{
    int pipes[2], status = 0;
    char byte;
    pid_t child;

    if (move_skip_one_node() || !CHECK(pipe(pipes) == 0, "%s", strerror(errno)))
        return;
    for (int k = 0; k < kernels_count() && k < 2; k++) {
        child = fork();
        if (child == 0) {
            unsigned long from = 1, to = 2;
            void *at = mmap(NULL, 1ul << 46, PROT_READ | PROT_WRITE, PRIVATE | MAP_NORESERVE, -1, 0);

            kernels_go(k);
            if (at == MAP_FAILED || write(pipes[1], "", 1) != 1)
                _exit(2);
            for (;;)
                syscall(SYS_migrate_pages, 0, BITS + 1, &from, &to);
        }
        CHECK(child > 0 && read(pipes[0], &byte, 1) == 1, "%s", strerror(errno));
        usleep(20000); /* so that it is most likely under way */
        CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child, "%s", strerror(errno));
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "kernel %d: status %x", k, (unsigned)status);
    }
    close(pipes[0]);
    close(pipes[1]);
}

#define SPARSE (8 * LARGE)

/* migrate_pages leaves no page of a nearly empty area behind. */
static void test_sparse(void)
{
    static const long at[] = {0, LARGE - PAGE, 3 * LARGE + 5 * PAGE, SPARSE - PAGE};
    char *memory;

    if (move_skip_one_node())
        return;
    memory = mmap(NULL, SPARSE, READ_WRITE, PRIVATE, -1, 0);
    if (!CHECK(memory != MAP_FAILED, "%s", strerror(errno)))
        return;
    for (size_t i = 0; i < TAP_COUNT(at); i++)
        memory[at[i]] = (char)(i + 1);
    for (int k = 0; k < 2 * kernels_count(); k++) {
        unsigned long from = 3, to = 1ul << k % 2;

        kernels_go(k / 2);
        CHECK(syscall(SYS_migrate_pages, 0, BITS + 1, &from, &to) >= 0, "%s", strerror(errno));
        for (size_t i = 0; i < TAP_COUNT(at); i++) {
            int node = node_of(memory + at[i]);

            CHECK(memory[at[i]] == (char)(i + 1), "round %d page %zu", k, i);
            CHECK(node == k % 2, "round %d page %zu: %d", k, i, node);
        }
    }
    kernels_go(0);
    munmap(memory, SPARSE);
}

static unsigned long mapping_start(const char *name)
{
    static char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long start = 0;

    while (maps != NULL && start == 0 && fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, name) != NULL)
            start = strtoul(line, NULL, 16);
    }
    if (maps != NULL)
        fclose(maps);
    return start;
}

/* The page in which the kernel writes the clock must not be replaced by a copy. */
static void test_clock(void)
{
    void *at = (void *)mapping_start("[vvar]");
    unsigned long before = events_everywhere("pages_moved"), node;

    if (move_skip_one_node() || !CHECK(at != NULL, "no [vvar]"))
        return;
    for (int k = 0; k < 2 * move_node_count; k++) {
        int wanted = k % move_node_count, status = 1;
        struct timespec first, next;

        kernels_go(k);
        clock_gettime(CLOCK_MONOTONIC, &first);
        CHECK(move_call(at, 1, &wanted, &status, MOVE) == 0 && status == -EFAULT, "round %d: %d", k, status);
        node = 1ul << wanted;
        syscall(SYS_mbind, at, PAGE, MOVE_BIND, &node, BITS + 1,
                MOVE); /* whether it may have a policy does not matter */
        clock_gettime(CLOCK_MONOTONIC, &next);
        CHECK(next.tv_sec > first.tv_sec || (next.tv_sec == first.tv_sec && next.tv_nsec >= first.tv_nsec), "round %d",
              k);
    }
    CHECK(events_everywhere("pages_moved") == before, "%lu pages have moved",
          events_everywhere("pages_moved") - before);
    kernels_go(0);
}

/* Entries of 2 MiB of the process on all kernels, in KiB. */
static unsigned long large_kb(void)
{
    static char text[16384];
    unsigned long sum = 0;
    int fd = open("/proc/self/kettle", O_RDONLY);
    size_t length = 0;
    ssize_t part;

    while (fd >= 0 && (part = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
        length += (size_t)part;
    text[length] = '\0';
    close(fd);
    for (const char *at = text; (at = strstr(at, "huge ")) != NULL; at += 5)
        sum += strtoul(at + 5, NULL, 10);
    return sum;
}

static void test_large(void)
{
    char *memory, *at;
    unsigned long node;

    if (move_skip_one_node())
        return;
    memory = mmap(NULL, 2 * LARGE, READ_WRITE, PRIVATE, -1, 0);
    if (!CHECK(memory != MAP_FAILED, "%s", strerror(errno)))
        return;
    at = (char *)(((uintptr_t)memory + LARGE - 1) & ~(uintptr_t)(LARGE - 1));
    CHECK(madvise(at, LARGE, MADV_HUGEPAGE) == 0, "%s", strerror(errno));
    at[0] = 1;
    if (large_kb() == 0 && tap_on_kettle()) {
        tap_skip("no large page");
        munmap(memory, 2 * LARGE);
        return;
    }
    for (long i = 0; i < LARGE; i += PAGE)
        *(long *)(void *)(at + i) = i;
    for (int k = 0; k < 2 * move_node_count; k++) {
        kernels_go(k);
        node = 1ul << (k + 1) % move_node_count;
        CHECK(syscall(SYS_mbind, at, LARGE, MOVE_BIND, &node, BITS + 1, MOVE) == 0, "%s", strerror(errno));
        for (long i = 0; i < LARGE; i += PAGE) {
            if (!CHECK(*(long *)(void *)(at + i) == i, "round %d page %ld", k, i / PAGE))
                break;
        }
        CHECK(node_of(at + LARGE - PAGE) == (k + 1) % move_node_count, "round %d: %d", k, node_of(at + LARGE - PAGE));
        CHECK(large_kb() >= 2048 || !tap_on_kettle(), "round %d: %lu KiB are large", k, large_kb());
    }
    CHECK(audit_own(), "at the end");
    kernels_go(0);
    munmap(memory, 2 * LARGE);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"readers", "readers of pages that move never fault", test_readers},
        {"newcomers", "a page that moves can be read by a kernel that has not had it", test_newcomers},
        {"beside", "readers of pages that move never fault while others write them", test_beside},
        {"writers", "no write is lost and no read is stale while all pages go round all nodes", test_writers},
        {"forked", "a page that a child has moves only with MPOL_MF_MOVE_ALL, as a copy", test_forked},
        {"forked-file", "so does a private copy of a file's page", test_forked_file},
        {"file", "a private page of a file moves, as a copy", test_file},
        {"files", "pages of files go round while mappings and calls read and write them", move_test_files},
        {"file-sharers", "so do those that several processes map", move_test_file_sharers},
        {"file-private", "private mappings of them stay private", move_test_file_private},
        {"file-cut", "and those of a file that is cut meanwhile", move_test_file_cut},
        {"shared", "shared memory of one process moves, and its futex words stay", move_test_shared},
        {"twice", "a page that a process maps twice moves at both places, with MPOL_MF_MOVE_ALL", move_test_twice},
        {"places", "so do pages of which a part is mapped again, next to them, or of a file", move_test_places},
        {"places-storm", "also from both places at once, while others write, fork and unmap", move_test_places_storm},
        {"sharers", "memory that processes share moves for all of them", move_test_sharers},
        {"crowd", "processes that share memory move it at once, while others come and go", move_test_crowd},
        {"killed", "a process that is killed does not migrate its pages to the end", test_killed},
        {"sparse", "migrate_pages moves each page of a nearly empty area", test_sparse},
        {"clock", "the page of the clock does not move", test_clock},
        {"large", "a large page moves as a whole", test_large},
    };
    static const struct tap_program program = {
        .tests = tests, .count = TAP_COUNT(tests), .parameters = "[ROUNDS]", .extra = INT64_C(600) * 1000000000};
    unsigned long nodes = 0;

    tap_take_number(&argc, &argv, &move_rounds);
    kernels_find();
    syscall(SYS_get_mempolicy, NULL, &nodes, BITS + 1, NULL, F_ALLOWED);
    for (; nodes != 0; nodes &= nodes - 1)
        move_node_count++;
    return tap_main(argc, argv, &program);
}

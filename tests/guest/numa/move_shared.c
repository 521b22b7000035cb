/* Memory that is shared moves, in all processes that share it: tests of test-move. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/events.h"
#include "tests/guest/numa/move.h"
#include "tests/guest/numa/node.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define SHARERS 3
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

/* What the processes share, besides the pages. */
struct shared {
    atomic_int ready, over;
    atomic_long moved; /* pages that the children have moved */
};
static struct shared *state;

/* Shared pages of one process move like private ones, with a waiter in one. */
static void shared_waiter(struct thread *thread)
{
    kernels_go(thread->index + 1);
    atomic_fetch_add(&move_arrived, 1);
    while (atomic_load(&move_area[0].line[0].count) == 0)
        x86_syscall(SYS_futex, (long)&move_area[0].line[0].count, FUTEX_WAIT, 0, 0, 0, 0);
}

void move_test_shared(void)
{
    struct thread threads[READERS] = {{0}};
    unsigned long moved = events_everywhere("pages_moved");

    if (move_skip_one_node())
        return;
    move_area = (struct page *)(void *)spread_memory_map(PAGES, SHARED);
    if (!CHECK(move_area != NULL, "shared memory"))
        return;
    atomic_store(&move_arrived, 0);
    for (long i = 1; i < PAGES; i++)
        atomic_store(&move_area[i].line[0].mark, (unsigned long)i);
    atomic_store(&move_area[0].line[0].count, 0);
    for (int i = 0; i < READERS; i++) {
        threads[i].index = i;
        REQUIRE(thread_start(&threads[i], shared_waiter), "%s", strerror(errno));
    }
    UNTIL(atomic_load(&move_arrived) == READERS, "waiters");
    for (long round = 0; round < move_rounds; round++) {
        kernels_go(round);
        move_round(move_area, PAGES, round, 1 + round % 5, MOVE);
        for (long i = 1; i < PAGES; i++)
            CHECK(atomic_load(&move_area[i].line[0].mark) == (unsigned long)i, "round %ld page %ld", round, i);
    }
    CHECK(node_of(move_area) == (int)((move_rounds - 1) % move_node_count), "on node %d", node_of(move_area));
    atomic_store(&move_area[0].line[0].count, 1);
    x86_syscall(SYS_futex, (long)&move_area[0].line[0].count, FUTEX_WAKE, READERS, 0, 0, 0);
    for (int i = 0; i < READERS; i++)
        CHECK(thread_join(&threads[i]), "waiter %d", i);
    moved = events_everywhere("pages_moved") - moved;
    CHECK(moved >= (unsigned long)(move_rounds * PAGES / 4) || !tap_on_kettle(), "%lu pages have moved", moved);
    CHECK(audit_own(), "at the end");
    kernels_go(0);
    munmap(move_area, PAGES * PAGE);
}

/* A process that shares the pages: writes its own lines and reads all, while another one moves the pages. */
static int sharer(int self)
{
    uint64_t random = (uint64_t)self + 3;

    memset(move_seen, 0, sizeof(move_seen));
    atomic_fetch_add(&state->ready, 1);
    for (long i = 0; atomic_load(&state->over) == 0; i++) {
        long page = (long)(tap_random(&random) % PAGES);

        if (i % WRITES_STAYING == 0)
            kernels_go((long)(tap_random(&random) % KERNELS_MAX));
        move_write_line(self, page);
        move_read_line(0, page, (int)(tap_random(&random) % (SHARERS + 1)));
        if (i % WRITES_TOGETHER == 0)
            x86_pause();
    }
    for (long i = 0; i < PAGES; i++) {
        if (atomic_load(&move_area[i].line[self * 8].count) != move_written[self][i])
            atomic_fetch_add(&move_wrong, 1);
    }
    return atomic_load(&move_wrong) == 0 ? 0 : 1;
}

/* What the processes that share the pages begin with. */
static bool begin_shared(void)
{
    state = tap_share(sizeof(*state));
    move_area = (struct page *)(void *)spread_memory_map(PAGES, SHARED);
    if (!CHECK(move_area != NULL && state != NULL, "shared memory"))
        return false;
    memset(move_written, 0, sizeof(move_written));
    memset(move_seen, 0, sizeof(move_seen));
    atomic_store(&move_wrong, 0);
    for (long i = 0; i < PAGES; i++) {
        for (int k = 0; k <= SHARERS; k++) {
            atomic_store(&move_area[i].line[k * 8].count, 0);
            atomic_store(&move_area[i].line[k * 8].mark, move_mark_of(i, k, 0));
        }
    }
    return true;
}

/* Starts processes that are at home on several kernels. */
static void start_sharers(pid_t *children, int (*body)(int self))
{
    for (int i = 0; i < SHARERS; i++) {
        kernels_go(i);
        children[i] = fork();
        if (children[i] == 0)
            _exit(body(i));
        REQUIRE(children[i] > 0, "%s", strerror(errno));
    }
    UNTIL(atomic_load(&state->ready) == SHARERS, "children");
}

/* They end; no write of theirs or of SELF is lost. */
static void end_sharers(const pid_t *children, int self)
{
    long all = 0;

    atomic_store(&state->over, 1);
    for (int i = 0; i < SHARERS; i++) {
        int left = tap_wait(children[i]);

        CHECK(left == 0, "child %d: %d", i, left);
    }
    for (long i = 0; i < PAGES; i++) {
        CHECK(atomic_load(&move_area[i].line[self * 8].count) == move_written[self][i], "page %ld", i);
        for (int k = 0; k <= SHARERS; k++)
            all += (long)atomic_load(&move_area[i].line[k * 8].count);
    }
    CHECK(atomic_load(&move_wrong) == 0, "%lu lines were wrong", atomic_load(&move_wrong));
    CHECK(audit_own(), "at the end");
    tap_note("%ld writes", all);
    kernels_go(0);
    munmap(move_area, PAGES * PAGE);
}

/* Processes that share memory: all of them follow, with MPOL_MF_MOVE_ALL. */
void move_test_sharers(void)
{
    pid_t children[SHARERS];
    int wanted = 0, status = -1, self = SHARERS;

    if (move_skip_one_node() || !begin_shared())
        return;
    start_sharers(children, sharer);
    wanted = node_of(move_area) == 0 ? 1 : 0;
    CHECK(move_call(move_area, 1, &wanted, &status, MOVE) == 0 && status == -EACCES, "without MPOL_MF_MOVE_ALL: %d",
          status);
    for (long round = 0; round < move_rounds; round++) {
        static int nodes[PAGES], statuses[PAGES];

        kernels_go(round);
        for (long i = 0; i < PAGES; i++)
            nodes[i] = (int)((round + i / (1 + round % 5)) % move_node_count);
        CHECK(move_call(move_area, PAGES, nodes, statuses, MOVE | MOVE_ALL) == 0, "%s", strerror(errno));
        for (long i = 0; i < PAGES; i++) {
            CHECK(statuses[i] == nodes[i] || !tap_on_kettle(), "round %ld page %ld: %d, not %d", round, i, statuses[i],
                  nodes[i]);
            move_write_line(self, i);
        }
    }
    CHECK(node_of(move_area) == (int)((move_rounds - 1) % move_node_count), "on node %d", node_of(move_area));
    end_sharers(children, self);
}

/* A process that also moves the pages, and has children and further mappings of its own that come and go. */
static int crowd(int self)
{
    uint64_t random = (uint64_t)self + 11;
    static int nodes[PAGES], statuses[PAGES];

    memset(move_seen, 0, sizeof(move_seen));
    atomic_fetch_add(&state->ready, 1);
    while (atomic_load(&state->over) == 0) {
        uint64_t next = tap_random(&random);
        long first = (long)(next % PAGES), count = 1 + (long)((next >> 16) % (unsigned long)(PAGES - first));

        kernels_go((long)((next >> 32) % KERNELS_MAX));
        for (long i = first; i < first + count; i++) {
            move_write_line(self, i);
            move_read_line(0, i, (int)(tap_random(&random) % (SHARERS + 1)));
            nodes[i] = (int)((next >> 40) % (unsigned)move_node_count);
        }
        if (move_call(&move_area[first], count, &nodes[first], &statuses[first], MOVE | MOVE_ALL) < 0)
            atomic_fetch_add(&move_wrong, 1);
        for (long i = first; i < first + count; i++) {
            atomic_fetch_add(&state->moved, statuses[i] == nodes[i]);
            if (statuses[i] != nodes[i] && statuses[i] != -EBUSY) /* a process that has just begun or ended has it */
                atomic_fetch_add(&move_wrong, 1);
        }
        if (next >> 60 == 1 && fork() == 0)
            _exit(munmap(&move_area[first], PAGE)); /* the rest goes with it */
        if (next >> 60 == 2) {                      /* a second mapping of a page: it stays meanwhile */
            void *more = mremap(&move_area[first], 0, PAGE, MREMAP_MAYMOVE);

            if (more == MAP_FAILED || munmap(more, PAGE) != 0)
                atomic_fetch_add(&move_wrong, 1);
        }
        if (next >> 60 == 3 && mprotect(&move_area[first], (size_t)count * PAGE, READ_WRITE) != 0)
            atomic_fetch_add(&move_wrong, 1);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
    while (waitpid(-1, NULL, 0) > 0) {
    }
    return atomic_load(&move_wrong) == 0 ? 0 : 1;
}

/* Several processes move the same pages at once, while others come and go. */
void move_test_crowd(void)
{
    pid_t children[SHARERS];
    int self = SHARERS;

    if (move_skip_one_node() || !begin_shared())
        return;
    start_sharers(children, crowd);
    for (long round = 0; round < move_rounds; round++) {
        unsigned long node = 1ul << round % move_node_count;

        kernels_go(round);
        for (long i = 0; i < PAGES; i++)
            move_write_line(self, i);
        CHECK(syscall(SYS_mbind, move_area, PAGES * PAGE, MOVE_BIND, &node, BITS + 1, MOVE | MOVE_ALL) == 0, "%s",
              strerror(errno));
    }
    /* their CPUs may have had no turn yet */
    UNTIL(atomic_load(&state->moved) > 0 || !tap_on_kettle(), "a page that a child moves");
    end_sharers(children, self);
    tap_note("%ld pages moved for the children", atomic_load(&state->moved));
}

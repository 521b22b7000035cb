/* test-group: memory of a NUMA group of threads is on the node where most of these threads are, whoever uses it, and
 * follows when they move; threads and memory that are in no group do not count. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "libc/numa.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/events.h"
#include "tests/guest/numa/node.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGES 64l
#define PERIOD "20" /* ms between two looks, at least */
#define USERS 3
#define GROUP 5

static struct thread users[USERS];
static atomic_int wanted[USERS], reached[USERS]; /* kernels, by their numbers in this test */
static atomic_long *words;                       /* one for each page */
static atomic_bool over;
static atomic_long sum;

/* Adds to all words, on the kernel that is wanted. */
static void use(struct thread *thread)
{
    int i = thread->index;

    while (!atomic_load(&over)) {
        if (atomic_load(&wanted[i]) != atomic_load(&reached[i])) {
            int there = atomic_load(&wanted[i]);

            kernels_go(there);
            atomic_store(&reached[i], there);
        }
        for (long page = 0; page < PAGES; page++)
            atomic_fetch_add(&words[page * PAGE / (long)sizeof(long)], 1);
        atomic_fetch_add(&sum, 1);
        x86_pause();
    }
}

static void go(int user, int kernel)
{
    atomic_store(&wanted[user], kernel);
    UNTIL(atomic_load(&reached[user]) == kernel, "a user moves");
}

/* The last of the kernels if it is on another node than the first, else 0; its node, and that of the first. */
static int far(int *node, int *home)
{
    int last = kernels_count() - 1;

    kernels_go(last);
    *node = node_here();
    kernels_go(0);
    *home = node_here();
    return *node != *home ? last : 0;
}

static long on_node(int node)
{
    return node_has(node, words, PAGES);
}

static bool begin(void)
{
    words = (atomic_long *)(void *)spread_memory_map_blocks(PAGES, PRIVATE);
    if (words == NULL)
        return false;
    atomic_store(&over, false);
    atomic_store(&sum, 0);
    for (long page = 0; page < PAGES; page++)
        atomic_store(&words[page * PAGE / (long)sizeof(long)], page);
    for (int i = 0; i < USERS; i++) {
        users[i] = (struct thread){.index = i};
        atomic_store(&wanted[i], 0);
        atomic_store(&reached[i], -1);
        if (!CHECK(thread_start(&users[i], use), "%s", strerror(errno)))
            return false;
    }
    for (int i = 0; i < USERS; i++)
        go(i, 0);
    return true;
}

static void end(void)
{
    atomic_store(&over, true);
    for (int i = 0; i < USERS; i++)
        CHECK(thread_join(&users[i]), "user %d", i);
    for (long page = 0; page < PAGES; page++)
        CHECK(atomic_load(&words[page * PAGE / (long)sizeof(long)]) == page + atomic_load(&sum), "page %ld", page);
    CHECK(kettle_numa(0, "default") == 0, "%s", strerror(errno));
    CHECK(audit_own(), "at the end");
    munmap((void *)words, PAGES * PAGE);
}

/* Two of three users are in the group; the third, which is in none, uses the memory from where it likes. */
static void test_follows(void)
{
    int node, home, kernel = far(&node, &home);
    unsigned long moved = events_everywhere("groups_moved");

    if (kernel == 0) {
        tap_skip("one node, or one kernel");
        return;
    }
    if (!begin())
        return;
    for (int i = 0; i < 2; i++)
        CHECK(kettle_group_join(atomic_load(&users[i].tid), GROUP) == 0, "%s", strerror(errno));
    CHECK(kettle_block_gather(words, PAGES * PAGE, GROUP) == 0, "%s", strerror(errno));
    CHECK(kettle_numa(0, "group") == 0, "%s", strerror(errno));
    for (int round = 0; round < 2; round++) {
        go(0, kernel);
        go(1, kernel);
        UNTIL(on_node(node) == PAGES, "the memory follows");
        go(2, kernel);
        go(0, 0);
        go(1, 0);
        UNTIL(on_node(home) == PAGES, "the memory comes back"); /* though another thread has stayed */
        go(2, 0);
    }
    CHECK(events_everywhere("groups_moved") >= moved + 4, "%lu", events_everywhere("groups_moved") - moved);
    end();
}

/* More threads of the group are here than there: the memory stays, also if those there use it. */
static void test_most(void)
{
    int node, home, kernel = far(&node, &home);
    unsigned long looks, decided;

    if (kernel == 0) {
        tap_skip("one node, or one kernel");
        return;
    }
    if (!begin())
        return;
    for (int i = 0; i < USERS; i++)
        CHECK(kettle_group_join(atomic_load(&users[i].tid), GROUP) == 0, "%s", strerror(errno));
    CHECK(kettle_block_gather(words, PAGES * PAGE, GROUP) == 0, "%s", strerror(errno));
    CHECK(kettle_numa(0, "group") == 0, "%s", strerror(errno));
    looks = events_of(kettle_kernel(), "seen_looks");
    UNTIL(events_of(kettle_kernel(), "seen_looks") >= looks + 2, "the home knows where all are");
    go(0, kernel);
    decided = events_everywhere("seen_decided");
    looks = events_everywhere("seen_remote");
    UNTIL(events_everywhere("seen_remote") >= looks + 4 * PAGES, "looks");
    CHECK(on_node(home) == PAGES && events_everywhere("seen_decided") == decided,
          "%ld pages are at home, %lu decisions", on_node(home), events_everywhere("seen_decided") - decided);
    go(1, kernel); /* now most are there */
    UNTIL(on_node(node) == PAGES, "the memory goes to most of them");
    CHECK(kettle_block_gather(words, PAGES * PAGE, 0) == 0, "%s", strerror(errno)); /* it belongs to nobody */
    go(0, 0);
    go(1, 0);
    looks = events_everywhere("seen_remote");
    UNTIL(events_everywhere("seen_remote") >= looks + 4 * PAGES, "looks");
    CHECK(on_node(node) == PAGES, "%ld pages have stayed", on_node(node));
    end();
}

/* A thread is in its group wherever it is, and may be put into another one from anywhere. */
static void test_everywhere(void)
{
    int tid;

    kernels_go(0);
    if (!begin())
        return;
    tid = atomic_load(&users[0].tid);
    CHECK(kettle_group_of(tid) == 0, "in group %d", kettle_group_of(tid));
    for (int kernel = 0; kernel < kernels_count(); kernel++) {
        int group = 1 + kernel % KETTLE_GROUPS;

        CHECK(kettle_group_join(tid, group) == 0, "%s", strerror(errno));
        go(0, kernel);
        CHECK(kettle_group_of(tid) == group, "on kernel %d in group %d", kernel, kettle_group_of(tid));
        CHECK(kettle_group_join(tid, KETTLE_GROUPS) == 0 && kettle_group_of(tid) == KETTLE_GROUPS, "on kernel %d: %s",
              kernel, strerror(errno));
    }
    end();
}

static void test_errors(void)
{
    static char *memory;
    pid_t child;

    memory = spread_memory_map(2, PRIVATE);
    if (memory == NULL)
        return;
    CHECK(kettle_group_of(0) == 0 && kettle_group_join(0, KETTLE_GROUPS) == 0 && kettle_group_of(0) == KETTLE_GROUPS,
          "in group %d", kettle_group_of(0));
    child = FORK();
    if (child == 0) /* a child begins in its maker's group */
        _exit(kettle_group_of(0) == KETTLE_GROUPS && kettle_group_of(getppid()) == KETTLE_GROUPS ? 0 : 1);
    CHECK_EXITS(child, 0);
    CHECK(kettle_group_join(0, 0) == 0 && kettle_group_of(0) == 0, "in group %d", kettle_group_of(0));
    CHECK_ERROR(kettle_group_join(0, KETTLE_GROUPS + 1), EINVAL);
    CHECK_ERROR(kettle_group_join(0, -1), EINVAL);
    CHECK_ERROR(kettle_group_join(1 << 30, 1), ESRCH);
    CHECK_ERROR(kettle_group_of(1 << 30), ESRCH);
    CHECK_ERROR(kettle_block_gather(memory, 2 * PAGE, KETTLE_GROUPS + 1), EINVAL);
    CHECK_ERROR(kettle_block_gather(memory, 0, 1), EINVAL);
    CHECK_ERROR(kettle_block_gather(memory + 1, PAGE, 1), EINVAL);
    child = FORK();
    if (child == 0) {
        bool right = setresuid(1000, 1000, 1000) == 0;

        right &= kettle_group_join(getppid(), 1) == -1 && errno == EPERM && kettle_group_of(getppid()) == 0;
        right &= kettle_group_join(0, 1) == 0;
        _exit(right ? 0 : 1);
    }
    CHECK_EXITS(child, 0);
    munmap(memory, 2 * PAGE);
    CHECK_ERROR(kettle_block_gather(memory, 2 * PAGE, 1), EFAULT);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"everywhere", "a thread is in its group wherever it is", test_everywhere},
        {"follows", "memory of a group is where its threads are, and follows them", test_follows},
        {"most", "a group is where most of its threads are, and memory that is in none stays", test_most},
        {"errors", "wrong groups, threads and memory are refused, and so are threads of another user", test_errors},
    };
    int status;

    kernels_find();
    kettle_control("numaperiod=" PERIOD);
    status = tap_run(argc, argv, tests, TAP_COUNT(tests));
    kettle_control("numaperiod=100");
    return status;
}

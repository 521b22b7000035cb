/* test-mempolicy: NUMA policies. Pages that are touched come to where the thread, or the part of memory, wants them,
 * from whichever kernel; pages that there are can be asked for their nodes and moved, and keep what they have. A Linux
 * program but for where it runs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/numa/mempolicy.h"
#include "tests/guest/numa/node.h"
#include "userland/thread.h"

#define STATIC 0x8000
#define F_NODE 1
#define F_ALLOWED 4
#define STRICT 1
#define SET_HOME_NODE 450

int mempolicy_node_count;

long mempolicy_set(int mode, unsigned long nodes)
{
    return syscall(SYS_set_mempolicy, mode, &nodes, BITS + 1);
}

long mempolicy_bind(void *at, long pages, int mode, unsigned long nodes, int flags)
{
    return syscall(SYS_mbind, at, pages * PAGE, mode, &nodes, BITS + 1, flags);
}

void mempolicy_touch(char *at, long pages)
{
    for (long i = 0; i < pages; i++) {
        kernels_go(i);
        at[i * PAGE] = (char)(i + 1);
    }
    kernels_go(0);
}

void mempolicy_expect_content(const char *at, long pages, const char *when)
{
    for (long i = 0; i < pages; i++) {
        kernels_go(i + 1);
        CHECK(at[i * PAGE] == (char)(i + 1), "%s: page %ld has %d", when, i, at[i * PAGE]);
    }
    kernels_go(0);
}

unsigned long mempolicy_all_nodes(void)
{
    return mempolicy_node_count == 64 ? ~0ul : (1ul << mempolicy_node_count) - 1;
}

bool mempolicy_skip_one_node(void)
{
    if (mempolicy_node_count > 1)
        return false;
    tap_skip("one node");
    return true;
}

/* All PAGES at AT are on NODE, or if that is negative page i on the one that interleaving says. */
static void expect_on(char *at, long pages, int node, const char *when)
{
    int status[PAGES];

    node_of_each(at, pages, status);
    for (long i = 0; i < pages; i++) {
        int wanted = node >= 0 ? node : (int)(((uintptr_t)at / PAGE + (uintptr_t)i) % (unsigned)mempolicy_node_count);

        CHECK(status[i] == wanted, "%s: page %ld is on %d, not %d", when, i, status[i], wanted);
    }
}

static void test_allowed(void)
{
    unsigned long nodes = 0;

    CHECK(syscall(SYS_get_mempolicy, NULL, &nodes, BITS + 1, NULL, F_ALLOWED) == 0 && nodes == mempolicy_all_nodes(),
          "allowed %lx", nodes);
}

static void test_thread(void)
{
    int mode = -1;
    unsigned long nodes = 0;

    if (mempolicy_skip_one_node())
        return;
    for (int node = 0; node < mempolicy_node_count; node++) {
        char *at = spread_memory_map(PAGES, PRIVATE);

        if (at == NULL)
            return;
        CHECK(mempolicy_set(node % 2 == 0 ? BIND : PREFERRED, 1ul << node) == 0, "set: %s", strerror(errno));
        kernels_go(node + 1);
        CHECK(syscall(SYS_get_mempolicy, &mode, &nodes, BITS + 1, NULL, 0) == 0 &&
                  mode == (node % 2 == 0 ? BIND : PREFERRED) && nodes == 1ul << node,
              "mode %d nodes %lx", mode, nodes);
        mempolicy_touch(at, PAGES); /* from every kernel */
        expect_on(at, PAGES, node, "bound thread");
        mempolicy_expect_content(at, PAGES, "bound thread");
        munmap(at, PAGES * PAGE);
    }
    CHECK(mempolicy_set(DEFAULT, 0) == 0, "set: %s", strerror(errno));
}

static void test_interleave(void)
{
    char *at;

    if (mempolicy_skip_one_node() || (at = spread_memory_map(PAGES, PRIVATE)) == NULL)
        return;
    CHECK(mempolicy_set(INTERLEAVE, mempolicy_all_nodes()) == 0, "set: %s", strerror(errno));
    mempolicy_touch(at, PAGES);
    CHECK(mempolicy_set(DEFAULT, 0) == 0, "set: %s", strerror(errno));
    expect_on(at, PAGES, -1, "interleaved");
    mempolicy_expect_content(at, PAGES, "interleaved");
    munmap(at, PAGES * PAGE);
}

static int unset[PAGE], set[PAGE] = {1}; /* bss and data, pages of their own among them */

/* Runs as another program, which a thread with a policy has begun: its parts are on the node that it is told, and
 * right. */
static int image(int argc, char **argv)
{
    int node = argc > 2 ? atoi(argv[2]) : -1;
    int status[4] = {-1, -1, -1, -1}, on_stack = node;
    void *parts[4] = {(void *)(uintptr_t)image, &set[PAGE / 2], &unset[PAGE / 2], &on_stack};

    unset[PAGE / 2]++;
    if (set[0] != 1 || set[PAGE / 2] != 0 || unset[PAGE / 2] != 1)
        return 1;
    for (int i = 0; i < 4; i++)
        parts[i] = (void *)((uintptr_t)parts[i] & ~(uintptr_t)(PAGE - 1));
    if (syscall(SYS_move_pages, 0, 4, parts, NULL, status, 0) != 0)
        return 2;
    for (int i = 0; i < 4; i++) {
        if (status[i] != node)
            return 10 + i;
    }
    return 0;
}

static void test_image(void)
{
    if (mempolicy_skip_one_node())
        return;
    for (int node = 0; node < mempolicy_node_count; node++) {
        int status = -1;
        pid_t child = fork();

        if (child == 0) {
            char text[16];

            snprintf(text, sizeof(text), "%d", node);
            kernels_go(node / 2);
            if (mempolicy_set(node % 2 == 0 ? BIND : PREFERRED, 1ul << node) == 0)
                execl("/proc/self/exe", "test-mempolicy", "@image", text, (char *)NULL);
            _exit(99);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0, "node %d: status %x", node, (unsigned)status);
    }
}

static int policy_at(void *at)
{
    int mode = -1;

    return syscall(SYS_get_mempolicy, &mode, NULL, 0, at, F_ADDR) == 0 ? mode : -errno;
}

/* Parts of one mapping, each with a policy: the area's comes before the thread's. */
static void test_areas(void)
{
    const long part = PAGES / 3;
    char *at;
    int node = -1;

    if (mempolicy_skip_one_node() || (at = spread_memory_map(PAGES, PRIVATE)) == NULL)
        return;
    kernels_go(kernels_count() - 1);
    CHECK(mempolicy_bind(at, part, BIND, 1, 0) == 0, "mbind: %s", strerror(errno));
    kernels_go(1);
    CHECK(mempolicy_bind(at + part * PAGE, part, BIND, 1ul << (mempolicy_node_count - 1), 0) == 0, "mbind: %s",
          strerror(errno));
    CHECK(mempolicy_set(INTERLEAVE, mempolicy_all_nodes()) == 0, "set: %s", strerror(errno));
    mempolicy_touch(at, PAGES);
    CHECK(mempolicy_set(DEFAULT, 0) == 0, "set: %s", strerror(errno));
    expect_on(at, part, 0, "first part");
    expect_on(at + part * PAGE, part, mempolicy_node_count - 1, "second part");
    expect_on(at + 2 * part * PAGE, part, -1, "third part");
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        CHECK(policy_at(at) == BIND && policy_at(at + 2 * part * PAGE - 1) == BIND &&
                  policy_at(at + 2 * part * PAGE) == DEFAULT,
              "kernel %d: %d %d %d", k, policy_at(at), policy_at(at + 2 * part * PAGE - 1),
              policy_at(at + 2 * part * PAGE));
        CHECK(syscall(SYS_get_mempolicy, &node, NULL, 0, at + part * PAGE, F_ADDR | F_NODE) == 0 &&
                  node == mempolicy_node_count - 1,
              "kernel %d: node %d", k, node);
    }
    kernels_go(0);
    CHECK(mprotect(at, PAGE, PROT_READ) == 0 && policy_at(at) == BIND, "mprotect keeps it: %d", policy_at(at));
    CHECK(mempolicy_bind(at, part, DEFAULT, 0, 0) == 0 && policy_at(at) == DEFAULT, "it is %d", policy_at(at));
    munmap(at, PAGES * PAGE);
}

/* What a forked child touches and copies is where the parent wanted it. */
static int forked(void *context)
{
    char *at = context;
    int status[PAGES];
    void *addresses[PAGES];

    mempolicy_touch(at, PAGES);
    for (int i = 0; i < PAGES; i++)
        addresses[i] = at + i * PAGE;
    if (syscall(SYS_move_pages, 0, PAGES, addresses, NULL, status, 0) != 0)
        return 1;
    for (int i = 0; i < PAGES; i++) {
        if (status[i] != mempolicy_node_count - 1)
            return 10 + i;
    }
    return policy_at(at) == BIND ? 0 : 2;
}

static void test_fork(void)
{
    char *at;
    int status;

    if (mempolicy_skip_one_node() || (at = spread_memory_map(PAGES, PRIVATE)) == NULL)
        return;
    mempolicy_touch(at, PAGES / 2); /* near: a child's copies of these are not */
    CHECK(mempolicy_bind(at, PAGES, BIND, 1ul << (mempolicy_node_count - 1), 0) == 0, "mbind: %s", strerror(errno));
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        status = tap_fork(forked, at);
        CHECK(status == 0, "from kernel %d: %d", k, status);
    }
    kernels_go(0);
    mempolicy_expect_content(at, PAGES / 2, "the parent's");
    munmap(at, PAGES * PAGE);
}

static void test_move(void)
{
    void *addresses[PAGES];
    int wanted[PAGES], status[PAGES];
    char *at;

    if (mempolicy_skip_one_node() || (at = spread_memory_map(PAGES, PRIVATE)) == NULL)
        return;
    mempolicy_touch(at, PAGES - 1); /* the last one is not there */
    for (int round = 0; round < 2 * mempolicy_node_count; round++) {
        for (int i = 0; i < PAGES; i++) {
            addresses[i] = at + i * PAGE;
            wanted[i] = (i + round) % mempolicy_node_count;
        }
        kernels_go(round);
        CHECK(syscall(SYS_move_pages, 0, PAGES, addresses, wanted, status, MOVE) == 0, "move_pages: %s",
              strerror(errno));
        for (int i = 0; i < PAGES; i++)
            CHECK(status[i] == (i < PAGES - 1 ? wanted[i] : -EFAULT), "round %d page %d: %d", round, i, status[i]);
        mempolicy_expect_content(at, PAGES - 1, "moved");
    }
    wanted[0] = 63;
    CHECK_ERROR(syscall(SYS_move_pages, 0, 1, addresses, wanted, status, MOVE), ENODEV);
    CHECK_ERROR(syscall(SYS_move_pages, 0, 1, addresses, wanted, status, 64), EINVAL);
    CHECK_ERROR(syscall(SYS_move_pages, 999999, 1, addresses, NULL, status, 0), ESRCH);
    CHECK(mempolicy_bind(at, PAGES, BIND, 1, MOVE | STRICT) == 0, "mbind: %s", strerror(errno));
    expect_on(at, PAGES - 1, 0, "bound when there");
    mempolicy_expect_content(at, PAGES - 1, "bound when there");
    CHECK_ERROR(mempolicy_bind(at, PAGES, BIND, 2, STRICT), EIO);
    munmap(at, PAGES * PAGE);
}

/* A written page of a file, moved by a kernel that knows nothing of its area; given up, it is the file's. */
static int moved_file(void *context)
{
    int fd = open("/tmp/policy", O_RDWR | O_CREAT | O_TRUNC, 0600);
    const int *to = context;

    if (fd < 0 || ftruncate(fd, PAGE) != 0 || pwrite(fd, "f", 1, 0) != 1)
        return 1;
    for (int k = 0; k < kernels_count(); k++) {
        char *at = mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE, fd, 0);
        void *address = at;

        if (at == MAP_FAILED)
            return 2;
        at[0] = 'w';
        kernels_go(*to + k);
        for (int i = 0; i < 2; i++) {
            int wanted = (k + i) % mempolicy_node_count, status = -1;

            if (syscall(SYS_move_pages, 0, 1, &address, &wanted, &status, MOVE) != 0 || status != wanted)
                return 3;
        }
        if (at[0] != 'w' || madvise(at, PAGE, MADV_DONTNEED) != 0 || at[0] != 'f')
            return 4;
        kernels_go(*to);
        if (munmap(at, PAGE) != 0)
            return 5;
    }
    return unlink("/tmp/policy") == 0 ? 0 : 6;
}

static void test_file(void)
{
    for (int k = 0; k < kernels_count() && mempolicy_node_count > 1; k++) {
        int status;

        kernels_go(k);
        status = tap_fork(moved_file, &k);
        CHECK(status == 0, "at home on kernel %d: %d", k, status);
    }
    kernels_go(0);
}

/* A word that threads on all kernels add to while its page moves: no addition is lost. */
#define ADDITIONS 4000
#define ADDERS 4

static atomic_long *sum;
static atomic_int adders_done;

static void adder(struct thread *thread)
{
    kernels_go(thread->index + 1);
    for (int i = 0; i < ADDITIONS; i++)
        atomic_fetch_add(&sum[i % 64], 1);
    atomic_fetch_add(&adders_done, 1);
}

static void test_moving(void)
{
    struct thread threads[ADDERS];
    void *address;
    long all = 0;
    int rounds = 0, started = 0;
    char *at;

    if (mempolicy_skip_one_node() || (at = spread_memory_map(1, PRIVATE)) == NULL)
        return;
    sum = (atomic_long *)(void *)at;
    address = at;
    at[0] = 0;
    atomic_store(&adders_done, 0);
    for (; started < ADDERS; started++) {
        threads[started] = (struct thread){.index = started};
        if (!CHECK(thread_start(&threads[started], adder), "thread %d", started))
            break;
    }
    while (atomic_load(&adders_done) < started || rounds < 2 * mempolicy_node_count) {
        int wanted = rounds++ % mempolicy_node_count, status = -1;

        kernels_go(rounds);
        CHECK(syscall(SYS_move_pages, 0, 1, &address, &wanted, &status, MOVE) == 0 && status == wanted, "round %d: %d",
              rounds, status);
    }
    for (int i = 0; i < started; i++)
        CHECK(thread_join(&threads[i]), "thread %d", i);
    for (int i = 0; i < 64; i++)
        all += atomic_load(&sum[i]);
    CHECK(all == (long)started * ADDITIONS, "%ld additions after %d moves", all, rounds);
    kernels_go(0);
    munmap(at, PAGE);
}

/* Another process's memory, wherever that is at home. */
static void test_other(void)
{
    char *at;
    int channel[2], back[2], status;
    unsigned long from = mempolicy_all_nodes(), to = 1ul << (mempolicy_node_count - 1);
    char byte = 0;

    if (mempolicy_skip_one_node() || (at = spread_memory_map(PAGES, PRIVATE)) == NULL)
        return;
    for (int k = 0; k < kernels_count(); k++) {
        void *address = at;
        int node = -1;
        pid_t child;

        kernels_go(k);
        if (!CHECK(pipe(channel) == 0 && pipe(back) == 0, "pipe: %s", strerror(errno)))
            return;
        child = fork();
        if (child == 0) {
            mempolicy_set(BIND, 1);
            mempolicy_touch(at, PAGES);
            (void)!write(channel[1], "r", 1);
            (void)!read(back[0], &byte, 1);
            for (int i = 0; i < PAGES; i++) {
                if (at[i * PAGE] != (char)(i + 1))
                    _exit(10 + i);
            }
            _exit(0);
        }
        (void)!read(channel[0], &byte, 1);
        kernels_go(k + 1);
        CHECK(syscall(SYS_move_pages, child, 1, &address, NULL, &node, 0) == 0 && node == 0, "kernel %d: node %d", k,
              node);
        CHECK(syscall(SYS_migrate_pages, child, BITS + 1, &from, &to) >= 0, "migrate_pages: %s", strerror(errno));
        CHECK(syscall(SYS_move_pages, child, 1, &address, NULL, &node, 0) == 0 && node == mempolicy_node_count - 1,
              "kernel %d: node %d", k, node);
        (void)!write(back[1], "g", 1);
        CHECK(waitpid(child, &status, 0) == child && status == 0, "kernel %d: status %x", k, (unsigned)status);
        close(channel[0]);
        close(channel[1]);
        close(back[0]);
        close(back[1]);
    }
    kernels_go(0);
    munmap(at, PAGES * PAGE);
}

/* Whether NODE has memory without KERNEL. The nodes of a kernel of several follow the one that kettle_node tells. */
static bool has_memory_without(int node, int kernel)
{
    int kernels[64], count = tap_kernels(kernels), first = -1;
    bool found = false;

    for (int i = 0; i < count; i++) {
        int begins = kettle_node(kernels[i]);

        if (begins > node || begins < first)
            continue;
        found = (found && begins == first) || kernels[i] != kernel;
        first = begins;
    }
    return found;
}

/* At home on the kernel that stops. */
static int stays(int ready, int go)
{
    char *at = mmap(NULL, PAGES * PAGE, READ_WRITE, PRIVATE, -1, 0);
    int status[PAGES];
    void *addresses[PAGES];
    char byte;

    if (at == MAP_FAILED || mempolicy_bind(at, PAGES, BIND, 1ul << (mempolicy_node_count - 1), 0) != 0 ||
        mempolicy_bind(at, PAGES / 2, BIND, 1, 0) != 0)
        return 1;
    kernels_go(0);
    for (int i = 0; i < PAGES; i += 2)
        at[i * PAGE] = (char)(i + 1);
    if (write(ready, "r", 1) != 1 || read(go, &byte, 1) != 1)
        return 2;
    for (int i = 0; i < PAGES; i++) {
        if (i % 2 != 0)
            at[i * PAGE] = (char)(i + 1);
        addresses[i] = at + i * PAGE;
        if (at[i * PAGE] != (char)(i + 1))
            return 3;
    }
    if (syscall(SYS_move_pages, 0, PAGES, addresses, NULL, status, 0) != 0)
        return 4;
    for (int i = 1; i < PAGES; i += 2) { /* the even ones went where the stopped kernel's memory went */
        if (status[i] != (i < PAGES / 2 ? 0 : mempolicy_node_count - 1))
            return 10 + i;
    }
    return policy_at(at) == BIND ? 0 : 5;
}

static void test_stop(void)
{
    int kernels[64], ready[2], go[2], status = -1;
    long stopped = -1;
    pid_t child;
    char byte;

    if (mempolicy_skip_one_node() || tap_skip_alone())
        return;
    tap_kernels(kernels);
    if (!has_memory_without(mempolicy_node_count - 1, kernels[1])) {
        tap_skip("the last node has no memory without the kernel that stops");
        return;
    }
    if (!CHECK(pipe(ready) == 0 && pipe(go) == 0, "pipe: %s", strerror(errno)))
        return;
    thread_move(kernels[1]); /* node 0, or it is the last one's */
    child = fork();
    if (child == 0)
        _exit(stays(ready[1], go[0]));
    thread_move(kernels[0]);
    close(ready[1]);
    if (CHECK(read(ready[0], &byte, 1) == 1, "the child is ready"))
        stopped = kettle_stop(kernels[1]);
    CHECK(stopped == 0, "stop: %s", strerror(errno));
    CHECK(write(go[1], "g", 1) == 1, "the child goes on");
    CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", (unsigned)status);
    if (stopped == 0)
        CHECK(kettle_start(kernels[1]) == 0, "start: %s", strerror(errno));
    close(ready[0]);
    close(go[0]);
    close(go[1]);
}

static void test_errors(void)
{
    unsigned long none = 0, one = 1, beyond = 1ul << 63;
    char *at = spread_memory_map(4, PRIVATE);
    int mode;

    if (at == NULL)
        return;
    CHECK_ERROR(syscall(SYS_set_mempolicy, 77, &one, BITS + 1), EINVAL);
    CHECK_ERROR(syscall(SYS_set_mempolicy, BIND, &none, BITS + 1), EINVAL);
    CHECK_ERROR(syscall(SYS_set_mempolicy, BIND, &beyond, BITS + 1), EINVAL);
    CHECK_ERROR(syscall(SYS_set_mempolicy, DEFAULT, &one, BITS + 1), EINVAL);
    CHECK_ERROR(syscall(SYS_set_mempolicy, LOCAL, &one, BITS + 1), EINVAL);
    CHECK_ERROR(syscall(SYS_set_mempolicy, BIND | STATIC | 0x4000, &one, BITS + 1), EINVAL);
    CHECK_ERROR(syscall(SYS_set_mempolicy, BIND, TAP_UNMAPPED, BITS + 1), EFAULT);
    CHECK_ERROR(mempolicy_bind(at + 1, 1, BIND, 1, 0), EINVAL);
    CHECK_ERROR(mempolicy_bind(at, 1, BIND, 1, 64), EINVAL);
    CHECK_ERROR(mempolicy_bind(TAP_UNMAPPED, 1, BIND, 1, 0), EFAULT);
    CHECK(mempolicy_bind(at, 0, BIND, 1, 0) == 0, "nothing: %s", strerror(errno));
    CHECK_ERROR(syscall(SYS_get_mempolicy, &mode, NULL, 0, at, 0), EINVAL);
    CHECK_ERROR(syscall(SYS_get_mempolicy, &mode, NULL, 0, TAP_UNMAPPED, F_ADDR), EFAULT);
    CHECK_ERROR(syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 8), EINVAL);
    CHECK_ERROR(syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, F_NODE), EINVAL);
    CHECK_ERROR(syscall(SET_HOME_NODE, at, PAGE, 0, 0), ENOENT);
    CHECK(syscall(SET_HOME_NODE, at, 0, 0, 0) == 0, "nothing: %s", strerror(errno));
    CHECK(mempolicy_bind(at, 1, BIND, 1, 0) == 0 && syscall(SET_HOME_NODE, at, 2 * PAGE, 0, 0) == 0, "home: %s",
          strerror(errno));
    CHECK(syscall(SYS_set_mempolicy, PREFERRED, NULL, 0) == 0 &&
              syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) == 0 && mode == LOCAL,
          "preferred without nodes is %d", mode);
    mempolicy_set(DEFAULT, 0);
    munmap(at, 4 * PAGE);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"allowed", "get_mempolicy allows every node", test_allowed},
        {"thread", "pages that a thread touches are on the node of its policy, on every kernel", test_thread},
        {"interleave", "interleaved pages are on the node of their address", test_interleave},
        {"weighted", "nodes get as many pages in a row as their weights say, on every kernel, and are counted",
         mempolicy_test_weighted},
        {"counted", "the frames to which pages move, and those of files, are counted on their nodes",
         mempolicy_test_counted},
        {"weights-at-once", "of changes of a weight made at once on all kernels, all make the same one last",
         mempolicy_test_weights_at_once},
        {"weight-errors", "weights that are none are refused, and root alone sets them", mempolicy_test_weight_errors},
        {"image", "a program that a thread with a policy begins is loaded where the policy says", test_image},
        {"areas", "an area has a policy of its own, the same on every kernel", test_areas},
        {"fork", "a child has its parent's policies, also for copied pages", test_fork},
        {"move", "migrate_pages and move_pages move pages with their contents to the nodes that are asked for",
         test_move},
        {"file", "a file's page stays the file's when it is moved", test_file},
        {"moving", "no write is lost while a page moves", test_moving},
        {"other", "another process's pages are found and moved, on any kernel", test_other},
        {"errors", "invalid arguments are refused", test_errors},
        {"stop", "policies survive the stop of the kernel that their process is at home on", test_stop},
    };
    static const struct tap_child children[] = {{"image", image}};
    static const struct tap_program program = {
        .tests = tests, .count = TAP_COUNT(tests), .children = children, .child_count = TAP_COUNT(children)};
    unsigned long nodes = 0;

    kernels_find();
    syscall(SYS_get_mempolicy, NULL, &nodes, BITS + 1, NULL, F_ALLOWED);
    for (; nodes != 0; nodes &= nodes - 1)
        mempolicy_node_count++;
    return tap_main(argc, argv, &program);
}

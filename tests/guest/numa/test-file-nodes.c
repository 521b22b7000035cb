/* test-file-nodes: on which nodes new pages of files and of shared memory are: where the thread that touches them
 * first is, or where its policy or that of the file says, whichever kernel, process or call makes them. A Linux program
 * but for where it runs, and for what the call write does without a policy. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/numa/node.h"

#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif
#define DEFAULT 0
#define PREFERRED 1
#define BIND 2
#define INTERLEAVE 3
#define F_ADDR 2
#define F_ALLOWED 4
#define BITS 64
#define PAGES 24
#define NAME "/tmp/file-nodes"
#define SHARED_NAME "/file-nodes"

enum kind { FILE_OF_TREE, MEMFD, SEGMENT, POSIX, KINDS };
static const char *const names[KINDS] = {"file", "memfd", "segment", "shm_open"};

struct object {
    enum kind kind;
    int fd; /* or the segment */
    char *at;
};

static int node_count;
static struct object object; /* what a child maps anew */

static long set_policy(int mode, unsigned long nodes)
{
    return syscall(SYS_set_mempolicy, mode, &nodes, BITS + 1);
}

static long bind_pages(char *at, long pages, int mode, unsigned long nodes)
{
    return syscall(SYS_mbind, at, pages * PAGE, mode, &nodes, BITS + 1, 0);
}

static unsigned long all_nodes(void)
{
    return node_count == 64 ? ~0ul : (1ul << node_count) - 1;
}

static char *map_object(const struct object *of)
{
    char *at = of->kind == SEGMENT ? shmat(of->fd, NULL, 0)
                                   : mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, of->fd, 0);

    return CHECK(at != MAP_FAILED, "%s: %s", names[of->kind], strerror(errno)) ? at : NULL;
}

static void unmap_object(const struct object *of, char *at)
{
    if (of->kind == SEGMENT)
        shmdt(at);
    else
        munmap(at, PAGES * PAGE);
}

static bool begin(enum kind kind)
{
    object = (struct object){.kind = kind, .fd = -1};
    if (kind == FILE_OF_TREE)
        object.fd = open(NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);
    else if (kind == MEMFD)
        object.fd = memfd_create("file-nodes", 0);
    else if (kind == POSIX)
        object.fd = shm_open(SHARED_NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);
    else
        object.fd = shmget(IPC_PRIVATE, PAGES * PAGE, 0600);
    if (!CHECK(object.fd >= 0 && (kind == SEGMENT || ftruncate(object.fd, PAGES * PAGE) == 0), "%s: %s", names[kind],
               strerror(errno)))
        return false;
    object.at = map_object(&object);
    return object.at != NULL;
}

static void end(void)
{
    kernels_go(0);
    CHECK(audit_own(), "%s", names[object.kind]);
    unmap_object(&object, object.at);
    if (object.kind == SEGMENT)
        shmctl(object.fd, IPC_RMID, NULL);
    else
        close(object.fd);
    unlink(NAME);
    shm_unlink(SHARED_NAME);
}

static bool skip_one_node(void)
{
    if (node_count > 1)
        return false;
    tap_skip("one node");
    return true;
}

static void expect(char *at, const int *wanted, const char *when)
{
    int status[PAGES];

    node_of_each(at, PAGES, status);
    for (long i = 0; i < PAGES; i++)
        CHECK(status[i] == wanted[i] || (wanted[i] < 0 && status[i] >= 0), "%s, %s: page %ld is on %d, not %d",
              names[object.kind], when, i, status[i], wanted[i]);
}

static void expect_all(char *at, int node, const char *when)
{
    int wanted[PAGES];

    for (long i = 0; i < PAGES; i++)
        wanted[i] = node;
    expect(at, wanted, when);
}

/* The first COUNT pages are on FIRST, the others on REST. */
static void expect_but(char *at, long count, int first, int rest, const char *when)
{
    int wanted[PAGES];

    for (long i = 0; i < PAGES; i++)
        wanted[i] = i < count ? first : rest;
    expect(at, wanted, when);
}

/* Writes to, or reads, each page as kernel I; *WHERE gets the nodes of the CPUs, or -1 where the thread has changed the
 * node meanwhile. */
static void touch(char *at, bool write, int *where)
{
    for (long i = 0; i < PAGES; i++) {
        int node;

        kernels_go(i);
        node = node_here();
        if (write)
            at[i * PAGE] = (char)(i + 1);
        else
            CHECK(((volatile char *)at)[i * PAGE] == 0, "page %ld", i);
        if (where != NULL)
            where[i] = node_here() == node ? node : -1;
    }
    kernels_go(0);
}

static void expect_content(char *at)
{
    for (long i = 0; i < PAGES; i++) {
        char byte = 0;

        kernels_go(i + 1);
        CHECK(at[i * PAGE] == (char)(i + 1) && at[i * PAGE + PAGE - 1] == 0, "%s: page %ld has %d", names[object.kind],
              i, at[i * PAGE]);
        if (object.kind != SEGMENT)
            CHECK(pread(object.fd, &byte, 1, i * PAGE) == 1 && byte == (char)(i + 1), "%s: read of page %ld: %d",
                  names[object.kind], i, byte);
    }
    kernels_go(0);
}

static void test_first_touch(void)
{
    int wanted[PAGES];

    for (int kind = 0; kind < KINDS; kind++) {
        for (int reads = 0; reads < 2; reads++) {
            if (!begin(kind))
                return;
            touch(object.at, reads == 0, wanted);
            expect(object.at, wanted, reads == 0 ? "written" : "read");
            if (reads != 0)
                touch(object.at, true, NULL);
            expect_content(object.at);
            expect(object.at, wanted, "used by others");
            end();
        }
    }
}

static void test_thread(void)
{
    int status[PAGES], on[64] = {0};

    if (skip_one_node())
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int node = 0; node < node_count; node++) {
            if (!begin(kind))
                return;
            CHECK(set_policy(node % 2 == 0 ? BIND : PREFERRED, 1ul << node) == 0, "%s", strerror(errno));
            touch(object.at, node % 3 != 2, NULL);
            set_policy(DEFAULT, 0);
            expect_all(object.at, node, "bound thread");
            touch(object.at, true, NULL);
            expect_content(object.at);
            end();
        }
        if (!begin(kind))
            return;
        CHECK(set_policy(INTERLEAVE, all_nodes()) == 0, "%s", strerror(errno));
        touch(object.at, true, NULL);
        set_policy(DEFAULT, 0);
        node_of_each(object.at, PAGES, status);
        memset(on, 0, sizeof(on));
        for (long i = 0; i < PAGES; i++)
            on[status[i] & 63]++;
        for (int node = 0; node < node_count; node++)
            CHECK(on[node] == PAGES / node_count, "%s, interleaved: %d pages on %d", names[kind], on[node], node);
        expect_content(object.at);
        end();
    }
}

/* A process that has mapped the object itself, on another kernel: makes the pages that there are not. */
static int child_touches(void *context)
{
    char *at = map_object(&object);
    const int *mode = context;
    unsigned long nodes = 0;
    int found = -1;

    if (at == NULL)
        return 1;
    CHECK(syscall(SYS_get_mempolicy, &found, &nodes, BITS + 1, at, F_ADDR) == 0 && found == *mode,
          "%s: policy %d, not %d", names[object.kind], found, *mode);
    touch(at, true, NULL);
    expect_content(at);
    unmap_object(&object, at);
    return 0;
}

/* Has another process, or calls, make all pages, as which of them BY says. */
static void make_pages(int by, int mode)
{
    static char bytes[PAGE];

    kernels_go(1 + by);
    if (by == 0 || object.kind == SEGMENT) {
        CHECK(tap_fork(child_touches, &mode) == 0, "%s: the child", names[object.kind]);
    } else if (by == 1) {
        CHECK(fallocate(object.fd, 0, 0, PAGES * PAGE) == 0, "fallocate: %s", strerror(errno));
        touch(object.at, true, NULL);
    } else {
        for (long i = 0; i < PAGES; i++) {
            kernels_go(i);
            bytes[0] = (char)(i + 1);
            CHECK(pwrite(object.fd, bytes, (size_t)(i % 2 == 0 ? PAGE : 1), i * PAGE) == (i % 2 == 0 ? PAGE : 1),
                  "pwrite: %s", strerror(errno));
        }
    }
    kernels_go(0);
}

/* Another process, or calls, make the pages: both are placed as the file's policy says. */
static void test_file_policy(void)
{
    if (skip_one_node())
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int turn = 0; turn < 3 * node_count; turn++) {
            int mode = turn % 2 == 0 ? BIND : PREFERRED, node = turn % node_count;

            if (!begin(kind))
                return;
            CHECK(bind_pages(object.at, PAGES, mode, 1ul << node) == 0, "mbind: %s", strerror(errno));
            make_pages(turn / node_count, mode);
            expect_content(object.at);
            expect_all(object.at, node, turn / node_count == 0 ? "child" : turn / node_count == 1 ? "call" : "write");
            end();
        }
    }
}

static void test_file_interleaved(void)
{
    int wanted[PAGES];

    if (skip_one_node())
        return;
    for (long i = 0; i < PAGES; i++)
        wanted[i] = (int)(i % node_count);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int by = 0; by < 3; by++) {
            if (!begin(kind))
                return;
            CHECK(bind_pages(object.at, PAGES, INTERLEAVE, all_nodes()) == 0, "mbind: %s", strerror(errno));
            make_pages(by, INTERLEAVE);
            expect_content(object.at);
            expect(object.at, wanted, "interleaved");
            end();
        }
    }
}

/* Parts of a file have policies of their own, over each other; DEFAULT takes them away. The last one set counts. */
static void test_parts(void)
{
    int wanted[PAGES], last = node_count - 1;

    if (skip_one_node())
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        if (!begin(kind))
            return;
        CHECK(bind_pages(object.at, PAGES, BIND, 1) == 0 &&
                  bind_pages(object.at + 4 * PAGE, 8, BIND, 1ul << last) == 0 &&
                  bind_pages(object.at + 6 * PAGE, 2, DEFAULT, 0) == 0 &&
                  bind_pages(object.at + 10 * PAGE, 6, PREFERRED, 2) == 0,
              "mbind: %s", strerror(errno));
        CHECK(set_policy(BIND, 1ul << last) == 0, "%s", strerror(errno));
        for (long i = 0; i < PAGES; i++)
            wanted[i] = i >= 10 && i < 16 ? 1 : i >= 4 && i < 12 ? last : 0;
        touch(object.at, true, NULL);
        set_policy(DEFAULT, 0);
        expect(object.at, wanted, "parts");
        expect_content(object.at);
        end();
    }
}

/* Without a policy, the pages that calls make are in the memory of the kernel that has the file, whose CPU writes. */
static void test_written(void)
{
    int first;

    kernels_go(0);
    first = node_here();
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == SEGMENT)
            continue;
        if (!begin(kind))
            return;
        make_pages(2, DEFAULT);
        expect_content(object.at);
        if (tap_on_kettle() && kernels_count() > 1)
            expect_all(object.at, first, "written without a policy");
        end();
    }
}

/* What a thread with a policy writes, or allocates, is where that says, from whichever kernel. */
static void test_writer(void)
{
    if (skip_one_node())
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == SEGMENT)
            continue;
        for (int turn = 0; turn < 2 * node_count; turn++) {
            int node = turn % node_count;

            if (!begin(kind))
                return;
            CHECK(bind_pages(object.at, 2, BIND, 1ul << (node + 1) % node_count) == 0, "mbind: %s", strerror(errno));
            CHECK(set_policy(turn % 3 == 0 ? PREFERRED : BIND, 1ul << node) == 0, "%s", strerror(errno));
            make_pages(1 + turn / node_count, DEFAULT);
            set_policy(DEFAULT, 0);
            expect_content(object.at);
            expect_but(object.at, 2, (node + 1) % node_count, node, turn / node_count == 0 ? "allocated" : "written");
            end();
        }
    }
}

/* Appending writers of several kernels, each with a policy: nothing is lost, and every page is where a writer wants it.
 */
static int child_appends(void *context)
{
    long self = *(long *)context;
    int fd = open(NAME, O_WRONLY | O_APPEND);
    static char bytes[PAGE / 2];

    memset(bytes, (int)('a' + self), sizeof(bytes));
    CHECK(set_policy(BIND, 1ul << self % node_count) == 0, "%s", strerror(errno));
    for (int i = 0; i < 2 * PAGES; i++) {
        kernels_go(self + i / 8);
        CHECK(write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes), "write: %s", strerror(errno));
    }
    return 0;
}

static void test_appended(void)
{
    pid_t children[4];
    long counts[4] = {0};
    int fd = open(NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);
    static char bytes[PAGE / 2];

    if (!CHECK(fd >= 0, "%s", strerror(errno)))
        return;
    for (long i = 0; i < 4; i++) {
        kernels_go(i);
        children[i] = fork();
        if (children[i] == 0)
            _exit(child_appends(&i));
    }
    for (long i = 0; i < 4; i++)
        CHECK(tap_wait(children[i]) == 0, "child %ld", i);
    kernels_go(0);
    for (long i = 0; i < 8 * PAGES; i++) {
        CHECK(read(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes) && bytes[0] >= 'a' && bytes[0] < 'e' &&
                  memcmp(bytes, bytes + 1, sizeof(bytes) - 1) == 0,
              "half page %ld", i);
        counts[(bytes[0] - 'a') & 3]++;
    }
    for (long i = 0; i < 4; i++)
        CHECK(counts[i] == 2 * PAGES, "writer %ld: %ld", i, counts[i]);
    CHECK(read(fd, bytes, 1) == 0, "the file is longer");
    close(fd);
    unlink(NAME);
}

/* Writers that append at once, all bound to the last node: every page is there, whoever was faster. */
static int child_appends_bound(void *context)
{
    static char bytes[3 * PAGE / 4];
    int fd = open(NAME, O_WRONLY | O_APPEND);

    (void)context;
    CHECK(set_policy(BIND, 1ul << (node_count - 1)) == 0, "%s", strerror(errno));
    for (int i = 0; i < 8 * PAGES; i++)
        CHECK(write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes), "write: %s", strerror(errno));
    return 0;
}

static void test_appended_bound(void)
{
    enum { WRITERS = 4, SIZE = WRITERS * 8 * PAGES * 3 * PAGE / 4 };
    pid_t children[WRITERS];
    char *at;
    int fd;

    if (skip_one_node())
        return;
    fd = open(NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (!CHECK(fd >= 0, "%s", strerror(errno)))
        return;
    for (long i = 0; i < WRITERS; i++) {
        kernels_go(i);
        children[i] = fork();
        if (children[i] == 0)
            _exit(child_appends_bound(NULL));
    }
    for (long i = 0; i < WRITERS; i++)
        CHECK(tap_wait(children[i]) == 0, "child %ld", i);
    kernels_go(0);
    CHECK(lseek(fd, 0, SEEK_END) == SIZE, "%ld bytes", (long)lseek(fd, 0, SEEK_END));
    at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
    if (!CHECK(at != MAP_FAILED, "%s", strerror(errno)))
        return;
    object.kind = FILE_OF_TREE;
    for (long page = 0; page < SIZE / PAGE; page++)
        CHECK(((volatile char *)at)[page * PAGE] == 0, "page %ld", page);
    for (long page = 0; page + PAGES <= SIZE / PAGE; page += PAGES)
        expect_all(at + page * PAGE, node_count - 1, "appended");
    munmap(at, SIZE);
    close(fd);
    unlink(NAME);
}

static long blocks_of(int fd)
{
    struct stat now;

    return CHECK(fstat(fd, &now) == 0, "%s", strerror(errno)) ? (long)now.st_blocks : -1;
}

/* A call of a thread with a policy that is refused for something else makes no pages. */
static void test_refused(void)
{
    struct rlimit limit = {2 * PAGE, RLIM_INFINITY};
    static char bytes[4 * PAGE];
    int fd = memfd_create("refused", MFD_ALLOW_SEALING);

    signal(SIGXFSZ, SIG_IGN);
    if (!CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0, "%s", strerror(errno)))
        return;
    CHECK(set_policy(BIND, 1ul << (node_count - 1)) == 0, "%s", strerror(errno));
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "%s", strerror(errno));
    CHECK(fallocate(fd, 0, 0, 64 * PAGE) == -1 && errno == EFBIG, "over RLIMIT_FSIZE: %s", strerror(errno));
    CHECK(pwrite(fd, bytes, PAGE, 8 * PAGE) == -1 && errno == EFBIG, "over RLIMIT_FSIZE: %s", strerror(errno));
    CHECK(blocks_of(fd) == 0, "%ld blocks", blocks_of(fd));
    CHECK(pwrite(fd, bytes, 4 * PAGE, PAGE) == PAGE, "up to RLIMIT_FSIZE: %s", strerror(errno));
    CHECK(blocks_of(fd) == 8, "%ld blocks", blocks_of(fd));
    limit.rlim_cur = RLIM_INFINITY;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "%s", strerror(errno));
    CHECK(fallocate(fd, 0, INT64_MAX - PAGE, PAGE) == -1 && errno == EFBIG, "too long: %s", strerror(errno));
    CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0, "%s", strerror(errno));
    for (int mode = 0; mode < 2; mode++) /* FALLOC_FL_KEEP_SIZE, too */
        CHECK(fallocate(fd, mode, PAGE, 64 * PAGE) == -1 && errno == EPERM, "sealed: %s", strerror(errno));
    CHECK(pwrite(fd, bytes, 4 * PAGE, 2 * PAGE) == -1 && errno == EPERM, "sealed: %s", strerror(errno));
    CHECK(blocks_of(fd) == 8, "%ld blocks", blocks_of(fd));
    CHECK(fallocate(fd, 0, 0, 2 * PAGE) == 0, "%s", strerror(errno));
    CHECK(blocks_of(fd) == 16, "%ld blocks", blocks_of(fd));
    set_policy(DEFAULT, 0);
    close(fd);
}

/* --- pages that several make at once --- */

#define MAKERS 8
#define ROUNDS 24

struct race {
    atomic_int round, done;
};
static struct race *race;

/* A process on a kernel of its own, which writes its word to each page of every round. */
static int child_makes(int self)
{
    long *at = (long *)(void *)map_object(&object);
    long words = PAGE / (long)sizeof(long);
    uint64_t random = (uint64_t)self;

    if (at == NULL)
        return 1;
    for (int round = 1; round <= ROUNDS; round++) {
        UNTIL(atomic_load(&race->round) == round, "the next round");
        for (long i = 0, first = round % 2 == 0 ? 0 : (long)(tap_random(&random) % PAGES); i < PAGES; i++)
            at[(first + i) % PAGES * words + self] = round;
        atomic_fetch_add(&race->done, 1);
    }
    return 0;
}

/* Every process finds the words of all others in a page that is new in every round. */
static void test_at_once(void)
{
    int makers = kernels_count() < MAKERS ? kernels_count() : MAKERS;
    long words = PAGE / (long)sizeof(long);
    pid_t children[MAKERS];

    race = tap_share(sizeof(*race));
    if (!CHECK(race != NULL, "shared memory") || !begin(MEMFD))
        return;
    for (int k = 0; k < makers; k++) {
        kernels_go(k);
        children[k] = fork();
        if (children[k] == 0)
            _exit(child_makes(k));
        REQUIRE(children[k] > 0, "%s", strerror(errno));
    }
    kernels_go(0);
    for (int round = 1; round <= ROUNDS; round++) {
        CHECK(ftruncate(object.fd, 0) == 0 && ftruncate(object.fd, PAGES * PAGE) == 0, "%s", strerror(errno));
        atomic_store(&race->done, 0);
        atomic_store(&race->round, round);
        UNTIL(atomic_load(&race->done) == makers, "all makers");
        for (long i = 0; i < PAGES * makers; i++) {
            long found = ((volatile long *)(void *)object.at)[i / makers * words + i % makers];

            CHECK(found == round, "round %d: page %ld has %ld of %ld", round, i / makers, found, i % makers);
        }
    }
    for (int k = 0; k < makers; k++)
        CHECK(tap_wait(children[k]) == 0, "child %d", k);
    end();
}

/* numa_maps has the file's policy, and the nodes of its pages. */
static void test_numa_maps(void)
{
    char line[512], wanted[64];
    int found = 0;
    FILE *maps;

    if (skip_one_node() || !begin(MEMFD))
        return;
    CHECK(bind_pages(object.at, PAGES, BIND, 2) == 0, "mbind: %s", strerror(errno));
    touch(object.at, true, NULL);
    snprintf(wanted, sizeof(wanted), "%08lx bind:1 ", (unsigned long)object.at);
    maps = fopen("/proc/self/numa_maps", "r");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        if (strncmp(line, wanted, strlen(wanted)) == 0)
            found += strstr(line, " N1=24") != NULL ? 1 : 100;
    }
    CHECK(maps != NULL && found == 1, "numa_maps: %d", found);
    if (maps != NULL)
        fclose(maps);
    end();
}

/* A private mapping's pages are where its own policy says, whatever the file's is. */
static void test_private(void)
{
    char *at;

    if (skip_one_node())
        return;
    for (int node = 0; node < node_count; node++) {
        if (!begin(MEMFD))
            return;
        CHECK(bind_pages(object.at, PAGES, BIND, 1ul << (node + 1) % node_count) == 0, "mbind: %s", strerror(errno));
        at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, object.fd, 0);
        for (long i = 0; i < PAGES / 2; i++)
            object.at[i * PAGE] = 0;
        CHECK(at != MAP_FAILED && bind_pages(at, PAGES, BIND, 1ul << node) == 0, "%s", strerror(errno));
        for (long i = 0; i < PAGES; i += 2)
            CHECK(((volatile char *)at)[i * PAGE] == 0, "page %ld", i); /* read before it is written, or not */
        touch(at, true, NULL);
        expect_all(at, node, "private");
        touch(object.at, false, NULL);
        expect_but(object.at, PAGES / 2, (node + 1) % node_count, node, "the file");
        munmap(at, PAGES * PAGE);
        end();
    }
}

/* A home node is added to what mbind has given an area, and not to the policy that the file's first page has. */
static void test_home(void)
{
    unsigned long nodes = 0;
    int mode = -1;
    char *at;

    if (skip_one_node() || !begin(MEMFD))
        return;
    at = map_object(&object);
    if (at == NULL)
        return;
    CHECK(bind_pages(object.at, 2, BIND, 1) == 0 && bind_pages(object.at + 4 * PAGE, 2, BIND, 2) == 0, "mbind: %s",
          strerror(errno));
    CHECK(syscall(SYS_set_mempolicy_home_node, at, PAGES * PAGE, 0, 0) == -1 && errno == ENOENT, "no policy: %s",
          strerror(errno));
    CHECK(syscall(SYS_set_mempolicy_home_node, object.at, PAGES * PAGE, 0, 0) == 0, "%s", strerror(errno));
    for (long page = 0; page < PAGES; page++) {
        int wanted = page < 2 || page == 4 || page == 5 ? BIND : DEFAULT;

        nodes = 0;
        CHECK(syscall(SYS_get_mempolicy, &mode, &nodes, BITS + 1, at + page * PAGE, F_ADDR) == 0 && mode == wanted &&
                  nodes == (page < 2         ? 1ul
                            : wanted == BIND ? 2ul
                                             : 0ul),
              "page %ld: policy %d of %lx", page, mode, nodes);
    }
    unmap_object(&object, at);
    end();
}

/* Who may only read a file does not decide where others find memory for it. */
static void test_read_only(void)
{
    int fd, last = node_count - 1, mode = -1;
    unsigned long nodes = 0;
    char *at;

    if (skip_one_node())
        return;
    for (int way = 0; way < 2; way++) {
        if (!begin(way == 0 ? FILE_OF_TREE : SEGMENT))
            return;
        fd = way == 0 ? (int)open(NAME, O_RDONLY) : -1;
        at = way == 0 ? mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0) : shmat(object.fd, NULL, SHM_RDONLY);
        if (!CHECK(at != MAP_FAILED, "%s", strerror(errno)))
            return;
        CHECK(bind_pages(object.at, 2, BIND, 1) == 0, "mbind: %s", strerror(errno));
        CHECK(bind_pages(at, PAGES, BIND, 1ul << last) == 0, "mbind for reading: %s", strerror(errno));
        for (long i = 0; i < 4; i++)
            CHECK(syscall(SYS_get_mempolicy, &mode, &nodes, BITS + 1, object.at + i * PAGE, F_ADDR) == 0 &&
                      mode == BIND && nodes == 1ul << last,
                  "page %ld: policy %d of %lx", i, mode, nodes);
        touch(object.at, true, NULL);
        expect_all(object.at, last, "as the reader said");
        unmap_object(&object, at);
        if (fd >= 0)
            close(fd);
        end();
    }
}

/* Who may only read a file, or maps it for itself, gives it few ranges, and needs no more for its own memory. */
static void test_read_few(void)
{
    for (int way = 0; way < 2; way++) {
        int fd, mode = -1, bound = 0;
        unsigned long nodes = 0;
        char *at;

        if (skip_one_node() || !begin(FILE_OF_TREE))
            return;
        fd = open(NAME, O_RDONLY);
        at = mmap(NULL, PAGES * PAGE, PROT_READ, way == 0 ? MAP_SHARED : MAP_PRIVATE, fd, 0);
        if (!CHECK(at != MAP_FAILED, "%s", strerror(errno)))
            return;
        for (long i = 0; i < PAGES; i++)
            CHECK(bind_pages(at + i * PAGE, 1, BIND, 1ul << i % 2) == 0, "page %ld: %s", i, strerror(errno));
        for (long i = 0; i < PAGES; i++)
            bound += syscall(SYS_get_mempolicy, &mode, &nodes, BITS + 1, object.at + i * PAGE, F_ADDR) == 0 &&
                     mode == BIND;
        CHECK(bound == (tap_on_kettle() ? 16 : PAGES), "%d ranges", bound);
        for (long i = 0; i < PAGES; i++)
            CHECK(bind_pages(object.at + i * PAGE, 1, BIND, 1ul << i % 2) == 0, "its own page %ld: %s", i,
                  strerror(errno));
        munmap(at, PAGES * PAGE);
        close(fd);
        end();
    }
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"first-touch", "a new page of a file is where the thread is that touches it first", test_first_touch},
        {"thread", "new pages are on the nodes of the policy of the thread that touches them", test_thread},
        {"file-policy", "mbind of a shared mapping places the pages that any process, or a call, makes",
         test_file_policy},
        {"interleaved", "pages of an interleaved file are on the node of their number", test_file_interleaved},
        {"parts", "each part of a file has the policy that was set last", test_parts},
        {"written", "what calls write without a policy is on the node of the file's kernel", test_written},
        {"writer", "what a thread with a policy writes or allocates is on the nodes of the policy", test_writer},
        {"appended", "writers with policies that append at once lose nothing", test_appended},
        {"appended-bound", "what writers with a policy append at once is all on its node", test_appended_bound},
        {"refused", "a call with a policy that is refused makes no pages", test_refused},
        {"at-once", "of frames that several kernels bring for a new page at once, all use one", test_at_once},
        {"home", "a home node is for the policy of the area, and spreads none of the file", test_home},
        {"read-only", "who may only read a file sets its policy as others do", test_read_only},
        {"read-few", "who may only read a file gives it few policies", test_read_few},
        {"numa-maps", "numa_maps has a file's policy", test_numa_maps},
        {"private", "copies of a file's pages are where the mapping's policy says", test_private},
    };
    unsigned long nodes = 0;

    kernels_find();
    syscall(SYS_get_mempolicy, NULL, &nodes, BITS + 1, NULL, F_ALLOWED);
    for (; nodes != 0; nodes &= nodes - 1)
        node_count++;
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}

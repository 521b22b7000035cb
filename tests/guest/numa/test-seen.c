/* test-seen: with a policy of numa= other than none, memory that a thread on another node uses comes to that node, with
 * its content; what its own node uses stays, and with none nobody looks. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
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
#define BLOCK 16l /* pages that move together by default */
#define HUGE_BYTES 0x200000ul
#define LOOKS 4
#define PERIOD "20"              /* ms between two looks, at least */
#define LONGEST (300 * 1000000l) /* ns: more than ten times that, where several nodes use memory */
#define LOOKS_MANY 40
#define STUCK (2200 * 1000000l) /* ns: at least as long what could not move is not to move again */
#define OTHERS 16               /* decisions in a look about what all threads of this program use */
#define MPOL_BIND 2
#define MPOL_F_NUMA_BALANCING 0x2000
#define MPOL_MF_MOVE 2

static long *words; /* one for each page */
static long used = PAGES;
static atomic_bool over;
static atomic_ulong wrong, rounds;

static long word_at(long page)
{
    return *(volatile long *)&words[page * PAGE / (long)sizeof(long)];
}

static void user(struct thread *thread)
{
    kernels_go(thread->index);
    for (long round = 0; !atomic_load(&over); round++) {
        for (long i = 0; i < used; i++) {
            long *word = &words[i * PAGE / (long)sizeof(long)];

            if (word_at(i) != i + round)
                atomic_fetch_add(&wrong, 1);
            *(volatile long *)word = i + round + 1;
        }
        atomic_fetch_add(&rounds, 1);
        x86_pause();
    }
}

/* How many of the pages are on NODE. */
static long on_node(int node)
{
    return node_has(node, words, PAGES);
}

/* A thread on kernel INDEX uses memory that the main thread has touched on kernel 0. */
static bool begin(struct thread *thread, int index, const char *policy)
{
    words = (long *)(void *)spread_memory_map_blocks(PAGES, PRIVATE);
    if (words == NULL || !CHECK(kettle_control(policy) == 0, "%s: %s", policy, strerror(errno)))
        return false;
    atomic_store(&over, false);
    atomic_store(&wrong, 0);
    atomic_store(&rounds, 0);
    kernels_go(0);
    for (long i = 0; i < PAGES; i++)
        words[i * PAGE / (long)sizeof(long)] = i;
    *thread = (struct thread){.index = index};
    return CHECK(thread_start(thread, user), "%s", strerror(errno));
}

static void end(struct thread *thread)
{
    atomic_store(&over, true);
    CHECK(thread_join(thread), "the user");
    CHECK(atomic_load(&wrong) == 0, "%lu words are wrong", atomic_load(&wrong));
    for (long i = 0; i < PAGES; i++)
        CHECK(word_at(i) == i + (i < used ? (long)atomic_load(&rounds) : 0), "page %ld: %ld", i, word_at(i));
    CHECK(kettle_control("numa=none") == 0, "%s", strerror(errno));
    CHECK(audit_own(), "at the end");
    munmap(words, PAGES * PAGE);
}

/* The last of the kernels, if it is on another node than the first; else 0. */
static int far(int *node)
{
    int last = kernels_count() - 1, here;

    kernels_go(0);
    here = node_here();
    kernels_go(last);
    *node = node_here();
    kernels_go(0);
    return *node != here ? last : 0;
}

static void test_follows(void)
{
    static const char *const policies[] = {"numa=nemo",     "numa=two-fault", "numa=share",   "numa=threshold",
                                           "numa=filter",   "numa=moron",     "numa=uniform", "numa=hop",
                                           "numa=variance", "numa=neighbour", "numa=kettle",  "numa=replicate"};
    struct thread thread;
    int node, kernel = far(&node);

    if (kernel == 0) {
        tap_skip("one node, or one kernel");
        return;
    }
    for (size_t i = 0; i < TAP_COUNT(policies); i++) {
        unsigned long decided = events_everywhere("seen_decided");

        if (!begin(&thread, kernel, policies[i]))
            return;
        UNTIL(on_node(node) == PAGES, policies[i]);
        decided = events_everywhere("seen_decided") - decided;
        CHECK(decided >= PAGES / 16, "%s: %lu decisions", policies[i], decided);
        end(&thread);
    }
}

/* The pages of the 2 MiB in which the first page is. */
static long in_first_block(void)
{
    long left = (long)((HUGE_BYTES - (uintptr_t)words % HUGE_BYTES) / PAGE);

    return left < PAGES ? left : PAGES;
}

/* Kernel 0 has looked, and moved what was to move. */
static void looks_go_on(void)
{
    unsigned long looks = events_of(0, "seen_looks");

    UNTIL(events_of(0, "seen_looks") >= looks + 2, "looks"); /* what the first has found has moved before the second */
}

static int seat[2]; /* a pipe */
static atomic_bool sits;

/* Keeps what its kernel knows of the process there, until a byte comes. */
static void sitter(struct thread *thread)
{
    char byte;

    kernels_go(thread->index);
    atomic_store(&sits, true);
    MUST(read(seat[0], &byte, 1));
}

/* With blocks of 2 MiB the pages that nobody uses come along, with those of 64 KiB few, and with those of a page none.
 * What was used before nobody looked any more does not count. */
static void test_blocks(void)
{
    static const struct {
        const char *option;
        long used;
        long more; /* pages that may come along; -1: all of the block */
    } sizes[] = {{"numablock=4", 5, 0},   {"numablock=8", PAGES, 0}, {"numablock=4", 5, 0}, /* at the same addresses */
                 {"numablock=16", 16, 4}, {"numablock=64", 16, 16},  {"numablock=2048", 16, -1}};
    struct thread thread, sitting;
    int node, kernel = far(&node);

    if (kernel == 0) {
        tap_skip("one node, or one kernel");
        return;
    }
    MUST(pipe(seat));
    sitting = (struct thread){.index = kernel};
    REQUIRE(thread_start(&sitting, sitter), "%s", strerror(errno));
    UNTIL(atomic_load(&sits), "a thread that stays there");
    for (size_t i = 0; i < TAP_COUNT(sizes); i++) {
        used = sizes[i].used;
        if (!CHECK(kettle_control(sizes[i].option) == 0, "%s", strerror(errno)) || !begin(&thread, kernel, "numa=nemo"))
            break;
        UNTIL(on_node(node) >= (sizes[i].more < 0 ? in_first_block() : used), sizes[i].option);
        looks_go_on();
        CHECK(sizes[i].more < 0 || on_node(node) <= used + sizes[i].more, "%s: %ld pages have moved", sizes[i].option,
              on_node(node));
        end(&thread);
    }
    used = PAGES;
    CHECK(kettle_control("numablock=64") == 0, "%s", strerror(errno));
    MUST(write(seat[1], "", 1));
    CHECK(thread_join(&sitting), "who stayed there");
    close(seat[0]);
    close(seat[1]);
}

static atomic_int users; /* 2: the second uses odd pages alone; 1: it uses all pages, and the first none */

/* The second user is on another kernel than 0. */
static void page_user(struct thread *thread)
{
    bool second = thread->index != 0;

    kernels_go(thread->index);
    while (!atomic_load(&over)) {
        int count = atomic_load(&users);

        for (long i = second ? count - 1 : 0; (second || count == 2) && i < PAGES; i += count)
            *(volatile long *)&words[i * PAGE / (long)sizeof(long)] = i;
        x86_pause();
    }
}

/* How many of the pages with an even number, or an odd one, are on NODE. */
static long every_second_on(int node, long first)
{
    int nodes[PAGES];
    long count = 0;

    if (!node_of_each(words, PAGES, nodes))
        return -1;
    for (long i = first; i < PAGES; i += 2)
        count += nodes[i] == node;
    return count;
}

/* Blocks split to the pages that each node uses, and join when one uses all. */
static void test_adaptive(void)
{
    struct thread one = {0}, other = {0};
    int node, kernel = far(&node), home;
    unsigned long splits, joins;

    if (kernel == 0) {
        tap_skip("one node, or one kernel");
        return;
    }
    home = node_here();
    splits = events_everywhere("seen_splits");
    words = (long *)(void *)spread_memory_map_blocks(PAGES, PRIVATE);
    if (words == NULL ||
        !CHECK(kettle_control("numablock=adaptive") == 0 && kettle_control("numa=share") == 0, "%s", strerror(errno)))
        return;
    for (long i = 0; i < PAGES; i++)
        words[i * PAGE / (long)sizeof(long)] = i;
    atomic_store(&over, false);
    atomic_store(&users, 2);
    other.index = kernel;
    if (!CHECK(thread_start(&one, page_user) && thread_start(&other, page_user), "%s", strerror(errno)))
        return;
    UNTIL(events_everywhere("seen_splits") >= splits + PAGES, "a block for each page");
    UNTIL(every_second_on(node, 1) == PAGES / 2 && every_second_on(home, 0) == PAGES / 2, "each page where it is used");
    joins = events_everywhere("seen_joins");
    atomic_store(&users, 1);
    UNTIL(on_node(node) == PAGES, "all pages where they are used");
    UNTIL(events_everywhere("seen_joins") > joins, "blocks join");
    atomic_store(&over, true);
    CHECK(thread_join(&one) && thread_join(&other), "the users");
    for (long i = 0; i < PAGES; i++)
        CHECK(word_at(i) == i, "page %ld: %ld", i, word_at(i));
    CHECK(kettle_control("numa=none") == 0 && kettle_control("numablock=64") == 0, "%s", strerror(errno));
    CHECK(audit_own(), "at the end");
    munmap(words, PAGES * PAGE);
}

/* Of how many blocks NODE was the last to be seen using, as numa_stat says; -1: it does not. */
static long last_of(int node)
{
    FILE *stat = fopen("/proc/self/numa_stat", "r");
    char line[512];
    long found = -1;

    while (stat != NULL && fgets(line, sizeof(line), stat) != NULL) {
        const char *last = strstr(line, " last ");
        int on = -1;

        if (sscanf(line, "kernel %*u node %d", &on) == 1 && on == node && last != NULL)
            found = strtol(last + strlen(" last "), NULL, 10);
    }
    if (stat != NULL)
        fclose(stat);
    return found;
}

/* Blocks that another node uses go to the nodes in turn with interleave, back to the home node with home, and nowhere
 * with first-touch. */
static void test_placed(void)
{
    struct thread thread;
    int nodes[PAGES], node, kernel = far(&node), home;
    unsigned long decided, remote;

    if (kernel == 0) {
        tap_skip("one node, or one kernel");
        return;
    }
    home = node_here();
    if (!begin(&thread, kernel, "numa=first-touch"))
        return;
    decided = events_everywhere("seen_decided");
    remote = events_everywhere("seen_remote");
    UNTIL(events_everywhere("seen_remote") > remote, "a look");
    CHECK(events_everywhere("seen_decided") == decided && on_node(home) == PAGES, "%ld pages are at home",
          on_node(home));
    UNTIL(last_of(node) >= PAGES / 16, "the last node");
    CHECK(last_of(home) >= 0, "nothing of node %d", home);
    CHECK(kettle_control("numa=interleave") == 0, "%s", strerror(errno));
    UNTIL(node_of_each(words, PAGES, nodes) && nodes[0] != nodes[16] && nodes[16] != nodes[32] &&
              nodes[32] != nodes[48],
          "interleave");
    CHECK(kettle_control("numa=home") == 0, "%s", strerror(errno));
    UNTIL(on_node(home) == PAGES, "home");
    end(&thread);
}

/* A process's own policy, which kernels that have joined before and after the choice follow. */
static void test_process(void)
{
    struct thread thread;
    int node, kernel = far(&node), home;
    struct timespec time = {.tv_nsec = LONGEST};
    unsigned long before;

    CHECK_ERROR(kettle_numa(0, "best"), EINVAL);
    CHECK_ERROR(kettle_numa(1 << 30, "nemo"), ESRCH);
    if (kernel == 0) {
        tap_skip("one node, or one kernel");
        return;
    }
    home = node_here();
    if (!begin(&thread, kernel, "numa=none"))
        return;
    CHECK(kettle_numa(0, "nemo") == 0, "%s", strerror(errno));
    UNTIL(on_node(node) == PAGES, "the process's own policy");
    end(&thread);

    CHECK(kettle_numa(0, "none") == 0, "%s", strerror(errno));
    if (!begin(&thread, kernel, "numa=nemo"))
        return;
    before = events_everywhere("seen_local") + events_everywhere("seen_remote");
    UNTIL(atomic_load(&rounds) > 2, "the user");
    nanosleep(&time, NULL); /* more than any period */
    CHECK(events_everywhere("seen_local") + events_everywhere("seen_remote") == before,
          "looked at, though the process wants none");
    CHECK(on_node(home) == PAGES, "%ld pages are at home", on_node(home));
    CHECK(kettle_numa(0, "default") == 0, "%s", strerror(errno));
    UNTIL(on_node(node) == PAGES, "the policy of the option");
    end(&thread);
}

/* Memory with a policy of its own: bound, it stays; with balancing among these nodes, it follows. */
static void test_bound(void)
{
    struct thread thread;
    int node, kernel = far(&node), home;
    unsigned long remote, both, nodes;

    if (kernel == 0) {
        tap_skip("one node, or one kernel");
        return;
    }
    home = node_here();
    if (!begin(&thread, kernel, "numa=nemo"))
        return;
    nodes = both = 1ul << home | 1ul << node;
    CHECK(syscall(SYS_mbind, words, PAGES * PAGE, MPOL_BIND, &nodes, 65ul, 0) == 0, "%s", strerror(errno));
    nodes = 1ul << home;
    CHECK(syscall(SYS_mbind, words, PAGES * PAGE, MPOL_BIND, &nodes, 65ul, MPOL_MF_MOVE) == 0, "%s", strerror(errno));
    remote = events_everywhere("seen_remote");
    UNTIL(events_everywhere("seen_remote") >= remote + LOOKS * PAGES, "looks");
    CHECK(on_node(home) == PAGES, "%ld pages are where they are bound", on_node(home));
    CHECK(syscall(SYS_mbind, words, PAGES * PAGE, MPOL_BIND | MPOL_F_NUMA_BALANCING, &nodes, 65ul, 0) == 0, "%s",
          strerror(errno));
    remote = events_everywhere("seen_remote");
    UNTIL(events_everywhere("seen_remote") >= remote + LOOKS * PAGES, "looks");
    CHECK(on_node(home) == PAGES, "%ld pages are on the one node of a policy with balancing", on_node(home));
    CHECK(syscall(SYS_mbind, words, PAGES * PAGE, MPOL_BIND | MPOL_F_NUMA_BALANCING, &both, 65ul, 0) == 0, "%s",
          strerror(errno));
    UNTIL(on_node(node) == PAGES, "with balancing");
    end(&thread);
}

/* Whether /proc/self/numa_maps has TEXT in the line of the area at ADDRESS. */
static bool maps_tell(const void *address, const char *text)
{
    static char maps[65536];
    char start[32];
    int fd = open("/proc/self/numa_maps", O_RDONLY);
    size_t length = 0;
    ssize_t some;
    char *line;

    while (fd >= 0 && (some = read(fd, maps + length, sizeof(maps) - 1 - length)) > 0)
        length += (size_t)some;
    close(fd);
    maps[length] = '\0';
    snprintf(start, sizeof(start), "%08lx ", (unsigned long)(uintptr_t)address);
    line = strstr(maps, start);
    if (line != NULL)
        line[strcspn(line, "\n")] = '\0';
    tap_note("%s", line != NULL ? line : maps);
    return line != NULL && strstr(line, text) != NULL;
}

/* Parts of memory have policies of their own: one half follows, and the other half stays, whatever the process's is. */
static void test_areas(void)
{
    struct thread thread;
    int node, kernel = far(&node), home;
    char *second;

    CHECK_ERROR(kettle_block_follow(&used, PAGE, 0, "nemo"), EINVAL); /* no whole page */
    if (kernel == 0) {
        tap_skip("one node, or one kernel");
        return;
    }
    home = node_here();
    MUST(kettle_control("numablock=4")); /* so that no block has pages of both halves */
    if (!begin(&thread, kernel, "numa=first-touch"))
        return;
    second = (char *)words + PAGES / 2 * PAGE;
    CHECK_ERROR(kettle_block_follow(words, PAGES / 2 * PAGE, 0, "best"), EINVAL);
    CHECK_ERROR(kettle_block_follow(words, PAGES / 2 * PAGE, 0, "nemo,faults"), EINVAL);
    CHECK_ERROR(kettle_block_follow(words, PAGES / 2 * PAGE, 1ul << 63, "nemo"), EINVAL);
    CHECK_ERROR(kettle_block_follow((void *)PAGE, PAGE, 0, "nemo"), EFAULT);
    CHECK_ERROR(kettle_block_follow(words, 0, 0, "nemo"), EINVAL);
    CHECK(kettle_block_follow(words, PAGES / 2 * PAGE, 0, "nemo") == 0, "%s", strerror(errno));
    CHECK(maps_tell(words, " bind=balancing:"), "numa_maps");
    UNTIL(node_has(node, words, PAGES / 2) == PAGES / 2, "the half that follows");
    CHECK(on_node(home) == PAGES / 2, "%ld pages stay", on_node(home));
    CHECK(kettle_block_follow(second, PAGES / 2 * PAGE, 1ul << node, "none") == 0 && kettle_control("numa=nemo") == 0,
          "%s", strerror(errno));
    CHECK(kettle_block_follow(words, PAGES / 2 * PAGE, 0, "home") == 0, "%s", strerror(errno));
    UNTIL(node_has(home, words, PAGES / 2) == PAGES / 2, "the half that goes home");
    CHECK(on_node(home) == PAGES, "%ld pages are at home", on_node(home));
    CHECK(kettle_block_follow(words, PAGES * PAGE, 0, "default") == 0, "%s", strerror(errno));
    UNTIL(on_node(node) == PAGES, "the process's policy");
    end(&thread);
    MUST(kettle_control("numablock=64"));
}

/* Shared memory that the process maps twice does not move: that is decided for each block, which is a page here, once
 * in a while, and not in each look. What is decided may be decided again before it is tried. */
static void test_fixed(void)
{
    struct thread thread = {0};
    int64_t begin;
    long most;
    int node, kernel = far(&node), fd, home;
    unsigned long decided, remote;
    char *again;

    if (kernel == 0) {
        tap_skip("one node, or one kernel");
        return;
    }
    home = node_here();
    fd = memfd_create("fixed", 0);
    if (!CHECK(fd >= 0 && ftruncate(fd, PAGES * PAGE) == 0, "%s", strerror(errno)))
        return;
    words = mmap(NULL, PAGES * PAGE, READ_WRITE, MAP_SHARED, fd, 0);
    again = mmap(NULL, PAGES * PAGE, READ_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (!CHECK(words != MAP_FAILED && again != MAP_FAILED && kettle_control("numaperiod=" PERIOD " numablock=4") == 0 &&
                   kettle_control("numa=nemo") == 0,
               "%s", strerror(errno)))
        return;
    atomic_store(&over, false);
    atomic_store(&wrong, 0);
    atomic_store(&rounds, 0);
    for (long i = 0; i < PAGES; i++) {
        words[i * PAGE / (long)sizeof(long)] = i;
        CHECK(*(volatile long *)(void *)&again[i * PAGE] == i, "page %ld", i);
    }
    decided = events_everywhere("seen_decided");
    begin = tap_time();
    thread.index = kernel;
    if (!CHECK(thread_start(&thread, user), "%s", strerror(errno)))
        return;
    UNTIL(events_everywhere("seen_decided") >= decided + PAGES, "decisions");
    remote = events_everywhere("seen_remote");
    UNTIL(events_everywhere("seen_remote") >= remote + LOOKS_MANY * PAGES, "looks");
    decided = events_everywhere("seen_decided") - decided;
    most = 2 * PAGES * (1 + (tap_time() - begin) / STUCK) + OTHERS * LOOKS_MANY;
    tap_note("%lu decisions about %ld blocks in %ld looks, at most %ld", decided, PAGES, (long)LOOKS_MANY, most);
    CHECK((long)decided < most, "%lu decisions about %ld blocks in %ld ns", decided, PAGES, (long)(tap_time() - begin));
    CHECK(on_node(home) == PAGES, "%ld pages have stayed", on_node(home));
    end(&thread);
    CHECK(kettle_control("numaperiod=100 numablock=64") == 0, "%s", strerror(errno));
    munmap(again, PAGES * PAGE);
}

static atomic_bool one_reads; /* the reader on kernel 0 has ended */

/* Reads all words. On kernel 0 not for as long as elsewhere. */
static void words_reader(struct thread *thread)
{
    kernels_go(thread->index);
    while (!atomic_load(&over) && (thread->index != 0 || !atomic_load(&one_reads))) {
        for (long i = 0; i < PAGES; i++) {
            if (word_at(i) != i)
                atomic_fetch_add(&wrong, 1);
        }
        x86_pause();
    }
}

/* Shared memory that two nodes read cannot have copies. That it was tried does not keep it from its only user later. */
static void test_vain(void)
{
    struct thread here = {0}, there = {0};
    int node, kernel = far(&node);
    unsigned long decided;

    if (kernel == 0) {
        tap_skip("one node, or one kernel");
        return;
    }
    words = (long *)(void *)spread_memory_map_blocks(PAGES, SHARED);
    if (words == NULL)
        return;
    for (long i = 0; i < PAGES; i++)
        words[i * PAGE / (long)sizeof(long)] = i;
    atomic_store(&over, false);
    atomic_store(&one_reads, false);
    atomic_store(&wrong, 0);
    there.index = kernel;
    decided = events_everywhere("seen_decided");
    if (!CHECK(kettle_control("numa=kettle") == 0 && thread_start(&here, words_reader) &&
                   thread_start(&there, words_reader),
               "%s", strerror(errno)))
        return;
    /* to spread at most half of the blocks, as they were written, and to give all of them copies */
    UNTIL(events_everywhere("seen_decided") >= decided + 3 * PAGES / BLOCK / 2, "copies are wanted");
    atomic_store(&one_reads, true);
    UNTIL(on_node(node) == PAGES, "the only user");
    atomic_store(&over, true);
    CHECK(thread_join(&here) && thread_join(&there), "the readers");
    CHECK(atomic_load(&wrong) == 0, "%lu words are wrong", atomic_load(&wrong));
    CHECK(kettle_control("numa=none") == 0, "%s", strerror(errno));
    CHECK(audit_own(), "at the end");
    munmap(words, PAGES * PAGE);
}

static void test_stays(void)
{
    struct thread thread;
    int node = 0;
    unsigned long seen, remote;

    if (!begin(&thread, 0, "numa=nemo"))
        return;
    node = node_here();
    seen = events_everywhere("seen_local");
    remote = events_everywhere("seen_remote");
    UNTIL(events_everywhere("seen_local") >= seen + LOOKS * PAGES, "looks");
    CHECK(on_node(node) == PAGES, "%ld pages are where they are used", on_node(node));
    tap_note("%lu pages seen here, %lu elsewhere", events_everywhere("seen_local") - seen,
             events_everywhere("seen_remote") - remote);
    end(&thread);
}

static void test_none(void)
{
    struct thread thread;
    int node, kernel = far(&node);
    unsigned long seen, then;
    struct timespec time = {.tv_nsec = LONGEST};

    if (!begin(&thread, kernel, "numa=none"))
        return;
    UNTIL(atomic_load(&rounds) > 2, "the user");
    seen = events_everywhere("seen_local") + events_everywhere("seen_remote");
    nanosleep(&time, NULL); /* more than any period: a look that is there would be counted */
    then = events_everywhere("seen_local") + events_everywhere("seen_remote");
    CHECK(then == seen, "%lu pages were looked at", then - seen);
    CHECK(kernel == 0 || on_node(node) == 0, "%ld pages have moved", on_node(node));
    end(&thread);
}

/* Where memory is used by its own node alone, looks come to be farther apart than they are where several nodes use it;
 * when another node begins to use it, it is found all the same. */
static void test_calm(void)
{
    struct thread thread;
    int node, kernel = far(&node);
    unsigned long calm = events_of(0, "seen_calm");

    if (!begin(&thread, 0, "numa=kettle"))
        return;
    UNTIL(events_of(0, "seen_calm") > calm, "looks that are far apart");
    end(&thread);
    if (kernel == 0 || !begin(&thread, kernel, "numa=kettle"))
        return;
    UNTIL(on_node(node) == PAGES, "memory that another node uses after a while without any");
    end(&thread);
}

static char *top; /* in the last pages of the address space */

static void reader(struct thread *thread)
{
    kernels_go(thread->index);
    while (!atomic_load(&over)) {
        (void)*(volatile char *)top;
        x86_pause();
    }
}

/* The node of the page, to which it moves if WANTED is not NULL. */
static int move_top(const int *wanted)
{
    void *address = (void *)((uintptr_t)top & ~(PAGE - 1));
    int status = -1;

    return syscall(SYS_move_pages, 0, 1l, &address, wanted, &status, MPOL_MF_MOVE) == 0 ? status : -1;
}

static int followed[2]; /* a pipe */

static void watcher(struct thread *thread)
{
    UNTIL(move_top(NULL) == thread->index, "the last block");
    MUST(write(followed[1], "", 1));
}

/* The block at the end of the address space is shorter than others. It has the stack of the main thread, which sleeps
 * meanwhile. */
static void test_top(void)
{
    struct thread thread, watching;
    int node, kernel = far(&node), home;
    char byte;

    if (kernel == 0) {
        tap_skip("one node, or one kernel");
        return;
    }
    MUST(pipe(followed));
    home = node_here();
    /* threads of other tests have used this stack, too, and moved it */
    CHECK(move_top(&home) == home, "the page is on node %d", move_top(NULL));
    CHECK(kettle_control("numa=nemo") == 0, "%s", strerror(errno));
    atomic_store(&over, false);
    thread = (struct thread){.index = kernel};
    watching = (struct thread){.index = node};
    if (CHECK(thread_start(&thread, reader), "%s", strerror(errno)) &&
        CHECK(thread_start(&watching, watcher), "%s", strerror(errno)))
        CHECK(read(followed[0], &byte, 1) == 1 && thread_join(&watching), "the watcher");
    atomic_store(&over, true);
    CHECK(thread_join(&thread), "the reader");
    CHECK(kettle_control("numa=none") == 0, "%s", strerror(errno));
    CHECK(audit_own(), "at the end");
}

/* What /proc says. */
static void test_told(void)
{
    char text[4096], name[64];
    int fd = open("/proc/self/numa_stat", O_RDONLY);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    unsigned kernel, node;
    unsigned long local, remote;

    if (!CHECK(length > 0, "%s", strerror(errno)))
        return;
    text[length] = '\0';
    close(fd);
    CHECK(sscanf(text, "kernel %u node %u local %lu remote %lu", &kernel, &node, &local, &remote) == 4, "%s", text);
    CHECK(local == events_of((int)kernel, "seen_local"), "%lu local on kernel %u", local, kernel);
    for (int on = 0; on < 2; on++) {
        CHECK(kettle_control(on ? "numa=share" : "numa=none") == 0, "%s", strerror(errno));
        fd = open("/proc/sys/kernel/numa_balancing", O_RDONLY);
        memset(name, 0, sizeof(name));
        CHECK(fd >= 0 && read(fd, name, sizeof(name) - 1) == 2 && name[0] == '0' + on, "%s", name);
        close(fd);
    }
    CHECK(kettle_control("numa=none") == 0, "%s", strerror(errno));
    CHECK_ERROR(kettle_control("numa=best"), EINVAL);
    CHECK_ERROR(kettle_control("numablock=100"), EINVAL);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"none", "without a policy nobody looks, and nothing moves", test_none},
        {"follows", "memory comes to the node that uses it, with each policy", test_follows},
        {"blocks", "with numablock= memory that nobody uses comes along within a block", test_blocks},
        {"adaptive", "blocks split where pages have different users, and join where they have one", test_adaptive},
        {"placed", "memory goes to the nodes in turn, or home, or stays where it was touched first", test_placed},
        {"process", "a process's own policy takes precedence over the option, until it is given up", test_process},
        {"bound", "memory with a policy of its own follows with MPOL_F_NUMA_BALANCING alone", test_bound},
        {"areas", "parts of memory follow by policies of their own, or stay", test_areas},
        {"fixed", "what cannot move is not decided anew in each look", test_fixed},
        {"vain", "shared memory that was to have copies in vain still comes to its only user", test_vain},
        {"stays", "memory that its own node uses stays", test_stays},
        {"calm", "looks are far apart where no other node has a share, and memory that gets another user follows it",
         test_calm},
        {"top", "the last block of the address space follows its user, too", test_top},
        {"told", "/proc tells what was seen, and a wrong policy is refused", test_told},
    };

    int status;

    top = argv[0];
    kernels_find();
    kettle_control("numaperiod=" PERIOD);
    status = tap_run(argc, argv, tests, TAP_COUNT(tests));
    kettle_control("numaperiod=100");
    return status;
}

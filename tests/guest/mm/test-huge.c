/* test-huge: memory that large pages are wanted for (MADV_HUGEPAGE): that they come, and that nothing but the time of a
 * touch tells them from small ones, whatever changes a part of them and whichever kernel looks. The word `alone`: only
 * processes on one kernel are to get them (retrieve=members and its like). The word `locked`: others lock memory of
 * this process now and then (audits do), and what is touched then gets small ones. The word
 * `follows`: memory goes to those who use it (numa=), wherever it was placed. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/events.h"
#include "tests/guest/numa/node.h"
#include "userland/thread.h"

#define HUGE (2l << 20)
#define HUGE_PAGES (HUGE / PAGE)
#define HUGE_KB (HUGE >> 10)
#define MORE 3l /* large pages in an area */
#define ALL (MORE * HUGE_PAGES)

static bool only_alone;    /* a process of several kernels has no large pages */
static bool may_be_locked; /* a large page need not come */
static bool follows;       /* memory does not stay where a policy has placed it */

/* Kilobytes that this process has in large pages, on all kernels; -1 after a note. */
static long huge_kb(void)
{
    const char *path = tap_on_kettle() ? "/proc/self/kettle" : "/proc/self/smaps";
    const char *word = tap_on_kettle() ? " huge " : "AnonHugePages:";
    FILE *file = fopen(path, "r");
    char line[1024];
    long total = 0;

    if (file == NULL) {
        tap_note("%s: %s", path, strerror(errno));
        return -1;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *found = strstr(line, word);

        if (found != NULL)
            total += strtol(found + strlen(word), NULL, 10);
    }
    fclose(file);
    return total;
}

/* False, and the test is skipped: this machine has no large pages for programs. */
static bool possible(void)
{
    char mode[64] = "";
    FILE *file;

    if (tap_on_kettle())
        return true;
    file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (file != NULL) {
        if (fgets(mode, sizeof(mode), file) == NULL)
            mode[0] = '\0';
        fclose(file);
    }
    if (mode[0] != '\0' && strstr(mode, "[never]") == NULL)
        return true;
    tap_skip("no transparent huge pages here");
    return false;
}

/* COUNT times 2 MiB, aligned, TYPE as spread_memory_map's, with ADVICE unless it is 0. */
static char *map_aligned(long count, int type, int advice)
{
    char *all = spread_memory_map((count + 1) * HUGE_PAGES, type);
    char *area = all + (HUGE - (long)((unsigned long)all % HUGE)) % HUGE;

    if (area > all)
        munmap(all, (size_t)(area - all));
    munmap(area + count * HUGE, (size_t)(all + HUGE - area));
    if (advice != 0)
        CHECK(madvise(area, (size_t)(count * HUGE), advice) == 0, "%s", strerror(errno));
    return area;
}

/* Area with large pages, as far as there are any, that has what spread_memory_fill writes with SEED. */
static char *map_filled(int type, int seed)
{
    char *area = map_aligned(MORE, type, MADV_HUGEPAGE);

    kernels_go(0);
    for (long at = 0; at < MORE; at++)
        area[at * HUGE] = 0;
    spread_memory_fill(area, 0, ALL, seed);
    return area;
}

static void unmap(char *area)
{
    CHECK(munmap(area, (size_t)(MORE * HUGE)) == 0, "%s", strerror(errno));
}

/* LARGE more are mapped, counted on each kernel that maps them. */
static bool changed_by(long before, long large)
{
    long now = huge_kb();

    if (may_be_locked && large != 0)
        return CHECK(now >= before && now - before <= large * kernels_count() * HUGE_KB,
                     "%ld kB are in large pages, there were %ld", now, before);
    return CHECK(now - before == large * HUGE_KB, "%ld kB are in large pages, there were %ld", now, before);
}

/* Each kernel that maps a large page counts it: the process goes home if it has been moved, and stays there. */
static void stay_home(void)
{
    cpu_set_t here;

    thread_move(getpid() >> 16); /* an id begins with the number of the kernel that is its home */
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    CHECK(sched_setaffinity(0, sizeof(here), &here) == 0, "%s", strerror(errno));
}

/* In a process of one kernel. */
static int child_gets_all(void *context)
{
    int type = *(const int *)context;
    long before;
    char *area;
    bool good;

    stay_home();
    before = huge_kb();
    area = map_aligned(MORE, type, MADV_HUGEPAGE);
    good = changed_by(before, 0);
    area[HUGE + 5] = 1;
    good = changed_by(before, 1) && good;
    good = CHECK(area[HUGE + 4 * PAGE] == 0 && area[HUGE + 5] == 1, "it is not zero") && good;
    for (long at = 0; at < MORE; at++)
        area[at * HUGE + HUGE - 1] = 1;
    good = changed_by(before, MORE) && good;
    good = CHECK(audit_own(), "the kernels do not agree") && good;
    unmap(area);
    return changed_by(before, 0) && good ? 0 : 1;
}

static void test_comes(void)
{
    int type = PRIVATE, shared = SHARED;

    if (!possible())
        return;
    CHECK(tap_fork(child_gets_all, &type) == 0, "private memory");
    if (tap_on_kettle()) /* elsewhere it is a matter of the file system of shared memory */
        CHECK(tap_fork(child_gets_all, &shared) == 0, "shared memory");
}

/* Each kernel that touches one page of 2 MiB, first or not, maps all of it as a large page of the first one's memory.
 */
static void test_elsewhere(void)
{
    static const int types[] = {PRIVATE, SHARED};
    int kernels = kernels_count();
    char *area;

    if (only_alone || kernels == 1) {
        tap_skip("other kernels, or those that ask in this way, have small ones");
        return;
    }
    for (int first = 0; first < kernels; first++) {
        long before = huge_kb();

        kernels_go(first); /* the advice is done with before its own touch comes, not before another kernel's */
        area = map_aligned(MORE, types[first % 2], MADV_HUGEPAGE);
        area[HUGE + 7 * PAGE] = 5;
        area[HUGE + 9 * PAGE] = 6;
        CHECK(huge_kb() - before <= 2 * HUGE_KB, "%ld kB", huge_kb()); /* here and at home */
        CHECK(huge_kb() > before || may_be_locked, "%ld kB", huge_kb());
        for (int k = 0; k < kernels; k++) {
            kernels_go(k);
            CHECK(area[HUGE + 7 * PAGE] == 5 && area[HUGE + 8 * PAGE] == 0, "kernel %d", k);
            area[HUGE + 8 * PAGE + k + 1] = 1;
        }
        changed_by(before, kernels);
        CHECK(area[HUGE + 9 * PAGE] == 6, "it has changed");
        CHECK(audit_own(), "the kernels do not agree");
        unmap(area);
        changed_by(before, 0);
    }
    kernels_go(0);
}

static void test_does_not_come(void)
{
    long before = huge_kb();
    char *area = map_aligned(MORE, PRIVATE, MADV_NOHUGEPAGE);

    spread_memory_fill(area, 0, ALL, 1);
    changed_by(before, 0);
    unmap(area);
    area = map_aligned(MORE, PRIVATE, MADV_NOHUGEPAGE);
    CHECK(madvise(area + HUGE / 2, HUGE, MADV_HUGEPAGE) == 0, "%s", strerror(errno));
    spread_memory_fill(area, 0, ALL, 2);
    changed_by(before, 0); /* no whole one is in what was advised */
    unmap(area);
    area = map_aligned(MORE, PRIVATE, MADV_NOHUGEPAGE);
    area[PAGE] = 1;
    CHECK(madvise(area, HUGE, MADV_HUGEPAGE) == 0, "%s", strerror(errno));
    spread_memory_fill(area, 0, ALL, 3);
    if (tap_on_kettle()) /* elsewhere pages in use may be put together at any time */
        changed_by(before, 0);
    CHECK(spread_memory_holds(area, 0, ALL, 3), "contents");
    unmap(area);
}

/* Each change is of a part that begins in one large page and ends in another. */
#define FROM (HUGE_PAGES - 20)
#define TO (2 * HUGE_PAGES + 30)

static bool rest_holds(const char *area, int seed)
{
    return spread_memory_holds(area, 0, FROM, seed) && spread_memory_holds(area, TO, ALL, seed);
}

static void test_unmap(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = map_filled(k % 2 ? SHARED : PRIVATE, 4);

        kernels_go(k);
        CHECK(munmap(area + FROM * PAGE, (TO - FROM) * PAGE) == 0, "%s", strerror(errno));
        CHECK(!memory_readable(area + FROM * PAGE) && !memory_readable(area + TO * PAGE - 1), "it is still there");
        CHECK(rest_holds(area, 4), "kernel %d: the rest has changed", k);
        CHECK(audit_own(), "the kernels do not agree");
        unmap(area);
    }
    kernels_go(0);
}

static void test_discard(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = map_filled(PRIVATE, 5);

        kernels_go(k);
        CHECK(madvise(area + FROM * PAGE, (TO - FROM) * PAGE, MADV_DONTNEED) == 0, "%s", strerror(errno));
        CHECK(spread_memory_holds(area, FROM, TO, 0), "kernel %d: it is not zero", k);
        CHECK(rest_holds(area, 5), "kernel %d: the rest has changed", k);
        spread_memory_fill(area, FROM, TO, 5);
        CHECK(spread_memory_holds(area, 0, ALL, 5), "kernel %d: writes are lost", k);
        CHECK(audit_own(), "the kernels do not agree");
        unmap(area);
    }
    kernels_go(0);
}

/* Asks the kernel, which writes a byte that nobody looks at. */
static bool writable(char *address)
{
    char byte = 1;
    int ends[2];
    bool done;

    if (pipe(ends) != 0 || write(ends[1], &byte, 1) != 1)
        return CHECK(false, "%s", strerror(errno));
    done = read(ends[0], address, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return done;
}

static void test_protect(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = map_filled(PRIVATE, 6);

        kernels_go(k);
        CHECK(mprotect(area + FROM * PAGE, (TO - FROM) * PAGE, PROT_READ) == 0, "%s", strerror(errno));
        CHECK(!writable(area + FROM * PAGE + 9) && !writable(area + HUGE + 9), "it can be written");
        CHECK(writable(area + FROM * PAGE - 9) && writable(area + TO * PAGE + 9), "the rest cannot be written");
        CHECK(spread_memory_holds(area, 0, ALL, 6), "kernel %d: it has changed", k);
        CHECK(mprotect(area, (size_t)(MORE * HUGE), PROT_NONE) == 0, "%s", strerror(errno));
        CHECK(!memory_readable(area + HUGE), "it can be read");
        CHECK(mprotect(area, (size_t)(MORE * HUGE), READ_WRITE) == 0, "%s", strerror(errno));
        CHECK(spread_memory_holds(area, 0, ALL, 6), "kernel %d: it has changed", k);
        spread_memory_fill(area, 0, ALL, 7);
        CHECK(spread_memory_holds(area, 0, ALL, 7), "kernel %d: writes are lost", k);
        CHECK(audit_own(), "the kernels do not agree");
        unmap(area);
    }
    kernels_go(0);
}

/* In a process of one kernel, whichever way kernels ask each other. */
static int child_protects_whole(void *context)
{
    long before = huge_kb();
    char *area;
    bool good;

    (void)context;
    area = map_aligned(MORE, PRIVATE, MADV_HUGEPAGE);
    for (long at = 0; at < MORE; at++)
        area[at * HUGE + 9] = 1;
    CHECK(mprotect(area + HUGE, HUGE, PROT_READ) == 0, "%s", strerror(errno));
    good = changed_by(before, MORE);
    good = CHECK(!writable(area + HUGE + 9) && writable(area + 8) && writable(area + 2 * HUGE), "the wrong") && good;
    CHECK(mprotect(area + HUGE, HUGE, READ_WRITE) == 0, "%s", strerror(errno));
    good = CHECK(writable(area + HUGE + 8) && area[HUGE + 9] == 1, "it cannot be written or has changed") && good;
    return CHECK(audit_own(), "the kernels do not agree") && good ? 0 : 1;
}

static void test_protect_whole(void)
{
    if (possible())
        CHECK(tap_fork(child_protects_whole, NULL) == 0, "in the child");
}

static int child_writes(void *context)
{
    char *area = context;

    if (!spread_memory_holds(area, 0, ALL, 8))
        return 1;
    spread_memory_fill(area, FROM, TO, 9);
    return spread_memory_holds(area, FROM, TO, 9) && rest_holds(area, 8) && audit_own() ? 0 : 2;
}

static void test_fork(void)
{
    for (int k = 0; k < kernels_count(); k += 2) {
        char *area = map_filled(PRIVATE, 8), *shared = map_filled(SHARED, 8);

        kernels_go(k);
        CHECK(tap_fork(child_writes, area) == 0, "kernel %d", k);
        CHECK(spread_memory_holds(area, 0, ALL, 8), "kernel %d: the child wrote into its parent's memory", k);
        spread_memory_fill(area, FROM, TO, 10);
        CHECK(spread_memory_holds(area, FROM, TO, 10) && rest_holds(area, 8), "kernel %d: writes are lost", k);
        kernels_go(k);
        CHECK(tap_fork(child_writes, shared) == 0, "kernel %d", k);
        CHECK(spread_memory_holds(shared, FROM, TO, 9) && rest_holds(shared, 8), "kernel %d: what is shared", k);
        CHECK(audit_own(), "the kernels do not agree");
        unmap(area);
        unmap(shared);
    }
    kernels_go(0);
}

static void test_move(void)
{
    for (int k = 0; k < kernels_count(); k++) {
        char *area = map_filled(PRIVATE, 11), *there = map_aligned(MORE, PRIVATE, 0), *moved;

        kernels_go(k);
        moved = mremap(area, (size_t)(MORE * HUGE), (size_t)(MORE * HUGE), MREMAP_MAYMOVE | MREMAP_FIXED, there);
        CHECK(moved == there, "%s", strerror(errno));
        CHECK(spread_memory_holds(there, 0, ALL, 11), "kernel %d: it has changed", k);
        CHECK(!memory_readable(area), "it is still there");
        area = there;
        there = map_aligned(MORE, PRIVATE, 0);
        kernels_go(k);
        moved = mremap(area + FROM * PAGE, (TO - FROM) * PAGE, (TO - FROM) * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
                       there + FROM * PAGE);
        CHECK(moved == there + FROM * PAGE, "%s", strerror(errno));
        CHECK(spread_memory_holds(there, FROM, TO, 11) && rest_holds(area, 11), "kernel %d: it has changed", k);
        CHECK(audit_own(), "the kernels do not agree");
        unmap(area);
        unmap(there);
    }
    kernels_go(0);
}

static int child_gets_one(void *context)
{
    long before;
    char *area;

    (void)context;
    stay_home();
    before = huge_kb();
    area = map_aligned(1, PRIVATE, MADV_HUGEPAGE);
    area[0] = 1;
    return changed_by(before, 1) ? 0 : 1;
}

/* More is touched than there can be large pages. */
static void test_without(void)
{
    long count = 192, before = huge_kb();
    char *area = map_aligned(count, PRIVATE | MAP_NORESERVE, MADV_HUGEPAGE);

    for (long at = 0; at < count; at++)
        area[at * HUGE + at] = (char)at;
    if (huge_kb() - before == count * HUGE_KB)
        tap_note("there was room for all");
    for (long at = 0; at < count; at++)
        CHECK(area[at * HUGE + at] == (char)at, "%ld has changed", at);
    CHECK(audit_own(), "the kernels do not agree");
    munmap(area, (size_t)(count * HUGE));
    if (possible()) /* frames have come together again */
        CHECK(tap_fork(child_gets_one, NULL) == 0, "in the child");
}

/* --- NUMA policies --- */

#define BLOCKS_MOST 300 /* of a node that is filled: 600 MiB */

enum { MPOL_DEFAULT, MPOL_PREFERRED, MPOL_BIND, MPOL_INTERLEAVE }; /* linux/mempolicy.h */

/* Policy MODE for the memory at AREA, or for this thread if that is NULL, on the nodes of the bits NODES. */
static void set_policy(void *area, int mode, unsigned long nodes)
{
    if (area == NULL)
        MUST(syscall(SYS_set_mempolicy, mode, nodes != 0 ? &nodes : NULL, nodes != 0 ? 65 : 0));
    else
        MUST(syscall(SYS_mbind, area, MORE * HUGE, mode, &nodes, 65, 0));
}

/* Free memory of NODE in KiB; -1 after a note. */
static long free_kb(int node)
{
    char path[64], line[128];
    long kb = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
    file = fopen(path, "r");
    while (file != NULL && kb < 0 && fgets(line, sizeof(line), file) != NULL) {
        const char *found = strstr(line, "MemFree:");

        if (found != NULL)
            kb = strtol(found + strlen("MemFree:"), NULL, 10);
    }
    if (file != NULL)
        fclose(file);
    if (kb < 0)
        tap_note("%s: no MemFree", path);
    return kb;
}

/* True, or the test is skipped: memory is placed by policies on one of two nodes, and stays there. */
static bool has_nodes(void)
{
    if (tap_on_kettle() && access("/sys/devices/system/node/node1", F_OK) == 0 && !follows)
        return true;
    tap_skip("not a Kettle of 2 nodes where memory stays");
    return false;
}

/* --- a team --- */

#define TEAM 16
#define TEAM_ROUNDS 24
#define VAIN_ROUNDS 64

static struct {
    char *area;
    int first, spread; /* on SPREAD kernels from FIRST on */
    atomic_int ready, go;
} team;

static void touch_own(struct thread *thread)
{
    kernels_go(team.first + thread->index % team.spread);
    atomic_fetch_add(&team.ready, 1);
    thread_wait(&team.go, 1);
    team.area[thread->index * PAGE] = 1;
}

/* How many kernels map what the team has touched: its own and the home. */
static int team_shown(void)
{
    bool home = false;

    for (int i = 0; i < team.spread; i++)
        home |= (team.first + i) % kernels_count() == getpid() >> 16;
    return team.spread + !home;
}

/* COUNT threads of SPREAD kernels, from FIRST on, touch their pages of the same 2 MiB first, which are bound to NODE
 * unless it is -1. If they are of one kernel, none takes a lock for that: who comes late finds the page. (A page of the
 * process's own data may still need one after a fork.) */
static void touch_together(int count, int first, int spread, int node)
{
    struct thread threads[TEAM] = {{0}};
    long before = huge_kb();
    unsigned long locks;

    team.area = map_aligned(MORE, PRIVATE, MADV_HUGEPAGE);
    team.first = first;
    team.spread = spread < kernels_count() ? spread : kernels_count();
    if (node >= 0)
        set_policy(team.area, MPOL_BIND, 1ul << node);
    atomic_store(&team.ready, 0);
    atomic_store(&team.go, 0);
    for (int i = 0; i < count; i++) {
        threads[i].index = i;
        CHECK(thread_start(&threads[i], touch_own), "%s", strerror(errno));
    }
    CHECK(thread_wait(&team.ready, count), "the threads are not there");
    locks = events_everywhere("page_locks");
    atomic_store(&team.go, 1);
    for (int i = 0; i < count; i++)
        CHECK(thread_join(&threads[i]), "thread %d", i);
    locks = events_everywhere("page_locks") - locks;
    if (spread == 1 && !only_alone && !may_be_locked && !follows)
        CHECK(locks <= TEAM / 4, "%lu locks of a page", locks);
    if (tap_on_kettle() && !only_alone) /* shown by the home and where it was touched */
        CHECK(changed_by(before, team_shown()), "touched by %d", count);
    for (int i = 0; i < count; i++)
        CHECK(team.area[i * PAGE] == 1 && (node < 0 || node_of(team.area + i * PAGE) == node), "page %d", i);
    CHECK(audit_own(), "the kernels do not agree");
    unmap(team.area);
}

static void test_team(void)
{
    if (!possible())
        return;
    touch_together(1, 1, 1, -1);
    touch_together(2, 1, 1, -1);
    for (int i = 0; i < 20; i++) /* an answer with pages that are there already must not split what has come */
        touch_together(TEAM, 1, 1, -1);
}

/* The same for memory of another kernel, which it takes time to get and to zero, by one kernel and by several at once:
 * the block of who is late goes back to its node. */
static void test_team_bound(void)
{
    long before[2];

    if (!has_nodes())
        return;
    touch_together(TEAM, 1, 1, 0); /* what is made once is there */
    for (int node = 0; node < 2; node++)
        before[node] = free_kb(node);
    for (int i = 0; i < TEAM_ROUNDS; i++) {
        touch_together(TEAM, i / 2, 1, i % 2);
        touch_together(2 + i % 2, i, 2, i / 2 % 2);
    }
    for (int node = 0; node < 2; node++)
        CHECK(free_kb(node) > before[node] - HUGE_KB, "node %d has lost %ld KiB", node, before[node] - free_kb(node));
}

/* --- memory that is got in vain --- */

static void write_page(struct thread *thread)
{
    (void)thread;
    atomic_fetch_add(&team.ready, 1);
    thread_wait(&team.go, 1);
    team.area[0] = 1;
}

/* A small page is wanted while the 2 MiB has another page, and a large one when the small one has come from the other
 * node, as the other page is gone meanwhile. The small page's frame goes back. */
static int child_gets_in_vain(void *context)
{
    int node;
    long before = 0;

    (void)context;
    stay_home();
    node = node_here() == 0 ? 1 : 0;
    for (int i = 0; i <= VAIN_ROUNDS; i++) {
        struct thread thread = {0};

        if (i == 1) /* what is made once is there */
            before = free_kb(node);
        team.area = map_aligned(MORE, PRIVATE, 0);
        set_policy(team.area, MPOL_BIND, 1ul << node);
        atomic_store(&team.ready, 0);
        atomic_store(&team.go, 0);
        MUST(thread_start(&thread, write_page) ? 0 : -1);
        CHECK(thread_wait(&team.ready, 1), "the thread is not there");
        CHECK(*(volatile char *)(team.area + PAGE) == 0, "it is not zero");
        MUST(madvise(team.area, HUGE, MADV_HUGEPAGE));
        atomic_store(&team.go, 1);
        sched_yield(); /* the thread has asked for the page */
        MUST(madvise(team.area, HUGE, MADV_DONTNEED));
        CHECK(thread_join(&thread), "the thread");
        unmap(team.area);
    }
    return CHECK(free_kb(node) > before - VAIN_ROUNDS * PAGE / 2048, "node %d has lost %ld KiB", node,
                 before - free_kb(node))
               ? 0
               : 1;
}

static void test_in_vain(void)
{
    if (has_nodes())
        CHECK(tap_fork(child_gets_in_vain, NULL) == 0, "in the child");
}

static int toucher; /* the kernel */

/* What an area of large pages takes where it is touched, and at home. */
static long least_kb(void)
{
    return MORE * HUGE_KB * (toucher == getpid() >> 16 ? 1 : 2);
}

/* Memory that this thread touches first is on NODE, and large or not, by a policy of the area (OF_AREA) or the thread.
 */
static void expect_bound(bool of_area, int node, bool large)
{
    char *area = map_aligned(MORE, PRIVATE, MADV_HUGEPAGE);
    long before = huge_kb(), now;

    set_policy(of_area ? area : NULL, MPOL_BIND, 1ul << node);
    for (long page = 0; page < ALL; page++)
        area[page * PAGE] = 1;
    now = huge_kb() - before;
    set_policy(NULL, MPOL_DEFAULT, 0);
    CHECK(!large || may_be_locked || now >= least_kb(), "%ld kB are large", now);
    for (long page = 0; page < ALL; page += 37)
        if (!CHECK(node_of(area + page * PAGE) == node, "page %ld is on node %d", page, node_of(area + page * PAGE)))
            break;
    unmap(area);
}

/* Large pages go to the nodes one after the other, as on Linux, and small ones, too. */
static void expect_interleaved(bool of_area, bool large)
{
    char *area = map_aligned(MORE, PRIVATE, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    long before = huge_kb(), now;

    set_policy(of_area ? area : NULL, MPOL_INTERLEAVE, 3);
    for (long page = 0; page < ALL; page++)
        area[page * PAGE] = 1;
    now = huge_kb() - before;
    set_policy(NULL, MPOL_DEFAULT, 0);
    CHECK(large ? may_be_locked || now >= least_kb() : now == 0, "%ld kB are large", now);
    for (long at = 0; at < MORE && (!large || !may_be_locked); at++) {
        int node = large ? (int)((uintptr_t)(area + at * HUGE) / HUGE % 2) : 0;

        CHECK(node_has(node, area + at * HUGE, HUGE_PAGES) == (large ? HUGE_PAGES : HUGE_PAGES / 2),
              "2 MiB %ld: %ld pages on %d", at, node_has(node, area + at * HUGE, HUGE_PAGES), node);
    }
    CHECK(audit_own(), "the kernels do not agree");
    unmap(area);
}

static void test_policy(void)
{
    if (!has_nodes())
        return;
    for (int kernel = 0; kernel < kernels_count(); kernel++) {
        kernels_go(kernel);
        for (int of_area = 0; of_area < 2; of_area++) {
            bool large = kernels_count() == 1 || !only_alone;

            toucher = kernel;
            expect_bound(of_area != 0, node_here(), large);
            expect_bound(of_area != 0, node_here() == 0 ? 1 : 0, large);
            expect_interleaved(of_area != 0, large);
            expect_interleaved(of_area != 0, false);
        }
    }
    kernels_go(0);
}

/* More 2 MiB are preferred on another node than it has: when it has no large ones any more, there are small ones, there
 * or elsewhere. */
static int child_fills_node(void *context)
{
    int node = *(const int *)context;
    long count, large, on = 0;
    unsigned long nodes = 1ul << node;
    char *area;
    bool good;

    stay_home();
    count = free_kb(node) / HUGE_KB + 4;
    large = -huge_kb();
    area = map_aligned(count, PRIVATE | MAP_NORESERVE, MADV_HUGEPAGE);
    MUST(syscall(SYS_mbind, area, count * HUGE, MPOL_PREFERRED, &nodes, 65, 0));
    for (long at = 0; at < count; at++)
        area[at * HUGE + at] = (char)at;
    large += huge_kb();
    good = CHECK(large < count * HUGE_KB && large > count * HUGE_KB / 2, "%ld kB are large, of %ld", large,
                 count * HUGE_KB);
    for (long at = 0; at < count; at++) {
        good = CHECK(area[at * HUGE + at] == (char)at, "%ld has changed", at) && good;
        on += node_of(area + at * HUGE + at) == node;
    }
    good = CHECK(on * HUGE_KB >= large, "%ld pages are on the node, %ld kB are large", on, large) && good;
    good = CHECK(audit_own(), "the kernels do not agree") && good;
    munmap(area, (size_t)(count * HUGE));
    return good ? 0 : 1;
}

static void test_full_node(void)
{
    int node = 1;

    if (!has_nodes())
        return;
    if (only_alone || may_be_locked) {
        tap_skip("a large page need not come");
        return;
    }
    if (free_kb(1) / HUGE_KB > BLOCKS_MOST || free_kb(0) / HUGE_KB < 64) {
        tap_skip("a node that is too large, or too small");
        return;
    }
    CHECK(tap_fork(child_fills_node, &node) == 0, "in the child");
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"comes", "memory advised with MADV_HUGEPAGE gets large pages of zeros, and returns them", test_comes},
        {"elsewhere", "a large page is large on every kernel that touches it", test_elsewhere},
        {"does-not-come", "memory without the advice, parts of 2 MiB and ranges in use get small pages",
         test_does_not_come},
        {"unmap", "a part of a large page can be unmapped, and the rest stays", test_unmap},
        {"discard", "a part of a large page can be discarded and is zero then, and the rest stays", test_discard},
        {"protect", "a part of a large page can be protected, and all of it", test_protect},
        {"protect-whole", "a large page that is protected as a whole stays large", test_protect_whole},
        {"fork", "after a fork parent and child have copies of private large pages, and share shared ones", test_fork},
        {"move", "a large page can be moved as a whole and in part", test_move},
        {"team", "threads of one kernel that touch 2 MiB first at once get one large page", test_team},
        {"team-bound",
         "so do threads of one kernel and of two for memory that is bound to a node, and no memory is lost",
         test_team_bound},
        {"in-vain", "a small page that is got while its 2 MiB becomes a large page goes back to its node",
         test_in_vain},
        {"policy",
         "memory that is bound to a node is there and large, whoever touches it, and large pages are interleaved",
         test_policy},
        {"full-node", "memory that is preferred on a node without large pages gets small ones", test_full_node},
        {"without", "without memory for large pages there are small ones, and later large ones again", test_without},
    };

    only_alone = tap_take(&argc, &argv, "alone");
    may_be_locked = tap_take(&argc, &argv, "locked");
    follows = tap_take(&argc, &argv, "follows");
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}

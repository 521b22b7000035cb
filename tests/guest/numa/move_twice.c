/* Pages that one process maps at several places move at all of them: tests of test-move. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/numa/move.h"
#include "tests/guest/numa/node.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define SOME 16l /* pages */
#define MOVERS 2
#define KNOWN 64 /* places of a page: mm/move/move.md */

static char *first, *again; /* the two places */
static atomic_bool over;
static atomic_long moved;
static bool on_kettle;

void move_test_twice(void)
{
    atomic_int *one, *other;

    if (move_skip_one_node())
        return;
    one = (atomic_int *)(void *)spread_memory_map(1, SHARED);
    if (!CHECK(one != NULL, "shared memory"))
        return;
    atomic_store(one, 1);
    other = mremap(one, 0, PAGE, MREMAP_MAYMOVE);
    if (!CHECK(other != MAP_FAILED && atomic_load(other) == 1, "%s", strerror(errno)))
        return;
    for (int k = 0; k < 2 * move_node_count; k++) {
        int wanted = node_of(one) == 0 ? 1 : 0, status = -1;

        kernels_go(k);
        CHECK(move_call(one, 1, &wanted, &status, MOVE) == 0 && status == -EACCES, "round %d: %d", k, status);
        CHECK(move_call(k % 2 == 0 ? other : one, 1, &wanted, &status, MOVE | MOVE_ALL) == 0 && status == wanted,
              "round %d: %d", k, status);
        CHECK(node_of(one) == wanted && node_of(other) == wanted, "round %d: on nodes %d and %d", k, node_of(one),
              node_of(other));
        atomic_store(one, k + 2);
        CHECK(atomic_load(other) == k + 2, "round %d: two pages", k);
    }
    CHECK(audit_own(), "mapped twice");
    munmap(other, PAGE);
    for (int k = 0; k < 2 * move_node_count; k++) {
        int wanted = k % move_node_count, status = -1;

        CHECK(move_call(one, 1, &wanted, &status, MOVE) == 0 && status == wanted, "round %d: %d", k, status);
    }
    kernels_go(0);
    munmap(one, PAGE);
}

/* A page at as many places as may be known moves, and at one more it stays. */
static void many_places(void)
{
    char *one = (char *)spread_memory_map(1, SHARED), *more[KNOWN];

    if (!CHECK(one != NULL, "shared memory"))
        return;
    *(volatile long *)(void *)one = 1;
    for (int i = 0; i < KNOWN; i++) {
        int wanted, status = -1;

        more[i] = mremap(one, 0, PAGE, MREMAP_MAYMOVE);
        if (!CHECK(more[i] != MAP_FAILED && *(volatile long *)(void *)more[i] == 1, "%s", strerror(errno)))
            return;
        if (i < KNOWN - 2)
            continue;
        wanted = node_of(one) == 0 ? 1 : 0;
        CHECK(move_call(i % 2 == 0 ? one : more[7], 1, &wanted, &status, MOVE | MOVE_ALL) == 0, "%s", strerror(errno));
        CHECK(status == (i == KNOWN - 2 || !tap_on_kettle() ? wanted : -EBUSY), "%d places: %d", i + 2, status);
        CHECK((node_of(more[i]) == wanted) == (status == wanted), "%d places: node %d", i + 2, node_of(more[i]));
    }
    CHECK(audit_own(), "many places");
    for (int i = 0; i < KNOWN; i++)
        munmap(more[i], PAGE);
    munmap(one, PAGE);
}

/* Reads COUNT pages at PLACE, which have the numbers from FROM on: a page that nobody has touched there does not move
 * on Linux. */
static void touch(char *place, long from, long count)
{
    for (long i = 0; i < count; i++) {
        long found = *(volatile long *)(void *)(place + i * PAGE);

        CHECK(found == from + i, "page %ld: %ld", from + i, found);
    }
}

/* Moves COUNT pages at PLACE, to which those from FROM on of the pages at FIRST are mapped, round all nodes. */
static void go_round(const char *what, char *place, long from, long count)
{
    static int wanted[PAGES], status[PAGES];

    touch(place, from, count);
    for (int k = 0; k < 2 * move_node_count; k++) {
        kernels_go(k);
        for (long i = 0; i < count; i++)
            wanted[i] = (int)((k + i / 3) % move_node_count);
        CHECK(move_call(place, count, wanted, status, MOVE | MOVE_ALL) == 0, "%s", strerror(errno));
        for (long i = 0; i < count; i++) {
            volatile long *at = (volatile long *)(void *)(place + i * PAGE);

            CHECK(status[i] == wanted[i], "%s, round %d page %ld: %d, not %d", what, k, i, status[i], wanted[i]);
            CHECK(node_of(first + (from + i) * PAGE) == wanted[i], "%s, round %d page %ld: on node %d", what, k, i,
                  node_of(first + (from + i) * PAGE));
            CHECK(*at == from + i, "%s, round %d page %ld: %ld", what, k, i, *at);
        }
    }
    CHECK(audit_own(), "%s", what);
}

static void fill(void)
{
    for (long i = 0; i < SOME; i++)
        *(volatile long *)(void *)(first + i * PAGE) = i;
}

/* A part is mapped again, somewhere and right behind it, so that the two places of a page are near each other. */
static void part_again(void)
{
    char *room = (char *)spread_memory_map(2 * SOME, SHARED);

    first = room;
    if (!CHECK(first != NULL, "shared memory"))
        return;
    fill();
    again = mremap(first + 5 * PAGE, 0, 6 * PAGE, MREMAP_MAYMOVE);
    if (!CHECK(again != MAP_FAILED, "%s", strerror(errno)))
        return;
    go_round("a part", first, 0, SOME);
    go_round("the second place of a part", again, 5, 6);
    munmap(again, 6 * PAGE);
    again = mremap(first + (SOME - 3) * PAGE, 0, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, first + SOME * PAGE);
    if (!CHECK(again == first + SOME * PAGE, "%s", strerror(errno)))
        return;
    touch(again, SOME - 3, 3);
    for (int k = 0; k < 2 * move_node_count; k++) { /* both places in one call */
        int wanted[SOME + 3], status[SOME + 3];

        for (long i = 0; i < SOME + 3; i++)
            wanted[i] = k % move_node_count;
        CHECK(move_call(first, SOME + 3, wanted, status, MOVE | MOVE_ALL) == 0, "%s", strerror(errno));
        for (long i = 0; i < SOME + 3; i++) /* Linux: not twice in one call */
            CHECK(status[i] == wanted[i] || (status[i] == -EBUSY && !tap_on_kettle()), "round %d page %ld: %d, not %d",
                  k, i, status[i], wanted[i]);
        touch(first, 0, SOME);
        touch(again, SOME - 3, 3);
    }
    go_round("pages near each other", first, 0, SOME);
    go_round("the higher ones", again, SOME - 3, 3);
    munmap(room, 2 * SOME * PAGE);
}

/* The first pages are mapped again at a lower place, behind which there is something else: private memory that nobody
 * has touched, or other shared memory, which stays where it is. The rest is mapped again elsewhere. */
static void prefix_again(bool shared_behind)
{
    const long few = 6;
    char *low = mmap(NULL, SOME * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *rest;
    volatile long *behind = (volatile long *)(void *)(low + few * PAGE);

    first = (char *)spread_memory_map(SOME, SHARED);
    if (!CHECK(first != NULL && low != MAP_FAILED, "memory"))
        return;
    if (first < low) { /* which of them is lower is not promised */
        munmap(low, SOME * PAGE);
        low = first - 4 * SOME * PAGE;
        low = mmap(low, SOME * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        behind = (volatile long *)(void *)(low + few * PAGE);
    }
    fill();
    again = mremap(first, 0, few * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, low);
    rest = mremap(first + few * PAGE, 0, (SOME - few) * PAGE, MREMAP_MAYMOVE);
    if (!CHECK(again == low && rest != MAP_FAILED, "%s", strerror(errno)))
        return;
    touch(again, 0, few);
    touch(rest, few, SOME - few);
    if (shared_behind) {
        int node;

        if (!CHECK(mmap((void *)behind, (SOME - few) * PAGE, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (void *)behind,
                   "%s", strerror(errno)))
            return;
        *behind = 1000;
        node = node_of((void *)behind);
        go_round("a part below, and other shared memory behind it", first, 0, SOME);
        CHECK(*behind == 1000 && node_of((void *)behind) == node, "%ld on node %d, not %d", *behind,
              node_of((void *)behind), node);
    } else {
        go_round("a part below, and private memory behind it", first, 0, SOME);
        CHECK(*behind == 0, "%ld", *behind);
    }
    munmap(low, SOME * PAGE);
    munmap(rest, (SOME - few) * PAGE);
    munmap(first, SOME * PAGE);
}

/* Two shared mappings of a file, and a private one, of which two pages have been written to. */
static void file_again(void)
{
    int file = memfd_create("twice", 0);
    char *own, *low;

    if (!CHECK(file >= 0 && ftruncate(file, SOME * PAGE) == 0, "%s", strerror(errno)))
        return;
    first = mmap(NULL, SOME * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    again = mmap(NULL, SOME * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    own = mmap(NULL, SOME * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    close(file);
    if (!CHECK(first != MAP_FAILED && again != MAP_FAILED && own != MAP_FAILED, "%s", strerror(errno)))
        return;
    if (first < again) { /* the place that nobody has touched is the lower one */
        low = first;
        first = again;
        again = low;
    }
    fill();
    touch(own, 0, SOME);
    go_round("a file, untouched at one place", first, 0, SOME);
    touch(again, 0, 4);
    go_round("a file, touched there in part", first, 0, SOME);
    go_round("a file", again, 0, SOME);
    *(volatile long *)(void *)(own + 2 * PAGE) = *(volatile long *)(void *)(own + 3 * PAGE) = -1;
    go_round("a file with private copies", first, 0, SOME);
    for (long i = 0; i < SOME; i++)
        CHECK(*(volatile long *)(void *)(own + i * PAGE) == (i == 2 || i == 3 ? -1 : i), "private page %ld", i);
    munmap(first, SOME * PAGE);
    munmap(again, SOME * PAGE);
    munmap(own, SOME * PAGE);
}

void move_test_places(void)
{
    if (move_skip_one_node())
        return;
    move_alone();
    many_places();
    kernels_go(1);
    many_places();
    part_again();
    prefix_again(false);
    prefix_again(true);
    file_again();
    kernels_go(0);
    move_others();
}

static atomic_long *word_of(char *place, long page, int index)
{
    return (atomic_long *)(void *)(place + page * PAGE + 64 * (1 + index));
}

/* Adds at one place, and reads at the other, what nobody else adds. */
static void adder(struct thread *thread)
{
    uint64_t random = (uint64_t)thread->index + 11;
    long added[SOME] = {0};

    kernels_go(thread->index);
    while (!atomic_load(&over)) {
        long page = (long)(tap_random(&random) % SOME);
        bool here = tap_random(&random) % 2 == 0;

        atomic_fetch_add(word_of(here ? first : again, page, thread->index), 1);
        added[page]++;
        if (atomic_load(word_of(here ? again : first, page, thread->index)) != added[page])
            atomic_fetch_add(&move_wrong, 1);
        x86_pause();
    }
}

/* Moves pages, from the one place or from the other. What the other mover has locked for long, or a child has, stays.
 */
static void mover(struct thread *thread)
{
    uint64_t random = (uint64_t)thread->index + 77;
    int wanted[SOME], status[SOME];
    bool was_moved = false;

    for (long round = 0; round < move_rounds || (!was_moved && round < 100 * move_rounds); round++) {
        kernels_go((long)(tap_random(&random) % KERNELS_MAX));
        for (long i = 0; i < SOME; i++)
            wanted[i] = (int)(tap_random(&random) % (unsigned)move_node_count);
        /* Linux returns how many stay */
        if (move_call(thread->index == 0 ? first : again, SOME, wanted, status, MOVE | MOVE_ALL) != 0 && on_kettle)
            atomic_fetch_add(&move_wrong, 1);
        for (long i = 0; i < SOME; i++) {
            was_moved |= status[i] == wanted[i];
            if (status[i] != wanted[i] && status[i] != -EBUSY && on_kettle) /* Linux: also in other cases */
                atomic_fetch_add(&move_wrong, 1);
            atomic_fetch_add(&moved, status[i] == wanted[i]);
        }
    }
    atomic_fetch_add(&move_arrived, 1);
}

void move_test_places_storm(void)
{
    struct thread adders[READERS] = {{0}}, movers[MOVERS] = {{0}};
    long forks = 0;

    if (move_skip_one_node())
        return;
    first = (char *)spread_memory_map(SOME, SHARED);
    if (!CHECK(first != NULL, "shared memory"))
        return;
    fill();
    again = mremap(first, 0, SOME * PAGE, MREMAP_MAYMOVE);
    if (!CHECK(again != MAP_FAILED, "%s", strerror(errno)))
        return;
    touch(again, 0, SOME);
    atomic_store(&over, false);
    atomic_store(&move_wrong, 0);
    atomic_store(&move_arrived, 0);
    atomic_store(&moved, 0);
    on_kettle = tap_on_kettle();
    for (int i = 0; i < READERS; i++) {
        adders[i].index = i;
        REQUIRE(thread_start(&adders[i], adder), "%s", strerror(errno));
    }
    for (int i = 0; i < MOVERS; i++) {
        movers[i].index = i;
        REQUIRE(thread_start(&movers[i], mover), "%s", strerror(errno));
    }
    while (atomic_load(&move_arrived) < MOVERS) { /* a fork locks the whole space */
        pid_t child = fork();
        void *third;
        int status;

        if (child == 0)
            _exit(*(volatile long *)(void *)(again + PAGE) == 1 ? 0 : 1);
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child %ld", forks);
        third = mremap(first + PAGE, 0, PAGE, MREMAP_MAYMOVE);
        CHECK(third != MAP_FAILED && *(volatile long *)third == 1 && munmap(third, PAGE) == 0, "%s", strerror(errno));
        forks++;
    }
    atomic_store(&over, true);
    for (int i = 0; i < MOVERS; i++)
        CHECK(thread_join(&movers[i]), "mover %d", i);
    for (int i = 0; i < READERS; i++)
        CHECK(thread_join(&adders[i]), "adder %d", i);
    CHECK(atomic_load(&move_wrong) == 0, "%lu things are wrong", atomic_load(&move_wrong));
    CHECK(atomic_load(&moved) > 0, "nothing has moved");
    tap_note("%ld pages moved beside %ld forks", atomic_load(&moved), forks);
    CHECK(audit_own(), "at the end");
    kernels_go(0);
    munmap(first, SOME * PAGE);
    munmap(again, SOME * PAGE);
}

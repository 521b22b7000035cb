/* test-draw: with numa=kettle a thread whose memory others use on their node comes to a free CPU there, once, and with
 * its memory's content; one that has chosen its kernel, that may not leave it, or whose own memory is more, stays. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/place.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "tests/guest/mm/events.h"
#include "tests/guest/numa/node.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define PAGES 64l
#define PERIOD "20" /* ms between two looks, at least */
#define LOOKS 5     /* of a kernel: one in each of several periods, of ten times that */

enum kind { MOVES_ITSELF, IS_BOUND, IS_FREE };

static atomic_long *words; /* one for each page, which both threads count up */
static char *own;          /* of the guest alone: as many pages again as it uses of its own */
static atomic_bool over;
static atomic_long guest_rounds, host_rounds;
static atomic_int guest_place, ready;
static atomic_long guest_moves;
static long own_pages;
static int kernels[64];
static int near, far; /* places: of kernel 0, and of the last kernel on another node; -1: there is none */

static void count_up(void)
{
    for (long i = 0; i < PAGES; i++)
        atomic_fetch_add(&words[i * PAGE / (long)sizeof(long)], 1);
}

/* Is on kernel 0, where the memory is, and stays. */
static void host(struct thread *thread)
{
    (void)thread;
    place_go(near);
    while (!atomic_load(&over)) {
        count_up();
        atomic_fetch_add(&host_rounds, 1);
        x86_pause();
    }
}

static int kernel_here(void)
{
    return (int)x86_syscall0(KETTLE_CALL_KERNEL);
}

static void guest(struct thread *thread)
{
    int last;

    if (thread->index == MOVES_ITSELF)
        place_go(far);
    else
        CHECK(place_push(0, far) == 0, "bound to place %d", far);
    if (thread->index == IS_FREE)
        CHECK(place_free(0) == 0, "bound no more");
    last = kernel_here();
    CHECK(last == kernels[far], "begins on kernel %d", last);
    atomic_store(&ready, 1);
    while (!atomic_load(&over)) {
        int here = kernel_here();

        atomic_fetch_add(&guest_moves, here != last);
        last = here;
        atomic_store(&guest_place, here);
        count_up();
        for (long i = 0; i < own_pages; i++)
            ((volatile char *)own)[i * PAGE]++;
        atomic_fetch_add(&guest_rounds, 1);
        x86_pause();
    }
}

/* For so long that the CPU halts, and its kernel's board shows that it is free. */
static void nap(void)
{
    struct timespec time = {.tv_nsec = 100000000};

    nanosleep(&time, NULL);
}

#define NAP_UNTIL(condition, what) UNTIL((nap(), (condition)), what)

/* How many CPUs the node of kernel 0 has. */
static int cpus_near(void)
{
    int count = 0, first;

    for (int i = 0; i < place_count(); i++)
        count += kettle_node(kernels[i]) == kettle_node(kernels[near]) ? place_cpus(i, &first) : 0;
    return count;
}

static bool begin(struct thread *one, struct thread *other, enum kind kind, long pages)
{
    words = (atomic_long *)(void *)spread_memory_map_blocks(PAGES, PRIVATE);
    own = spread_memory_map(PAGES * 4, PRIVATE);
    own_pages = pages;
    if (words == NULL || own == NULL)
        return false;
    atomic_store(&over, false);
    atomic_store(&guest_rounds, 0);
    atomic_store(&host_rounds, 0);
    atomic_store(&guest_moves, 0);
    atomic_store(&ready, 0);
    place_go(near);
    for (long i = 0; i < PAGES; i++)
        atomic_store(&words[i * PAGE / (long)sizeof(long)], i);
    *one = (struct thread){0};
    *other = (struct thread){.index = (int)kind};
    if (!CHECK(thread_start(one, host) && thread_start(other, guest), "%s", strerror(errno)))
        return false;
    NAP_UNTIL(atomic_load(&ready) != 0, "the guest");
    return CHECK(kettle_control("numa=kettle") == 0, "%s", strerror(errno));
}

static void end(struct thread *one, struct thread *other)
{
    long sum;

    atomic_store(&over, true);
    CHECK(thread_join(one) && thread_join(other), "the threads");
    sum = atomic_load(&guest_rounds) + atomic_load(&host_rounds);
    for (long i = 0; i < PAGES; i++)
        CHECK(atomic_load(&words[i * PAGE / (long)sizeof(long)]) == i + sum, "page %ld", i);
    CHECK(kettle_control("numa=none") == 0, "%s", strerror(errno));
    CHECK(audit_own(), "at the end");
    munmap((void *)words, PAGES * PAGE);
    munmap(own, (size_t)PAGES * 4 * PAGE);
}

static bool is_possible(void)
{
    if (far < 0)
        tap_skip("one node, or one kernel");
    else if (cpus_near() < 2)
        tap_skip("no CPU is free where the memory is");
    return far >= 0 && cpus_near() >= 2;
}

/* More periods have gone by than three, in which none moves after another one has, and the kernels of both have looked
 * in them. */
static void looks_go_on(void)
{
    int guest_kernel = atomic_load(&guest_place);
    unsigned long looks = events_of(kernels[near], "seen_looks"), of_guest = events_of(guest_kernel, "seen_looks");
    struct timespec begin, now;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    NAP_UNTIL(clock_gettime(CLOCK_MONOTONIC, &now) == 0 && now.tv_sec >= begin.tv_sec + 2, "periods");
    NAP_UNTIL(events_of(kernels[near], "seen_looks") >= looks + LOOKS, "looks");
    NAP_UNTIL(events_of(guest_kernel, "seen_looks") >= of_guest + LOOKS, "looks of the guest's kernel");
}

static long pages_near(void)
{
    return node_has(kettle_node(kernels[near]), words, PAGES);
}

static void test_comes(void)
{
    struct thread one, other;
    unsigned long drawn = events_everywhere("threads_drawn");
    int first;

    if (!is_possible() || !begin(&one, &other, IS_FREE, 0))
        return;
    NAP_UNTIL(kettle_node(atomic_load(&guest_place)) == kettle_node(kernels[near]), "the guest comes");
    CHECK(place_cpus(near, &first) > 1 || atomic_load(&guest_place) != kernels[near], "the host has that CPU");
    CHECK(events_everywhere("threads_drawn") == drawn + 1, "%lu moves", events_everywhere("threads_drawn") - drawn);
    NAP_UNTIL(pages_near() == PAGES, "the memory is, or comes, there");
    looks_go_on();
    CHECK(atomic_load(&guest_moves) == 1, "the guest has moved %ld times", atomic_load(&guest_moves));
    CHECK(events_everywhere("threads_drawn") == drawn + 1, "%lu moves", events_everywhere("threads_drawn") - drawn);
    CHECK(pages_near() == PAGES, "%ld pages are there", pages_near());
    end(&one, &other);
}

/* It is asked for, and stays. */
static void stays(enum kind kind)
{
    struct thread one, other;
    unsigned long drawn = events_everywhere("threads_drawn"), wanted = events_everywhere("draws_wanted");

    if (!is_possible() || !begin(&one, &other, kind, 0))
        return;
    NAP_UNTIL(events_everywhere("draws_wanted") > wanted, "it would do better");
    looks_go_on();
    CHECK(events_everywhere("threads_drawn") == drawn, "%lu moves", events_everywhere("threads_drawn") - drawn);
    CHECK(atomic_load(&guest_moves) == 0 && atomic_load(&guest_place) == kernels[far], "it is on kernel %d",
          atomic_load(&guest_place));
    end(&one, &other);
}

static void test_chosen(void)
{
    stays(MOVES_ITSELF);
}

static void test_bound(void)
{
    stays(IS_BOUND);
}

static void test_own(void)
{
    struct thread one, other;
    unsigned long drawn = events_everywhere("threads_drawn");
    long moves;

    if (!is_possible() || !begin(&one, &other, IS_FREE, 4 * PAGES))
        return;
    looks_go_on();
    moves = atomic_load(&guest_moves);
    CHECK(moves == 0 && events_everywhere("threads_drawn") == drawn, "the guest has moved %ld times", moves);
    end(&one, &other);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"comes", "a thread comes once to a free CPU of the node where others use its memory", test_comes},
        {"chosen", "a thread that has chosen its kernel stays", test_chosen},
        {"bound", "a thread that may use its CPU alone stays", test_bound},
        {"own", "a thread that uses more memory of its own than of others stays", test_own},
    };
    int status;

    far = -1;
    for (int i = 0; i < place_count(); i++) {
        if (i == 0 && tap_on_kettle())
            tap_kernels(kernels);
        if (tap_on_kettle() && kettle_node(kernels[i]) != kettle_node(kernels[near]))
            far = i;
    }
    kettle_control("numaperiod=" PERIOD);
    status = tap_run(argc, argv, tests, TAP_COUNT(tests));
    kettle_control("numaperiod=100");
    return status;
}

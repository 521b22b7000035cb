/* Races for frames, copies and places. tests/guest/vm/vm_race.h is the contract. */
#include "tests/guest/vm/vm_race.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/harness/tap.h"
#include "tests/guest/vm/vm_crew.h"
#include "tests/guest/vm/vm_operation.h"
#include "userland/x86.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define CHUNK 32 /* pages of one round */
#define PLACE_ROUNDS 4
#define ANYWHERE_PAGES 5
#define ORDER_FORKS 3
#define ORDER_YIELDS 40

/* A page of a round: all count in the first word, each thread has a word of its own. */
struct race_page {
    atomic_ulong sum;
    uint64_t own[VM_THREADS_MAX];
    uint64_t rest[VM_PAGE / 8 - 1 - VM_THREADS_MAX];
};
_Static_assert(sizeof(struct race_page) == VM_PAGE, "");

static struct race_page *const pages = (struct race_page *)VM_RACE_ARENA;
static uint64_t random_state;
static uint64_t base; /* what the sums begin with */
static bool read_first, both_ways;

static void map_pages(int flags)
{
    long result = vm_mmap(pages, CHUNK * VM_PAGE, VM_PROT_RW, MAP_FIXED | flags);

    if (result != (long)pages)
        vm_fail("mmap of the race's pages returns %ld", result);
}

static void wait_for(long child)
{
    int status = -1;
    long waited;

    do
        waited = x86_syscall(SYS_wait4, child, (long)&status, 0, 0, 0, 0);
    while (waited == -EINTR);
    if (waited != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        vm_fail("a forked process (%ld, wait4 returned %ld) ends with status %#x", child, waited, (unsigned)status);
}

static void job_frames(int index)
{
    crew_meet();
    for (int i = 0; i < CHUNK; i++) {
        struct race_page *page = &pages[both_ways && index % 2 != 0 ? CHUNK - 1 - i : i];

        if (read_first && (i + index) % 3 == 0 && atomic_load(&page->sum) < base)
            vm_fail("race page %d has %lu", i, atomic_load(&page->sum));
        atomic_fetch_add(&page->sum, 1);
        if (page->own[index] != 0)
            vm_fail("race page %d: the word of thread %d is %#lx before it was written", i, index,
                    (unsigned long)page->own[index]);
        page->own[index] = base + 1 + (uint64_t)i;
    }
    for (int i = 0; i < CHUNK; i++) {
        struct race_page *page = &pages[both_ways && index % 2 != 0 ? CHUNK - 1 - i : i];

        if (page->own[index] != base + 1 + (uint64_t)i)
            vm_fail("race page %d: the word of thread %d is %#lx, not %#lx", i, index, (unsigned long)page->own[index],
                    (unsigned long)(base + 1 + (uint64_t)i));
    }
}

static void sums_check(uint64_t expected)
{
    for (int i = 0; i < CHUNK; i++) {
        if (atomic_load(&pages[i].sum) != expected)
            vm_fail("race page %d was counted to %lu, not to %lu", i, atomic_load(&pages[i].sum),
                    (unsigned long)expected);
    }
}

static void frames_round(int flags)
{
    base = 0;
    map_pages(flags);
    if (crew_run(job_frames, 0))
        sums_check((uint64_t)vm_run.threads);
}

bool race_frames(int count, uint64_t random)
{
    random_state = random;
    for (int done = 0; done < count && !vm_failed(); done += CHUNK) {
        uint64_t number = tap_random(&random_state);

        read_first = (number & 1) != 0;
        both_ways = (number & 6) == 0;
        vm_try(frames_round, (number & 8) != 0 ? MAP_SHARED : MAP_PRIVATE);
    }
    return !vm_failed();
}

/* --- copies --- */

/* Shared with the child: 1 when the parent's threads have written. */
static atomic_int *written;

/* Every place has the pages, and may write to them, when the fork comes. */
static void job_touch(int index)
{
    (void)index;
    for (int i = 0; i < CHUNK; i++)
        atomic_fetch_add(&pages[i].sum, 0);
}

static _Noreturn void copies_child(void)
{
    vm_me.depth++;
    while (atomic_load(written) == 0)
        x86_syscall(SYS_futex, (long)written, FUTEX_WAIT, 0, 0, 0, 0);
    for (int i = 0; i < CHUNK; i++) {
        for (int k = 0; k < vm_run.threads; k++) {
            if (pages[i].own[k] != 0)
                vm_fail("race page %d: the child sees the word of thread %d: %#lx", i, k,
                        (unsigned long)pages[i].own[k]);
        }
        if (i % 2 == 0)
            atomic_fetch_add(&pages[i].sum, 1);
        if (atomic_load(&pages[i].sum) != base + (i % 2 == 0))
            vm_fail("race page %d: the child sees %lu, not %lu", i, atomic_load(&pages[i].sum), (unsigned long)base);
    }
    for (;;)
        x86_syscall1(SYS_exit_group, 0);
}

static void copies_round(int unused)
{
    long child, result = vm_mmap(NULL, VM_PAGE, VM_PROT_RW, MAP_SHARED);

    if (result < 0)
        vm_fail("mmap of a shared page returns %ld", result);
    (void)unused;
    written = (atomic_int *)result;
    map_pages(MAP_PRIVATE);
    for (int i = 0; i < CHUNK; i++)
        atomic_store(&pages[i].sum, base);
    if ((base & 1) != 0 && !crew_run(job_touch, 0))
        return;
    child = x86_syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
    if (child == 0)
        copies_child();
    if (child < 0)
        vm_fail("fork returns %ld", child);
    crew_run(job_frames, 0);
    atomic_store(written, 1);
    x86_syscall(SYS_futex, (long)written, FUTEX_WAKE, 1, 0, 0, 0);
    wait_for(child);
    sums_check(base + (uint64_t)vm_run.threads);
    x86_syscall3(SYS_munmap, result, VM_PAGE, 0);
}

bool race_copies(uint64_t random)
{
    random_state = random;
    base = 1000 + (tap_random(&random_state) & 0xffff);
    read_first = (random & 1) != 0;
    both_ways = (random & 2) != 0;
    return vm_try(copies_round, 0);
}

/* --- places --- */

static atomic_int winners;
static atomic_long anywhere[VM_THREADS_MAX];

static void job_places(int index)
{
    for (int round = 0; round < PLACE_ROUNDS; round++) {
        crew_meet();
        if (vm_has(VM_NOREPLACE)) {
            long result = vm_mmap(&pages[round], VM_PAGE, VM_PROT_RW, MAP_PRIVATE | MAP_FIXED_NOREPLACE);

            if (result == (long)&pages[round])
                atomic_fetch_add(&winners, 1);
            else if (result != -EEXIST)
                vm_fail("mmap MAP_FIXED_NOREPLACE returns %ld", result);
        }
        atomic_store(&anywhere[index], vm_mmap(NULL, ANYWHERE_PAGES * VM_PAGE, VM_PROT_RW, MAP_PRIVATE));
        if (atomic_load(&anywhere[index]) <= 0)
            vm_fail("mmap anywhere returns %ld", atomic_load(&anywhere[index]));
        crew_meet();
        for (int other = 0; other < vm_run.threads; other++) {
            long apart = atomic_load(&anywhere[other]) - atomic_load(&anywhere[index]);

            if (other != index && apart < ANYWHERE_PAGES * (long)VM_PAGE && apart > -ANYWHERE_PAGES * (long)VM_PAGE)
                vm_fail("threads %d and %d were both given %#lx", index, other,
                        (unsigned long)atomic_load(&anywhere[index]));
        }
        crew_meet();
        x86_syscall3(SYS_munmap, atomic_load(&anywhere[index]), ANYWHERE_PAGES * VM_PAGE, 0);
    }
}

static void places_round(int unused)
{
    long result = x86_syscall3(SYS_munmap, (long)pages, CHUNK * VM_PAGE, 0);

    (void)unused;
    if (result != 0)
        vm_fail("munmap returns %ld", result);
    atomic_store(&winners, 0);
    if (crew_run(job_places, 0) && vm_has(VM_NOREPLACE) && atomic_load(&winners) != PLACE_ROUNDS)
        vm_fail("%d of %d places were given, one each", atomic_load(&winners), PLACE_ROUNDS);
}

bool race_places(void)
{
    return vm_try(places_round, 0);
}

/* --- the order of writes before a fork --- */

static atomic_int order_over;

static volatile uint64_t *order_first(int index)
{
    return &pages[index % (CHUNK / 2)].own[index];
}

static volatile uint64_t *order_second(int index)
{
    return &pages[CHUNK - 1 - index % (CHUNK / 2)].own[index];
}

static _Noreturn void order_child(void)
{
    uint64_t later[VM_THREADS_MAX], earlier[VM_THREADS_MAX];

    vm_me.depth++;
    for (int i = 1; i < vm_run.threads; i++) {
        later[i] = *order_second(i);
        earlier[i] = *order_first(i);
        if (earlier[i] < later[i])
            vm_fail("the child sees write %lu of thread %d, and of the page written before only %lu",
                    (unsigned long)later[i], i, (unsigned long)earlier[i]);
    }
    for (int i = 0; i < ORDER_YIELDS; i++)
        x86_syscall0(SYS_sched_yield);
    for (int i = 1; i < vm_run.threads; i++) {
        if (later[i] != *order_second(i) || earlier[i] != *order_first(i))
            vm_fail("the child sees what thread %d wrote after the fork: %lu and %lu, before %lu and %lu", i,
                    (unsigned long)*order_first(i), (unsigned long)*order_second(i), (unsigned long)earlier[i],
                    (unsigned long)later[i]);
    }
    for (;;)
        x86_syscall1(SYS_exit_group, 0);
}

/* Moves the break up and down again, a fork's whole-space lock among its own. The new page is fresh each time. */
static void break_once(uint64_t number)
{
    long old = x86_syscall1(SYS_brk, 0);
    long up = (old + 2 * (long)VM_PAGE - 1) & ~((long)VM_PAGE - 1);
    volatile uint64_t *word = (uint64_t *)(up - (long)VM_PAGE);

    if (x86_syscall1(SYS_brk, up) != up)
        vm_fail("brk to %#lx is refused", (unsigned long)up);
    if (*word != 0)
        vm_fail("a new page of the heap has %#lx", (unsigned long)*word);
    *word = number;
    if (x86_syscall1(SYS_brk, old) != old)
        vm_fail("brk back to %#lx is refused", (unsigned long)old);
}

static void job_order(int index)
{
    volatile uint64_t *first = order_first(index);
    volatile uint64_t *second = order_second(index);
    uint64_t count = 0;

    crew_meet();
    for (int i = 0; index == 0 && i < ORDER_FORKS; i++) {
        long child = x86_syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);

        if (child == 0)
            order_child();
        if (child < 0)
            vm_fail("fork returns %ld", child);
        wait_for(child);
    }
    if (index == 0)
        atomic_store(&order_over, 1);
    while (index != 0 && atomic_load(&order_over) == 0 && !vm_failed()) {
        count++;
        *first = count;
        *second = count;
        if (index == 1 && vm_run.threads > 2)
            break_once(count);
        if (count % 64 == 0)
            x86_syscall0(SYS_sched_yield);
    }
    if (*first != count || *second != count)
        vm_fail("the words written %lu times are %lu and %lu", (unsigned long)count, (unsigned long)*first,
                (unsigned long)*second);
}

static void order_round(int unused)
{
    (void)unused;
    map_pages(MAP_PRIVATE);
    atomic_store(&order_over, 0);
    crew_run(job_order, 0);
}

bool race_order(void)
{
    return vm_try(order_round, 0);
}

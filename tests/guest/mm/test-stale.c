/* test-stale: when a call that changes mappings has returned, no CPU of any kernel goes by what was there before. A
 * thread on every place reads or writes one page again and again, so its CPU has the translation. What it finds counts
 * if it began after the call had returned, as a word says that is written then. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define WATCHERS_MIN 4 /* several CPUs of one kernel, where there are */
#define ROUNDS 6
#define FRAME_ROUNDS 24
#define NEIGHBOUR_LOOKS 200
#define HUGE (2l << 20)
#define OLD 1111l
#define NEW 2222l
#define FAULT (-1l) /* in place of a value */

/* What the threads do. Of STEP the remainder by 4 counts: 1 before a call, 2 behind it, else nothing is looked at. */
static struct watch {
    _Alignas(128) atomic_long step;
    _Atomic(volatile long *) word;
    atomic_bool writes;
    atomic_long expected; /* of a read behind the call: a value or FAULT; a write is to fault */
    atomic_bool over;
} watch;

static struct watcher {
    _Alignas(128) atomic_long reached; /* the last step in which it has accessed the word */
    atomic_long wrong;                 /* step of the first thing that was not to be, or 0 */
    atomic_long found;
} watchers[KERNELS_MAX];

static _Thread_local sigjmp_buf back;
static _Thread_local volatile sig_atomic_t guarded;

static void on_fault(int signal)
{
    if (!guarded)
        _exit(100 + signal);
    siglongjmp(back, 1);
}

static long access_word(volatile long *word, bool write)
{
    volatile long value = FAULT;

    guarded = 1;
    if (sigsetjmp(back, 0) == 0) {
        if (write)
            *word = OLD;
        value = write ? 0 : *word;
    }
    guarded = 0;
    return value;
}

static void run_watcher(struct thread *thread)
{
    struct watcher *self = &watchers[thread->index];

    if (thread_move(thread->index % kernels_count()) != 0)
        self->wrong = -1;
    while (!watch.over) {
        long step = watch.step;
        bool write = watch.writes;
        long expected = write ? FAULT : watch.expected; /* of this step: the next change has another */
        long found;

        if (step % 4 == 2 && self->reached == step) {
            x86_pause(); /* the first access behind the call has shown it; more of them would only be faults */
            continue;
        }
        x86_pause(); /* lets another CPU of an emulator run */
        found = access_word(watch.word, write);
        if (watch.step != step)
            continue; /* one way or the other */
        if (step % 4 == 2 && found != expected && self->wrong == 0) {
            self->found = found;
            self->wrong = step;
        }
        self->reached = step;
    }
}

static int watcher_count(void)
{
    return kernels_count() > WATCHERS_MIN ? kernels_count() : WATCHERS_MIN;
}

/* Until every watcher has been at the word in this step. */
static void all_reach(long step)
{
    for (int i = 0; i < watcher_count(); i++) {
        long began = thread_time();

        while (watchers[i].reached != step && thread_time() - began < 60000000000l)
            sched_yield();
        CHECK(watchers[i].reached == step, "watcher %d does not come to step %ld", i, step);
    }
}

static volatile long nothing_yet;

struct change {
    const char *name;
    long length;
    long at;       /* of the word that is watched */
    bool write;    /* the watchers write */
    long expected; /* behind the call */
    int (*call)(char *area);
};

/* The watchers look at CHANGE, made by the calling thread. */
static void watch_change(const struct change *change, char *area, int kernel)
{
    volatile long *word = (volatile long *)(void *)(area + change->at); // NOLINT(bugprone-casting-through-void)
    long step = watch.step;

    if (*word != OLD) /* a write may be the change itself */
        *word = OLD;
    watch.word = word;
    watch.writes = change->write;
    watch.expected = change->expected;
    watch.step = step + 1;
    all_reach(step + 1);
    CHECK(change->call(area) == 0, "%s: %s", change->name, strerror(errno));
    watch.step = step + 2;
    all_reach(step + 2);
    watch.step = step + 4;
    watch.word = &nothing_yet;
    for (int i = 0; i < watcher_count(); i++)
        CHECK(watchers[i].wrong == 0, "%s by kernel %d: watcher %d found %ld", change->name, kernel, i,
              (long)watchers[i].found);
}

static int do_unmap(char *area)
{
    return munmap(area, 4 * PAGE);
}

static int do_unmap_part(char *area)
{
    return munmap(area + PAGE, PAGE);
}

static int do_protect_none(char *area)
{
    return mprotect(area, 4 * PAGE, PROT_NONE);
}

static int do_protect_read(char *area)
{
    return mprotect(area, 4 * PAGE, PROT_READ);
}

static int do_discard(char *area)
{
    return madvise(area, 4 * PAGE, MADV_DONTNEED);
}

static int do_replace(char *area)
{
    return mmap(area, 4 * PAGE, READ_WRITE, PRIVATE | MAP_FIXED, -1, 0) == area ? 0 : -1;
}

static int do_move(char *area)
{
    return mremap(area, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, area + 8 * PAGE) == area + 8 * PAGE ? 0 : -1;
}

static int do_shrink(char *area)
{
    return mremap(area, 4 * PAGE, PAGE, 0) == area ? 0 : -1;
}

static int do_write(char *area)
{
    *(volatile long *)(void *)area = NEW; // NOLINT(bugprone-casting-through-void)
    return 0;
}

static int do_protect_one(char *area)
{
    return mprotect(area + 5 * PAGE, PAGE, PROT_NONE);
}

static const struct change changes[] = {
    {"munmap", 4, 0, false, FAULT, do_unmap},
    {"munmap of a part", 4, PAGE, false, FAULT, do_unmap_part},
    {"mprotect to nothing", 4, 2 * PAGE, false, FAULT, do_protect_none},
    {"mprotect to read", 4, 3 * PAGE, true, FAULT, do_protect_read},
    {"madvise DONTNEED", 4, PAGE, false, 0, do_discard},
    {"a mapping in place of another", 4, PAGE, false, 0, do_replace},
    {"mremap to another place", 16, PAGE, false, FAULT, do_move},
    {"mremap to less", 4, 2 * PAGE, false, FAULT, do_shrink},
};
static const struct change copied = {"the first write after a fork", 4, 0, false, NEW, do_write};
static const struct change large = {
    "mprotect in a large page", 3 * HUGE / PAGE, 5 * PAGE, false, FAULT, do_protect_one};

static struct thread threads[KERNELS_MAX];

static bool watchers_start(void)
{
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};

    sigaction(SIGSEGV, &action, NULL);
    watch.word = &nothing_yet;
    for (int i = 0; i < watcher_count(); i++) {
        threads[i].index = i;
        if (!CHECK(thread_start(&threads[i], run_watcher), "thread %d: %s", i, strerror(errno)))
            return false;
    }
    return true;
}

static void each_by_every_kernel(int kind)
{
    for (int round = 0; round < ROUNDS; round++) {
        int k = round % kernels_count();
        char *area;

        kernels_go(k);
        area = spread_memory_map(changes[kind].length, PRIVATE);
        if (area == NULL)
            return;
        memset(area, 0, (size_t)(changes[kind].length * PAGE));
        watch_change(&changes[kind], area, k);
        munmap(area, (size_t)(changes[kind].length * PAGE));
    }
    kernels_go(0);
}

static void test_changes(void)
{
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
        each_by_every_kernel((int)i);
}

static void test_copies(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        int k = round % kernels_count(), status, ends[2];
        char *area, byte;
        pid_t child;

        kernels_go(k);
        area = spread_memory_map(copied.length, PRIVATE);
        if (area == NULL || !CHECK(pipe(ends) == 0, "%s", strerror(errno)))
            return;
        *(volatile long *)(void *)area = OLD;       // NOLINT(bugprone-casting-through-void)
        watch.word = (volatile long *)(void *)area; // NOLINT(bugprone-casting-through-void)
        child = fork();
        if (child == 0) {
            close(ends[1]);
            _exit(read(ends[0], &byte, 1) == 0 && *(volatile long *)(void *)area == OLD ? 0 : 1); // NOLINT
        }
        watch_change(&copied, area, k);
        close(ends[1]);
        close(ends[0]);
        CHECK(waitpid(child, &status, 0) == child && status == 0, "the child has %x", (unsigned)status);
        munmap(area, (size_t)(copied.length * PAGE));
    }
    kernels_go(0);
}

static void test_large(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        int k = round % kernels_count();
        char *area, *start;

        kernels_go(k);
        area = spread_memory_map(large.length, PRIVATE);
        if (area == NULL)
            return;
        start = area + (HUGE - (long)area % HUGE) % HUGE;
        madvise(start, HUGE, MADV_HUGEPAGE);
        watch_change(&large, start, k);
        munmap(area, (size_t)(large.length * PAGE));
    }
    kernels_go(0);
}

/* Maps new pages beside the calls of the other thread of its kernel: none is one that a watcher still writes to. */
static void run_neighbour(struct thread *thread)
{
    kernels_go(0);
    while (!watch.over && thread->result == 0) {
        long page = x86_syscall(SYS_mmap, 0, PAGE, READ_WRITE, PRIVATE, -1, 0);
        volatile long *word = (volatile long *)page; // NOLINT(performance-no-int-to-ptr)

        for (int look = 0; page > 0 && look < NEIGHBOUR_LOOKS && thread->result == 0; look++) {
            if (*word != (look == 0 ? 0 : NEW))
                thread->result = *word;
            *word = NEW;
        }
        x86_syscall(SYS_munmap, page, PAGE, 0, 0, 0, 0);
    }
}

static void test_frames(void)
{
    static struct thread neighbour;
    long step = watch.step;
    char *area = spread_memory_map(FRAME_ROUNDS, PRIVATE);

    if (area == NULL || !CHECK(thread_start(&neighbour, run_neighbour), "the neighbour: %s", strerror(errno)))
        return;
    watch.writes = true;
    for (int round = 0; round < FRAME_ROUNDS && neighbour.result == 0; round++) {
        char *page = area + round * PAGE;

        *(volatile long *)(void *)page = OLD;       // NOLINT(bugprone-casting-through-void)
        watch.word = (volatile long *)(void *)page; // NOLINT(bugprone-casting-through-void)
        step += 4;
        watch.step = step;
        all_reach(step);
        /* the address stays taken, so the neighbour cannot have it */
        CHECK(mmap(page, PAGE, PROT_NONE, PRIVATE | MAP_FIXED, -1, 0) == page, "%s", strerror(errno));
    }
    watch.word = &nothing_yet;
    CHECK(neighbour.result == 0, "a new page has %ld", (long)neighbour.result);
    watch.over = true;
    CHECK(thread_join(&neighbour), "the neighbour does not end");
    munmap(area, FRAME_ROUNDS * PAGE);
}

static void test_end(void)
{
    watch.over = true;
    for (int i = 0; i < watcher_count(); i++)
        CHECK(thread_join(&threads[i]), "watcher %d does not end", i);
}

static const struct tap_test tests[] = {
    {"changes", "unmapping, protecting, discarding, replacing and moving hold for every CPU when the call returns",
     test_changes},
    {"copies", "the first write to a page shared with a child is seen by every CPU", test_copies},
    {"large", "a change in a large page is seen by every CPU", test_large},
    {"frames", "a page that is unmapped gives its frame away only when no CPU writes to it any more", test_frames},
    {"end", "the watchers end", test_end},
};

int main(int argc, char **argv)
{
    kernels_find();
    if (!watchers_start())
        return 1;
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}

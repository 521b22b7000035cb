/* Changes of memory beside copies. See the header. Each thread has a place of its own that it moves pages to; only one
 * thread has a page at a time, and brings it back to where it was. */
#include "tests/guest/mm/copy_changes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/harness/thread_place.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define THREADS 3
#define SIZE (COPY_PAGES * PAGE)
#define MOVE 2l        /* MPOL_MF_MOVE */
#define STAND 200      /* turns of a loop for which a change stays */
#define FORKS_EVERY 16 /* changes */

static struct {
    char *area;
    char *spare[THREADS];
    enum copy_changes changes;
    int type;
    atomic_bool over;
    struct thread threads[THREADS];
} shared;

static void stand(void)
{
    for (int i = 0; i < STAND; i++)
        __builtin_ia32_pause();
}

static void allow_all(void)
{
    for (long i = 0; i < COPY_PAGES; i++) /* one by one: some may be away */
        x86_syscall3(SYS_mprotect, (long)shared.area + i * PAGE, PAGE, READ_WRITE);
}

static void change_protection(char *at, long size, int protection)
{
    x86_syscall3(SYS_mprotect, (long)at, size, protection);
    stand();
    allow_all();
}

/* There and back. */
static void change_address(char *at, long size, char *spare)
{
    long there = x86_syscall(SYS_mremap, (long)at, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (long)spare, 0);

    if (there != (long)spare)
        return;
    stand();
    while (x86_syscall(SYS_mremap, (long)spare, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (long)at, 0) == -ENOMEM)
        stand();
    allow_all();
}

static void change_nodes(char *at, long size, uint64_t random)
{
    void *pages[COPY_PAGES];
    int nodes[COPY_PAGES], status[COPY_PAGES];

    for (long i = 0; i < size / PAGE; i++) {
        pages[i] = at + i * PAGE;
        nodes[i] = (int)((random >> i) % 2);
    }
    x86_syscall(SYS_move_pages, 0, size / PAGE, (long)pages, (long)nodes, (long)status, MOVE);
}

static void change_owners(void)
{
    long child = x86_syscall0(SYS_fork);

    if (child == 0)
        x86_syscall1(SYS_exit_group, 0);
    while (child > 0 && x86_syscall(SYS_wait4, child, 0, 0, 0, 0, 0) == -EINTR)
        continue;
}

static void change_memory(char *at, long size, bool unmapped)
{
    if (unmapped) {
        x86_syscall(SYS_munmap, (long)at, size, 0, 0, 0, 0);
        stand();
    }
    x86_syscall(SYS_mmap, (long)at, size, READ_WRITE, shared.type | MAP_FIXED, -1, 0);
}

static void change(struct thread *thread, uint64_t *random)
{
    long first = (long)(tap_random(random) % COPY_PAGES);
    long size = (1 + (long)(tap_random(random) % (uint64_t)(COPY_PAGES - first))) * PAGE;
    char *at = shared.area + first * PAGE;

    switch (tap_random(random) % (shared.changes == COPY_KEEP ? 5 : 8)) {
    case 0:
        change_protection(at, size, PROT_NONE);
        break;
    case 1:
        change_protection(at, size, PROT_READ);
        break;
    case 2:
        change_address(at, size, shared.spare[thread->index]);
        break;
    case 3:
        change_nodes(at, size, tap_random(random));
        break;
    case 4:
        if (tap_random(random) % FORKS_EVERY == 0)
            change_owners();
        break;
    case 5:
        x86_syscall3(SYS_madvise, (long)at, size, MADV_DONTNEED);
        break;
    default:
        change_memory(at, size, tap_random(random) % 2 == 0);
        break;
    }
}

static void run(struct thread *thread)
{
    uint64_t random = (uint64_t)thread->index;

    for (long i = 0; !shared.over; i++) {
        if (i % 32 == 0)
            thread_place_go(thread->index + 1 + (int)(i / 32));
        change(thread, &random);
    }
}

char *copy_changes_begin(enum copy_changes changes, int type)
{
    shared.changes = changes;
    shared.type = type;
    shared.over = false;
    shared.area = mmap(NULL, SIZE, READ_WRITE, type, -1, 0);
    for (int i = 0; i < THREADS; i++) {
        shared.spare[i] = mmap(NULL, SIZE, PROT_NONE, PRIVATE, -1, 0);
        if (!CHECK(shared.area != MAP_FAILED && shared.spare[i] != MAP_FAILED, "%s", tap_error(errno)))
            return NULL;
    }
    for (int i = 0; i < THREADS; i++) {
        shared.threads[i].index = i;
        REQUIRE(thread_start(&shared.threads[i], run), "%s", tap_error(errno));
    }
    return shared.area;
}

void copy_changes_end(void)
{
    shared.over = true;
    for (int i = 0; i < THREADS; i++)
        REQUIRE(thread_join(&shared.threads[i]), "a thread that changes memory does not end");
    allow_all();
}

void copy_changes_free(void)
{
    munmap(shared.area, SIZE);
    for (int i = 0; i < THREADS; i++)
        munmap(shared.spare[i], SIZE);
}

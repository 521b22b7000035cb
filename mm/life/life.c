/* How a space begins and ends on a kernel. See the header. */
#include "mm/life/life.h"

#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/window.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "kernel/wait/completion.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/lease/lease.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/retrieve/strategy.h"
#include "mm/seen/seen.h"
#include "mm/space/entry.h"
#include "msg/channel.h"
#include "msg/slice.h"

#define ENTRIES_A_LOOK 32u /* entries that are released between two looks whether the slice is over */
#define AREAS_A_LOOK 64u
#define UNLOCK_LOOKS 1000u   /* before this thread gives way */
#define UNLOCK_PAUSE 100000u /* ns between two looks then */

static uint64_t space_total; /* [a] spaces, published or not */

static uint64_t table_frame(void *context)
{
    uint64_t *count = context;
    uint64_t frame = frame_alloc_table();

    *count += frame != 0;
    return frame;
}

struct space *space_create(uint64_t id, uint32_t home)
{
    struct space *space = heap_alloc(sizeof(*space));
    uint64_t root = frame_alloc_zeroed();

    if (space == NULL || root == 0) {
        heap_free(space, sizeof(*space));
        if (root != 0)
            frame_free(root, 0);
        return NULL;
    }
    __atomic_fetch_add(&space_total, 1, __ATOMIC_RELAXED);
    space->id = id;
    space->home = home;
    space->references = 1;
    space->limits = (struct space_limits){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    space->members = 1ull << instance.kernel | 1ull << home;
    space->tables = (struct page_tables){
        .root = root, .delta = DIRECT_BASE, .alloc = table_frame, .context = &space->table_count};
    /* the kernel's half is copied once: its top-level entries never change after start */
    memcpy((uint8_t *)window_direct(root) + PAGE_SIZE / 2, (uint8_t *)window_direct(window_tables.root) + PAGE_SIZE / 2,
           PAGE_SIZE / 2);
    area_list_init(&space->areas);
    if (home == instance.kernel)
        area_list_refers(&space->areas);
    space_locking->begin(space);
    lease_begin(space);
    list_init(&space->gets);
    list_init(&space->deferred);
    list_init(&space->queries);
    space_mode_start(space);
    return space;
}

uint64_t space_count(void)
{
    return __atomic_load_n(&space_total, __ATOMIC_RELAXED);
}

/* References that a space that ends drops. */
struct dropping {
    struct releasing others;
    struct frame_runs own;
};

/* Releases RUN of this kernel's frames from FIRST on; single ones may still be parts of a run that descends. */
static void drop_run(struct dropping *dropping, uint64_t first, uint64_t run)
{
    if (run > 1)
        frame_release_run(first, run);
    else if (run == 1)
        frame_runs_drop(&dropping->own, first);
}

/* Drops the references of a table's owning entries: to frames of other kernels in batches, or one by one when there is
 * no memory for a batch. */
static void release_leaf(void *context, uint64_t *leaf)
{
    struct dropping *dropping = context;
    uint64_t first = 0, next = 0; /* own frames in a row, as most are */

    for (uint32_t i = 0; (i = paging_next_used(leaf, i, LEAF_ENTRIES)) < LEAF_ENTRIES; i++) {
        uint64_t entry = leaf[i];

        if (i % ENTRIES_A_LOOK == 0)
            slice_check();
        if ((entry & PAGING_SOFT_OWNING) == 0)
            continue;
        if ((entry & PAGING_SOFT_REMOTE) == 0) {
            if ((entry & PAGING_FRAME) != next) {
                drop_run(dropping, first, (next - first) / PAGE_SIZE);
                first = next = entry & PAGING_FRAME;
            }
            next += PAGE_SIZE;
        } else if (release_add(&dropping->others, entry & PAGING_FRAME) != 0) {
            release_one(entry & PAGING_FRAME);
        }
    }
    drop_run(dropping, first, (next - first) / PAGE_SIZE);
    frame_runs_release(&dropping->own); /* those of one table: more would be a long silence */
}

static void release_table(void *context, uint64_t frame)
{
    (void)context;
    frame_free(frame, 0);
    slice_check();
}

/* Releases all tables below the root, and the references of their entries, in slices: no other task uses the space any
 * longer. */
static void release_tables(struct space *space)
{
    struct dropping dropping;
    struct paging_release release = {release_leaf, release_table, &dropping};

    dropping.others = (struct releasing){0};
    dropping.own.count = 0;
    paging_release(&space->tables, 0, USER_END, &release);
    release_send(&dropping.others);
}

/* Takes messages until the home's lock queue is empty. Threads on other kernels released their locks before they
 * ended, but SPACE_UNLOCK travels in the ring of urgent messages and may arrive after the message of the thread's end.
 * With lock=lamport the queue is not used, and this returns at once. */
static void await_unlocks(struct space *space)
{
    static const struct wait_reason reason = {.what = "locks of an address space that ends", .kernel = -1};
    struct completion never;

    completion_init(&never);
    for (uint32_t looks = 0;; looks++) {
        bool done;

        spin_lock(&space->lock);
        done = list_empty(&space->locks);
        spin_unlock(&space->lock);
        if (done)
            return;
        slice_pause();
        cpu_relax();
        if (looks >= UNLOCK_LOOKS) /* its kernel may have died: then a thread of this CPU removes the lock */
            completion_wait_until(&never, &reason, WAIT_FIRM, clock_now() + UNLOCK_PAUSE);
    }
}

void space_destroy(struct space *space)
{
    if (space->home == instance.kernel)
        await_unlocks(space);
    space_withdraw(space);
    lease_end(space);
    sharers_end(&space->sharers);
    assert(list_empty(&space->gets) && list_empty(&space->deferred));
    space_locking->end(space);
    space_events_notify(space);
    tlb_forget(space->tables.root);
    release_tables(space);
    frame_free(space->tables.root, 0);
    sharers_end(&space->owners);
    while (!area_list_clear_some(&space->areas, AREAS_A_LOOK))
        slice_check();
    seen_end(space);
    mempolicy_list_free(&space->policies);
    heap_free(space, sizeof(*space));
    __atomic_fetch_sub(&space_total, 1, __ATOMIC_RELAXED);
}

bool space_retire_empty(struct space *space)
{
    bool empty;

    if (space->home == instance.kernel || !space_locking->recalls) /* with lock=lamport it has requests of others */
        return false;
    spin_lock(&space->lock);
    empty = space_peak(space) == 0 /* no entry here has ever owned a frame, so that none is pending free */
            && lease_map_empty(&space->leases.map); /* others recall what is leased here, and fork it */
    spin_unlock(&space->lock);
    return empty && space_retire(space);
}

uint64_t space_join(struct space *space, uint32_t kernel)
{
    uint64_t mode;

    spin_lock(&space->lock);
    if (space->members == 1ull << instance.kernel && kernel != instance.kernel)
        lease_to_home_locked(space);
    space->members |= 1ull << kernel;
    mode = space->mode;
    spin_unlock(&space->lock);
    return mode;
}

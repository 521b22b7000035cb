/* Address spaces: the table of spaces, creation and end, and the distributed lock of a range. Faults are in
 * mm/fault/fault.c, changes in mm/change/change.c. */
#include "mm/space/space.h"

#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/tlb.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/fault/get.h"
#include "mm/fault/huge.h"
#include "mm/file/hold.h"
#include "mm/file/page.h"
#include "mm/frame/frame.h"
#include "mm/frame/give.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/lease/lease.h"
#include "mm/space/internal.h"

#define BUCKETS 64u
#define TOP_LEVEL_SLOT (1ull << 39)
#define OPTION_MAX 64u /* bytes of a value */

static struct spinlock table_lock;
static struct list table[BUCKETS]; /* [k] table_lock */
static uint64_t space_total;       /* [a] spaces, published or not */

const struct space_locking *space_locking;
bool space_ranges;

size_t space_choose(const char *option, const char *const *names, size_t count)
{
    char name[OPTION_MAX];

    if (!option_find(instance.cmdline, option, name, sizeof(name)))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    if (instance.kernel == 0)
        log_event("option mm: %s= makes no sense: %s is used", option, names[0]);
    return 0;
}

static void choose_locking(void)
{
    static const struct space_locking *const lockings[] = {&space_lock_home, &space_lock_lamport};
    static const char *const switches[] = {"on", "off"};
    const char *const names[] = {lockings[0]->name, lockings[1]->name};

    space_locking = lockings[space_choose("lock", names, 2)];
    space_ranges = space_choose("ranges", switches, 2) == 0;
}

void space_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&table[i]);
    choose_locking();
    space_events_init();
    space_lock_home_init();
    space_lock_lamport_init();
    space_retrieve_init();
    space_get_init();
    lease_init();
    space_change_init();
    space_cow_init();
    space_fence_init();
    space_fork_init();
    file_hold_init();
    reference_init();
    give_init();
    file_page_init();
    huge_init();
}

static struct list *bucket_of(uint64_t id)
{
    return &table[(id ^ id >> 16) % BUCKETS];
}

static uint64_t table_frame(void *context)
{
    (void)context;
    return frame_alloc_table();
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
    space->users = 1;
    space->limits = (struct space_limits){UINT64_MAX, UINT64_MAX, UINT64_MAX};
    space->members = 1ull << instance.kernel | 1ull << home;
    space->tables = (struct page_tables){.root = root, .delta = DIRECT_BASE, .alloc = table_frame};
    /* the kernel's half: its top-level entries never change after start */
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

void space_publish(struct space *space)
{
    spin_lock(&table_lock);
    list_append(bucket_of(space->id), &space->node);
    space->published = true;
    spin_unlock(&table_lock);
}

void space_share(struct space *space)
{
    spin_lock(&table_lock);
    space->users++;
    spin_unlock(&table_lock);
}

struct space *space_get(uint64_t id)
{
    struct space *found = NULL;

    spin_lock(&table_lock);
    list_for_each(node, bucket_of(id)) {
        struct space *space = container_of(node, struct space, node);

        if (space->id == id) {
            space->references++;
            found = space;
            break;
        }
    }
    spin_unlock(&table_lock);
    return found;
}

struct space *space_next(uint64_t id)
{
    struct space *found = NULL;

    spin_lock(&table_lock);
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_for_each(node, &table[i]) {
            struct space *space = container_of(node, struct space, node);

            if (space->id >= id && (found == NULL || space->id < found->id))
                found = space;
        }
    }
    if (found != NULL)
        found->references++;
    spin_unlock(&table_lock);
    return found;
}

uint64_t space_count(void)
{
    return __atomic_load_n(&space_total, __ATOMIC_RELAXED);
}

uint64_t space_lock_count(void)
{
    return space_locking->count();
}

void space_hold(struct space *space)
{
    spin_lock(&table_lock);
    space->references++;
    spin_unlock(&table_lock);
}

void space_put(struct space *space)
{
    spin_lock(&table_lock);
    space->references--;
    spin_unlock(&table_lock);
}

/* Lets go of what the entries of a table hold. A peer that hears of many frames hears of them in few messages; without
 * memory for those, of one after the other. */
static void release_leaf(void *context, uint64_t *leaf)
{
    struct releasing *releasing = context;

    for (uint32_t i = 0; (i = paging_next_used(leaf, i, LEAF_ENTRIES)) < LEAF_ENTRIES; i++) {
        uint64_t entry = leaf[i];

        if ((entry & PAGING_SOFT_HELD) == 0)
            continue;
        if ((entry & PAGING_SOFT_BORROWED) == 0)
            frame_release(entry & PAGING_FRAME);
        else if (release_add(releasing, entry & PAGING_FRAME) != 0)
            release_one(entry & PAGING_FRAME);
    }
}

static void release_table(void *context, uint64_t frame)
{
    (void)context;
    frame_free(frame, 0);
}

/* Everything below the root. */
static void release_tables(struct space *space)
{
    struct releasing releasing = {0};
    struct paging_release release = {release_leaf, release_table, &releasing};

    paging_release(&space->tables, 0, USER_END, &release);
    release_send(&releasing);
}

/* Whoever had a lock on another kernel has given it back before it died, but its word is in the ring of urgent messages
 * and may be behind that of the death: takes messages until it has come. With lock=lamport nobody is waited for. */
static void await_unlocks(struct space *space)
{
    for (;;) {
        bool done;

        spin_lock(&space->lock);
        done = list_empty(&space->locks);
        spin_unlock(&space->lock);
        if (done)
            return;
        msg_poll();
        cpu_relax();
    }
}

void space_destroy(struct space *space)
{
    bool last;

    if (space->home == instance.kernel && space->users == 1)
        await_unlocks(space);
    spin_lock(&table_lock);
    last = --space->users == 0;
    if (last && space->published)
        list_remove(&space->node);
    spin_unlock(&table_lock);
    if (!last)
        return;
    while (__atomic_load_n(&space->references, __ATOMIC_ACQUIRE) != 1) {
        msg_poll(); /* it is a recall's, or that of a handler on another CPU, which never waits */
        cpu_relax();
    }
    lease_end(space);
    assert(list_empty(&space->gets) && list_empty(&space->deferred));
    space_locking->end(space);
    space_events_tell(space);
    tlb_forget(space->tables.root);
    release_tables(space);
    frame_free(space->tables.root, 0);
    area_list_clear(&space->areas);
    policy_list_free(&space->policies);
    heap_free(space, sizeof(*space));
    __atomic_fetch_sub(&space_total, 1, __ATOMIC_RELAXED);
}

uint64_t space_join(struct space *space, uint32_t kernel)
{
    uint64_t mode;

    spin_lock(&space->lock);
    if (space->members == 1ull << instance.kernel && kernel != instance.kernel)
        lease_begin_sharing_locked(space);
    space->members |= 1ull << kernel;
    mode = space->mode;
    spin_unlock(&space->lock);
    return mode;
}

kernel_set space_others(struct space *space)
{
    kernel_set members;

    spin_lock(&space->lock);
    members = space->members;
    spin_unlock(&space->lock);
    return members & ~(1ull << instance.kernel);
}

static void slow_end(struct space *space)
{
    spin_lock(&space->lock);
    space->slow--;
    spin_unlock(&space->lock);
}

static struct space_range wide(struct space_range range)
{
    return space_ranges || range.end - range.start <= PAGE_SIZE ? range : SPACE_HEAVY;
}

int space_acquire(struct space *space, struct space_range range)
{
    int error;

    range = wide(range);
    spin_lock(&space->lock);
    space->slow++;
    space_count_lock_locked(space, range);
    spin_unlock(&space->lock);
    error = space_locking->acquire(space, range);
    if (error != 0)
        slow_end(space);
    return error;
}

void space_release(struct space *space, struct space_range range)
{
    space_locking->release(space, wide(range));
    slow_end(space);
}

int space_lock_once(struct space *space, uint64_t start, uint64_t end)
{
    struct space_range range = {start, end};
    int error = space_acquire(space, range);

    if (error == 0)
        space_release(space, range);
    return error;
}

void space_each(void (*each)(struct space *space, void *context), void *context)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_for_each(node, &table[i])
            each(container_of(node, struct space, node), context);
    }
}

/* The table of nodes, and their life cycle. See the header. */
#include "kernel/fs/node/node.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/fs/node/attribute.h"
#include "kernel/fs/node/map.h"
#include "kernel/fs/node/notify.h"
#include "kernel/fs/node/policy.h"
#include "kernel/lib/panic.h"
#include "mm/area/backing.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/futex/word/object.h"
#include "tasks/quota/quota.h"

#define CHUNK 256u /* numbers whose table entries are allocated together */
#define CHUNKS (BACKING_OBJECTS / CHUNK)
#define FREE_AT_ONCE 128u /* a node with more pages is freed by a worker */
#define DEVICE 1u         /* st_dev */

/* The table entry of a number is a pointer to its node or, if the number is free, the next free number shifted left by
 * one with the lowest bit set. */
static struct spinlock lock;           /* only the heap's lock and tried node locks are taken under it */
static uint64_t *chunks[CHUNKS];       /* [k] */
static uint32_t chunk_count;           /* [k] */
static uint32_t free_first, free_last; /* [k] queue of free numbers, the longest unused first; 0: empty */
static uint64_t count;                 /* [k] */

static uint64_t *place_of(uint64_t number)
{
    return &chunks[number / CHUNK][number % CHUNK];
}

static void number_free_locked(uint32_t number)
{
    *place_of(number) = 1;
    if (free_last != 0)
        *place_of(free_last) = (uint64_t)number << 1 | 1;
    else
        free_first = number;
    free_last = number;
}

/* Allocates table entries for more numbers. */
static void chunk_add_locked(void)
{
    uint64_t *chunk = chunk_count < CHUNKS ? heap_alloc(CHUNK * sizeof(*chunk)) : NULL;

    if (chunk == NULL)
        return;
    chunks[chunk_count++] = chunk;
    for (uint32_t i = chunk_count == 1 ? 1 : 0; i < CHUNK; i++) /* 0 is not a valid number */
        if ((chunk_count - 1) * CHUNK + i < BACKING_VDSO)       /* BACKING_VDSO does not name a file */
            number_free_locked((chunk_count - 1) * CHUNK + i);
}

static uint32_t number_pop_locked(void)
{
    uint32_t number = free_first;

    free_first = (uint32_t)(*place_of(number) >> 1);
    if (free_first == 0)
        free_last = 0;
    return number;
}

/* Brings a number to the front of the queue that no waiter for a futex word of an old node still uses. Each such number
 * that it meets costs a step, and has a waiting thread. */
static bool number_find_locked(void)
{
    uint32_t start = free_first;

    while (free_first != 0 && futex_object_waited_for(free_first)) {
        number_free_locked(number_pop_locked());
        if (free_first == start)
            return false;
    }
    return free_first != 0;
}

static bool number_take_locked(struct node *node)
{
    if (!number_find_locked()) {
        chunk_add_locked();
        if (!number_find_locked())
            return false;
    }
    node->number = number_pop_locked();
    *place_of(node->number) = (uint64_t)(uintptr_t)node;
    count++;
    return true;
}

uint64_t node_now(void)
{
    return clock_now() + clock_epoch();
}

struct node *node_create(uint32_t mode)
{
    struct node *node = heap_alloc(sizeof(*node));
    bool numbered;

    if (node == NULL)
        return NULL;
    node->references = 1;
    node->mode = mode;
    node->seals = SEAL_SEAL;
    list_init(&node->locks);
    file_events_init(&node->events);
    node->atime = node->mtime = node->ctime = node_now();
    spin_lock(&lock);
    numbered = number_take_locked(node);
    spin_unlock(&lock);
    if (numbered)
        return node;
    heap_free(node, sizeof(*node));
    return NULL;
}

int node_charge_locked(struct node *node, int64_t more)
{
    int error = 0;

    if (more > 0)
        error = quota_take(QUOTA_FILE_BYTES, node->uid, (uint64_t)more, quota_limit(QUOTA_FILE_BYTES), -EDQUOT);
    else
        quota_give(QUOTA_FILE_BYTES, node->uid, (uint64_t)-more);
    if (error == 0)
        node->cost += (uint32_t)more;
    return error;
}

int node_own(struct node *node, uint32_t uid, uint32_t cost)
{
    int error;

    spin_lock(&node->lock);
    node->uid = node->content.uid = uid;
    error = node_charge_locked(node, (int64_t)(sizeof(*node) + cost));
    if (error != 0)
        node->uid = node->content.uid = 0;
    spin_unlock(&node->lock);
    return error;
}

/* What the owner of NODE has of QUOTA_FILE_BYTES for it. */
static uint64_t bytes_of(const struct node *node)
{
    return node->cost + content_table_bytes(&node->content);
}

int node_give_locked(struct node *node, uint32_t uid)
{
    uint64_t pages = content_charged(&node->content), bytes = bytes_of(node);
    int error = quota_take(QUOTA_FILE_BYTES, uid, bytes, UINT64_MAX, -EDQUOT);

    if (error != 0)
        return error;
    error = quota_take(QUOTA_FILE_PAGES, uid, pages, UINT64_MAX, -EDQUOT);
    if (error != 0) {
        quota_give(QUOTA_FILE_BYTES, uid, bytes);
        return error;
    }
    quota_give(QUOTA_FILE_BYTES, node->uid, bytes);
    quota_give(QUOTA_FILE_PAGES, node->uid, pages);
    node->uid = node->content.uid = uid;
    return 0;
}

static struct node *at_locked(uint64_t number)
{
    uint64_t word = number / CHUNK < chunk_count && number != 0 ? *place_of(number) : 1;

    return (word & 1) == 0 ? (struct node *)(uintptr_t)word : NULL;
}

/* Takes a reference unless the last one has been dropped, because then the node is being freed. */
static bool hold_living(struct node *node)
{
    uint32_t references = __atomic_load_n(&node->references, __ATOMIC_RELAXED);

    while (references != 0) {
        if (__atomic_compare_exchange_n(&node->references, &references, references + 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

struct node *node_find(uint64_t number)
{
    struct node *node;

    spin_lock(&lock);
    node = at_locked(number);
    if (node != NULL && !hold_living(node))
        node = NULL;
    spin_unlock(&lock);
    return node;
}

void node_hold(struct node *node)
{
    __atomic_fetch_add(&node->references, 1, __ATOMIC_RELAXED);
}

void node_pause(void)
{
    slice_check();
}

/* PAUSE as content_free has it. */
static void give_back(struct node *node, void (*pause)(void))
{
    content_free(&node->content.tree, pause);
    content_forget_moves(&node->content);
    inotify_gone(node);
    attributes_free(node);
    if (node->end != NULL)
        node->end(node);
    node_maps_free(node);
    node_policy_free(node);
    spin_lock(&lock);
    number_free_locked(node->number);
    count--;
    spin_unlock(&lock);
    heap_free(node, sizeof(*node));
}

static void give_back_later(struct work *work)
{
    give_back(container_of(work, struct node, work), node_pause);
}

void node_put(struct node *node)
{
    if (__atomic_sub_fetch(&node->references, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    /* At once: who has closed a file may make another one, although a worker frees the memory a little later. */
    quota_give(QUOTA_FILE_PAGES, node->uid, content_charged(&node->content));
    quota_give(QUOTA_FILE_BYTES, node->uid, bytes_of(node));
    if (node->content.pages <= FREE_AT_ONCE) {
        give_back(node, NULL);
        return;
    }
    node->work.run = give_back_later;
    work_submit(&node->work);
}

void node_changed_locked(struct node *node)
{
    assert(spin_held(&node->lock));
    node->version++;
    node->mtime = node->ctime = node_now();
}

void node_status_changed_locked(struct node *node)
{
    assert(spin_held(&node->lock));
    node->ctime = node_now();
}

uint64_t node_version(struct node *node)
{
    uint64_t version;

    spin_lock(&node->lock);
    if (node_maps_written_locked(node))
        node->version++;
    version = node->version;
    spin_unlock(&node->lock);
    return version;
}

void node_facts(struct node *node, struct file_facts *facts)
{
    spin_lock(&node->lock);
    *facts = (struct file_facts){.inode = node->number,
                                 .size = node->content.size,
                                 .device = DEVICE,
                                 .number = node->device,
                                 .mode = node->mode,
                                 .links = node->links,
                                 .uid = node->uid,
                                 .gid = node->gid,
                                 .blocks = node->content.pages * (PAGE_SIZE / 512),
                                 .atime = node->atime,
                                 .mtime = node->mtime,
                                 .ctime = node->ctime};
    spin_unlock(&node->lock);
}

bool node_some(uint64_t *number, uint32_t *left, bool (*each)(struct node *node, void *context), void *context)
{
    bool more = false;

    spin_lock(&lock);
    for (; *number < (uint64_t)chunk_count * CHUNK; (*number)++) {
        struct node *node = at_locked(*number);

        more = *left == 0;
        if (more)
            break;
        (*left)--; /* before EACH, which takes from it, too, and may leave 0 */
        more = node != NULL && !each(node, context);
        if (more)
            break;
    }
    spin_unlock(&lock);
    return more;
}

void node_each(void (*each)(struct node *node, void *context), void *context)
{
    spin_lock(&lock);
    for (uint64_t number = 1; number < (uint64_t)chunk_count * CHUNK; number++) {
        struct node *node = at_locked(number);

        if (node != NULL)
            each(node, context);
    }
    spin_unlock(&lock);
}

static void drop_idle(struct node *node, void *context)
{
    bool *dropped = context;

    if (node->content.archive == NULL || !spin_try(&node->lock))
        return;
    if (content_drop_idle(&node->content))
        *dropped = true;
    spin_unlock(&node->lock);
}

bool node_drop_idle(void)
{
    bool dropped = false;

    node_each(drop_idle, &dropped);
    return dropped;
}

uint64_t node_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

/* The table of spaces, and the references that keep a space from being freed. mm/life/life.c begins and ends spaces. */
#include "mm/space/space.h"

#include "kernel/arch/x86_64/cpu.h"
#include "kernel/lib/list.h"
#include "msg/channel.h"
#include "msg/slice.h"

#define BUCKETS 64u

static struct spinlock table_lock;
static struct list table[BUCKETS]; /* [k] table_lock */

const struct space_locking *space_locking;

void space_table_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&table[i]);
}

static struct list *bucket_of(uint64_t id)
{
    return &table[(id ^ id >> 16) % BUCKETS];
}

void space_publish(struct space *space)
{
    spin_lock(&table_lock);
    list_append(bucket_of(space->id), &space->node);
    space->published = true;
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

void space_withdraw(struct space *space)
{
    spin_lock(&table_lock);
    if (space->published)
        list_remove(&space->node);
    space->published = false;
    spin_unlock(&table_lock);
    while (__atomic_load_n(&space->references, __ATOMIC_ACQUIRE) != 1) {
        slice_pause(); /* the reference is a recall's or a handler's on another CPU, and handlers never wait */
        cpu_relax();
    }
}

bool space_retire(struct space *space)
{
    bool retires;

    spin_lock(&table_lock);
    retires = space->published && space->references == 1 && __atomic_load_n(&space->late, __ATOMIC_RELAXED) == 0;
    if (retires)
        list_remove(&space->node);
    space->published = space->published && !retires;
    spin_unlock(&table_lock);
    return retires;
}

kernel_set space_others(struct space *space)
{
    kernel_set members;

    spin_lock(&space->lock);
    members = space->members;
    spin_unlock(&space->lock);
    return members & ~(1ull << instance.kernel);
}

void space_mark(struct space *space, uint64_t start, uint64_t end, uint32_t kernel)
{
    spin_lock(&space->lock);
    sharers_mark(&space->sharers, start, end, 1ull << kernel);
    spin_unlock(&space->lock);
}

void space_each(void (*each)(struct space *space, void *context), void *context)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_for_each(node, &table[i])
            each(container_of(node, struct space, node), context);
    }
}

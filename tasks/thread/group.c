/* The table of thread groups. See the header. */
#include "tasks/thread/group.h"

#include "kernel/instance/instance.h"
#include "mm/frame/heap.h"
#include "tasks/signal/queue/queue.h"
#include "tasks/thread/number.h"

#define BUCKETS 1024u

void (*group_free_process)(struct process *process);

static struct spinlock table_lock;
static struct list table[BUCKETS]; /* [k] table_lock */
static uint64_t numbers;           /* [k] table_lock: groups that have been in the table so far */
static uint64_t total;             /* [k] table_lock: groups that are there now */

void group_table_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&table[i]);
}

static struct list *bucket_of(uint32_t id)
{
    return &table[(id ^ id >> TID_KERNEL_SHIFT) % BUCKETS];
}

void group_publish(struct group *group)
{
    spin_lock(&table_lock);
    group->number = ++numbers;
    total++;
    list_append(bucket_of(group->id), &group->node);
    number_use(group->id, NUMBER_GROUP);
    spin_unlock(&table_lock);
}

uint64_t group_total(void)
{
    return __atomic_load_n(&total, __ATOMIC_RELAXED);
}

/* The first group of BUCKET whose number is above AFTER, with a reference; NULL: there is none. */
static struct group *next_in(const struct list *bucket, uint64_t after)
{
    struct group *found = NULL;

    spin_lock(&table_lock);
    list_for_each(node, bucket) {
        found = container_of(node, struct group, node);
        if (found->number > after)
            break;
        found = NULL;
    }
    if (found != NULL)
        found->references++;
    spin_unlock(&table_lock);
    return found;
}

void group_each(bool (*each)(struct group *group, void *context), void *context)
{
    uint64_t last = __atomic_load_n(&numbers, __ATOMIC_RELAXED); /* groups that come later are left out */
    bool more = true;

    for (uint32_t i = 0; i < BUCKETS && more; i++) {
        struct group *group;

        for (uint64_t after = 0; more && (group = next_in(&table[i], after)) != NULL; group_put(group)) {
            after = group->number;
            if (after <= last)
                more = each(group, context);
        }
    }
}

/* A place is a bucket, and the number of the last group in it that has had its turn. */
uint64_t group_some(uint64_t place, uint32_t most, void (*each)(struct group *group, void *context), void *context)
{
    uint64_t after = place / BUCKETS;

    for (uint32_t i = (uint32_t)(place % BUCKETS); i < BUCKETS; i++, after = 0) {
        struct group *group;

        for (; (group = next_in(&table[i], after)) != NULL; group_put(group)) {
            after = group->number;
            each(group, context);
            if (--most == 0) {
                group_put(group);
                return after * BUCKETS + i;
            }
        }
    }
    return 0;
}

void group_each_still(bool (*each)(struct group *group, void *context), void *context)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_for_each(node, &table[i]) {
            if (!each(container_of(node, struct group, node), context))
                return;
        }
    }
}

struct group *group_find(uint32_t id)
{
    struct group *found = NULL;

    spin_lock(&table_lock);
    list_for_each(node, bucket_of(id)) {
        struct group *group = container_of(node, struct group, node);

        if (group->id == id) {
            group->references++;
            found = group;
            break;
        }
    }
    spin_unlock(&table_lock);
    return found;
}

void group_get(struct group *group)
{
    spin_lock(&table_lock);
    group->references++;
    spin_unlock(&table_lock);
}

void group_put(struct group *group)
{
    bool last;

    spin_lock(&table_lock);
    last = --group->references == 0;
    spin_unlock(&table_lock);
    if (!last)
        return;
    group_free_process(group->process);
    if (group->made != NULL)
        heap_free(group->made, instance.kernels * sizeof(*group->made));
    if (group->known != NULL)
        heap_free(group->known, sizeof(*group->known));
    heap_free(group, sizeof(*group));
}

void group_forget(struct group *group)
{
    spin_lock(&table_lock);
    list_remove(&group->node);
    total--;
    number_leave(group->id, NUMBER_GROUP);
    spin_unlock(&table_lock);
    group_put(group);
}

/* The table of thread groups. See the header. */
#include "tasks/thread/group.h"

#include "kernel/instance/instance.h"
#include "mm/frame/heap.h"
#include "tasks/thread/number.h"

#define BUCKETS 1024u

void (*group_free_process)(struct process *process);

static struct spinlock table_lock;
static struct list table[BUCKETS]; /* [k] table_lock */
static uint32_t published;         /* [k] table_lock: groups in the table */

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
    list_append(bucket_of(group->id), &group->node);
    published++;
    number_use(group->id, NUMBER_GROUP);
    spin_unlock(&table_lock);
}

bool group_each(bool (*each)(struct group *group, void *context), void *context)
{
    struct group **all;
    uint32_t count = 0, room;
    bool more = true;

    spin_lock(&table_lock);
    room = published;
    spin_unlock(&table_lock);
    all = heap_alloc((room + 1) * sizeof(*all));
    if (all == NULL)
        return false;
    spin_lock(&table_lock);
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_for_each(node, &table[i]) {
            if (count == room)
                break; /* the group was added after the groups were counted */
            all[count] = container_of(node, struct group, node);
            all[count++]->references++;
        }
    }
    spin_unlock(&table_lock);
    for (uint32_t i = 0; i < count; i++) {
        more = more && each(all[i], context);
        group_put(all[i]);
    }
    heap_free(all, (room + 1) * sizeof(*all));
    return true;
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

bool group_exists(uint32_t id)
{
    struct group *group = group_find(id);

    if (group != NULL)
        group_put(group);
    return group != NULL;
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
    heap_free(group, sizeof(*group));
}

void group_forget(struct group *group)
{
    spin_lock(&table_lock);
    list_remove(&group->node);
    published--;
    number_leave(group->id, NUMBER_GROUP);
    spin_unlock(&table_lock);
    group_put(group);
}

/* The table of adopted threads. See the header. It is empty as long as no kernel is stopped; a look-up then reads only
 * the count of entries. */
#include "tasks/role/adopted.h"

#include "kernel/arch/x86_64/spinlock.h"
#include "mm/frame/heap.h"

#define BUCKETS 64u

static struct spinlock lock;
static struct list table[BUCKETS];    /* [k] lock */
static volatile uint32_t entry_count; /* [k] lock; read without it, too */

void adopted_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&table[i]);
}

static struct list *bucket_of(uint32_t tid)
{
    return &table[(tid ^ tid >> 16) % BUCKETS];
}

static struct adopted *find_locked(uint32_t tid)
{
    list_for_each(node, bucket_of(tid)) {
        struct adopted *entry = container_of(node, struct adopted, node);

        if (entry->tid == tid)
            return entry;
    }
    return NULL;
}

void adopted_add(struct adopted *entry)
{
    spin_lock(&lock);
    list_append(bucket_of(entry->tid), &entry->node);
    entry_count++;
    spin_unlock(&lock);
}

bool adopted_find(uint32_t tid, uint32_t *went_to)
{
    const struct adopted *entry;

    if (entry_count == 0)
        return false;
    spin_lock(&lock);
    entry = find_locked(tid);
    if (entry != NULL)
        *went_to = entry->went_to;
    spin_unlock(&lock);
    return entry != NULL;
}

void adopted_redirect(uint32_t tid, uint32_t from, uint32_t to)
{
    struct adopted *entry;

    spin_lock(&lock);
    entry = find_locked(tid);
    if (entry != NULL && entry->went_to == from)
        entry->went_to = to;
    spin_unlock(&lock);
}

static void remove_locked(struct adopted *entry)
{
    list_remove(&entry->node);
    entry_count--;
    heap_free(entry, sizeof(*entry));
}

void adopted_forget(uint32_t tid)
{
    struct adopted *entry;

    if (entry_count == 0)
        return;
    spin_lock(&lock);
    entry = find_locked(tid);
    if (entry != NULL)
        remove_locked(entry);
    spin_unlock(&lock);
}

void adopted_forget_group(uint32_t group)
{
    if (entry_count == 0)
        return;
    spin_lock(&lock);
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_for_each_safe(node, &table[i]) {
            struct adopted *entry = container_of(node, struct adopted, node);

            if (entry->group == group)
                remove_locked(entry);
        }
    }
    spin_unlock(&lock);
}

void adopted_each(void (*each)(const struct adopted *entry, void *context), void *context)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_for_each(node, &table[i])
            each(container_of(node, const struct adopted, node), context);
    }
}

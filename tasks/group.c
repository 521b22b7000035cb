/* Thread groups: table, membership. See the header. */
#include "tasks/group.h"

#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/panic.h"
#include "mm/heap.h"
#include "msg/channel.h"
#include "tasks/wire.h"

#define BUCKETS 64u

struct group_hooks group_hooks;

static struct spinlock table_lock;
static struct list table[BUCKETS]; /* [k] table_lock */

static struct list *bucket_of(uint32_t id)
{
    return &table[(id ^ id >> TID_KERNEL_SHIFT) % BUCKETS];
}

struct group *group_create(uint32_t id, uint32_t home, bool space)
{
    struct group *group = heap_alloc(sizeof(*group));

    if (group == NULL)
        return NULL;
    if (space)
        group->space = space_create(id, home);
    if (space && group->space == NULL) {
        heap_free(group, sizeof(*group));
        return NULL;
    }
    if (space)
        space_publish(group->space);
    group->references = 1;
    group->id = id;
    group->home = home;
    list_init(&group->threads);
    list_init(&group->children);
    waitq_init(&group->child_wait);
    completion_init(&group->quiet);
    spin_lock(&table_lock);
    list_append(bucket_of(id), &group->node);
    spin_unlock(&table_lock);
    return group;
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
    list_for_each_safe(node, &group->children)
        heap_free(container_of(node, struct child, node), sizeof(struct child));
    heap_free(group, sizeof(*group));
}

void group_forget(struct group *group)
{
    spin_lock(&table_lock);
    list_remove(&group->node);
    spin_unlock(&table_lock);
    group_put(group);
}

struct space *group_space(struct group *group)
{
    return group != NULL ? group->space : NULL;
}

int group_add_thread(struct group *group, struct thread *thread)
{
    int error = 0;

    spin_lock(&group->lock);
    if (group->exiting) {
        error = -ESRCH;
    } else {
        list_append(&group->threads, &thread->group_node);
        group->count++;
    }
    spin_unlock(&group->lock);
    return error;
}

int group_count_thread(struct group *group)
{
    int error = 0;

    spin_lock(&group->lock);
    if (group->exiting)
        error = -ESRCH;
    else
        group->live++;
    spin_unlock(&group->lock);
    return error;
}

int group_join(struct group *group, uint32_t kernel)
{
    int error = 0;

    if (kernel >= instance.kernels)
        return -EINVAL;
    spin_lock(&group->lock);
    if (group->exiting)
        error = -ESRCH;
    else
        space_join(group->space, kernel);
    spin_unlock(&group->lock);
    return error;
}

/* Runs WHAT on the group that a message names, if this kernel is its home, and answers. */
static void answer_at_home(const struct msg *m, uint32_t id, int (*what)(struct group *group, uint32_t argument),
                           uint32_t argument)
{
    struct group *group = group_find(id);
    int error = -ESRCH;

    if (group != NULL) {
        error = group->home == instance.kernel ? what(group, argument) : -EPROTO;
        group_put(group);
    }
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

static void handle_join(const struct msg *m)
{
    const struct msg_group_join *join = m->data;

    answer_at_home(m, join->group, group_join, join->kernel);
}

static int count_thread(struct group *group, uint32_t unused)
{
    (void)unused;
    return group_count_thread(group);
}

static void handle_new_thread(const struct msg *m)
{
    const struct msg_thread *thread = m->data;

    answer_at_home(m, thread->group, count_thread, 0);
}

void group_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&table[i]);
    msg_register(MSG_GROUP_JOIN, handle_join, sizeof(struct msg_group_join), 0);
    msg_register(MSG_THREAD_NEW, handle_new_thread, sizeof(struct msg_thread), 0);
}

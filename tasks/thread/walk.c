/* Walks over the threads of a group. See the header. */
#include "tasks/thread/walk.h"

#include <stddef.h>

#include "msg/slice.h"

#define WALK_PART 128u /* threads: some hundred instructions for each */

/* A walk that is under way, on the stack of who walks. */
struct group_walk {
    struct list node;  /* [g] in group->walks */
    struct list *next; /* [g] the thread that comes next, or the end of group->threads */
};

/* False: there are no more threads. */
static bool walk_part_locked(struct group *group, struct group_walk *walk,
                             void (*each)(struct thread *thread, void *context), void *context)
{
    for (uint32_t left = WALK_PART; left > 0 && walk->next != &group->threads; left--) {
        struct thread *thread = container_of(walk->next, struct thread, group_node);

        walk->next = walk->next->next;
        each(thread, context);
    }
    return walk->next != &group->threads;
}

void group_each_thread(struct group *group, void (*each)(struct thread *thread, void *context), void *context)
{
    struct group_walk walk;

    spin_lock(&group->lock);
    walk.next = group->threads.next;
    list_append(&group->walks, &walk.node);
    while (walk_part_locked(group, &walk, each, context)) {
        spin_unlock(&group->lock);
        slice_check();
        spin_lock(&group->lock);
    }
    list_remove(&walk.node);
    spin_unlock(&group->lock);
}

void group_remove_thread_locked(struct group *group, struct thread *thread)
{
    list_for_each(node, &group->walks) {
        struct group_walk *walk = container_of(node, struct group_walk, node);

        if (walk->next == &thread->group_node)
            walk->next = thread->group_node.next;
    }
    list_remove(&thread->group_node);
}

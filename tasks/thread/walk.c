/* Long walks over the threads of a group. See tasks/thread/group.h. */
#include "msg/slice.h"
#include "tasks/thread/group.h"
#include "tasks/thread/thread.h"

struct list *group_pause_locked(struct group *group, struct list *next)
{
    const struct thread *thread;
    uint32_t tid;

    if (next == &group->threads)
        return next;
    tid = container_of(next, struct thread, group_node)->tid;
    spin_unlock(&group->lock);
    slice_check();
    spin_lock(&group->lock);
    thread = thread_find(tid);
    return thread != NULL && thread->group == group && &thread->group_node == next ? next : group->threads.next;
}

/* Waiting in vfork. See the header. */
#include "tasks/process/vfork.h"

#include "tasks/remote/watch.h"
#include "tasks/thread/group.h"
#include "tasks/thread/thread.h"

static void set_in_vfork(struct thread *thread, bool value)
{
    spin_lock(&thread->group->lock);
    thread->in_vfork = value;
    spin_unlock(&thread->group->lock);
}

bool vfork_wait(struct completion *done, const struct wait_reason *reason)
{
    struct thread *self = thread_current();
    bool signalled;

    set_in_vfork(self, true);
    watch_event(&self->group->moves); /* wakes who waits for a move that was ordered before */
    signalled = completion_wait_until(done, reason, WAIT_KILLABLE, 0);
    set_in_vfork(self, false);
    return signalled;
}

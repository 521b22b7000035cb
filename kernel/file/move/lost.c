/* Files after the death of a kernel. See the header.
 *
 * How many opens the dead kernel had of a file, or had got for another one, is written nowhere but in its own memory,
 * which is not trusted. So they are what remains when those are subtracted that are accounted for (references.h), and
 * so are grants of objects. All kernels count opens before any of them closes a file: a socket that is closed may have
 * descriptors in flight, whose proxies would go between another kernel's question and the end of the open. */
#include "kernel/file/move/lost.h"

#include "kernel/file/event/look.h"
#include "kernel/file/file.h"
#include "kernel/file/move/references.h"
#include "kernel/fs/node/lock.h"
#include "kernel/fs/tree/fifo.h"
#include "kernel/ipc/mqueue/mqueue.h"
#include "kernel/ipc/pipe/pipe.h"
#include "kernel/ipc/sysv/ipc.h"
#include "kernel/tty/tty.h"

/* --- what is left over --- */

/* From now on `counted` is how many opens are not accounted for. */
static void keep_excess(struct file *file, void *context)
{
    (void)context;
    file->counted = file->opens > file->counted ? file->opens - file->counted : 0;
}

static void drop_locks(struct file *file, void *context)
{
    const kernel_set *lost = context;

    if (pipe_is_end(file))
        pipe_lost(file);
    if (fifo_is_end(file))
        fifo_lost(file);
    if (!file->kind->of_node || !file->kind->locks)
        return;
    for (kernel_set rest = *lost; rest != 0; rest &= rest - 1)
        node_lock_lost(file, (uint32_t)__builtin_ctzll(rest));
}

static void drop_excess(struct file *file, void *context)
{
    for (; file->counted > 0; file->counted--) {
        file_close(file);
        ++*(int64_t *)context;
    }
}

void lost_waits(uint32_t kernel)
{
    poll_lost(kernel);
    tty_lost(kernel);
}

int64_t lost_files_count(kernel_set others)
{
    int error = references_count_opens(others);

    if (error == 0)
        file_each(keep_excess, NULL);
    return error;
}

int64_t lost_files_drop(kernel_set lost, kernel_set others)
{
    int64_t dropped = 0;
    int error = references_take_grants(others, &dropped);

    if (error != 0)
        return error;
    file_each_pinned(drop_locks, &lost);
    file_each_pinned(drop_excess, &dropped);
    for (; lost != 0; lost &= lost - 1) {
        sem_lost((uint32_t)__builtin_ctzll(lost));
        mqueue_lost((uint32_t)__builtin_ctzll(lost));
    }
    return dropped;
}

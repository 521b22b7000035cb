/* Removing locks. See the header. */
#include "kernel/file/lock.h"

#include "kernel/file/operation.h"
#include "kernel/file/wire.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "mm/frame/heap.h"
#include "msg/request/call.h"
#include "tasks/remote/operation.h"
#include "tasks/thread/thread.h"

static struct file_lock nothing_of(uint32_t process)
{
    return (struct file_lock){.kind = LOCK_PROCESS, .type = LOCK_NONE, .process = process};
}

struct unlocking {
    struct msg_asking asking;
    struct msg_file_call call;
    struct file_lock lock;
};

_Static_assert(offsetof(struct unlocking, lock) == offsetof(struct unlocking, call) + sizeof(struct msg_file_call),
               "data follows the request");

static void unlocked(void *context, uint32_t kernel, const void *reply, int length)
{
    (void)kernel;
    (void)reply;
    (void)length; /* -ESRCH: the file has been closed by all, and has no locks any more */
    heap_free(context, sizeof(struct unlocking));
}

static void unlock_here(struct file *file, uint32_t process)
{
    struct file_request request = {.operation = MSG_FILE_LOCK, .lock = LOCK_SET};
    struct file_lock lock = nothing_of(process);
    struct file_answer answer;

    file_do(file, &request, &lock, sizeof(lock), NULL, 0, &answer);
}

void file_unlock_later(struct file *file, uint32_t process)
{
    struct unlocking *unlocking;

    if (file->kind != NULL) {
        unlock_here(file, process);
        return;
    }
    unlocking = heap_alloc(sizeof(*unlocking));
    if (unlocking == NULL) {
        log_line("fs: no memory to give back the locks of process %u", process);
        return;
    }
    unlocking->lock = nothing_of(process);
    unlocking->call = (struct msg_file_call){.id = file->id, .request = {.operation = MSG_FILE_LOCK, .lock = LOCK_SET}};
    msg_ask(&unlocking->asking, file->kernel, MSG_FILE_LOCK, &unlocking->call,
            sizeof(unlocking->call) + sizeof(unlocking->lock), unlocked, unlocking);
}

void file_unlock(uint32_t kernel, uint64_t id, uint32_t process)
{
    struct {
        struct msg_file_call call;
        struct file_lock lock;
    } ask = {.call = {.id = id, .request = {.operation = MSG_FILE_LOCK, .lock = LOCK_SET}},
             .lock = nothing_of(process)};
    const struct remote_how how = {.why = "locks of a file", .key = id, .sure = true};
    struct file_answer answer;
    struct file *file = kernel == instance.kernel ? file_find(id) : NULL;

    if (file != NULL) {
        unlock_here(file, process);
        file_unpin(file);
    } else if (kernel != instance.kernel) {
        remote_call(kernel, MSG_FILE_LOCK, &ask, sizeof(ask), &answer, sizeof(answer), &how);
    }
}

void file_lock_over(void)
{
    const struct msg_file_task over = {.task = thread_current()->tid};
    const struct remote_how how = {.why = "end of a wait for a lock", .key = over.task, .sure = true};

    remote_call(0, MSG_FILE_LOCK_OVER, &over, sizeof(over), NULL, 0, &how);
}

/* The robust lists of a process's threads, as its home knows them: so the words that a thread holds are released, too,
 * when it is lost with a kernel. See tasks/futex/futex.md, "The end of a thread".
 *
 * Of a thread that is away from home and has a list, the home has a note (note.c) or a record. A thread that has come
 * back may have a record still, until it exits; those that are killed keep theirs until the process has ended. A thread
 * that has never left home has neither: it cannot be lost while its home is not. */
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "tasks/futex/futex.h"
#include "tasks/futex/internal.h"
#include "tasks/process/process.h"
#include "tasks/remote/operation.h"

static struct process_robust *find_locked(const struct process *process, uint32_t thread)
{
    list_for_each(node, &process->robust) {
        struct process_robust *robust = container_of(node, struct process_robust, node);

        if (robust->thread == thread)
            return robust;
    }
    return NULL;
}

static void forget_locked(struct process *process, struct process_robust *robust)
{
    list_remove(&robust->node);
    process->robust_count--;
    heap_free(robust, sizeof(*robust));
}

/* Each of the live threads has one record at most: so a peer that names others fills no memory. */
int futex_note_robust_locked(struct process *process, uint32_t thread, uint64_t list)
{
    struct process_robust *robust = find_locked(process, thread);

    if (robust == NULL && list != 0) {
        if (process->robust_count >= process->live)
            return -EPROTO;
        robust = heap_alloc(sizeof(*robust));
        if (robust == NULL)
            return -ENOMEM;
        robust->thread = thread;
        list_append(&process->robust, &robust->node);
        process->robust_count++;
    }
    if (robust != NULL)
        robust->list = list;
    if (robust != NULL && list == 0)
        forget_locked(process, robust);
    return 0;
}

static int run_robust(const struct remote_request *request, void *result)
{
    const struct msg_futex_robust *message = request->data;
    struct group *group = group_find(message->group);
    int error = -ESRCH;

    (void)result;
    if (group == NULL)
        return error;
    if (group->process != NULL) {
        spin_lock(&group->lock);
        error = futex_note_robust_locked(group->process, message->thread, message->list);
        spin_unlock(&group->lock);
    }
    group_put(group);
    return error;
}

/* At home: only a record that is there already has to be changed. */
static void set_at_home(struct group *group, struct thread *self, uint64_t list)
{
    spin_lock(&group->lock);
    self->context.robust_list = list;
    if (find_locked(group->process, self->tid) != NULL)
        futex_note_robust_locked(group->process, self->tid, list);
    spin_unlock(&group->lock);
}

/* Has the home record that the list of SELF, the current thread, is at LIST. */
static int ask_record(const struct thread *self, uint64_t list)
{
    struct msg_futex_robust message = {.group = self->group->id, .thread = self->tid, .list = list};
    struct remote_how how = {.why = "record of its robust list", .key = self->tid, .sure = true};
    int error = remote_call(self->group->home, MSG_FUTEX_ROBUST, &message, sizeof(message), NULL, 0, &how);

    return error < 0 ? error : 0;
}

int futex_set_robust(uint64_t list)
{
    struct thread *self = thread_current();
    struct group *group = self->group;
    int error = 0;
    bool noted;

    if (group->process != NULL) {
        set_at_home(group, self, list);
        return 0;
    }
    if (list == self->context.robust_list)
        return 0;
    spin_lock(&group->lock);
    noted = futex_note_set_locked(self, list);
    spin_unlock(&group->lock);
    if (!noted)
        error = ask_record(self, list);
    if (error == 0)
        self->context.robust_list = list;
    return error;
}

int futex_leaves(struct thread *thread, uint32_t kernel)
{
    struct group *group = thread->group;
    int error;

    if (thread->robust_note == 0 || kernel == group->home)
        return 0;
    error = ask_record(thread, thread->context.robust_list);
    if (error != 0)
        return error;
    spin_lock(&group->lock);
    futex_note_drop_locked(thread);
    spin_unlock(&group->lock);
    return 0;
}

int futex_leaves_home_locked(struct group *group, const struct thread *thread)
{
    if (group->process == NULL || thread->context.robust_list == 0)
        return 0;
    return futex_note_robust_locked(group->process, thread->tid, thread->context.robust_list);
}

void futex_forget_robust(struct group *group, uint32_t thread)
{
    struct process_robust *robust;

    spin_lock(&group->lock);
    robust = find_locked(group->process, thread);
    if (robust != NULL)
        forget_locked(group->process, robust);
    spin_unlock(&group->lock);
}

void futex_forget_all_robust(struct group *group)
{
    spin_lock(&group->lock);
    while (!list_empty(&group->process->robust))
        forget_locked(group->process, container_of(group->process->robust.next, struct process_robust, node));
    spin_unlock(&group->lock);
}

struct handing_on {
    void (*each)(void *context, uint32_t thread, uint64_t list);
    void *context;
    uint32_t left; /* lists that the successor takes */
    uint32_t more;
};

static void hand_on_noted(void *context, uint32_t thread, uint64_t list)
{
    struct handing_on *to = context;

    if (to->left == 0) {
        to->more++;
        return;
    }
    to->left--;
    to->each(to->context, thread, list);
}

void futex_robust_each(const struct group *group, void (*each)(void *context, uint32_t thread, uint64_t list),
                       void *context)
{
    const struct process *process = group->process;
    kernel_set members = group->space != NULL ? group->space->members : 0;
    struct handing_on to = {.each = each, .context = context};

    list_for_each(node, &process->robust) {
        const struct process_robust *robust = container_of(node, const struct process_robust, node);

        each(context, robust->thread, robust->list);
    }
    if (process->live > process->robust_count)
        to.left = process->live - process->robust_count;
    futex_notes_each(group, members, hand_on_noted, &to);
    if (to.more > 0)
        log_line("tasks: %u robust lists more than process %u has threads are noted here", to.more, group->id);
}

static void release_noted(void *context, uint32_t thread, uint64_t list)
{
    const struct group *group = context;

    futex_release_list(group->space, thread, list);
}

void futex_release_lost(struct group *group)
{
    struct process *process = group->process;

    futex_notes_each(group, msg_peers_fenced(), release_noted, group);

    for (;;) {
        const struct process_robust *first = NULL;
        struct process_robust robust;

        spin_lock(&group->lock);
        if (!list_empty(&process->robust)) {
            first = container_of(process->robust.next, struct process_robust, node);
            robust = *first;
            forget_locked(process, container_of(process->robust.next, struct process_robust, node));
        }
        spin_unlock(&group->lock);
        if (first == NULL)
            return;
        futex_release_list(group->space, robust.thread, robust.list);
    }
}

void futex_robust_init(void)
{
    REMOTE_SERVE(FUTEX_ROBUST, run_robust, NULL, struct msg_futex_robust, struct msg_none);
}

/* Members of thread groups. See the header. */
#include "tasks/process/group.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "tasks/process/process.h"
#include "tasks/process/wire.h"
#include "tasks/remote/watch.h"
#include "tasks/sched/sched.h"
#include "tasks/sched/waitq.h"

struct group_hooks group_hooks;

struct group *group_create(uint32_t id, uint32_t home, struct space *space)
{
    struct group *group = heap_alloc(sizeof(*group));

    if (group == NULL)
        return NULL;
    group->references = 1;
    group->id = id;
    group->home = home;
    group->space = space;
    list_init(&group->node);
    list_init(&group->threads);
    list_init(&group->walks);
    list_init(&group->arrivals);
    waitq_init(&group->stop_wait);
    completion_init(&group->quiet);
    watch_init(&group->moves);
    return group;
}

void group_abandon(struct group *group)
{
    group_put(group); /* a handler may hold a reference, which it got through the id of a thread */
}

kernel_set group_members_locked(struct group *group)
{
    kernel_set members;

    if (group->space == NULL || group->pinned != NULL)
        return 0;
    spin_lock(&group->space->lock);
    members = group->space->members;
    spin_unlock(&group->space->lock);
    return members;
}

static int add_thread_locked(struct group *group, struct thread *thread)
{
    if (group->exiting || (group->process != NULL && group->process->pruning))
        return -ESRCH;
    if (group->stopped) /* the stop marked only the threads that were here at that moment */
        __atomic_fetch_or(&thread->due, THREAD_DUE_STOP, __ATOMIC_SEQ_CST);
    list_append(&group->threads, &thread->group_node);
    group->count++;
    return 0;
}

int group_add_thread(struct group *group, struct thread *thread)
{
    int error;

    spin_lock(&group->lock);
    error = add_thread_locked(group, thread);
    spin_unlock(&group->lock);
    return error;
}

void group_made_begin(struct group *group)
{
    uint32_t *made = NULL;

    if (__atomic_load_n(&group->made, __ATOMIC_ACQUIRE) == NULL)
        made = heap_alloc(instance.kernels * sizeof(*made));
    if (made == NULL)
        return;
    spin_lock(&group->lock);
    if (group->made == NULL) {
        __atomic_store_n(&group->made, made, __ATOMIC_RELEASE);
        made = NULL;
    }
    spin_unlock(&group->lock);
    if (made != NULL)
        heap_free(made, instance.kernels * sizeof(*made));
}

void group_made_locked(struct group *group, struct thread *thread, int32_t kernel)
{
    if (group->made == NULL)
        return;
    if (thread->counted_on != 0)
        group->made[thread->counted_on - 1]--;
    thread->counted_on = (uint32_t)(kernel + 1);
    if (kernel >= 0)
        group->made[kernel]++;
}

void group_made_moves_locked(struct thread *thread, uint32_t kernel)
{
    if (thread->counted_on != 0)
        group_made_locked(thread->group, thread, (int32_t)kernel);
}

void group_count_down_locked(struct group *group, bool *answer)
{
    group->count--;
    *answer = group->count == 0 && group->kill_waits;
    if (*answer) {
        group->kill_waits = false;
        group_get(group);
    }
    if (group->process != NULL && (group->exiting || group->process->pruning) && group->count == group->quiet_count)
        completion_signal(&group->quiet);
}

void group_notify_killed(const struct group *group, struct msg_group_killed *out)
{
    *out = (struct msg_group_killed){
        .user_ns = group->gone_user_ns, .system_ns = group->gone_system_ns, .use = group->gone.use};
}

void group_kept_done(struct msg_kept *kept)
{
    group_put(container_of(kept, struct group, kept));
}

void group_answer_kill(struct group *group, bool answer)
{
    if (answer)
        group_hooks.killed(group);
}

int group_pin_locked(struct group *host, bool ending)
{
    const struct process *process = host->process;
    bool ends = host->exiting || (process != NULL && process->pruning);
    bool may = !ends || (ending && (process != NULL || host->pins > 0));

    if (host->space == NULL || host->freeing || !may)
        return -ESRCH;
    host->pins++;
    return 0;
}

static int pin(struct group *group, bool ending, struct group **host_out)
{
    struct group *host;
    int error = -ESRCH;

    spin_lock(&group->lock);
    host = group->pinned != NULL ? group->pinned : group;
    if ((ending || !group->exiting) && group->space != NULL)
        error = 0;
    if (error == 0)
        group_get(host);
    spin_unlock(&group->lock);
    if (error != 0)
        return error;
    spin_lock(&host->lock);
    error = group_pin_locked(host, ending || host != group);
    spin_unlock(&host->lock);
    if (error != 0)
        group_put(host);
    *host_out = host;
    return error;
}

int group_pin(struct group *group, struct group **host)
{
    return pin(group, false, host);
}

int group_pin_ending(struct group *group, struct group **host)
{
    return pin(group, true, host);
}

bool group_has_pins_locked(const struct group *group)
{
    return group->pins != 0 || group->process->pins_away != 0;
}

/* At the home, where GROUP has perhaps lost its last pin: continues exec, whose thread waits. Returns whether the end
 * is to go on (group_hooks.unpinned), once. */
static bool unpinned_locked(struct group *group)
{
    struct process *process = group->process;

    if (process == NULL || !process->is_pinned || group_has_pins_locked(group))
        return false;
    process->is_pinned = false;
    group->freeing = true;
    if (process->pruning)
        completion_signal(&group->quiet);
    return !process->pruning;
}

void group_unpin(struct group *host)
{
    struct msg_group message = {.group = host->id};
    bool tells, goes_on;
    uint32_t home;

    spin_lock(&host->lock);
    host->pins--;
    tells = host->pins == 0 && host->pins_told;
    host->pins_told = host->pins_told && !tells;
    goes_on = unpinned_locked(host);
    home = host->home;
    spin_unlock(&host->lock);
    if (tells)
        msg_notify(home, MSG_GROUP_UNPINNED, &message, sizeof(message));
    if (goes_on)
        group_hooks.unpinned(host);
    group_put(host);
}

void group_pins_away(struct group *group, uint32_t kernel, enum group_pins_news news)
{
    kernel_set bit = 1ull << kernel;
    bool goes_on;

    spin_lock(&group->lock);
    if (news == GROUP_PINS_LOST)
        group->process->pins_away &= ~bit;
    else if (group->exiting || group->process->pruning)
        group->process->pins_away ^= bit & group_members_locked(group);
    goes_on = unpinned_locked(group);
    spin_unlock(&group->lock);
    if (goes_on)
        group_hooks.unpinned(group);
}

static void handle_unpinned(const struct msg *m)
{
    const struct msg_group *message = m->data;
    struct group *group = group_find(message->group);

    if (group == NULL)
        return;
    if (group->process != NULL)
        group_pins_away(group, m->ticket.kernel, GROUP_PINS_CHANGE);
    group_put(group);
}

void group_account(struct group *group, struct account *out, uint64_t *peak)
{
    spin_lock(&group->lock);
    *out = group->gone;
    *peak = group->space != NULL ? space_peak(group->space) : 0;
    list_for_each(node, &group->threads)
        account_add(out, &container_of(node, const struct thread, group_node)->account);
    spin_unlock(&group->lock);
}

void group_cpu_time(struct group *group, uint64_t *user, uint64_t *system)
{
    spin_lock(&group->lock);
    *user = group->gone_user_ns;
    *system = group->gone_system_ns;
    list_for_each(node, &group->threads) {
        struct thread *thread = container_of(node, struct thread, group_node);
        uint64_t more_user, more_system;

        if (thread->presence != THREAD_PRESENT)
            continue; /* it is counted on the kernel where it runs */
        sched_cpu_time(thread, &more_user, &more_system);
        *user += more_user;
        *system += more_system;
    }
    spin_unlock(&group->lock);
}

/* Home: counts one more thread in the machine before it is made, so that no other thread's exit can be the last. */
static int count_thread(struct group *group)
{
    struct process *process = group->process;
    int error = 0;

    if (process == NULL)
        return -EPROTO;
    spin_lock(&group->lock);
    if (group->exiting || process->pruning)
        error = -EAGAIN;
    else
        process->live++;
    spin_unlock(&group->lock);
    return error;
}

static void handle_new_thread(const struct msg *m)
{
    const struct msg_thread *message = m->data;
    struct group *group = group_find(message->group);
    int error = -EAGAIN;

    if (group != NULL) {
        error = count_thread(group);
        group_put(group);
    }
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

int group_count_thread(struct group *group)
{
    struct msg_thread message = {.group = group->id};
    int error;

    if (group->home == instance.kernel)
        return count_thread(group);
    error = msg_call(group->home, MSG_THREAD_NEW, &message, sizeof(message), NULL, 0, "leave to start a thread",
                     group->id);
    return error < 0 ? error : 0;
}

void group_init(void)
{
    group_free_process = process_free;
    msg_register(MSG_THREAD_NEW, handle_new_thread, sizeof(struct msg_thread), 0);
    msg_register(MSG_GROUP_UNPINNED, handle_unpinned, sizeof(struct msg_group), 0);
}

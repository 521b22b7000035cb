/* Stop and continue of a process over its kernels. The home numbers rounds: each stop and each continue is a round,
 * which the home sends to every member kernel. A kernel replies to a stop when all its threads of the group are
 * quiesced, or when a later round overtakes it. When all kernels have replied, the home notifies the parent. See the
 * header.
 *
 * A member is due from the beginning of a round until its message is composed, and has at most one stop and one
 * continue that it has not answered. The message is sent by whoever finds a member due and without one of its kind: the
 * beginner of the round, or the answer to the message before. So the rounds between are merged. */
#include "tasks/process/stop.h"

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "tasks/process/call.h"
#include "tasks/process/process.h"
#include "tasks/remote/work.h"
#include "tasks/sched/due.h"
#include "tasks/sched/waitq.h"

/* Reports process->news to the parent. Runs in a task, which owns a reference to the group. */
static void notify_news(struct work *work)
{
    struct process *process = container_of(work, struct process, news_work);
    struct group *group = process->group;
    struct msg_process_result result;
    struct msg_process_call call;

    spin_lock(&group->lock);
    call = process->news;
    process->news.type = 0;
    spin_unlock(&group->lock);
    process_call_surely(&call, &result);
    group_put(group);
}

/* Home: sends CALL to the parent. Without memory a task sends it later; of several such reports only the one of the
 * latest round is sent. */
static void notify_parent(struct group *group, const struct msg_process_call *call)
{
    struct process *process = group->process;
    bool submit;

    if (process_notify(call) == 0)
        return;
    spin_lock(&group->lock);
    submit = process->news.type == 0;
    if (submit || (int32_t)(call->event.round - process->news.event.round) > 0)
        process->news = *call;
    if (submit)
        group_get(group);
    spin_unlock(&group->lock);
    if (submit) {
        process->news_work.run = notify_news;
        work_submit(&process->news_work);
    }
}

/* Home: one more kernel has completed the stop of round ROUND. After the last one, notifies the parent of the stop. */
static void one_quiesced(struct group *group, uint32_t round)
{
    struct process *process = group->process;
    struct msg_process_call call = {.type = MSG_PROCESS_CHILD_EVENT};
    bool notify = false;

    spin_lock(&group->lock);
    if (group->stop_round == round && group->stopped && --process->stop_left == 0 && !group->exiting) {
        notify = process->parent != PROCESS_INIT;
        call.id = process->parent;
        call.event = (struct child_event){.child = group->id,
                                          .code = CLD_STOPPED,
                                          .status = process->stop_signal << 8 | 0x7f,
                                          .round = round,
                                          .uid = process->credentials.uid};
    }
    spin_unlock(&group->lock);
    if (notify)
        notify_parent(group, &call);
}

bool stop_look_locked(struct group *group, struct stop_quiesced *standing)
{
    *standing = (struct stop_quiesced){.request = NULL, .round = group->stop_round};
    if (!group->stop_waits)
        return false;
    list_for_each(node, &group->threads) {
        const struct thread *thread = container_of(node, struct thread, group_node);

        if (thread->presence == THREAD_LEAVING || (thread->presence == THREAD_PRESENT && !thread->quiesced))
            return false;
    }
    group->stop_waits = false;
    standing->request = group->stop_request;
    group->stop_request = NULL;
    return true;
}

struct stop_request {
    struct msg_kept kept;
};

static void kept_done(struct msg_kept *kept)
{
    heap_free(container_of(kept, struct stop_request, kept), sizeof(struct stop_request));
}

void stop_answer(struct group *group, const struct stop_quiesced *standing)
{
    if (standing->request != NULL)
        msg_kept_reply(&standing->request->kept, NULL, 0, kept_done);
    else
        one_quiesced(group, standing->round);
}

/* Applies round ROUND on this kernel. Returns the kept request of an earlier stop, to which the caller must reply now,
 * or NULL. */
static struct stop_request *apply_locked(struct group *group, uint32_t round, bool stopped)
{
    struct stop_request *overtaken = group->stop_request;

    group->stop_request = NULL;
    group->stop_waits = stopped;
    group->stop_round = round;
    group->stopped = stopped;
    if (!stopped) {
        waitq_wake_all(&group->stop_wait);
        return overtaken;
    }
    list_for_each(node, &group->threads)
        thread_set_due(container_of(node, struct thread, group_node), THREAD_DUE_STOP);
    return overtaken;
}

/* The members that can be sent the current round. */
static kernel_set ready_locked(const struct group *group)
{
    const struct process_stops *stops = &group->process->stops;

    return stops->due & ~stops->unanswered[group->stopped ? 1 : 0];
}

/* Composes the current round for KERNEL, which is ready. */
static void compose_locked(struct group *group, uint32_t kernel, struct stop_sending *sending)
{
    struct process_stops *stops = &group->process->stops;

    stops->due &= ~(1ull << kernel);
    stops->unanswered[group->stopped ? 1 : 0] |= 1ull << kernel;
    sending->message = (struct msg_group_stop){
        .group = group->id, .round = group->stop_round, .stopped = group->stopped ? 1 : 0};
}

static void send_due(struct group *group);
static void send(struct stop_sending *sending, uint32_t kernel);

/* KERNEL has answered, or has died: it gets what it is due by now. */
static void take_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct stop_sending *sending = context;
    struct group *group = sending->group;
    struct process_stops *stops = &group->process->stops;
    uint32_t round = sending->message.round;
    bool again;

    (void)reply;
    (void)length;
    spin_lock(&group->lock);
    stops->unanswered[sending->message.stopped] &= ~(1ull << kernel);
    again = (ready_locked(group) >> kernel & 1) != 0;
    if (again)
        compose_locked(group, kernel, sending);
    else if (sending == &stops->spare)
        stops->is_spare_used = false;
    spin_unlock(&group->lock);
    one_quiesced(group, round);
    if (again) {
        send(sending, kernel);
        return;
    }
    if (sending != &stops->spare)
        heap_free(sending, sizeof(*sending));
    send_due(group); /* there is memory for one */
    group_put(group);
}

static void send(struct stop_sending *sending, uint32_t kernel)
{
    msg_ask(&sending->asking, kernel, MSG_GROUP_STOP, &sending->message, sizeof(sending->message), take_answer,
            sending);
}

static struct stop_sending *sending_locked(struct process_stops *stops)
{
    struct stop_sending *sending = heap_alloc_sure(sizeof(*sending));

    if (sending == NULL && !stops->is_spare_used) {
        stops->is_spare_used = true;
        sending = &stops->spare;
    }
    return sending;
}

/* Home: sends the current round to the members that are ready; without memory to one of them, whose answer goes on. */
static void send_due(struct group *group)
{
    struct stop_sending *sending;
    kernel_set ready;

    spin_lock(&group->lock);
    while ((ready = ready_locked(group)) != 0 && (sending = sending_locked(&group->process->stops)) != NULL) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(ready);

        compose_locked(group, kernel, sending);
        sending->group = group;
        group_get(group);
        spin_unlock(&group->lock);
        send(sending, kernel);
        spin_lock(&group->lock);
    }
    spin_unlock(&group->lock);
}

/* Home: begins round group->stop_round + 1. CONTINUES: the count of continues in PROCESS_STOP, or 0. */
static void begin_round(struct group *group, bool stopped, uint32_t signal, uint64_t continues)
{
    struct process *process = group->process;
    struct msg_process_call call = {.type = MSG_PROCESS_CHILD_EVENT};
    kernel_set others = 0;
    struct stop_quiesced standing;
    uint32_t round;
    bool answer = false, notify = false;

    spin_lock(&group->lock);
    if (!stopped) {
        process->continues++;
        signal_queue_remove(&process->signals, SIGNAL_STOPPING);
    }
    if (group->stopped == stopped || group->exiting || (continues != 0 && continues != process->continues)) {
        spin_unlock(&group->lock);
        return;
    }
    if (group->space != NULL && group->pinned == NULL) {
        spin_lock(&group->space->lock);
        others = group->space->members & ~(1ull << instance.kernel);
        spin_unlock(&group->space->lock);
    }
    round = group->stop_round + 1;
    process->stop_signal = stopped ? signal : 0;
    process->stop_left = kernel_set_count(others) + 1;
    process->stops.due = others;
    apply_locked(group, round, stopped);
    if (stopped) {
        answer = stop_look_locked(group, &standing);
    } else {
        notify = process->parent != PROCESS_INIT;
        call.id = process->parent;
        call.event = (struct child_event){.child = group->id,
                                          .code = CLD_CONTINUED,
                                          .status = 0xffff,
                                          .round = round,
                                          .uid = process->credentials.uid};
    }
    spin_unlock(&group->lock);
    send_due(group);
    if (answer)
        one_quiesced(group, round);
    if (notify)
        notify_parent(group, &call);
}

int64_t stop_begin(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    (void)result;
    begin_round(group, true, call->stop.signal, call->stop.continues);
    return 0;
}

int64_t stop_end(struct group *group, const struct msg_process_call *call, struct msg_process_result *result)
{
    (void)call;
    (void)result;
    stop_continue(group);
    return 0;
}

void stop_continue(struct group *group)
{
    begin_round(group, false, 0, 0);
}

void stop_quiesce(struct thread *thread)
{
    static const struct wait_reason reason = {.what = "SIGCONT (stopped)", .kernel = -1};
    struct group *group = thread->group;
    struct stop_quiesced standing;

    spin_lock(&group->lock);
    /* A move that was ordered before it quiesces comes first: who has ordered it waits until the thread has moved or is
     * known to be stopped, and is perhaps who is to continue it. */
    while (group->stopped && !thread_dying(thread) && (thread->quiesced || (thread->due & THREAD_DUE_MOVE) == 0)) {
        thread->quiesced = true;
        if (stop_look_locked(group, &standing)) {
            spin_unlock(&group->lock);
            stop_answer(group, &standing);
            spin_lock(&group->lock);
            continue;
        }
        waitq_wait(&group->stop_wait, &group->lock, &reason, WAIT_KILLABLE, 0);
    }
    thread->quiesced = false;
    if (!group->stopped)
        thread_clear_due(thread, THREAD_DUE_STOP);
    spin_unlock(&group->lock);
}

static void handle_stop(const struct msg *m)
{
    const struct msg_group_stop *message = m->data;
    struct group *group = group_find(message->group);
    struct stop_request *request = NULL;
    struct stop_quiesced overtaken = {.request = NULL}, done = {.request = NULL};

    if (group == NULL || group->home != m->ticket.kernel) {
        if (group != NULL)
            group_put(group);
        msg_reply_error(&m->ticket, group == NULL ? -ESRCH : -EPROTO);
        return;
    }
    if (message->stopped != 0)
        request = heap_alloc(sizeof(*request));
    spin_lock(&group->lock);
    if ((int32_t)(message->round - group->stop_round) <= 0) { /* a later round, sent by another CPU, arrived first */
        spin_unlock(&group->lock);
        heap_free(request, sizeof(*request));
        msg_reply(&m->ticket, NULL, 0);
        group_put(group);
        return;
    }
    overtaken.request = apply_locked(group, message->round, message->stopped != 0);
    if (request != NULL) { /* without memory the reply is sent at once, before all threads are quiesced */
        msg_keep(m, &request->kept, NULL);
        group->stop_request = request;
    } else {
        group->stop_waits = false;
    }
    stop_look_locked(group, &done);
    spin_unlock(&group->lock);
    if (overtaken.request != NULL)
        stop_answer(group, &overtaken);
    if (request == NULL)
        msg_reply(&m->ticket, NULL, 0);
    if (done.request != NULL)
        stop_answer(group, &done);
    group_put(group);
}

void stop_init(void)
{
    msg_register(MSG_GROUP_STOP, handle_stop, sizeof(struct msg_group_stop), 0);
}

/* Sources of events, and those who wait for them here and from other kernels.
 *
 * sources: msg/ring.c msg/message.c msg/channel.c msg/send.c msg/receive.c msg/request/call.c msg/request/kept.c
 *
 * sources: msg/request/multicast.c
 *
 * sources: msg/doorbell.c msg/request/request.c msg/request/gather.c msg/request/long_answer.c msg/fragment.c
 *
 * sources: msg/dispatch.c
 *
 * sources: msg/idle.c msg/stats.c msg/inject.c msg/trace.c msg/control.c msg/report.c boot/options/control.c
 *
 * sources: boot/options/options.c kernel/wait/completion.c tasks/remote/operation.c tasks/remote/watch.c */
#include "tests/tasks/remote/remote.h"

#include "tasks/remote/watch.h"
#include "tasks/remote/wire.h"

#define ID 1234u

/* The watched object; its last reference frees it. */
struct object {
    struct watch_source source;
    uint32_t references;
};

static struct object *object;
static uint32_t found, put_back, freed;

static struct watch_source *find(uint64_t id, void **held)
{
    if (id != ID)
        return NULL;
    found++;
    object->references++;
    *held = object;
    return &object->source;
}

static void put(void *held)
{
    struct object *o = held;

    put_back++;
    if (--o->references == 0) {
        CHECK(!spin_held(&o->source.lock));
        freed++;
        free(o);
    }
}

/* Of tasks/thread/thread.h and tasks/sched/waitq.h, which do not go with the C library's headers. */
#define ERESTARTSYS 512
void waitq_wait(struct waitq *queue, struct spinlock *lock, const struct wait_reason *reason, enum wait_end end,
                uint64_t deadline);
void waitq_wake_owed(struct waitq *queue, struct waitq *owed, uint32_t most);

static void (*waiting)(void); /* what happens while a thread waits here */
static uint32_t woken, local_waits;

void waitq_wait(struct waitq *queue, struct spinlock *lock, const struct wait_reason *reason, enum wait_end end,
                uint64_t deadline)
{
    (void)reason;
    CHECK(queue == &object->source.waiters && end == WAIT_INTERRUPTIBLE && local_waits++ < 10);
    spin_unlock(lock);
    if (waiting != NULL)
        waiting();
    else
        peers_pass(deadline - clock_now());
    spin_lock(lock);
}

void waitq_wake_owed(struct waitq *queue, struct waitq *owed, uint32_t most)
{
    CHECK(spin_held(&container_of(queue, struct watch_source, waiters)->lock));
    for (; most > 0 && !list_empty(&owed->waiters); most--) {
        struct list *first = owed->waiters.next;

        list_remove(first);
        list_append(&queue->waiters, first);
        woken++;
    }
}

static void start(void)
{
    static const struct watch_lookup lookup = {find, put};

    begin(3, 1, "");
    watch_start();
    watch_register(WATCH_FILE, &lookup);
    object = calloc(1, sizeof(*object));
    object->references = 1;
    watch_init(&object->source);
}

static void watch_from(uint32_t kernel, uint16_t request, uint64_t seen)
{
    struct msg_watch message = {.id = ID, .seen = seen, .kind = WATCH_FILE};

    ask(kernel, MSG_WATCH, request, &message, sizeof(message));
}

ALONE(counted, "a request for an event that was counted already is answered at once, and keeps nothing")
{
    start();
    CHECK_EQ(watch_events(&object->source), 0);
    watch_event(&object->source);
    CHECK(watch_events(&object->source) == 1 && work_count == 0);
    watch_from(PEER, 1, 0);
    expect_answer(PEER, MSG_WATCH, 1, 0);
    CHECK(found == 1 && put_back == 1 && watch_count() == 0 && heap_objects == 0);
}

ALONE(event, "an event answers all who wait for it, on whichever kernel, and gives their references back")
{
    start();
    watch_from(PEER, 1, 0);
    expect_kept(PEER, MSG_WATCH, 1);
    watch_from(OTHER, 2, 0);
    expect_kept(OTHER, MSG_WATCH, 2);
    watch_from(PEER, 3, 5);
    expect_kept(PEER, MSG_WATCH, 3);
    CHECK(watch_count() == 3 && put_back == 0);
    watch_event(&object->source);
    expect_answer(PEER, MSG_WATCH, 1, 0);
    expect_answer(PEER, MSG_WATCH, 3, 0); /* an answer only says "look" */
    expect_answer(OTHER, MSG_WATCH, 2, 0);
    CHECK(watch_count() == 0 && put_back == 3 && heap_objects == 0 && list_empty(&object->source.watchers));
    watch_event(&object->source);
    watch_from(PEER, 4, 2);
    expect_kept(PEER, MSG_WATCH, 4);
    expect_none(OTHER);
}

#define CROWD 200u
#define WOKEN_AT_ONCE 64u

static struct list crowd[CROWD]; /* threads that wait here */

static void wait_all(void)
{
    for (uint32_t i = 0; i < CROWD; i++)
        list_append(&object->source.waiters.waiters, &crowd[i]);
}

ALONE(crowd_woken, "an event wakes some of many threads and a worker the others, once, also if there are more events")
{
    struct list late;

    start();
    wait_all();
    watch_event(&object->source);
    CHECK(woken == WOKEN_AT_ONCE && work_count == 1 && watch_waited(&object->source));
    list_append(&object->source.waiters.waiters, &late); /* it has seen this event */
    run_work();
    CHECK(woken == CROWD && work_count == 0);
    CHECK(list_empty(&object->source.owed.waiters) && list_empty(&object->source.owing));
    list_remove(&late);
    woken = 0;
    watch_event(&object->source);
    watch_event(&object->source);
    CHECK(woken == 2 * WOKEN_AT_ONCE && work_count == 1);
    run_work();
    CHECK(woken >= CROWD && work_count == 0 && list_empty(&object->source.owed.waiters));
    CHECK_EQ(watch_events(&object->source), 3);
}

static bool event_at_release; /* another CPU's, as soon as the worker has found that nothing is left */

void spin_released(struct spinlock *lock)
{
    if (!event_at_release || lock == &object->source.lock || !list_empty(&object->source.owing))
        return;
    event_at_release = false;
    watch_event(&object->source);
}

ALONE(crowd_again,
      "an event that comes when the worker is about to end has the work done once more, and submits it once")
{
    start();
    wait_all();
    watch_event(&object->source);
    event_at_release = true;
    run_work();
    CHECK(!event_at_release && work_count == 1 && woken == CROWD + WOKEN_AT_ONCE);
    watch_event(&object->source);
    CHECK_EQ(work_count, 1);
    run_work();
    CHECK(work_count == 0 && list_empty(&object->source.owed.waiters));
}

/* All who are owed leave, and at last the thread that waits in waitq_wait. */
static void leave_all(void)
{
    watch_event(&object->source);
    CHECK(!list_empty(&object->source.owing));
    for (uint32_t i = 0; i < CROWD; i++)
        list_remove(&crowd[i]);
}

ALONE(crowd_leaves, "the last of the threads that are owed to leave takes the source out of what the worker looks at")
{
    static const struct wait_reason reason = {.what = "test"};

    start();
    wait_all();
    waiting = leave_all;
    CHECK_EQ(watch_wait(&object->source, 0, &reason, 0), 0);
    CHECK(list_empty(&object->source.owing) && work_count == 1);
    free(object);
    object = NULL;
    run_work(); /* does not touch the source */
    CHECK_EQ(work_count, 0);
}

ALONE(crowd_answered,
      "an event in a long silence answers some of many watchers and a worker the others, in their order")
{
    start();
    for (uint16_t i = 1; i <= 6; i++) {
        watch_from(PEER, i, 0);
        expect_kept(PEER, MSG_WATCH, i);
    }
    peers_pass(1000000);
    object->references--; /* its owner's: the watchers keep it */
    watch_event(&object->source);
    for (uint16_t i = 1; i <= 4; i++)
        expect_answer(PEER, MSG_WATCH, i, 0);
    expect_none(PEER);
    CHECK(work_count == 1 && watch_count() == 2 && freed == 0);
    cancel(PEER, MSG_WATCH, 5); /* too late: the event answers it */
    CHECK_EQ(work_count, 2);
    run_work();
    expect_answer(PEER, MSG_WATCH, 5, 0);
    expect_answer(PEER, MSG_WATCH, 6, 0);
    run_work();
    expect_none(PEER);
    CHECK(watch_count() == 0 && freed == 1 && heap_objects == 0);
}

ALONE(last_reference, "the source may go with the answer to its last watcher, and is not touched behind it")
{
    struct watch_source *source;

    start();
    source = &object->source;
    watch_from(PEER, 1, 0);
    watch_from(PEER, 2, 0);
    object->references--; /* its owner's */
    watch_event(source);
    CHECK(freed == 1 && heap_objects == 0);
}

ALONE(refused, "no such kind, no such id and no memory have errors of their own, and keep nothing")
{
    struct msg_watch message = {.id = ID, .kind = WATCH_KINDS};

    start();
    ask(PEER, MSG_WATCH, 1, &message, sizeof(message));
    expect_answer(PEER, MSG_WATCH, 1, -EPROTO);
    message.kind = WATCH_THREAD; /* nobody has registered it */
    ask(PEER, MSG_WATCH, 2, &message, sizeof(message));
    expect_answer(PEER, MSG_WATCH, 2, -EPROTO);
    message = (struct msg_watch){.id = ID + 1, .kind = WATCH_FILE};
    ask(PEER, MSG_WATCH, 3, &message, sizeof(message));
    expect_answer(PEER, MSG_WATCH, 3, -ESRCH);
    CHECK_EQ(found, 0);
    heap_left = 0;
    watch_from(PEER, 4, 0);
    expect_answer(PEER, MSG_WATCH, 4, -ENOMEM);
    CHECK(found == 1 && put_back == 1 && watch_count() == 0 && msg_kept_count() == 0);
}

ALONE(cancelled, "a watcher whose caller has given up is taken out by a worker; the others stay")
{
    start();
    watch_from(PEER, 1, 0);
    expect_kept(PEER, MSG_WATCH, 1);
    watch_from(OTHER, 1, 0);
    expect_kept(OTHER, MSG_WATCH, 1);
    cancel(PEER, MSG_WATCH, 1);
    CHECK(work_count == 1 && put_back == 0);
    run_work();
    expect_answer(PEER, MSG_WATCH, 1, -EINTR);
    CHECK(put_back == 1 && watch_count() == 1);
    watch_event(&object->source);
    expect_answer(OTHER, MSG_WATCH, 1, 0);
    expect_none(PEER);
    CHECK(put_back == 2 && heap_objects == 0);
}

ALONE(cancelled_late,
      "an event before the worker answers the watcher, once, and its memory stays until the worker has seen it")
{
    start();
    watch_from(PEER, 1, 0);
    expect_kept(PEER, MSG_WATCH, 1);
    cancel(PEER, MSG_WATCH, 1);
    object->references--;
    watch_event(&object->source);
    expect_answer(PEER, MSG_WATCH, 1, 0);
    CHECK(put_back == 0 && freed == 0 && heap_objects == 1);
    run_work();
    CHECK(put_back == 1 && freed == 1 && heap_objects == 0);
    expect_none(PEER);
}

static void count_event(void)
{
    if (local_waits == 2) /* once it is woken for nothing */
        watch_event(&object->source);
}

static void be_interrupted(void)
{
    peers_dying = true;
}

static void count_and_be_interrupted(void)
{
    watch_event(&object->source);
    peers_dying = true;
}

ALONE(here, "a thread of the source's kernel waits for more events than it has seen, in the source's own queue")
{
    static const struct wait_reason reason = {.what = "test"};

    start();
    waiting = count_event;
    CHECK_EQ(watch_wait(&object->source, 0, &reason, 0), 0);
    CHECK(local_waits == 2 && watch_count() == 0);
    CHECK_EQ(watch_wait(&object->source, 0, &reason, 0), 0);
    CHECK_EQ(local_waits, 2);
    waiting = NULL;
    CHECK_EQ(watch_wait(&object->source, 1, &reason, clock_now() + 1000), -ETIMEDOUT);
    waiting = be_interrupted;
    CHECK_EQ(watch_wait(&object->source, 1, &reason, 0), -ERESTARTSYS);
    waiting = count_and_be_interrupted;
    peers_dying = false;
    CHECK_EQ(watch_wait(&object->source, 1, &reason, 0), 0);
    CHECK_EQ(watch_wait(&object->source, 2, &reason, 0), -ERESTARTSYS);
}

ALONE(at_own, "at its own kernel a thread needs no memory to wait, and a source that is gone says: look")
{
    start();
    heap_left = 0;
    waiting = count_event;
    local_waits = 1;
    CHECK_EQ(watch_wait_at(OWN, WATCH_FILE, ID, 0, "test", 0), 0);
    CHECK(found == 1 && put_back == 1 && local_waits == 2 && watch_count() == 0);
    CHECK_EQ(watch_wait_at(OWN, WATCH_FILE, ID + 1, 0, "test", 0), 0);
    CHECK_EQ(found, 1);
    expect_none(PEER);
}

ALONE(elsewhere, "on another kernel it is a request; an empty answer, and that the source is gone, say: look")
{
    start();
    peers_waiting = answer_call;
    answer_times = 1;
    answer_length = 0;
    CHECK_EQ(watch_wait_at(PEER, WATCH_FILE, ID, 0, "test", 0), 0);
    CHECK_EQ(asked_times, 1);
    asked_times = 0;
    answer_length = -ESRCH;
    CHECK_EQ(watch_wait_at(PEER, WATCH_FILE, ID, 0, "test", 0), 0);
    asked_times = 0;
    answer_length = -ENOMEM;
    CHECK_EQ(watch_wait_at(PEER, WATCH_FILE, ID, 0, "test", 0), -ENOMEM);
    CHECK(asked_times == 1 && pauses == 0 && found == 0);
    CHECK_EQ(watch_wait_at(KERNELS_MAX, WATCH_FILE, ID, 0, "test", 0), -EAGAIN);
}

static void keep_and_interrupt(const struct wait_reason *reason)
{
    const struct peers_message *m = peers_take(PEER, MSG_ORDINARY);
    struct msg_watch message;

    (void)reason;
    CHECK(m != NULL && m->type == MSG_WATCH && m->length == sizeof(message));
    memcpy(&message, m->data, sizeof(message));
    CHECK(message.id == ID && message.seen == 7 && message.kind == WATCH_CHILDREN);
    peers_send(PEER, MSG_WATCH, PEERS_REPLY | PEERS_KEPT, m->request, NULL, 0);
    msg_poll();
    peers_dying = true;
}

ALONE(given_up, "a thread that is interrupted, or whose time is over, gives up; before it asks, if that is so already")
{
    start();
    peers_waiting = keep_and_interrupt;
    CHECK_EQ(watch_wait_at(PEER, WATCH_CHILDREN, ID, 7, "test", 0), -ERESTARTSYS);
    CHECK_EQ(peers_take(PEER, MSG_ORDINARY)->type, MSG_CANCEL);
    CHECK_EQ(watch_wait_at(PEER, WATCH_CHILDREN, ID, 7, "test", 0), -ERESTARTSYS);
    expect_none(PEER);
    peers_dying = false;
    peers_waiting = NULL;
    CHECK_EQ(watch_wait_at(PEER, WATCH_CHILDREN, ID, 7, "test", 1), -ETIMEDOUT);
    expect_none(PEER);
    CHECK_EQ(watch_wait_at(PEER, WATCH_CHILDREN, ID, 7, "test", clock_now() + 1000), -ETIMEDOUT);
    CHECK_EQ(peers_take(PEER, MSG_ORDINARY)->type, MSG_WATCH);
}

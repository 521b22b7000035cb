/* Files of other kernels in a set: asking them, by whoever waits. Each kernel that has some is armed
 * (kernel/file/event/look.c) while none of them is ready, and is asked again once it has told, or one was ready when it
 * was asked. */
#include "kernel/abi/errno.h"
#include "kernel/file/event/internal.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/remote/operation.h"

/* For asking one kernel. */
struct question {
    size_t size;
    uint32_t room; /* items */
    int32_t *fds;  /* of the items */
    struct poll_state *states;
    struct msg_file_poll *message; /* items follow */
};

static bool far_due(const struct epoll_far *far)
{
    return far->count > 0 &&
           (!far->armed || far->changes != far->asked || __atomic_load_n(&far->told, __ATOMIC_ACQUIRE));
}

bool epoll_far_due(const struct epoll *epoll)
{
    for (const struct epoll_far *far = epoll->fars; far != NULL; far = far->next) {
        if (far_due(far))
            return true;
    }
    return false;
}

/* Others that wait for the set look. */
static void tell_set(struct remote_wait *wait)
{
    struct file *file = container_of(wait, struct epoll_far, wait)->epoll->file;

    file_event(file->events);
    file_unpin(file);
}

static void told(struct remote_wait *wait, const uint64_t *words)
{
    struct epoll_far *far = container_of(wait, struct epoll_far, wait);

    (void)words;
    __atomic_store_n(&far->told, true, __ATOMIC_RELEASE);
    file_pin(far->epoll->file);
    wait->after = tell_set;
}

struct epoll_far *epoll_far_get(struct epoll *epoll, uint32_t kernel)
{
    struct epoll_far *far = epoll->fars;

    while (far != NULL && far->kernel != kernel)
        far = far->next;
    if (far != NULL)
        return far;
    far = heap_alloc(sizeof(*far));
    if (far == NULL)
        return NULL;
    far->epoll = epoll;
    far->kernel = kernel;
    list_init(&far->wait.node);
    far->next = epoll->fars;
    epoll->fars = far;
    return far;
}

/* ITEM's kernel has stopped, and its files are at TO. */
static void switch_item(struct epoll_item *item, uint32_t to)
{
    struct epoll_far *old = item->far, *far = item->epoll->fars;

    item->place.kernel = to;
    old->count--;
    epoll_far_changed(old);
    item->far = NULL;
    if (to == instance.kernel) {
        item->file = file_find(item->place.id);
        epoll_item_here(item);
        return;
    }
    while (far != NULL && far->kernel != to)
        far = far->next;
    if (far == NULL) { /* the old one may as well stand for the new kernel; the others of its items follow */
        old->kernel = to;
        far = old;
    }
    item->far = far;
    far->count++;
    epoll_far_changed(far);
}

void epoll_far_switch(struct epoll *epoll, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < EPOLL_BUCKETS; i++) {
        list_for_each_safe(node, &epoll->buckets[i]) {
            struct epoll_item *item = container_of(node, struct epoll_item, node);

            if (item->far != NULL && item->place.kernel == from)
                switch_item(item, to);
        }
    }
}

void epoll_far_release(struct epoll *epoll)
{
    for (struct epoll_far *far = epoll->fars; far != NULL; far = far->next) {
        remote_wait_end(&far->wait);
        poll_disarm(far->kernel, far->wait.token);
    }
}

static void question_free(struct question *q)
{
    if (q->message != NULL)
        heap_free(q->message, q->size);
}

/* [s] Memory to ask for all of FAR. */
static bool question_make(struct question *q, const struct epoll_far *far)
{
    size_t each = sizeof(struct poll_item) + sizeof(struct poll_state) + sizeof(int32_t);

    *q = (struct question){.room = far->count, .size = sizeof(struct msg_file_poll) + (far->count + 1) * each};
    q->message = heap_alloc(q->size);
    if (q->message == NULL)
        return false;
    q->states = (struct poll_state *)((struct poll_item *)(q->message + 1) + q->room);
    q->fds = (int32_t *)(q->states + q->room);
    return true;
}

/* [s] */
static void question_fill(struct question *q, struct epoll *epoll, const struct epoll_far *far)
{
    struct poll_item *items = (struct poll_item *)(q->message + 1);
    uint32_t count = 0, arm = POLL_ARM_TELL;

    for (uint32_t i = 0; i < EPOLL_BUCKETS; i++) {
        list_for_each(node, &epoll->buckets[i]) {
            struct epoll_item *item = container_of(node, struct epoll_item, node);

            if (item->far != far || item->disabled)
                continue;
            items[count] = (struct poll_item){.id = item->place.id,
                                              .seen = item->seen - 1,
                                              .events = item->events & ~EPOLL_FLAGS,
                                              .edge = (item->events & EPOLL_EDGE) != 0 && item->seen != 0};
            q->fds[count++] = item->fd;
            if ((item->events & EPOLL_EDGE) != 0)
                arm = POLL_ARM_KEEP; /* what comes before the next question is an edge, too */
        }
    }
    *q->message = (struct msg_file_poll){.token = far->wait.token, .count = count, .arm = arm};
}

/* [s] What FAR has answered. */
static void question_take(const struct question *q, struct epoll *epoll, struct epoll_far *far, uint32_t max,
                          struct epoll_found *out)
{
    const struct poll_item *items = (const struct poll_item *)(q->message + 1);

    for (uint32_t n = 0; n < q->message->count; n++) {
        uint32_t i = (n + epoll->turn) % q->message->count; /* so that all have their turn to be the first */
        struct epoll_item *item = epoll_find(epoll, q->fds[i], items[i].id, far->kernel);
        const struct poll_state *state = &q->states[i];
        bool edge;

        if (item == NULL)
            continue;
        if ((state->state & POLL_NVAL) != 0) {
            epoll_remove(item); /* closed by all */
            continue;
        }
        if ((state->state & POLL_SIGNALS) != 0) {
            item->seen = state->value;
            if (list_empty(&item->signalfd))
                list_append(&epoll->signalfds, &item->signalfd);
            continue;
        }
        edge = (item->events & EPOLL_EDGE) != 0;
        if ((edge && item->seen == state->value + 1) || out->count == max)
            continue;
        if (epoll_report(item, state->state, out) && edge)
            item->seen = state->value + 1; /* never 0 */
    }
}

/* Asks FAR. Holds the right to, and no lock. */
static int64_t ask(struct epoll *epoll, struct epoll_far *far, uint32_t max, struct epoll_found *out)
{
    uint64_t before = far->wait.token;
    struct question q = {.message = NULL};
    int64_t ready = -ENOMEM;
    bool closed, relied = false;

    spin_lock(&epoll->scan);
    closed = epoll->closed;
    if (!closed && question_make(&q, far)) {
        remote_wait_end(&far->wait);
        relied = far->armed && !__atomic_load_n(&far->told, __ATOMIC_ACQUIRE);
        remote_wait_begin(&far->wait, far->kernel, told);
        __atomic_store_n(&far->told, false, __ATOMIC_RELEASE);
        far->armed = false; /* who looks meanwhile waits for the answer */
        far->asked = far->changes;
        question_fill(&q, epoll, far);
    }
    spin_unlock(&epoll->scan);
    if (closed)
        return 0;
    if (q.message == NULL)
        return -ENOMEM; /* others may wait for what the last question has left */
    ready = poll_look(far->kernel, q.message, q.states);
    if (before != 0)
        poll_disarm(far->kernel, before); /* now, so that files of both always count events */
    spin_lock(&epoll->scan);
    closed = epoll->closed;
    if (!closed && ready >= 0) {
        question_take(&q, epoll, far, max, out);
        far->armed = ready == 0;
    }
    spin_unlock(&epoll->scan);
    question_free(&q);
    if (relied && ready != 0)
        file_event(epoll->file->events); /* what was to wake others has ended, and there is nothing new */
    if (closed) {
        remote_wait_end(&far->wait);
        poll_disarm(far->kernel, far->wait.token);
    }
    return ready < 0 ? ready : 0;
}

/* The far number INDEX, or NULL. */
static struct epoll_far *far_at(const struct epoll *epoll, uint32_t index)
{
    struct epoll_far *far = epoll->fars;

    while (far != NULL && index-- > 0)
        far = far->next;
    return far;
}

static int wait_room(const struct remote_request *request)
{
    const struct epoll_look *look = &((const struct msg_epoll_wait *)request->data)->look;

    if (look->max == 0 || look->max > EPOLL_MAX)
        return -EPROTO;
    return (int)(sizeof(struct epoll_found) + look->max * sizeof(struct epoll_event));
}

static int wait_for(struct file *file, const struct epoll_look *look, struct epoll_found *out)
{
    static const struct wait_reason reason = {.what = "another wait of an epoll", .kernel = -1};
    struct epoll *epoll = epoll_of(file);
    uint32_t parts = 1; /* the files here, and each far */
    int64_t error = 0;

    if (epoll == NULL)
        return -EINVAL;
    *out = (struct epoll_found){.count = 0};
    spin_lock(&epoll->scan);
    while (epoll->asking)
        waitq_wait(&epoll->asked, &epoll->scan, &reason, WAIT_FIRM, 0);
    epoll->asking = true;
    epoll->turn++;
    while (far_at(epoll, parts - 1) != NULL)
        parts++;
    for (uint32_t i = 0; i < parts && error == 0 && out->count < look->max; i++) {
        struct epoll_far *far = far_at(epoll, (i + epoll->turn) % parts); /* NULL: the files here */

        if (far == NULL) {
            epoll_collect(epoll, look->signals, look->max, out);
        } else if (far_due(far)) {
            spin_unlock(&epoll->scan);
            error = ask(epoll, far, look->max, out);
            spin_lock(&epoll->scan);
        }
    }
    epoll->asking = false;
    waitq_wake_all(&epoll->asked);
    spin_unlock(&epoll->scan);
    if (error != 0 && out->count == 0)
        return (int)error;
    return (int)(sizeof(*out) + out->count * sizeof(struct epoll_event));
}

static int run_wait(const struct remote_request *request, void *result)
{
    const struct msg_epoll_wait *asked = request->data;
    struct file *file = file_find(asked->id);
    int size;

    if (file == NULL)
        return -ESRCH;
    size = wait_for(file, &asked->look, result);
    file_unpin(file);
    return size;
}

int64_t epoll_wait_far(const struct file_place *place, const struct epoll_look *look, struct epoll_found *out)
{
    struct remote_how how = {.why = "what is ready", .key = place->id};
    struct msg_epoll_wait message = {.id = place->id, .look = *look};

    return remote_call(place->kernel, MSG_EPOLL_WAIT, &message, sizeof(message), out,
                       (uint32_t)(sizeof(*out) + look->max * sizeof(struct epoll_event)), &how);
}

void epoll_far_init(void)
{
    REMOTE_SERVE(EPOLL_WAIT, run_wait, wait_room, struct msg_epoll_wait, struct msg_none);
}

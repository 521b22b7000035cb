/* Files of other kernels in a set. A waiting thread asks their kernels (kernel/file/event/look.c). A kernel with no
 * ready file stays armed, and is asked again only after it has notified the set or an item has changed; a kernel with a
 * ready file is asked by the next wait. */
#include "kernel/abi/errno.h"
#include "kernel/file/event/internal.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/remote/operation.h"

/* A request to one kernel. */
struct question {
    size_t size;
    uint32_t room;             /* items */
    struct epoll_item **items; /* room for those in the message that the set still has */
    struct poll_state *states;
    struct msg_file_poll *message; /* items follow */
};

static bool remote_due(const struct epoll_remote *remote)
{
    return remote->count > 0 &&
           (!remote->armed || remote->changes != remote->asked || __atomic_load_n(&remote->notified, __ATOMIC_ACQUIRE));
}

bool epoll_remote_due(const struct epoll *epoll)
{
    for (const struct epoll_remote *remote = epoll->remotes; remote != NULL; remote = remote->next) {
        if (remote_due(remote))
            return true;
    }
    return false;
}

/* Wakes the threads that wait for the set. */
static void notify_set(struct remote_wait *wait)
{
    struct epoll_remote *remote = container_of(wait, struct epoll_remote, wait);
    struct file *file = remote->epoll->file;
    uint64_t took = __atomic_exchange_n(&remote->took, 0, __ATOMIC_ACQUIRE);

    if (took != 0 && !epoll_takes(remote->epoll))
        poll_disarm(remote->kernel, took, POLL_PASS);
    file_event(file->events);
    file_unpin(file);
}

static void notified(struct remote_wait *wait, const uint64_t *words)
{
    struct epoll_remote *remote = container_of(wait, struct epoll_remote, wait);

    if (words[0] != 0)
        __atomic_store_n(&remote->took, wait->token, __ATOMIC_RELEASE);
    __atomic_store_n(&remote->notified, true, __ATOMIC_RELEASE);
    file_pin(remote->epoll->file);
    wait->after = notify_set;
}

/* [s] EPOLL's first remote for KERNEL that has room, or NULL. */
static struct epoll_remote *find_room(const struct epoll *epoll, uint32_t kernel)
{
    struct epoll_remote *remote = epoll->remotes;

    while (remote != NULL && (remote->kernel != kernel || remote->count == POLL_ITEMS_MAX))
        remote = remote->next;
    return remote;
}

static void join(struct epoll_item *item, struct epoll_remote *remote)
{
    item->remote = remote;
    item->asked = 0;
    list_append(&remote->items, &item->of_remote);
    remote->count++;
    epoll_remote_changed(remote);
}

int epoll_remote_add(struct epoll_item *item, uint32_t kernel)
{
    struct epoll *epoll = item->epoll;
    struct epoll_remote *remote = find_room(epoll, kernel);

    if (remote == NULL) {
        remote = heap_alloc(sizeof(*remote));
        if (remote == NULL)
            return -ENOMEM;
        remote->epoll = epoll;
        remote->kernel = kernel;
        list_init(&remote->items);
        list_init(&remote->wait.node);
        remote->next = epoll->remotes;
        epoll->remotes = remote;
    }
    join(item, remote);
    return 0;
}

void epoll_remote_take(struct epoll_item *item)
{
    list_remove(&item->of_remote);
    item->remote->count--;
    epoll_remote_changed(item->remote);
    item->remote = NULL;
}

/* ITEM's kernel has stopped, and its files are at TO. */
static void switch_item(struct epoll_item *item, uint32_t to)
{
    struct epoll_remote *old = item->remote, *remote;

    item->place.kernel = to;
    epoll_remote_take(item);
    if (to == instance.kernel) {
        item->file = file_find(item->place.id);
        epoll_item_here(item);
        return;
    }
    remote = find_room(item->epoll, to);
    if (remote == NULL) { /* the old remote becomes the new kernel's; its other items follow */
        old->kernel = to;
        remote = old;
    }
    join(item, remote);
}

void epoll_remote_switch(struct epoll *epoll, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < EPOLL_BUCKETS; i++) {
        list_for_each_safe(node, &epoll->buckets[i]) {
            struct epoll_item *item = container_of(node, struct epoll_item, node);

            if (item->remote != NULL && item->place.kernel == from)
                switch_item(item, to);
            slice_check();
        }
    }
}

void epoll_remote_release(struct epoll *epoll)
{
    for (struct epoll_remote *remote = epoll->remotes; remote != NULL; remote = remote->next) {
        remote_wait_end(&remote->wait);
        poll_disarm(remote->kernel, remote->wait.token, POLL_END_PASS);
    }
}

static void question_free(struct question *q)
{
    if (q->message != NULL)
        heap_free(q->message, q->size);
}

/* [s] Allocates memory to ask for all items of REMOTE. */
static bool question_make(struct question *q, const struct epoll_remote *remote)
{
    size_t each = sizeof(struct poll_item) + sizeof(struct poll_state) + sizeof(struct epoll_item *);

    *q = (struct question){.room = remote->count, .size = sizeof(struct msg_file_poll) + (remote->count + 1) * each};
    q->message = heap_alloc(q->size);
    if (q->message == NULL)
        return false;
    q->states = (struct poll_state *)((struct poll_item *)(q->message + 1) + q->room);
    q->items = (struct epoll_item **)(void *)(q->states + q->room);
    return true;
}

/* [s] */
static void question_fill(struct question *q, const struct epoll_remote *remote)
{
    struct poll_item *items = (struct poll_item *)(q->message + 1);
    uint32_t count = 0, arm = POLL_ARM_TELL;

    list_for_each(node, &remote->items) {
        struct epoll_item *item = container_of(node, struct epoll_item, of_remote);

        item->asked = 0;
        if (item->disabled)
            continue;
        items[count] = (struct poll_item){.id = item->place.id,
                                          .seen = item->seen - 1,
                                          .events = item->events & (~EPOLL_FLAGS | EPOLL_EXCLUSIVE),
                                          .edge = (item->events & EPOLL_EDGE) != 0 && item->seen != 0};
        item->asked = ++count;
        if ((item->events & EPOLL_EDGE) != 0)
            arm = POLL_ARM_KEEP; /* events until the next request count as edges, too */
    }
    *q->message = (struct msg_file_poll){.token = remote->wait.token, .count = count, .arm = arm};
}

/* [s] Finds the items in the message that REMOTE still has. No other request to its kernel has been made meanwhile. */
static void question_match(struct question *q, const struct epoll_remote *remote)
{
    for (uint32_t i = 0; i < q->message->count; i++)
        q->items[i] = NULL;
    list_for_each(node, &remote->items) {
        struct epoll_item *item = container_of(node, struct epoll_item, of_remote);

        if (item->asked != 0)
            q->items[item->asked - 1] = item;
    }
}

/* [s] Reports what REMOTE's kernel has answered. */
static void question_take(struct question *q, struct epoll *epoll, const struct epoll_remote *remote,
                          const struct epoll_look *asked, struct epoll_found *out)
{
    question_match(q, remote);
    for (uint32_t n = 0; n < q->message->count; n++) {
        uint32_t i = (n + epoll->turn) % q->message->count; /* each item is the first in its turn */
        struct epoll_item *item = q->items[i];
        const struct poll_state *state = &q->states[i];
        bool edge;

        if (item == NULL)
            continue;
        if ((state->state & POLL_NVAL) != 0) {
            epoll_remove(item); /* the file has been closed */
            continue;
        }
        if ((state->state & POLL_SIGNALS) != 0) {
            item->seen = state->value;
            if (list_empty(&item->signalfd))
                list_append(&epoll->signalfds, &item->signalfd);
            continue;
        }
        edge = (item->events & EPOLL_EDGE) != 0;
        if ((edge && item->seen == state->value + 1) || out->count == asked->max)
            continue;
        if (epoll_report(item, state->state, asked, out) && edge && asked->peek == 0)
            item->seen = state->value + 1; /* never 0 */
    }
}

/* Asks REMOTE's kernel. The caller has set epoll->asking and holds no lock. */
static int64_t ask(struct epoll *epoll, struct epoll_remote *remote, const struct epoll_look *asked,
                   struct epoll_found *out)
{
    uint64_t before = remote->wait.token;
    struct question q = {.message = NULL};
    int64_t ready = -ENOMEM;
    bool closed, relied = false, heard = false;

    spin_lock(&epoll->scan);
    closed = epoll->closed;
    if (!closed && question_make(&q, remote)) {
        remote_wait_end(&remote->wait);
        heard = __atomic_load_n(&remote->notified, __ATOMIC_ACQUIRE);
        relied = remote->armed && !heard;
        remote_wait_begin(&remote->wait, remote->kernel, notified);
        __atomic_store_n(&remote->notified, false, __ATOMIC_RELEASE);
        remote->armed = false; /* threads that look meanwhile wait for the answer */
        remote->asked = remote->changes;
        question_fill(&q, remote);
    }
    spin_unlock(&epoll->scan);
    if (closed)
        return 0;
    if (q.message == NULL)
        return -ENOMEM; /* the last request's arm stays, as others may wait for it */
    ready = poll_look(remote->kernel, q.message, q.states);
    if (before != 0)
        /* Only now, so that the files always have a hook. An event that the arm has taken unheard may be of another
         * file than those that are ready: it is passed on. So it is when there was no memory to look. */
        poll_disarm(remote->kernel, before, heard && ready >= 0 ? POLL_END : POLL_END_PASS);
    spin_lock(&epoll->scan);
    closed = epoll->closed;
    if (!closed && ready >= 0) {
        question_take(&q, epoll, remote, asked, out);
        remote->armed = ready == 0;
    }
    spin_unlock(&epoll->scan);
    question_free(&q);
    if (relied && ready != 0)
        file_event(epoll->file->events); /* the arm on which other waiters rely has ended, and there is no new one */
    if (closed) {
        remote_wait_end(&remote->wait);
        poll_disarm(remote->kernel, remote->wait.token, POLL_END_PASS);
    }
    return ready < 0 ? ready : 0;
}

/* The remote number INDEX, or NULL. */
static struct epoll_remote *remote_at(const struct epoll *epoll, uint32_t index)
{
    struct epoll_remote *remote = epoll->remotes;

    while (remote != NULL && index-- > 0)
        remote = remote->next;
    return remote;
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
    uint32_t parts = 1; /* the files of this kernel, and each remote */
    int64_t error = 0;

    if (epoll == NULL)
        return -EINVAL;
    *out = (struct epoll_found){.count = 0};
    spin_lock(&epoll->scan);
    while (epoll->asking)
        waitq_wait(&epoll->asked, &epoll->scan, &reason, WAIT_FIRM, 0);
    epoll->asking = true;
    epoll->turn++;
    while (remote_at(epoll, parts - 1) != NULL)
        parts++;
    for (uint32_t i = 0; i < parts && error == 0 && out->count < look->max; i++) {
        struct epoll_remote *remote = remote_at(epoll, (i + epoll->turn) % parts); /* NULL: the files of this kernel */

        if (remote == NULL) {
            while (!epoll_collect(epoll, look, out)) {
                spin_unlock(&epoll->scan);
                slice_pause();
                spin_lock(&epoll->scan);
            }
        } else if (remote_due(remote)) {
            spin_unlock(&epoll->scan);
            error = ask(epoll, remote, look, out);
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

int64_t epoll_wait_remote(const struct file_place *place, const struct epoll_look *look, struct epoll_found *out)
{
    struct remote_how how = {.why = "what is ready", .key = place->id};
    struct msg_epoll_wait message = {.id = place->id, .look = *look};

    return remote_call(place->kernel, MSG_EPOLL_WAIT, &message, sizeof(message), out,
                       (uint32_t)(sizeof(*out) + look->max * sizeof(struct epoll_event)), &how);
}

void epoll_remote_init(void)
{
    /* above FILE_POLL, which it waits for; only programs' threads wait for it */
    REMOTE_SERVE_TASK(EPOLL_WAIT, WORK_ROUND, run_wait, wait_room, struct msg_epoll_wait, struct msg_none);
}

/* Sets of files to wait for. See the header; remote.c has files of other kernels. */
#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/event/internal.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/quota/quota.h"

#define NESTING_MAX 5u      /* levels of sets in sets, as on Linux */
#define LOOKED_AT_LEAST 64u /* files of a set, also if a slice is over */
#define EXCLUSIVE_EVENTS                                                                                               \
    (POLL_IN | POLL_OUT | POLL_ERR | POLL_HUP | EPOLL_WAKEUP | EPOLL_EDGE | EPOLL_EXCLUSIVE) /* allowed with it */

static struct spinlock nesting;

static const struct file_kind epoll_kind;

static struct list *bucket_of(struct epoll *epoll, int32_t fd)
{
    return &epoll->buckets[(uint32_t)fd % EPOLL_BUCKETS];
}

static struct epoll_item *find_item(struct epoll *epoll, int32_t fd, uint64_t id, uint32_t kernel)
{
    list_for_each(node, bucket_of(epoll, fd)) {
        struct epoll_item *item = container_of(node, struct epoll_item, node);

        if (item->fd == fd && item->place.id == id && item->place.kernel == kernel)
            return item;
    }
    return NULL;
}

static void ready_add(struct epoll_item *item)
{
    struct epoll *epoll = item->epoll;

    spin_lock(&epoll->lock);
    if (list_empty(&item->ready)) {
        list_append(&epoll->ready, &item->ready);
        epoll->ready_count++;
    }
    spin_unlock(&epoll->lock);
}

static struct epoll_item *ready_take(struct epoll *epoll)
{
    struct epoll_item *item = NULL;

    spin_lock(&epoll->lock);
    if (!list_empty(&epoll->ready)) {
        item = container_of(epoll->ready.next, struct epoll_item, ready);
        list_remove(&item->ready);
        epoll->ready_count--;
    }
    spin_unlock(&epoll->lock);
    return item;
}

static void notify(struct poll_notified *notified)
{
    struct epoll *epoll = container_of(notified, struct epoll, notified);
    struct file *file = epoll->file;

    __atomic_store_n(&epoll->notifying, false, __ATOMIC_SEQ_CST);
    file_event(file->events);
    file_unpin(file);
}

bool epoll_takes(struct epoll *epoll)
{
    return watch_waited(&epoll->file->events->source) && !__atomic_exchange_n(&epoll->chosen, true, __ATOMIC_RELAXED);
}

/* A hook's `fire`: an event of a file of this kernel. */
static bool fire(struct poll_hook *hook, struct list *notified)
{
    struct epoll_item *item = container_of(hook, struct epoll_item, hook);
    struct epoll *epoll = item->epoll;
    bool taken = hook->exclusive && poll_state_of(item->file, item->events).state != 0 && epoll_takes(epoll);

    ready_add(item);
    if (__atomic_exchange_n(&epoll->notifying, true, __ATOMIC_SEQ_CST))
        return taken; /* an event of the set is already due, and has not been counted yet */
    file_pin(epoll->file);
    list_append(notified, &epoll->notified.node);
    return taken;
}

void epoll_remove(struct epoll_item *item)
{
    struct epoll *epoll = item->epoll;

    list_remove(&item->node);
    list_remove(&item->signalfd);
    if (item->remote != NULL)
        epoll_remote_take(item);
    else if (item->file != NULL) /* it has a hook */
        poll_hook_remove(item->file->events, &item->hook);
    spin_lock(&epoll->lock); /* its hook has been removed, so it does not become ready again */
    if (!list_empty(&item->ready)) {
        list_remove(&item->ready);
        epoll->ready_count--;
    }
    spin_unlock(&epoll->lock);
    if (item->file != NULL)
        file_unpin(item->file);
    quota_give(QUOTA_WATCHES, item->user, 1);
    heap_free(item, sizeof(*item));
}

bool epoll_report(struct epoll_item *item, uint32_t state, const struct epoll_look *asked, struct epoll_found *out)
{
    struct epoll_event *events = (struct epoll_event *)(void *)(out + 1);

    state &= item->events | POLL_ERR | POLL_HUP;
    if (state == 0 || item->disabled)
        return false;
    events[out->count++] = (struct epoll_event){.events = state, .data = item->data};
    if ((item->events & EPOLL_ONE_SHOT) != 0 && asked->peek == 0)
        item->disabled = true;
    return true;
}

static bool is_open(const struct epoll_item *item)
{
    struct file *file = file_find(item->place.id);

    if (file == NULL)
        return false;
    file_unpin(file);
    return true;
}

/* Reports the signalfds that the signals pending for the caller make ready, and collects the sets of all for OUT. */
static void collect_signals(struct epoll *epoll, const struct epoll_look *asked, struct epoll_found *out)
{
    list_for_each_safe(node, &epoll->signalfds) {
        struct epoll_item *item = container_of(node, struct epoll_item, signalfd);
        uint64_t set;

        if (item->file != NULL && !is_open(item)) {
            epoll_remove(item);
            continue;
        }
        set = item->file != NULL ? item->file->kind->signals(item->file) : item->seen;
        if (item->disabled || (item->events & POLL_IN) == 0)
            continue;
        if (out->count < asked->max && (set & asked->signals) != 0)
            epoll_report(item, POLL_IN, asked, out);
        if (!item->disabled)
            out->signals |= set;
    }
}

bool epoll_collect(struct epoll *epoll, const struct epoll_look *asked, struct epoll_found *out)
{
    uint32_t looked = 0;

    collect_signals(epoll, asked, out);
    /* Each item at most once: items that stay ready go to the end of the list. */
    for (uint32_t left = __atomic_load_n(&epoll->ready_count, __ATOMIC_RELAXED); left > 0 && out->count < asked->max;
         left--) {
        struct epoll_item *item;

        if (looked++ >= LOOKED_AT_LEAST && silence_length() > SLICE_COUNTS)
            return out->count > 0;
        item = ready_take(epoll); /* before looking at the file: a later event lists it again */
        if (item == NULL)
            break;
        if (!is_open(item))
            epoll_remove(item);
        else if (!item->disabled && epoll_report(item, poll_state_of(item->file, item->events).state, asked, out) &&
                 ((item->events & (EPOLL_EDGE | EPOLL_ONE_SHOT)) == 0 || asked->peek != 0))
            ready_add(item);
    }
    return true;
}

/* The state of a set, for sets that contain it and for poll(2). */
static uint32_t epoll_poll(struct file *file)
{
    struct epoll *epoll = file->state;
    bool ready;

    spin_lock(&epoll->scan);
    ready = epoll_remote_due(epoll); /* it may be ready: other kernels would have to be asked */
    for (uint32_t left = __atomic_load_n(&epoll->ready_count, __ATOMIC_RELAXED); left > 0 && !ready; left--) {
        struct epoll_item *item = ready_take(epoll);

        if (item == NULL)
            break;
        if (!is_open(item)) {
            epoll_remove(item);
        } else if (!item->disabled && poll_state_of(item->file, item->events).state != 0) {
            ready = true;
            ready_add(item);
        }
    }
    spin_unlock(&epoll->scan);
    return ready ? POLL_IN | POLL_IN_NORMAL : 0;
}

static int64_t look(struct epoll *epoll, const struct epoll_look *asked, size_t room, struct epoll_found *out)
{
    bool done;

    if (asked->max == 0 || asked->max > EPOLL_MAX || room < sizeof(*out) + asked->max * sizeof(struct epoll_event))
        return -EPROTO;
    do {
        *out = (struct epoll_found){.count = 0};
        __atomic_store_n(&epoll->chosen, false, __ATOMIC_RELAXED);
        spin_lock(&epoll->scan);
        done = true;
        if (epoll_remote_due(epoll))
            out->remote = 1;
        else
            done = epoll_collect(epoll, asked, out);
        spin_unlock(&epoll->scan);
        if (!done && msg_handling())
            out->remote = done = true; /* a task goes on */
    } while (!done && !slice_pause());
    return (int64_t)(sizeof(*out) + out->count * sizeof(struct epoll_event));
}

/* --- changing a set --- */

/* The depth of the sets nested in EPOLL, including EPOLL, which is itself ABOVE levels deep. NESTING_MAX + 1: they are
 * nested too deep, or TARGET is among them. */
static uint32_t depth_locked(struct epoll *epoll, const struct epoll *target, uint32_t above)
{
    uint32_t most = 0;

    if (epoll == target || above >= NESTING_MAX)
        return NESTING_MAX + 1;
    spin_lock(&epoll->scan);
    for (uint32_t i = 0; i < EPOLL_BUCKETS; i++) {
        list_for_each(node, &epoll->buckets[i]) {
            struct epoll_item *item = container_of(node, struct epoll_item, node);
            struct epoll *inner = item->file != NULL ? epoll_of(item->file) : NULL;
            uint32_t depth = inner != NULL ? depth_locked(inner, target, above + 1) : 0;

            if (depth > most)
                most = depth;
        }
    }
    spin_unlock(&epoll->scan);
    return most + 1;
}

static void raise_locked(struct epoll *epoll, uint32_t above)
{
    if (epoll->above < above)
        epoll->above = above;
    spin_lock(&epoll->scan);
    for (uint32_t i = 0; i < EPOLL_BUCKETS; i++) {
        list_for_each(node, &epoll->buckets[i]) {
            struct epoll_item *item = container_of(node, struct epoll_item, node);
            struct epoll *inner = item->file != NULL ? epoll_of(item->file) : NULL;

            if (inner != NULL)
                raise_locked(inner, above + 1);
        }
    }
    spin_unlock(&epoll->scan);
}

/* Prepares INNER to be added to OUTER. The caller holds `nesting`. -ELOOP. */
static int nest_locked(struct epoll *outer, struct epoll *inner)
{
    uint32_t depth = depth_locked(inner, outer, outer->above + 1);

    if (depth > NESTING_MAX || outer->above + 1 + depth > NESTING_MAX)
        return -ELOOP;
    raise_locked(inner, outer->above + 1);
    return 0;
}

void epoll_item_here(struct epoll_item *item)
{
    if (item->file == NULL) {
        epoll_remove(item);
        return;
    }
    poll_hook_add(item->file->events, &item->hook);
    if (item->file->kind->signals != NULL && list_empty(&item->signalfd))
        list_append(&item->epoll->signalfds, &item->signalfd);
    ready_add(item); /* it may be ready */
}

static int add_locked(struct epoll *epoll, const struct epoll_change *change, struct file *file)
{
    struct epoll_item *item;
    int error = quota_take(QUOTA_WATCHES, change->user, 1, quota_limit(QUOTA_WATCHES), -ENOSPC);

    if (error != 0)
        return error;
    item = heap_alloc(sizeof(*item));
    if (item == NULL) {
        quota_give(QUOTA_WATCHES, change->user, 1);
        return -ENOMEM;
    }
    *item = (struct epoll_item){.epoll = epoll,
                                .hook = {.exclusive = (change->events & EPOLL_EXCLUSIVE) != 0, .fire = fire},
                                .file = file,
                                .place = change->place,
                                .data = change->data,
                                .events = change->events,
                                .fd = change->fd,
                                .user = change->user};
    list_init(&item->hook.node);
    list_init(&item->ready);
    list_init(&item->signalfd);
    if (file == NULL) {
        if (epoll_remote_add(item, change->place.kernel) != 0) {
            heap_free(item, sizeof(*item));
            quota_give(QUOTA_WATCHES, change->user, 1);
            return -ENOMEM;
        }
    } else {
        file_pin(file);
        epoll_item_here(item);
    }
    list_append(bucket_of(epoll, change->fd), &item->node);
    return 0;
}

static int change_locked(struct epoll *epoll, const struct epoll_change *change, struct file *file)
{
    struct epoll_item *item = find_item(epoll, change->fd, change->place.id, change->place.kernel);

    if (epoll->closed)
        return -EBADF;
    if (change->operation == EPOLL_ADD)
        return item != NULL ? -EEXIST : add_locked(epoll, change, file);
    if (item == NULL)
        return -ENOENT;
    if (change->operation == EPOLL_DELETE) {
        epoll_remove(item);
        return 0;
    }
    if ((item->events & EPOLL_EXCLUSIVE) != 0)
        return -EINVAL;
    item->events = change->events;
    item->data = change->data;
    item->disabled = false;
    if (item->remote != NULL) {
        item->seen = 0;
        epoll_remote_changed(item->remote);
    } else {
        ready_add(item);
    }
    return 0;
}

/* The order of the checks is Linux's. */
static int change_set(struct epoll *epoll, const struct epoll_change *change)
{
    bool here = change->place.kernel == instance.kernel;
    struct file *file = here ? file_find(change->place.id) : NULL;
    struct epoll *inner = file != NULL ? epoll_of(file) : NULL;
    bool exclusive = (change->events & EPOLL_EXCLUSIVE) != 0 && change->operation != EPOLL_DELETE;
    bool nests;
    int error = 0;

    if (here && (file == NULL || (file->flags & OPEN_PATH) != 0)) {
        if (file != NULL)
            file_unpin(file);
        return -EBADF;
    }
    if (here && file->kind->poll == NULL)
        error = -EPERM;
    else if (file == epoll->file || change->operation < EPOLL_ADD || change->operation > EPOLL_MODIFY)
        error = -EINVAL;
    else if (exclusive &&
             (change->operation == EPOLL_MODIFY || inner != NULL || (change->events & ~EXCLUSIVE_EVENTS) != 0))
        error = -EINVAL;
    nests = error == 0 && inner != NULL && change->operation == EPOLL_ADD;
    if (nests) {
        spin_lock(&nesting);
        error = nest_locked(epoll, inner);
    }
    if (error == 0) {
        spin_lock(&epoll->scan);
        error = change_locked(epoll, change, file);
        spin_unlock(&epoll->scan);
    }
    if (nests)
        spin_unlock(&nesting);
    if (error == 0 && change->operation != EPOLL_DELETE)
        file_event(epoll->file->events); /* it may be ready already: waiting threads look again */
    if (file != NULL)
        file_unpin(file);
    return error;
}

static int64_t epoll_operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                             void *result, size_t room, struct file_answer *answer)
{
    struct epoll_change change;
    struct epoll_look asked;

    (void)answer;
    switch (request->special.what) {
    case SPECIAL_EPOLL_CTL:
        if (size != sizeof(change))
            return -EPROTO;
        memcpy(&change, data, sizeof(change));
        return change_set(file->state, &change);
    case SPECIAL_EPOLL_WAIT:
        if (size != sizeof(asked) || room < sizeof(struct epoll_found))
            return -EPROTO;
        memcpy(&asked, data, sizeof(asked));
        return look(file->state, &asked, room, result);
    default:
        return -EINVAL;
    }
}

/* --- creating and closing a set --- */

/* Drops the items of EPOLL, which is closed: nothing is added to it any more. A handler does so until a slice is over,
 * and returns false if some are left. */
static bool drop_items(struct epoll *epoll)
{
    for (uint32_t i = 0; i < EPOLL_BUCKETS; i++) {
        for (bool more = true; more; slice_check()) {
            spin_lock(&epoll->scan);
            more = !list_empty(&epoll->buckets[i]);
            if (more)
                epoll_remove(container_of(epoll->buckets[i].next, struct epoll_item, node));
            spin_unlock(&epoll->scan);
            if (more && msg_handling() && silence_length() > SLICE_COUNTS)
                return false;
        }
    }
    epoll_remote_release(epoll);
    return true;
}

static void drop_rest(struct work *work)
{
    struct epoll *epoll = container_of(work, struct epoll, rest);

    drop_items(epoll);
    file_unpin(epoll->file);
}

static void release(struct file *file)
{
    struct epoll *epoll = file->state;

    spin_lock(&epoll->scan);
    epoll->closed = true;
    spin_unlock(&epoll->scan);
    if (drop_items(epoll))
        return;
    file_pin(file);
    work_submit(&epoll->rest);
}

static void forget(struct file *file)
{
    struct epoll *epoll = file->state;

    while (epoll->remotes != NULL) {
        struct epoll_remote *remote = epoll->remotes;

        epoll->remotes = remote->next;
        heap_free(remote, sizeof(*remote));
    }
    heap_free(epoll, sizeof(*epoll));
}

static const struct file_kind epoll_kind = {
    .set = true, .poll = epoll_poll, .operate = epoll_operate, .release = release, .forget = forget};

struct epoll *epoll_of(const struct file *file)
{
    return file->kind == &epoll_kind ? file->state : NULL;
}

static struct file *create(void)
{
    struct file_facts facts = {.device = ANONYMOUS_DEVICE, .mode = 0600};
    struct epoll *epoll = heap_alloc(sizeof(*epoll));
    struct file *file;

    if (epoll == NULL)
        return NULL;
    for (uint32_t i = 0; i < EPOLL_BUCKETS; i++)
        list_init(&epoll->buckets[i]);
    list_init(&epoll->ready);
    list_init(&epoll->signalfds);
    list_init(&epoll->notified.node);
    waitq_init(&epoll->asked);
    epoll->notified.notify = notify;
    epoll->rest.run = drop_rest;
    file = file_create(&epoll_kind, &facts, 2, epoll, NULL);
    if (file == NULL)
        heap_free(epoll, sizeof(*epoll));
    else
        epoll->file = file;
    return file;
}

static void switch_set(struct file *file, void *context)
{
    const uint32_t *kernels = context;

    if (file->kind == &epoll_kind)
        epoll_remote_switch(file->state, kernels[0], kernels[1]);
}

void epoll_switch(uint32_t from, uint32_t to)
{
    uint32_t kernels[2] = {from, to};

    file_each(switch_set, kernels);
}

static int make(uint32_t flags, const void *data, size_t size, struct file *made[2])
{
    (void)flags;
    (void)data;
    (void)size;
    made[0] = create();
    return made[0] != NULL ? 0 : -ENOMEM;
}

void epoll_init(void)
{
    epoll_remote_init();
    anonymous_register(ANONYMOUS_EPOLL, make);
}

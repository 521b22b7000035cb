/* inotify files: watches and queues. See the header. One lock protects all watches and all queues; it is taken after
 * tree_lock and node locks. Waiters are woken without locks, so a file with a new event goes on a list, which the
 * operation that caused the event empties when it has released its locks (inotify_flush). For events of a node's end, a
 * worker empties the list. */
#include "kernel/fs/inotify/inotify.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/fs/tree/internal.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/remote/work.h"

#define FIONREAD 0x541bu
#define QUEUE_MAX 16384u  /* events in the queue of one file, as Linux's max_queued_events */
#define WATCHES_MAX 8192u /* of one file */
#define NAME_UNIT 16u     /* names are padded to a multiple of this */
#define LINE_TEXT 128u    /* bytes of a line of /proc/PID/fdinfo */

struct linux_event {
    int32_t watch;
    uint32_t mask, cookie, length;
};

struct event { /* an event as read(2) returns it */
    struct list node;
    struct linux_event notified;
    char name[];
};

struct inotify {
    struct file *file;      /* [k] the open file */
    struct list watches;    /* [k] */
    struct list events;     /* [k] oldest first */
    struct list notifying;  /* [k] in the list of files to wake, with a pin of the file */
    uint32_t count, queued; /* [k] watches, events */
    uint32_t bytes;         /* [k] length of the queued events */
    int32_t last;           /* [k] number of the newest watch */
    bool overflown;         /* [k] an overflow event is queued */
};

struct watch {
    struct list of_node;     /* [k] node->watches */
    struct list of_file;     /* [k] */
    struct inotify *inotify; /* [i] */
    struct node *node;       /* [i] without a reference: the node's end removes the watch */
    int32_t number;          /* [i] */
    uint32_t mask;           /* [k] */
};

static struct spinlock lock;
static struct list notifying = {&notifying, &notifying}; /* [k] struct inotify */
static uint32_t cookies;                                 /* [k] */
static struct work flush_work;
static bool flush_asked; /* [k] */

/* --- queues --- */

static size_t padded(const char *name)
{
    size_t length = strlen(name);

    return length == 0 ? 0 : (length / NAME_UNIT + 1) * NAME_UNIT;
}

static bool is_last_locked(const struct inotify *inotify, const struct linux_event *notified, const char *name)
{
    const struct event *last;

    if (list_empty(&inotify->events))
        return false;
    last = container_of(inotify->events.previous, struct event, node);
    return memcmp(&last->notified, notified, sizeof(*notified)) == 0 &&
           (notified->length == 0 || strcmp(last->name, name) == 0);
}

/* Queues an event unless it equals the last one in the queue, as Linux does. */
static void queue_locked(struct inotify *inotify, int32_t watch, uint32_t mask, uint32_t cookie, const char *name)
{
    struct linux_event notified = {.watch = watch, .mask = mask, .cookie = cookie, .length = (uint32_t)padded(name)};
    struct event *event = NULL;

    if (inotify->file == NULL || is_last_locked(inotify, &notified, name))
        return;
    if (inotify->queued < QUEUE_MAX)
        event = heap_alloc(sizeof(*event) + notified.length);
    if (event == NULL) {
        notified = (struct linux_event){.watch = -1, .mask = WATCH_OVERFLOW};
        event = inotify->overflown ? NULL : heap_alloc(sizeof(*event));
        if (event == NULL)
            return; /* the overflow event is queued already, or there is no memory for it */
        inotify->overflown = true;
        name = "";
    }
    event->notified = notified;
    memcpy(event->name, name, strlen(name));
    list_append(&inotify->events, &event->node);
    inotify->queued++;
    inotify->bytes += (uint32_t)sizeof(notified) + notified.length;
    if (list_empty(&inotify->notifying)) {
        file_pin(inotify->file);
        list_append(&notifying, &inotify->notifying);
        inotify_unnotified++;
    }
}

static struct event *take_locked(struct inotify *inotify)
{
    struct event *event = container_of(inotify->events.next, struct event, node);

    list_remove(&event->node);
    inotify->queued--;
    inotify->bytes -= (uint32_t)sizeof(event->notified) + event->notified.length;
    if (event->notified.mask == WATCH_OVERFLOW)
        inotify->overflown = false;
    return event;
}

static void event_free(struct event *event)
{
    heap_free(event, sizeof(*event) + event->notified.length);
}

static void notify_files(void)
{
    for (;;) {
        struct inotify *inotify;
        struct file *file = NULL;

        spin_lock(&lock);
        if (!list_empty(&notifying)) {
            inotify = container_of(notifying.next, struct inotify, notifying);
            list_remove(&inotify->notifying);
            list_init(&inotify->notifying);
            inotify_unnotified--;
            file = inotify->file;
        }
        spin_unlock(&lock);
        if (file == NULL)
            return;
        file_event(file->events);
        file_unpin(file);
    }
}

static void run_flush(struct work *work)
{
    (void)work;
    spin_lock(&lock);
    flush_asked = false;
    spin_unlock(&lock);
    notify_files();
}

/* --- watches --- */

static void remove_locked(struct watch *watch)
{
    list_remove(&watch->of_node);
    list_remove(&watch->of_file);
    watch->inotify->count--;
    inotify_watches--;
    heap_free(watch, sizeof(*watch));
}

/* Removes a watch, and reports that with IN_IGNORED. */
static void ignore_locked(struct watch *watch)
{
    queue_locked(watch->inotify, watch->number, WATCH_IGNORED, 0, "");
    remove_locked(watch);
}

/* Queues an event for the watches of NODE whose masks ask for it. */
static void notify_locked(struct node *node, uint32_t mask, bool directory, uint32_t cookie, const char *name)
{
    if (node->watches.next == NULL)
        return;
    list_for_each_safe(at, &node->watches) {
        struct watch *watch = container_of(at, struct watch, of_node);

        if ((watch->mask & mask) == 0)
            continue;
        queue_locked(watch->inotify, watch->number, mask | (directory ? WATCH_IS_DIRECTORY : 0), cookie, name);
        if ((watch->mask & WATCH_ONCE) != 0)
            ignore_locked(watch);
    }
}

static void notify_about_name_locked(struct node *directory, const char *name, const struct node *node, uint32_t mask,
                                     uint32_t cookie)
{
    spin_lock(&lock);
    notify_locked(directory, mask, tree_is(node, FILE_DIRECTORY), cookie, name);
    spin_unlock(&lock);
}

static void notify_about_locked(struct node *node, uint32_t mask, bool name)
{
    bool directory = tree_is(node, FILE_DIRECTORY) && mask != WATCH_MOVE_SELF; /* without IN_ISDIR, as in Linux */
    struct tree_part *part = tree_of(node);

    spin_lock(&lock);
    if (name && part != NULL && !list_empty(&part->names)) {
        const struct entry *entry = container_of(part->names.next, struct entry, of_node);

        notify_locked(entry->directory, mask, directory, 0, entry->name);
    }
    notify_locked(node, mask, directory, 0, "");
    spin_unlock(&lock);
}

static void notify_about_node(struct node *node, uint32_t mask)
{
    spin_lock(&tree_lock);
    notify_about_locked(node, mask, true);
    spin_unlock(&tree_lock);
    notify_files();
}

static void notify_about_gone(struct node *node)
{
    bool ask = false;

    spin_lock(&lock);
    if (node->watches.next != NULL && !list_empty(&node->watches)) {
        notify_locked(node, WATCH_DELETE_SELF, false, 0, "");
        list_for_each_safe(at, &node->watches)
            ignore_locked(container_of(at, struct watch, of_node));
        ask = !flush_asked;
        flush_asked = true;
    }
    spin_unlock(&lock);
    if (ask) { /* the caller may hold locks */
        flush_work.run = run_flush;
        work_submit(&flush_work);
    }
}

static uint32_t new_cookie(void)
{
    uint32_t cookie;

    spin_lock(&lock);
    cookie = ++cookies;
    spin_unlock(&lock);
    return cookie;
}

static struct watch *find_locked(const struct inotify *inotify, const struct node *node)
{
    if (node->watches.next == NULL)
        return NULL;
    list_for_each(at, &node->watches) {
        struct watch *watch = container_of(at, struct watch, of_node);

        if (watch->inotify == inotify)
            return watch;
    }
    return NULL;
}

static int64_t change_locked(struct watch *watch, uint32_t mask)
{
    uint32_t kept = mask & (WATCH_EVENTS | WATCH_EXCEPT_UNLINKED | WATCH_ONCE);

    if ((mask & WATCH_MASK_CREATE) != 0)
        return -EEXIST;
    watch->mask = (mask & WATCH_MASK_ADD) != 0 ? watch->mask | kept : kept;
    return watch->number;
}

/* Adds or changes the watch of NODE. The caller holds a reference to NODE. */
static int64_t add(struct inotify *inotify, struct node *node, uint32_t mask)
{
    struct watch *new = heap_alloc(sizeof(*new)), *watch;
    int64_t result = -ENOSPC;

    if (new == NULL)
        return -ENOMEM;
    spin_lock(&lock);
    if (node->watches.next == NULL)
        list_init(&node->watches);
    watch = find_locked(inotify, node);
    if (watch != NULL) {
        result = change_locked(watch, mask);
    } else if (inotify->count < WATCHES_MAX && inotify->last < INT32_MAX) {
        *new = (struct watch){.inotify = inotify, .node = node, .number = ++inotify->last};
        new->mask = mask &(WATCH_EVENTS | WATCH_EXCEPT_UNLINKED | WATCH_ONCE);
        list_append(&node->watches, &new->of_node);
        list_append(&inotify->watches, &new->of_file);
        inotify->count++;
        inotify_watches++;
        result = new->number;
        new = NULL;
    }
    spin_unlock(&lock);
    heap_free(new, sizeof(*new));
    return result;
}

static int64_t take_away(struct inotify *inotify, int32_t number)
{
    int64_t result = -EINVAL;

    spin_lock(&lock);
    list_for_each_safe(at, &inotify->watches) {
        struct watch *watch = container_of(at, struct watch, of_file);

        if (watch->number == number) {
            ignore_locked(watch);
            result = 0;
            break;
        }
    }
    spin_unlock(&lock);
    notify_files();
    return result;
}

/* Writes lines for the watches behind the first SKIPPED, the newest first, to TEXT, as many as fit into ROOM bytes.
 * Returns the length. */
static int64_t give_lines(struct inotify *inotify, uint32_t skipped, char *text, size_t room)
{
    size_t length = 0;
    uint32_t place = 0;
    char line[LINE_TEXT];

    spin_lock(&lock);
    for (struct list *at = inotify->watches.previous; at != &inotify->watches; at = at->previous) {
        const struct watch *watch = container_of(at, struct watch, of_file);
        size_t more;

        if (place++ < skipped)
            continue;
        more = (size_t)snprintf(line, sizeof(line), "inotify wd:%x ino:%lx sdev:%x mask:%x ignored_mask:0\n",
                                (uint32_t)watch->number, (unsigned long)watch->node->number, TREE_DEVICE,
                                watch->mask & WATCH_EVENTS);
        if (more > room - length)
            break;
        memcpy(text + length, line, more);
        length += more;
    }
    spin_unlock(&lock);
    return (int64_t)length;
}

/* --- the file --- */

static int64_t operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                       void *result, size_t room, struct file_answer *answer)
{
    struct watch_change change;
    struct file *target;
    uint32_t skipped;
    int64_t value;

    (void)answer;
    if (request->special.what == SPECIAL_INFO) {
        if (size != sizeof(skipped))
            return -EPROTO;
        memcpy(&skipped, data, sizeof(skipped));
        return give_lines(file->state, skipped, result, room);
    }
    if (request->special.what != SPECIAL_WATCH)
        return -EINVAL;
    if (size != sizeof(change))
        return -EPROTO;
    memcpy(&change, data, sizeof(change));
    if (change.mask == 0 && change.id == 0)
        return change.number == 0 ? 0 : take_away(file->state, change.number);
    if (room < sizeof(int32_t))
        return -EPROTO;
    target = file_find(change.id);
    if (target == NULL)
        return -ENOENT;
    value = file_node(target) != NULL && tree_of(file_node(target)) != NULL
                ? add(file->state, file_node(target), change.mask)
                : -EOPNOTSUPP;
    file_unpin(target);
    if (value < 0)
        return value;
    memcpy(result, &(int32_t){(int32_t)value}, sizeof(int32_t));
    return sizeof(int32_t);
}

static int64_t inotify_read(struct file *file, void *data, size_t size)
{
    struct inotify *inotify = file->state;
    uint8_t *to = data;
    size_t done = 0;
    int64_t result = 0;

    spin_lock(&lock);
    while (!list_empty(&inotify->events)) {
        struct event *event = container_of(inotify->events.next, struct event, node);
        size_t length = sizeof(event->notified) + event->notified.length;

        if (length > size - done) {
            result = -EINVAL;
            break;
        }
        take_locked(inotify);
        memcpy(to + done, &event->notified, sizeof(event->notified));
        memcpy(to + done + sizeof(event->notified), event->name, event->notified.length);
        done += length;
        event_free(event);
    }
    if (done > 0)
        result = (int64_t)done;
    else if (result == 0)
        result = -EAGAIN;
    spin_unlock(&lock);
    return result;
}

static uint32_t inotify_poll(struct file *file)
{
    struct inotify *inotify = file->state;
    uint32_t events;

    spin_lock(&lock);
    events = list_empty(&inotify->events) ? 0 : POLL_IN | POLL_IN_NORMAL;
    spin_unlock(&lock);
    return events;
}

static int64_t inotify_control(struct file *file, uint32_t command, void *data)
{
    struct inotify *inotify = file->state;

    if (command != FIONREAD)
        return -ENOTTY;
    spin_lock(&lock);
    *(int32_t *)data = (int32_t)inotify->bytes;
    spin_unlock(&lock);
    return 0;
}

/* The last open is closed: its watches are removed. */
static void release(struct file *file)
{
    struct inotify *inotify = file->state;

    spin_lock(&lock);
    while (!list_empty(&inotify->watches))
        remove_locked(container_of(inotify->watches.next, struct watch, of_file));
    spin_unlock(&lock);
}

static void forget(struct file *file)
{
    struct inotify *inotify = file->state;

    while (!list_empty(&inotify->events))
        event_free(take_locked(inotify)); /* no lock: nobody refers to the file any more */
    heap_free(inotify, sizeof(*inotify));
}

static const struct file_kind inotify_kind = {.read = inotify_read,
                                              .poll = inotify_poll,
                                              .control = inotify_control,
                                              .operate = operate,
                                              .release = release,
                                              .forget = forget,
                                              .one_read = true};

static struct file *create(uint32_t flags)
{
    struct file_facts facts = {.device = ANONYMOUS_DEVICE, .mode = 0600};
    struct inotify *inotify = heap_alloc(sizeof(*inotify));
    struct file *file;

    if (inotify == NULL)
        return NULL;
    list_init(&inotify->watches);
    list_init(&inotify->events);
    list_init(&inotify->notifying);
    file = file_create(&inotify_kind, &facts, flags, inotify, NULL);
    if (file == NULL)
        heap_free(inotify, sizeof(*inotify));
    else
        inotify->file = file;
    return file;
}

static int make(uint32_t flags, const void *data, size_t size, struct file *made[2])
{
    (void)data;
    (void)size;
    if (instance.kernel != 0)
        return -EPROTO;
    made[0] = create(flags);
    return made[0] != NULL ? 0 : -ENOMEM;
}

void inotify_init(void)
{
    inotify_hooks = (struct inotify_hooks){.node = notify_about_node,
                                           .node_locked = notify_about_locked,
                                           .name_locked = notify_about_name_locked,
                                           .gone = notify_about_gone,
                                           .flush = notify_files,
                                           .cookie = new_cookie};
    anonymous_register(ANONYMOUS_WATCH, make);
}

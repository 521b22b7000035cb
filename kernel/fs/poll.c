/* Waiting for several files. See the header.
 *
 * On a file's kernel an arm hangs in the lists of the files' events. The first event marks it fired and tells the
 * asker, by FILE_READY or, if that is this kernel, at once. It is freed when the poll is over and no FILE_READY is
 * under way.
 *
 * Locks: poll_lock for arms and their entries, then files_lock; waits_lock for polls of this kernel's threads. */
#include "kernel/fs/poll.h"

#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/fs/remote.h"
#include "kernel/fs/wire.h"
#include "kernel/lib/completion.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"
#include "msg/call.h"
#include "tasks/group.h"

#define ITEMS_MAX 2048u /* of one FILE_POLL */

struct poll_entry {
    struct list node; /* [p] in file->events->polls */
    struct file *file;
    struct arm *arm;
};

/* Marks: [i] set once, [p] under poll_lock. */
struct arm {
    struct list node; /* [p] in arms */
    uint64_t cookie;  /* [i] the asker's */
    uint32_t kernel;  /* [i] the asker */
    uint32_t count;   /* [i] */
    bool fired;       /* [p] the asker has been told, or is being told */
    bool telling;     /* [p] FILE_READY is under way: the memory is in use */
    bool over;        /* [p] the asker wants to know no more */
    struct list told; /* [p] among those to be told, by whoever fired it */
    struct msg_asking asking;
    struct msg_poll_cookie message;
    struct poll_entry entries[];
};

/* A poll of a thread here. */
struct poll_wait {
    struct list node; /* [w] in waits */
    uint64_t cookie;
    struct completion ready;
};

static struct spinlock poll_lock;
static struct list arms;
static struct spinlock waits_lock;
static struct list waits;    /* [w] waits_lock */
static uint64_t last_cookie; /* [w] waits_lock */

/* --- the file's kernel --- */

static size_t arm_size(uint32_t count)
{
    return sizeof(struct arm) + count * sizeof(struct poll_entry);
}

static void arm_free(struct arm *arm)
{
    for (uint32_t i = 0; i < arm->count; i++) {
        if (arm->entries[i].file != NULL)
            file_unpin(arm->entries[i].file);
    }
    heap_free(arm, arm_size(arm->count));
}

static void tell_waiter(uint64_t cookie)
{
    spin_lock(&waits_lock);
    list_for_each(node, &waits) {
        struct poll_wait *wait = container_of(node, struct poll_wait, node);

        if (wait->cookie == cookie) {
            completion_signal(&wait->ready);
            break;
        }
    }
    spin_unlock(&waits_lock);
}

/* The asker has been told. */
static void told(struct arm *arm)
{
    bool over;

    spin_lock(&poll_lock);
    arm->telling = false;
    over = arm->over;
    spin_unlock(&poll_lock);
    if (over)
        arm_free(arm);
}

static void ready_answered(void *context, uint32_t kernel, const void *reply, int length)
{
    (void)kernel;
    (void)reply;
    (void)length;
    told(context);
}

void poll_event(struct file_events *events)
{
    struct list fired;

    if (list_empty(&events->polls)) /* who arms looks at the file afterwards */
        return;
    list_init(&fired);
    spin_lock(&poll_lock);
    list_for_each(node, &events->polls) {
        struct arm *arm = container_of(node, struct poll_entry, node)->arm;

        if (arm->fired)
            continue;
        arm->fired = true;
        arm->telling = true;
        list_append(&fired, &arm->told);
    }
    spin_unlock(&poll_lock);
    while (!list_empty(&fired)) {
        struct arm *arm = container_of(fired.next, struct arm, told);

        list_remove(&arm->told);
        if (arm->kernel == instance.kernel) {
            tell_waiter(arm->cookie);
            told(arm);
        } else {
            arm->message.cookie = arm->cookie;
            msg_ask(&arm->asking, arm->kernel, MSG_FILE_READY, &arm->message, sizeof(arm->message), ready_answered,
                    arm);
        }
    }
}

/* The poll COOKIE of KERNEL is over. */
static void disarm(uint32_t kernel, uint64_t cookie)
{
    struct arm *found = NULL;
    bool telling = false;

    spin_lock(&poll_lock);
    list_for_each(node, &arms) {
        struct arm *arm = container_of(node, struct arm, node);

        if (arm->cookie == cookie && arm->kernel == kernel) {
            found = arm;
            break;
        }
    }
    if (found != NULL) {
        list_remove(&found->node);
        for (uint32_t i = 0; i < found->count; i++) {
            if (found->entries[i].file != NULL)
                list_remove(&found->entries[i].node);
        }
        telling = found->telling;
        found->over = true;
    }
    spin_unlock(&poll_lock);
    if (found != NULL && !telling)
        arm_free(found);
}

static uint32_t state_of(struct file *file, uint32_t events)
{
    uint32_t state = POLL_IN | POLL_IN_NORMAL | POLL_OUT | POLL_OUT_NORMAL;

    if (file->kind->poll != NULL)
        state = file->kind->poll(file);
    return state & (events | POLL_ERR | POLL_HUP);
}

/* Looks at ITEMS and writes POLL_* of each to STATES. Returns whether none is ready; then, with ARM, the asker is told
 * when one may be. -ENOMEM. */
static int look(uint32_t kernel, uint64_t cookie, const struct poll_item *items, uint32_t count, bool want_arm,
                uint32_t *states)
{
    struct arm *arm = want_arm ? heap_alloc(arm_size(count)) : NULL;
    bool none = true;

    if (want_arm && arm == NULL)
        return -ENOMEM;
    if (arm != NULL) {
        arm->cookie = cookie;
        arm->kernel = kernel;
        arm->count = count;
        list_init(&arm->told);
        spin_lock(&poll_lock);
        list_append(&arms, &arm->node);
        for (uint32_t i = 0; i < count; i++) {
            struct file *file = file_find(items[i].id);

            arm->entries[i] = (struct poll_entry){.file = file, .arm = arm};
            if (file != NULL)
                list_append(&file->events->polls, &arm->entries[i].node);
        }
        spin_unlock(&poll_lock);
    }
    /* Armed before looking: what happens from now on is told. */
    for (uint32_t i = 0; i < count; i++) {
        struct file *file = file_find(items[i].id);

        states[i] = file != NULL ? state_of(file, items[i].events) : POLL_NVAL;
        none &= states[i] == 0;
        if (file != NULL)
            file_unpin(file);
    }
    if (!none && arm != NULL)
        disarm(kernel, cookie);
    return none ? 1 : 0;
}

struct poll_answer {
    struct msg_kept kept;
    size_t size; /* of this and the states */
    uint32_t states[];
};

static void answer_done(struct msg_kept *kept)
{
    struct poll_answer *answer = container_of(kept, struct poll_answer, kept);

    heap_free(answer, answer->size);
}

static void handle_poll(const struct msg *m)
{
    const struct msg_file_poll *asked = m->data;
    struct poll_answer *answer = NULL;
    int result = -EPROTO;

    if (asked->count <= ITEMS_MAX && m->length == sizeof(*asked) + asked->count * sizeof(struct poll_item)) {
        size_t size = sizeof(*answer) + asked->count * sizeof(uint32_t);

        answer = heap_alloc(size);
        result = -ENOMEM;
        if (answer != NULL) {
            answer->size = size;
            result = look(m->ticket.kernel, asked->cookie, (const struct poll_item *)(asked + 1), asked->count,
                          asked->arm != 0, answer->states);
        }
    }
    if (result < 0) {
        msg_reply_error(&m->ticket, result);
        if (answer != NULL)
            heap_free(answer, answer->size);
        return;
    }
    if (asked->count * sizeof(uint32_t) <= MSG_SHORT) {
        msg_reply(&m->ticket, answer->states, asked->count * (uint32_t)sizeof(uint32_t));
        heap_free(answer, answer->size);
        return;
    }
    msg_keep(m, &answer->kept, NULL);
    msg_kept_reply_long(&answer->kept, answer->states, asked->count * (uint32_t)sizeof(uint32_t), answer_done);
}

static void handle_end(const struct msg *m)
{
    const struct msg_poll_cookie *message = m->data;

    disarm(m->ticket.kernel, message->cookie);
}

/* --- the asker's kernel --- */

static void handle_ready(const struct msg *m)
{
    const struct msg_poll_cookie *message = m->data;

    tell_waiter(message->cookie); /* a poll that is over is not found */
    msg_reply(&m->ticket, NULL, 0);
}

void poll_init(void)
{
    list_init(&arms);
    list_init(&waits);
    msg_register(MSG_FILE_POLL, handle_poll, sizeof(struct msg_file_poll), 0);
    msg_register(MSG_FILE_POLL_END, handle_end, sizeof(struct msg_poll_cookie), 0);
    msg_register(MSG_FILE_READY, handle_ready, sizeof(struct msg_poll_cookie), 0);
}

/* Memory for one poll of COUNT descriptors. */
struct poll_space {
    struct file_place *places; /* of each request */
    int32_t *fds;
    uint32_t *states;              /* of one kernel's items */
    uint32_t *which;               /* the request of each item */
    struct msg_file_poll *message; /* items follow */
    size_t size;
    void *memory;
};

static bool space_make(struct poll_space *space, uint32_t count)
{
    size_t each = sizeof(struct file_place) + sizeof(struct poll_item) + 3 * sizeof(uint32_t);
    uint8_t *at;

    space->size = sizeof(struct msg_file_poll) + (count + 1) * each;
    space->memory = heap_alloc(space->size);
    if (space->memory == NULL)
        return false;
    at = space->memory;
    space->message = (struct msg_file_poll *)(void *)at;
    at += sizeof(struct msg_file_poll) + count * sizeof(struct poll_item);
    space->places = (struct file_place *)(void *)at;
    at += count * sizeof(struct file_place);
    space->fds = (int32_t *)(void *)at;
    space->states = (uint32_t *)(void *)at + count;
    space->which = (uint32_t *)(void *)at + 2 * count;
    return true;
}

/* Where the files are. Bad descriptors, and those left out, have id 0. */
static int64_t locate(struct group *group, const struct poll_request *requests, uint32_t count,
                      struct poll_space *space)
{
    struct file_request request = {.operation = FILE_LOCATE};
    struct file_answer answer;
    int64_t result;

    if (count == 0)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        space->fds[i] = requests[i].fd;
    result = file_call(group, &request, space->fds, count * sizeof(int32_t), space->places,
                       count * sizeof(struct file_place), &answer);
    return result < 0 ? result : 0;
}

/* Asks KERNEL about its files. Returns how many are ready, or an error. */
static int64_t ask(uint32_t kernel, uint64_t cookie, struct poll_request *requests, uint32_t count, bool arm,
                   struct poll_space *space)
{
    struct poll_item *items = (struct poll_item *)(space->message + 1);
    uint32_t found = 0;
    int64_t ready = 0;
    int result;

    for (uint32_t i = 0; i < count; i++) {
        if (space->places[i].id != 0 && space->places[i].kernel == kernel) {
            items[found] = (struct poll_item){.id = space->places[i].id, .events = requests[i].events};
            space->which[found++] = i;
        }
    }
    *space->message = (struct msg_file_poll){.cookie = cookie, .count = found, .arm = arm};
    if (kernel == instance.kernel) {
        result = look(kernel, cookie, items, found, arm, space->states);
    } else {
        result = msg_call(kernel, MSG_FILE_POLL, space->message,
                          (uint32_t)(sizeof(*space->message) + found * sizeof(*items)), space->states,
                          found * (uint32_t)sizeof(uint32_t), "state of files", found);
        if (result >= 0 && result != (int)(found * sizeof(uint32_t)))
            result = -EPROTO;
    }
    if (result < 0)
        return result;
    for (uint32_t i = 0; i < found; i++) {
        requests[space->which[i]].revents = space->states[i];
        ready += space->states[i] != 0;
    }
    return ready;
}

static void end_poll(kernel_set armed, uint64_t cookie)
{
    struct msg_poll_cookie message = {cookie};

    if ((armed >> instance.kernel & 1) != 0)
        disarm(instance.kernel, cookie);
    for (armed &= ~(1ull << instance.kernel); armed != 0; armed &= armed - 1)
        msg_notify((uint32_t)__builtin_ctzll(armed), MSG_FILE_POLL_END, &message, sizeof(message));
}

/* Looks once; waits, if nothing is ready and TIME is left. 0: look again. */
static int64_t poll_once(struct group *group, struct poll_request *requests, uint32_t count, uint64_t deadline,
                         struct poll_space *space)
{
    static const struct wait_reason reason = {.what = "one of several files", .kernel = -1};
    struct poll_wait wait = {.cookie = 0};
    kernel_set kernels = 0, armed = 0;
    bool may_wait = deadline != 1 && (deadline == 0 || clock_now() < deadline);
    int64_t ready = 0, error = locate(group, requests, count, space);

    if (error != 0)
        return error;
    for (uint32_t i = 0; i < count; i++) {
        requests[i].revents = requests[i].fd >= 0 && space->places[i].id == 0 ? POLL_NVAL : 0;
        ready += requests[i].revents != 0;
        if (space->places[i].id != 0)
            kernels |= 1ull << space->places[i].kernel;
    }
    completion_init(&wait.ready);
    spin_lock(&waits_lock);
    wait.cookie = ++last_cookie;
    list_append(&waits, &wait.node);
    spin_unlock(&waits_lock);
    for (; kernels != 0 && error == 0; kernels &= kernels - 1) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(kernels);
        bool arm = may_wait && ready == 0;
        int64_t some = ask(kernel, wait.cookie, requests, count, arm, space);

        if (some < 0)
            error = some;
        else
            ready += some;
        if (arm && some == 0)
            armed |= 1ull << kernel;
    }
    if (error == 0 && ready == 0 && may_wait &&
        !completion_wait_until(&wait.ready, &reason, WAIT_INTERRUPTIBLE, deadline) &&
        wait_ops.ended(WAIT_INTERRUPTIBLE))
        error = -ERESTARTSYS;
    spin_lock(&waits_lock);
    list_remove(&wait.node);
    spin_unlock(&waits_lock);
    end_poll(armed, wait.cookie);
    return error != 0 ? error : ready;
}

int64_t poll_wait(struct group *group, struct poll_request *requests, uint32_t count, uint64_t deadline)
{
    struct poll_space space;
    int64_t result;
    bool last;

    if (!space_make(&space, count))
        return -ENOMEM;
    do {
        last = deadline != 0 && (deadline == 1 || clock_now() >= deadline);
        result = poll_once(group, requests, count, deadline, &space);
    } while (result == 0 && !last);
    heap_free(space.memory, space.size);
    return result;
}

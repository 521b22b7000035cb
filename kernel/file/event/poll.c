/* Waiting for several files. See the header.
 *
 * On a file's kernel an arm hangs in the lists of the files' events. The first event marks it fired and tells the
 * asker, by FILE_READY or, if that is this kernel, at once. It is freed when the poll is over and no FILE_READY is
 * under way.
 *
 * Locks: poll_lock for arms and their entries, then files_lock; waits_lock for polls of this kernel's threads. */
#include "kernel/file/event/poll.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/file/event/signalfd.h"
#include "kernel/file/remote.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "kernel/wait/completion.h"
#include "mm/frame/heap.h"
#include "msg/call.h"
#include "tasks/process/group.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"

#define ITEMS_MAX 2048u /* of one FILE_POLL */

struct poll_entry {
    struct poll_hook hook; /* [p] in file->events->polls */
    struct file *file;
    struct arm *arm;
};

/* Marks: [i] set once, [p] under poll_lock. */
struct arm {
    struct list node;      /* [p] in arms */
    uint64_t cookie;       /* [i] the asker's */
    uint32_t kernel;       /* [i] the asker */
    uint32_t count;        /* [i] */
    bool fired;            /* [p] the asker has been told, or is being told, or knows already */
    bool telling;          /* [p] FILE_READY is under way: the memory is in use */
    bool over;             /* [p] the asker wants to know no more */
    struct poll_told told; /* [p] by whoever fired it */
    struct msg_asking asking;
    struct msg_poll_cookie message;
    struct poll_entry entries[];
};

/* A poll of a thread here. */
struct poll_wait {
    struct poll_ticket ticket; /* [w] in waits */
    struct completion ready;
    uint64_t signals; /* the sets of its signalfds together */
};

static struct spinlock poll_lock;
static struct list arms;
static struct spinlock waits_lock;
static struct list waits;    /* [w] waits_lock: struct poll_ticket */
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
    struct file *file = NULL;

    spin_lock(&waits_lock);
    list_for_each(node, &waits) {
        struct poll_ticket *ticket = container_of(node, struct poll_ticket, node);

        if (ticket->cookie == cookie) {
            file = ticket->ready(ticket);
            break;
        }
    }
    spin_unlock(&waits_lock);
    if (file != NULL) {
        file_event(file->events);
        file_unpin(file);
    }
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

static void tell_asker(struct poll_told *note)
{
    struct arm *arm = container_of(note, struct arm, told);

    if (arm->kernel == instance.kernel) {
        tell_waiter(arm->cookie);
        told(arm);
        return;
    }
    arm->message.cookie = arm->cookie;
    msg_ask(&arm->asking, arm->kernel, MSG_FILE_READY, &arm->message, sizeof(arm->message), ready_answered, arm);
}

static void fire_arm(struct poll_hook *hook, struct list *fired)
{
    struct arm *arm = container_of(hook, struct poll_entry, hook)->arm;

    if (arm->fired)
        return;
    arm->fired = true;
    arm->telling = true;
    list_append(fired, &arm->told.node);
}

void poll_event(struct file_events *events)
{
    struct list fired;

    if (list_empty(&events->polls)) /* who arms looks at the file afterwards */
        return;
    list_init(&fired);
    spin_lock(&poll_lock);
    list_for_each(node, &events->polls) {
        struct poll_hook *hook = container_of(node, struct poll_hook, node);

        hook->fire(hook, &fired);
    }
    spin_unlock(&poll_lock);
    while (!list_empty(&fired)) {
        struct poll_told *note = container_of(fired.next, struct poll_told, node);

        list_remove(&note->node);
        note->tell(note);
    }
}

void poll_hook_add(struct file_events *events, struct poll_hook *hook)
{
    spin_lock(&poll_lock);
    list_append(&events->polls, &hook->node);
    spin_unlock(&poll_lock);
}

void poll_hook_remove(struct poll_hook *hook)
{
    spin_lock(&poll_lock);
    list_remove(&hook->node);
    spin_unlock(&poll_lock);
}

static struct arm *find_arm_locked(uint32_t kernel, uint64_t cookie)
{
    list_for_each(node, &arms) {
        struct arm *arm = container_of(node, struct arm, node);

        if (arm->cookie == cookie && arm->kernel == kernel)
            return arm;
    }
    return NULL;
}

/* The poll COOKIE of KERNEL is over. */
static void disarm(uint32_t kernel, uint64_t cookie)
{
    struct arm *found;
    bool telling = false;

    spin_lock(&poll_lock);
    found = find_arm_locked(kernel, cookie);
    if (found != NULL) {
        list_remove(&found->node);
        for (uint32_t i = 0; i < found->count; i++) {
            if (found->entries[i].file != NULL)
                list_remove(&found->entries[i].hook.node);
        }
        telling = found->telling;
        found->over = true;
    }
    spin_unlock(&poll_lock);
    if (found != NULL && !telling)
        arm_free(found);
}

/* Some files were ready: the asker need not be told, but its files go on counting events for it. */
static void stop_telling(uint32_t kernel, uint64_t cookie)
{
    struct arm *arm;

    spin_lock(&poll_lock);
    arm = find_arm_locked(kernel, cookie);
    if (arm != NULL)
        arm->fired = true;
    spin_unlock(&poll_lock);
}

struct poll_state poll_state_of(struct file *file, uint32_t events)
{
    /* Counted before looking: what happens from now on is news. */
    struct poll_state state = {.value = __atomic_load_n(&file->events->source.events, __ATOMIC_ACQUIRE),
                               .state = POLL_IN | POLL_IN_NORMAL | POLL_OUT | POLL_OUT_NORMAL};

    if (file->kind->signals)
        return (struct poll_state){.value = signalfd_mask(file), .state = POLL_SIGNALS};
    if (file->kind->poll != NULL)
        state.state = file->kind->poll(file);
    state.state &= events | POLL_ERR | POLL_HUP;
    return state;
}

/* Looks at ITEMS and writes POLL_* of each to STATES. Returns whether none is ready; WANTED (POLL_ARM_* or 0) says what
 * is to come after. -ENOMEM. */
static int look(uint32_t kernel, uint64_t cookie, const struct poll_item *items, uint32_t count, uint32_t wanted,
                struct poll_state *states)
{
    struct arm *arm = wanted != 0 ? heap_alloc(arm_size(count)) : NULL;
    bool none = true;

    if (wanted != 0 && arm == NULL)
        return -ENOMEM;
    if (arm != NULL) {
        arm->cookie = cookie;
        arm->kernel = kernel;
        arm->count = count;
        list_init(&arm->told.node);
        arm->told.tell = tell_asker;
        spin_lock(&poll_lock);
        list_append(&arms, &arm->node);
        for (uint32_t i = 0; i < count; i++) {
            struct file *file = file_find(items[i].id);

            arm->entries[i] = (struct poll_entry){.hook.fire = fire_arm, .file = file, .arm = arm};
            if (file != NULL)
                list_append(&file->events->polls, &arm->entries[i].hook.node);
        }
        spin_unlock(&poll_lock);
    }
    /* Armed before looking: what happens from now on is told. */
    for (uint32_t i = 0; i < count; i++) {
        struct file *file = file_find(items[i].id);

        states[i] = (struct poll_state){.state = POLL_NVAL};
        if (file != NULL)
            states[i] = poll_state_of(file, items[i].events);
        none &= (states[i].state & ~POLL_SIGNALS) == 0 || (items[i].edge != 0 && states[i].value == items[i].seen);
        if (file != NULL)
            file_unpin(file);
    }
    if (!none && wanted == POLL_ARM_KEEP)
        stop_telling(kernel, cookie);
    else if (!none && arm != NULL)
        disarm(kernel, cookie);
    return none ? 1 : 0;
}

struct poll_answer {
    struct msg_kept kept;
    size_t size; /* of this and the states */
    struct poll_state states[];
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
        size_t size = sizeof(*answer) + asked->count * sizeof(struct poll_state);

        answer = heap_alloc(size);
        result = -ENOMEM;
        if (answer != NULL) {
            answer->size = size;
            result = look(m->ticket.kernel, asked->cookie, (const struct poll_item *)(asked + 1), asked->count,
                          asked->arm, answer->states);
        }
    }
    if (result < 0) {
        msg_reply_error(&m->ticket, result);
        if (answer != NULL)
            heap_free(answer, answer->size);
        return;
    }
    if (asked->count * sizeof(struct poll_state) <= MSG_SHORT) {
        msg_reply(&m->ticket, answer->states, asked->count * (uint32_t)sizeof(struct poll_state));
        heap_free(answer, answer->size);
        return;
    }
    msg_keep(m, &answer->kept, NULL);
    msg_kept_reply_long(&answer->kept, answer->states, asked->count * (uint32_t)sizeof(struct poll_state), answer_done);
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
    struct poll_state *states;     /* of one kernel's items */
    uint32_t *which;               /* the request of each item */
    struct msg_file_poll *message; /* items follow */
    size_t size;
    void *memory;
};

static bool space_make(struct poll_space *space, uint32_t count)
{
    size_t each = sizeof(struct file_place) + sizeof(struct poll_item) + sizeof(struct poll_state) +
                  2 * sizeof(uint32_t);
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
    space->states = (struct poll_state *)(void *)at;
    at += count * sizeof(struct poll_state);
    space->fds = (int32_t *)(void *)at;
    space->which = (uint32_t *)(void *)at + count;
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

void poll_ticket_begin(struct poll_ticket *ticket)
{
    spin_lock(&waits_lock);
    ticket->cookie = ++last_cookie;
    list_append(&waits, &ticket->node);
    spin_unlock(&waits_lock);
}

void poll_ticket_end(struct poll_ticket *ticket)
{
    spin_lock(&waits_lock);
    list_remove(&ticket->node);
    spin_unlock(&waits_lock);
}

int64_t poll_look(uint32_t kernel, const struct msg_file_poll *message, struct poll_state *states)
{
    const struct poll_item *items = (const struct poll_item *)(message + 1);
    uint32_t size = message->count * (uint32_t)sizeof(*states);
    int64_t ready = 0;
    int result;

    if (kernel == instance.kernel) {
        result = look(kernel, message->cookie, items, message->count, message->arm, states);
    } else {
        result = msg_call(kernel, MSG_FILE_POLL, message,
                          (uint32_t)(sizeof(*message) + message->count * sizeof(*items)), states, size,
                          "state of files", message->count);
        if (result >= 0 && result != (int)size)
            result = -EPROTO;
    }
    if (result < 0)
        return result;
    for (uint32_t i = 0; i < message->count; i++)
        ready += (states[i].state & ~POLL_SIGNALS) != 0 && (items[i].edge == 0 || states[i].value != items[i].seen);
    return ready;
}

void poll_disarm(uint32_t kernel, uint64_t cookie)
{
    struct msg_poll_cookie message = {cookie};

    if (kernel == instance.kernel)
        disarm(kernel, cookie);
    else
        msg_notify(kernel, MSG_FILE_POLL_END, &message, sizeof(message));
}

static struct file *wake_waiter(struct poll_ticket *ticket)
{
    completion_signal(&container_of(ticket, struct poll_wait, ticket)->ready);
    return NULL;
}

/* Asks KERNEL about its files. Returns how many are ready, or an error. */
static int64_t ask(uint32_t kernel, struct poll_wait *wait, struct poll_request *requests, uint32_t count, bool arm,
                   struct poll_space *space)
{
    struct poll_item *items = (struct poll_item *)(space->message + 1);
    uint32_t found = 0;
    int64_t ready;

    for (uint32_t i = 0; i < count; i++) {
        if (space->places[i].id != 0 && space->places[i].kernel == kernel) {
            items[found] = (struct poll_item){.id = space->places[i].id, .events = requests[i].events};
            space->which[found++] = i;
        }
    }
    *space->message = (struct msg_file_poll){
        .cookie = wait->ticket.cookie, .count = found, .arm = arm ? POLL_ARM_TELL : 0};
    ready = poll_look(kernel, space->message, space->states);
    for (uint32_t i = 0; i < found && ready >= 0; i++) {
        struct poll_request *request = &requests[space->which[i]];

        request->revents = space->states[i].state & ~POLL_SIGNALS;
        if ((space->states[i].state & POLL_SIGNALS) == 0 || (request->events & POLL_IN) == 0)
            continue;
        wait->signals |= space->states[i].value;
        if ((signal_pending(thread_current()) & space->states[i].value) != 0)
            request->revents = POLL_IN;
    }
    return ready;
}

static void end_poll(kernel_set armed, uint64_t cookie)
{
    for (; armed != 0; armed &= armed - 1)
        poll_disarm((uint32_t)__builtin_ctzll(armed), cookie);
}

/* Waits until one of the kernels tells, or a signal comes that a signalfd waits for. 0: look again. */
static int64_t wait_told(struct poll_wait *wait, uint64_t deadline)
{
    static const struct wait_reason reason = {.what = "one of several files", .kernel = -1};
    struct thread *thread = thread_current();
    bool interrupted;

    if (wait->signals != 0 && signal_watch(thread, wait->signals) != 0) {
        signal_watch_end(thread);
        return 0;
    }
    interrupted = !completion_wait_until(&wait->ready, &reason, WAIT_INTERRUPTIBLE, deadline) &&
                  wait_ops.ended(WAIT_INTERRUPTIBLE);
    if (wait->signals != 0)
        interrupted = signal_watch_end(thread) == 0 && interrupted;
    return interrupted ? -ERESTARTSYS : 0;
}

/* Looks once; waits, if nothing is ready and TIME is left. 0: look again. */
static int64_t poll_once(struct group *group, struct poll_request *requests, uint32_t count, uint64_t deadline,
                         struct poll_space *space)
{
    struct poll_wait wait = {.ticket.ready = wake_waiter};
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
    poll_ticket_begin(&wait.ticket);
    for (; kernels != 0 && error == 0; kernels &= kernels - 1) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(kernels);
        bool arm = may_wait && ready == 0;
        int64_t some = ask(kernel, &wait, requests, count, arm, space);

        if (some < 0)
            error = some;
        else
            ready += some;
        if (arm && some == 0)
            armed |= 1ull << kernel;
    }
    if (wait.signals != 0 && error == 0) { /* those of signalfds are not among those counted */
        ready = 0;
        for (uint32_t i = 0; i < count; i++)
            ready += requests[i].revents != 0;
    }
    if (error == 0 && ready == 0 && may_wait)
        error = wait_told(&wait, deadline);
    poll_ticket_end(&wait.ticket);
    end_poll(armed, wait.ticket.cookie);
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

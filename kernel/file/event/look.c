/* Looking at files of one kernel, from any. See the header.
 *
 * An arm is the record of one such request on the files' kernel; it has a hook in the events of each file. The first
 * event marks it fired and notifies the asker's wait. It is freed when the poll has ended and its notice is not under
 * way.
 *
 * Locks: poll_lock for arms and their entries, then files_lock. */
#include "kernel/file/event/look.h"

#include "kernel/abi/errno.h"
#include "kernel/file/event/epoll.h"
#include "kernel/instance/instance.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/remote/notify.h"
#include "tasks/remote/operation.h"
#include "tasks/role/role.h"

struct poll_entry {
    struct poll_hook hook; /* [p] in file->events->polls */
    struct file *file;
    struct arm *arm;
    uint32_t events; /* [i] that the asker waits for */
};

/* Marks: [i] set once, [p] under poll_lock. */
struct arm {
    struct list node;  /* [p] in its list of `arms` */
    uint64_t token;    /* [i] of the asker's wait */
    uint32_t kernel;   /* [i] the asker */
    uint32_t count;    /* [i] */
    bool fired;        /* [p] the asker has been notified, is being notified, or need not be notified */
    bool notifying;    /* [p] the notice is under way and uses this memory */
    bool over;         /* [p] the asker has ended the poll: nothing fires the arm any more */
    bool busy;         /* [p] its hooks are being made, in slices */
    struct file *took; /* [p] of which file it has taken an exclusive event; NULL: none, or it was passed on */
    struct poll_notified notified; /* [p] in the list of the event that has fired it */
    struct remote_notice notice;
    struct work rest; /* frees an arm of many files that a handler has ended */
    struct poll_entry entries[];
};

#define ENTRIES_AT_ONCE 64u /* that a handler looks at, or a task without looking for messages */
#define ARM_LISTS 256u

static struct list arms[ARM_LISTS]; /* [p] by token, which grows with each wait of a kernel */

/* --- the file's kernel --- */

static size_t arm_size(uint32_t count)
{
    return sizeof(struct arm) + count * sizeof(struct poll_entry);
}

static struct list *arms_of(uint64_t token)
{
    return &arms[token % ARM_LISTS];
}

static uint32_t part_end(uint32_t from, uint32_t count)
{
    return count - from > ENTRIES_AT_ONCE ? from + ENTRIES_AT_ONCE : count;
}

/* Frees an arm that is over and not in use, in slices. */
static void arm_free(struct arm *arm)
{
    for (uint32_t from = 0; from < arm->count; from = part_end(from, arm->count)) {
        spin_lock(&poll_lock);
        for (uint32_t i = from; i < part_end(from, arm->count); i++) {
            if (arm->entries[i].file != NULL)
                poll_hook_remove_locked(arm->entries[i].file->events, &arm->entries[i].hook);
        }
        spin_unlock(&poll_lock);
        for (uint32_t i = from; i < part_end(from, arm->count); i++) {
            if (arm->entries[i].file != NULL)
                file_unpin(arm->entries[i].file);
        }
        slice_check();
    }
    heap_free(arm, arm_size(arm->count));
}

static void free_rest(struct work *work)
{
    arm_free(container_of(work, struct arm, rest));
}

/* The same from any context. */
static void arm_drop(struct arm *arm)
{
    arm->rest.run = free_rest;
    if (msg_handling() && arm->count > ENTRIES_AT_ONCE)
        work_submit(&arm->rest);
    else
        arm_free(arm);
}

static void asker_notified(struct remote_notice *notice)
{
    struct arm *arm = container_of(notice, struct arm, notice);
    bool over;

    spin_lock(&poll_lock);
    arm->notifying = false;
    over = arm->over && !arm->busy;
    spin_unlock(&poll_lock);
    if (over)
        arm_drop(arm);
}

static void notify_asker(struct poll_notified *note)
{
    struct arm *arm = container_of(note, struct arm, notified);

    uint64_t took = __atomic_load_n(&arm->took, __ATOMIC_RELAXED) != NULL;

    remote_notify(&arm->notice, arm->kernel, arm->token, &took, sizeof(took), asker_notified);
}

static bool fire_arm(struct poll_hook *hook, struct list *fired)
{
    const struct poll_entry *entry = container_of(hook, struct poll_entry, hook);
    struct arm *arm = entry->arm;

    if (arm->fired || arm->over || (hook->exclusive && poll_state_of(entry->file, entry->events).state == 0))
        return false;
    arm->fired = true;
    arm->notifying = true;
    __atomic_store_n(&arm->took, hook->exclusive ? entry->file : NULL, __ATOMIC_RELAXED);
    list_append(fired, &arm->notified.node);
    return hook->exclusive; /* the asker passes the event on if no thread takes it there */
}

static struct arm *find_arm_locked(uint32_t kernel, uint64_t token)
{
    list_for_each(node, arms_of(token)) {
        struct arm *arm = container_of(node, struct arm, node);

        if (arm->token == token && arm->kernel == kernel)
            return arm;
    }
    return NULL;
}

/* The poll TOKEN of KERNEL has ended, unless WHAT is POLL_PASS (enum poll_end). */
static void disarm(uint32_t kernel, uint64_t token, uint32_t what)
{
    struct file *pass = NULL;
    struct arm *found;
    bool used = false;

    spin_lock(&poll_lock);
    found = find_arm_locked(kernel, token);
    if (found != NULL && what != POLL_END && found->took != NULL) {
        pass = found->took;
        file_pin(pass);
        __atomic_store_n(&found->took, NULL, __ATOMIC_RELAXED);
    }
    if (found != NULL && what != POLL_PASS) {
        list_remove(&found->node);
        used = found->notifying || found->busy;
        found->over = true;
    }
    spin_unlock(&poll_lock);
    if (found != NULL && what != POLL_PASS && !used)
        arm_drop(found);
    if (pass != NULL) {
        file_event_pass(pass->events);
        file_unpin(pass);
    }
}

/* Some files were ready, so the asker need not be notified; the hooks stay, so that its files count all events. */
static void stop_notifying(uint32_t kernel, uint64_t token)
{
    struct arm *arm;

    spin_lock(&poll_lock);
    arm = find_arm_locked(kernel, token);
    if (arm != NULL)
        arm->fired = true;
    spin_unlock(&poll_lock);
}

struct poll_state poll_state_of(struct file *file, uint32_t events)
{
    /* The count is read before the state, so that an event after this counts as new. */
    struct poll_state state = {.value = __atomic_load_n(&file->events->source.events, __ATOMIC_ACQUIRE),
                               .state = POLL_IN | POLL_IN_NORMAL | POLL_OUT | POLL_OUT_NORMAL};

    if ((file->flags & OPEN_PATH) != 0)
        return (struct poll_state){.state = POLL_NVAL}; /* as for no file; epoll has refused it */
    if (file->kind->signals != NULL)
        return (struct poll_state){.value = file->kind->signals(file), .state = POLL_SIGNALS};
    if (file->kind->poll != NULL)
        state.state = file->kind->poll(file);
    state.state &= events | POLL_ERR | POLL_HUP;
    return state;
}

/* The state of a file that is not there: of a kernel that has died, or closed. */
static uint32_t state_of_none(uint64_t id)
{
    return role_kernel((uint32_t)(id >> ROLE_FILE_SHIFT)) == KERNELS_MAX ? POLL_ERR | POLL_HUP : POLL_NVAL;
}

/* Gives ARM a hook in the events of each of ITEMS, in slices. It may be fired meanwhile, and its poll may end. */
static void arm_fill(struct arm *arm, const struct poll_item *items)
{
    bool free;

    for (uint32_t from = 0; from < arm->count; from = part_end(from, arm->count)) {
        spin_lock(&poll_lock);
        for (uint32_t i = from; i < part_end(from, arm->count) && !arm->over; i++) {
            struct file *file = file_find(items[i].id);

            arm->entries[i] = (struct poll_entry){
                .hook.fire = fire_arm, .file = file, .arm = arm, .events = items[i].events & ~EPOLL_EXCLUSIVE};
            if (file != NULL) {
                /* a set is asked without poll_lock only */
                arm->entries[i].hook.exclusive = (items[i].events & EPOLL_EXCLUSIVE) != 0 && !file->kind->set;
                poll_hook_add_locked(file->events, &arm->entries[i].hook);
            }
        }
        spin_unlock(&poll_lock);
        slice_check();
    }
    spin_lock(&poll_lock);
    arm->busy = false;
    free = arm->over && !arm->notifying;
    spin_unlock(&poll_lock);
    if (free)
        arm_free(arm);
}

/* Arms KERNEL's wait TOKEN for ITEMS, COUNT of them. -ENOMEM. */
static int arm_make(uint32_t kernel, uint64_t token, const struct poll_item *items, uint32_t count)
{
    struct arm *arm = heap_alloc(arm_size(count));

    if (arm == NULL)
        return -ENOMEM;
    arm->token = token;
    arm->kernel = kernel;
    arm->count = count;
    arm->busy = true;
    list_init(&arm->notified.node);
    arm->notified.notify = notify_asker;
    spin_lock(&poll_lock);
    list_append(arms_of(token), &arm->node); /* first: an arm that has taken an event may be asked to pass it on */
    spin_unlock(&poll_lock);
    arm_fill(arm, items);
    if (msg_peer_fenced(kernel)) /* it has died meanwhile, and poll_lost may have been here before the arm */
        disarm(kernel, token, POLL_END_PASS);
    return 0;
}

/* Writes the state of each of ITEMS to STATES. Returns 1 if none is ready, else 0. WANTED (POLL_ARM_* or 0) says when
 * KERNEL's wait TOKEN is to be notified and how long hooks stay. -ENOMEM. */
static int look(uint32_t kernel, uint64_t token, const struct poll_item *items, uint32_t count, uint32_t wanted,
                struct poll_state *states)
{
    bool none = true;

    if (wanted != 0 && arm_make(kernel, token, items, count) != 0)
        return -ENOMEM;
    /* Armed before looking at the files, so no event after this is missed. */
    for (uint32_t i = 0; i < count; i++) {
        struct file *file = file_find(items[i].id);

        states[i] = (struct poll_state){.state = state_of_none(items[i].id)};
        if (file != NULL)
            states[i] = poll_state_of(file, items[i].events);
        none &= (states[i].state & ~POLL_SIGNALS) == 0 || (items[i].edge != 0 && states[i].value == items[i].seen);
        if (file != NULL)
            file_unpin(file);
        slice_check();
    }
    if (!none && wanted == POLL_ARM_KEEP)
        stop_notifying(kernel, token);
    else if (!none && wanted != 0)
        disarm(kernel, token, POLL_END_PASS); /* it may have taken an event of a file that was looked at before it */
    return none ? 1 : 0;
}

static int poll_room(const struct remote_request *request)
{
    const struct msg_file_poll *asked = request->data;

    if (asked->count > POLL_ITEMS_MAX || request->length != sizeof(*asked) + asked->count * sizeof(struct poll_item))
        return -EPROTO;
    return (int)(asked->count * sizeof(struct poll_state));
}

static int run_poll(const struct remote_request *request, void *result)
{
    const struct msg_file_poll *asked = request->data;
    int error;

    if (!request->task && asked->count > ENTRIES_AT_ONCE)
        return REMOTE_TASK;
    error = look(request->kernel, asked->token, (const struct poll_item *)(asked + 1), asked->count, asked->arm,
                 result);

    return error < 0 ? error : (int)(asked->count * sizeof(struct poll_state));
}

static void handle_end(const struct msg *m)
{
    const struct msg_file_poll_end *message = m->data;

    if (message->what <= POLL_PASS)
        disarm(m->ticket.kernel, message->token, message->what);
}

/* Returns the token of an arm of KERNEL in LIST; 0: there is none. */
static uint64_t arm_of(const struct list *list, uint32_t kernel)
{
    uint64_t token = 0;

    spin_lock(&poll_lock);
    list_for_each(node, list) {
        const struct arm *arm = container_of(node, const struct arm, node);

        if (arm->kernel == kernel) {
            token = arm->token;
            break;
        }
    }
    spin_unlock(&poll_lock);
    return token;
}

void poll_lost(uint32_t kernel)
{
    uint64_t token;

    for (uint32_t i = 0; i < ARM_LISTS; i++) {
        while ((token = arm_of(&arms[i], kernel)) != 0) {
            disarm(kernel, token, POLL_END_PASS);
            slice_check();
        }
    }
}

/* --- the asker's kernel --- */

int64_t poll_look(uint32_t kernel, const struct msg_file_poll *message, struct poll_state *states)
{
    struct remote_how how = {.why = "state of files", .key = message->count};
    const struct poll_item *items = (const struct poll_item *)(message + 1);
    uint32_t size = message->count * (uint32_t)sizeof(*states);
    int64_t ready = 0;
    int result;

    if (kernel == instance.kernel) {
        result = look(kernel, message->token, items, message->count, message->arm, states);
    } else {
        result = remote_call(kernel, MSG_FILE_POLL, message,
                             (uint32_t)(sizeof(*message) + message->count * sizeof(*items)), states, size, &how);
        if (result >= 0 && result != (int)size)
            result = -EPROTO;
        if (result < 0 && !msg_peer_reachable(kernel)) { /* it has died */
            for (uint32_t i = 0; i < message->count; i++)
                states[i] = (struct poll_state){.state = POLL_ERR | POLL_HUP};
            result = 0;
        }
    }
    if (result < 0)
        return result;
    for (uint32_t i = 0; i < message->count; i++)
        ready += (states[i].state & ~POLL_SIGNALS) != 0 && (items[i].edge == 0 || states[i].value != items[i].seen);
    return ready;
}

void poll_disarm(uint32_t kernel, uint64_t token, enum poll_end what)
{
    struct msg_file_poll_end message = {.token = token, .what = what};

    if (kernel == instance.kernel)
        disarm(kernel, token, what);
    else
        msg_notify(kernel, MSG_FILE_POLL_END, &message, sizeof(message));
}

void look_init(void)
{
    for (uint32_t i = 0; i < ARM_LISTS; i++)
        list_init(&arms[i]);
    REMOTE_SERVE_TASK(FILE_POLL, WORK_LEAF, run_poll, poll_room, struct msg_file_poll, struct msg_none);
    msg_register(MSG_FILE_POLL_END, handle_end, sizeof(struct msg_file_poll_end), 0);
}

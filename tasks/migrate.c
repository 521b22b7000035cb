/* Moving a thread. See the header and tasks/migration.md.
 *
 * The thread sleeps in migrate_thread on the kernel it leaves: that is its shadow. Whatever wakes it has set its return
 * disposition before: RETURN after installing the state it came back with, EXIT, or FAIL when it could not leave. */
#include "tasks/migrate.h"

#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"
#include "msg/channel.h"
#include "tasks/exit.h"
#include "tasks/group.h"
#include "tasks/sched.h"
#include "tasks/wire.h"

/* A departure and its message. It names the thread, so that an answer that comes late, when the thread is back or gone
 * again, changes nothing. */
struct departure {
    uint32_t group;
    uint32_t tid;
    uint32_t move;
    uint32_t length; /* bytes of MESSAGE */
    struct msg_migrate *message;
    struct msg_asking asking;
};

static void departure_free(struct departure *departure)
{
    if (departure == NULL)
        return;
    heap_free(departure->message, departure->length);
    heap_free(departure, sizeof(*departure));
}

static struct departure *departure_create(void)
{
    struct departure *departure = heap_alloc(sizeof(*departure));

    if (departure == NULL)
        return NULL;
    departure->length = (uint32_t)sizeof(struct msg_migrate) + cpu_features.fpu_size;
    departure->message = heap_alloc(departure->length);
    if (departure->message != NULL)
        return departure;
    heap_free(departure, sizeof(*departure));
    return NULL;
}

static void take_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct departure *departure = context;
    struct group *group = group_find(departure->group);
    uint32_t tid = departure->tid, move = departure->move;
    struct thread *thread;

    (void)kernel;
    (void)reply;
    departure_free(departure);
    if (group == NULL)
        return;
    spin_lock(&group->lock);
    thread = thread_find(tid);
    if (thread != NULL && thread->group == group && thread->move == move && thread->presence == THREAD_LEAVING &&
        thread->disposition == DISPOSITION_NONE) {
        if (length < 0) {
            thread->fail_error = length;
            thread->disposition = DISPOSITION_FAIL;
            sched_wake(thread);
        } else {
            thread->presence = THREAD_SHADOW;
            if (group->exiting) {
                thread->disposition = DISPOSITION_EXIT;
                sched_wake(thread);
            }
        }
    }
    spin_unlock(&group->lock);
    group_put(group);
}

/* Makes sure that the home counts KERNEL among the members before anything of the group can be there. */
static int join(struct group *group, uint32_t kernel)
{
    struct msg_group_join message = {.group = group->id, .kernel = kernel};
    bool known;
    int error;

    spin_lock(&group->space->lock);
    known = (group->space->members >> kernel & 1) != 0;
    spin_unlock(&group->space->lock);
    if (known)
        return 0;
    if (group->home == instance.kernel)
        return group_join(group, kernel);
    error = msg_call(group->home, MSG_GROUP_JOIN, &message, sizeof(message), NULL, 0, "leave to host a group",
                     group->id);
    if (error >= 0)
        space_join(group->space, kernel);
    return error < 0 ? error : 0;
}

static void pack(struct msg_migrate *message, struct thread *thread, uint32_t kernel)
{
    struct group *group = thread->group;

    message->group = group->id;
    message->home = group->home;
    message->thread = thread->tid;
    message->fpu_size = cpu_features.fpu_size;
    message->visited = thread->visited | 1ull << kernel;
    spin_lock(&group->space->lock);
    message->members = group->space->members;
    spin_unlock(&group->space->lock);
    message->clock = clock_now();
    message->context = thread->context;
    message->context.moves++;
    message->frame = *thread_frame(thread);
    message->frame.rax = 0;
    if (cpu_self()->fpu_owner == thread)
        fpu_save(thread->fpu);
    cpu_self()->fpu_owner = NULL; /* from now on only its return writes the area */
    memcpy(message + 1, thread->fpu, cpu_features.fpu_size);
}

/* Sleeps as a shadow until there is a disposition. */
static enum thread_disposition sleep_as_shadow(struct thread *thread, uint32_t kernel)
{
    struct wait_reason reason = {.what = "its return (shadow)", .kernel = (int32_t)kernel, .key = thread->tid};
    struct group *group = thread->group;
    enum thread_disposition disposition;

    spin_lock(&group->lock);
    while (thread->disposition == DISPOSITION_NONE) {
        sched_block(&group->lock, &reason, WAIT_FIRM, 0);
        spin_lock(&group->lock);
    }
    disposition = thread->disposition;
    thread->disposition = DISPOSITION_NONE;
    if (disposition != DISPOSITION_EXIT)
        thread->presence = THREAD_PRESENT;
    spin_unlock(&group->lock);
    return disposition;
}

int migrate_thread(int64_t kernel)
{
    struct thread *thread = thread_current();
    struct group *group = thread->group;
    struct departure *departure;
    int error;

    if (kernel < 0 || kernel >= instance.kernels)
        return -EINVAL;
    if (kernel == instance.kernel)
        return 0;
    if (!msg_peer_started((uint32_t)kernel))
        return -EAGAIN;
    error = join(group, (uint32_t)kernel);
    if (error != 0)
        return error;
    departure = departure_create();
    if (departure == NULL)
        return -ENOMEM;
    pack(departure->message, thread, (uint32_t)kernel);
    spin_lock(&group->lock);
    thread->presence = THREAD_LEAVING;
    thread->move++;
    departure->group = group->id;
    departure->tid = thread->tid;
    departure->move = thread->move;
    spin_unlock(&group->lock);
    msg_ask(&departure->asking, (uint32_t)kernel, MSG_MIGRATE, departure->message, departure->length, take_answer,
            departure);

    switch (sleep_as_shadow(thread, (uint32_t)kernel)) {
    case DISPOSITION_RETURN:
        thread_reload(thread);
        return 1;
    case DISPOSITION_FAIL:
        thread_reload(thread); /* others have run here while it was on its way */
        return thread->fail_error;
    default:
        exit_killed();
    }
}

/* Puts the state of MESSAGE into THREAD, which does not run; what would fault in the kernel is brought into range. */
static void install(struct thread *thread, const struct msg_migrate *message)
{
    struct trap_frame *frame = thread_frame(thread);

    *frame = message->frame;
    frame->cs = SELECTOR_USER_CODE;
    frame->ss = SELECTOR_USER_DATA;
    frame->rflags = (frame->rflags & RFLAGS_USER_MASK) | RFLAGS_USER_DEFAULT;
    thread->visited = message->visited;
    thread->context = message->context;
    thread->context.name[THREAD_NAME_MAX - 1] = '\0';
    memcpy(thread->fpu, message + 1, cpu_features.fpu_size);
}

static bool set_valid(kernel_set set)
{
    return instance.kernels == 64 || set >> instance.kernels == 0;
}

static bool message_valid(const struct msg *m)
{
    const struct msg_migrate *message = m->data;

    return set_valid(message->visited) && set_valid(message->members) &&
           m->length == sizeof(*message) + cpu_features.fpu_size && message->fpu_size == cpu_features.fpu_size &&
           fpu_area_valid(message + 1) && message->home < instance.kernels && message->frame.rip < USER_END &&
           message->context.fs_base < USER_END && message->context.gs_base < USER_END;
}

/* A thread that was here before: its shadow takes the state and wakes. */
static int refill_locked(struct thread *thread, const struct msg_migrate *message)
{
    if (thread->presence == THREAD_PRESENT || thread->disposition != DISPOSITION_NONE)
        return -EPROTO;
    install(thread, message);
    thread->disposition = DISPOSITION_RETURN;
    sched_wake(thread);
    return 0;
}

/* The group of an arriving thread, made if its first member arrives here, with a reference taken; NULL and *ERROR. */
static struct group *group_of(const struct msg_migrate *message, int *error)
{
    struct group *group = group_find(message->group);

    *error = -ENOMEM;
    if (group == NULL) {
        if (message->home == instance.kernel) { /* the home knows its groups until they have ended */
            *error = -ESRCH;
            return NULL;
        }
        group = group_create(message->group, message->home, true);
        if (group != NULL)
            group_get(group);
    } else if (group->home != message->home) {
        *error = -EPROTO;
        group_put(group);
        group = NULL;
    }
    return group;
}

static int arrive(struct group *group, const struct msg_migrate *message)
{
    struct thread *thread;
    int error = -ESRCH;
    bool refill = false;

    spin_lock(&group->lock);
    thread = group->exiting ? NULL : thread_find(message->thread);
    if (thread != NULL) {
        refill = true;
        error = thread->group == group ? refill_locked(thread, message) : -EPROTO;
    }
    spin_unlock(&group->lock);
    if (refill || group_exiting(group))
        return error;
    thread = thread_create_user(message->thread, group);
    if (thread == NULL)
        return -ENOMEM;
    install(thread, message);
    error = group_add_thread(group, thread);
    if (error != 0) {
        thread_free(thread);
        return error;
    }
    sched_start(thread);
    return 0;
}

static void handle_migrate(const struct msg *m)
{
    const struct msg_migrate *message = m->data;
    struct group *group;
    int error = -EPROTO;

    if (message_valid(m)) {
        group = group_of(message, &error);
        if (group != NULL) {
            clock_advance_to(message->clock);
            if (group->space != NULL) {
                spin_lock(&group->space->lock);
                group->space->members |= message->members;
                spin_unlock(&group->space->lock);
            }
            error = arrive(group, message);
            group_put(group);
        }
    }
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

void migrate_init(void)
{
    msg_register(MSG_MIGRATE, handle_migrate, sizeof(struct msg_migrate), 0);
}

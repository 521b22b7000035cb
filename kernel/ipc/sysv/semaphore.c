/* System V semaphores. See ipc.h. Kernel 0 does all steps of a call at once, or none. It keeps the calls that have to
 * wait in order of arrival, and does them in this order when the set changes, as Linux does: the task then finds its
 * call done. The set also keeps, for each process that has used SEM_UNDO, what has to be undone at its end. */
#include "kernel/abi/errno.h"
#include "kernel/file/permission.h"
#include "kernel/fs/node/node.h"
#include "kernel/ipc/sysv/internal.h"
#include "kernel/lib/list.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/process/call.h"

#define UNDO_MAX SEM_VALUE_MAX
/* Calls that may wait for one set, and steps of one that is tried again although it is still blocked. A change looks at
 * all of them again after each one that it lets go, under a lock and without a pause. */
#define WAITERS_MAX 2048u
#define RETRIED_STEPS_MAX 16u

struct semaphore {
    int32_t value;
    uint32_t pid; /* the process that changed it last */
};

struct undo { /* of one process that has used SEM_UNDO */
    struct list node;
    uint32_t process;
    uint32_t user;     /* who has it of QUOTA_IPC_BYTES */
    int32_t changes[]; /* for each semaphore: what its end adds */
};

struct stop { /* the step that could not be done */
    uint32_t number;
    int32_t change;
    int32_t before; /* by how much the steps before it had changed the semaphore */
};

struct waiter { /* a task that waits, until it has been answered that its call is done or refused, or it gives up */
    struct list node;
    uint32_t task;
    uint32_t kernel; /* that the task is on */
    uint32_t process;
    bool alters;
    bool may_refuse; /* an earlier step than `stop` may refuse the call meanwhile */
    struct stop stop;
    int64_t result; /* of its call, once it is in `done` */
    size_t count;
    struct ipc_step steps[];
};

struct set {
    struct ipc_object object;
    struct list undos;
    struct list waiters;       /* in order of arrival */
    uint32_t waiting;          /* how many */
    struct list done;          /* waiters whose calls have been done or refused */
    struct semaphore values[]; /* object.facts.count */
};

static struct ipc_kind sets;

static struct set *set_of(struct ipc_object *object)
{
    return container_of(object, struct set, object);
}

static size_t set_size(size_t count)
{
    return sizeof(struct set) + count * sizeof(struct semaphore);
}

static size_t undo_size(const struct set *set)
{
    return sizeof(struct undo) + set->object.facts.count * sizeof(int32_t);
}

static void undo_free(const struct set *set, struct undo *undo)
{
    ipc_give_back(undo->user, undo_size(set));
    list_remove(&undo->node);
    heap_free(undo, undo_size(set));
}

static void waiter_free(struct waiter *waiter)
{
    heap_free(waiter, sizeof(*waiter) + waiter->count * sizeof(waiter->steps[0]));
}

static void drop(struct ipc_object *object)
{
    struct set *set = set_of(object);

    list_for_each_safe(at, &set->undos)
        undo_free(set, container_of(at, struct undo, node));
    list_for_each_safe(at, &set->waiters)
        waiter_free(container_of(at, struct waiter, node));
    list_for_each_safe(at, &set->done)
        waiter_free(container_of(at, struct waiter, node));
    heap_free(set, set_size(object->facts.count));
}

static int make(const struct ipc_call *call, struct ipc_object **out)
{
    struct set *set = heap_alloc(set_size((size_t)call->a));

    if (set == NULL)
        return -ENOMEM;
    list_init(&set->undos);
    list_init(&set->waiters);
    list_init(&set->done);
    set->object.facts.count = (uint32_t)call->a;
    *out = &set->object;
    return 0;
}

static bool fits(const struct ipc_object *object, const struct ipc_call *call)
{
    if (object != NULL)
        return call->a >= 0 && call->a <= object->facts.count;
    return call->a > 0 && call->a <= SEM_COUNT_MAX;
}

static struct undo *find_undo(struct set *set, uint32_t process)
{
    list_for_each(at, &set->undos) {
        struct undo *undo = container_of(at, struct undo, node);

        if (undo->process == process)
            return undo;
    }
    return NULL;
}

static struct waiter *find_waiter(struct list *list, uint32_t task)
{
    list_for_each(at, list) {
        struct waiter *waiter = container_of(at, struct waiter, node);

        if (waiter->task == task)
            return waiter;
    }
    return NULL;
}

static bool alters(const struct ipc_step *steps, size_t count)
{
    bool result = false;

    for (size_t i = 0; i < count; i++)
        result |= steps[i].change != 0;
    return result;
}

static bool may_refuse(const struct ipc_step *steps, size_t count)
{
    bool result = false;

    for (size_t i = 0; i < count && count <= RETRIED_STEPS_MAX; i++)
        result |= (steps[i].flags & IPC_NO_WAIT) != 0;
    return result;
}

/* The call cannot be done at STOP. A task that waits already keeps its place. */
static int64_t note_waiter(struct set *set, const struct ipc_call *call, uint32_t kernel, const struct ipc_step *steps,
                           size_t count, const struct stop *stop)
{
    struct waiter *waiter = find_waiter(&set->waiters, call->task);

    if (waiter == NULL) {
        waiter = set->waiting < WAITERS_MAX ? heap_alloc(sizeof(*waiter) + count * sizeof(*steps)) : NULL;
        if (waiter == NULL)
            return -ENOMEM;
        set->waiting++;
        waiter->task = call->task;
        waiter->kernel = kernel;
        waiter->process = call->pid;
        waiter->alters = alters(steps, count);
        waiter->may_refuse = may_refuse(steps, count);
        waiter->count = count;
        memcpy(waiter->steps, steps, count * sizeof(*steps));
        list_append(&set->waiters, &waiter->node);
    }
    waiter->stop = *stop;
    return 0;
}

static void stop_waiting(struct set *set, struct waiter *waiter)
{
    list_remove(&waiter->node);
    set->waiting--;
    waiter_free(waiter);
}

/* TASK no longer waits. Returns whether its call has been done or refused; *RESULT is then its result. */
static bool forget_waiter(struct set *set, uint32_t task, int64_t *result)
{
    struct waiter *done = find_waiter(&set->done, task), *waiter = find_waiter(&set->waiters, task);

    if (done != NULL) {
        *result = done->result;
        list_remove(&done->node);
        waiter_free(done);
    }
    if (waiter != NULL)
        stop_waiting(set, waiter);
    return done != NULL;
}

static bool is_blocked(const struct set *set, const struct stop *stop)
{
    int32_t value = set->values[stop->number].value + stop->before;

    return stop->change == 0 ? value != 0 : value + stop->change < 0;
}

/* Counts the tasks that wait for semaphore NUMBER to become zero (ZERO) or to grow. A task whose step can be done by
 * now does not count: it has been woken, and has not asked again yet. */
static int64_t count_waiters(const struct set *set, uint32_t number, bool zero)
{
    int64_t count = 0;

    list_for_each(at, &set->waiters) {
        const struct stop *stop = &container_of(at, const struct waiter, node)->stop;

        count += stop->number == number && (stop->change == 0) == zero && is_blocked(set, stop);
    }
    return count;
}

/* Records STEP in UNDO. False: the sum is out of range. */
static bool note_undo(struct undo *undo, const struct ipc_step *step)
{
    int32_t change = undo->changes[step->number] - step->change;

    if (change < -UNDO_MAX - 1 || change > UNDO_MAX)
        return false;
    undo->changes[step->number] = change;
    return true;
}

static void take_back(struct set *set, const struct ipc_step *step, struct undo *undo)
{
    set->values[step->number].value -= step->change;
    if ((step->flags & SEM_UNDO) != 0 && undo != NULL)
        undo->changes[step->number] += step->change;
}

/* Does all steps. If one cannot be done, those before it are taken back, and STOPPED is that step. 0; 1: the task has
 * to wait; -EAGAIN, -ERANGE. */
static int64_t try_steps(struct set *set, const struct ipc_step *steps, size_t count, struct undo *undo,
                         struct stop *stopped)
{
    int64_t result = 0;
    size_t done = 0;

    for (; done < count && result == 0; done++) {
        int32_t *value = &set->values[steps[done].number].value;
        int32_t change = steps[done].change;

        *stopped = (struct stop){steps[done].number, change, *value};
        if ((change == 0 && *value != 0) || *value + change < 0)
            result = (steps[done].flags & IPC_NO_WAIT) != 0 ? -EAGAIN : 1;
        else if (*value + change > SEM_VALUE_MAX ||
                 ((steps[done].flags & SEM_UNDO) != 0 && undo != NULL && !note_undo(undo, &steps[done])))
            result = -ERANGE;
        else
            *value += change;
    }
    for (; result != 0 && done > 1; done--)
        take_back(set, &steps[done - 2], undo);
    stopped->before -= set->values[stopped->number].value;
    return result;
}

static void mark_done(struct set *set, const struct ipc_step *steps, size_t count, uint32_t process)
{
    for (size_t i = 0; i < count; i++)
        set->values[steps[i].number].pid = process;
    set->object.facts.done_in = node_now();
}

/* Does the first of the waiting calls that can be done or refused, among those that alter values or the others. */
static struct waiter *serve_one(struct set *set, bool alter)
{
    list_for_each_safe(at, &set->waiters) {
        struct waiter *waiter = container_of(at, struct waiter, node);
        struct undo *undo = waiter->alters == alter ? find_undo(set, waiter->process) : NULL;

        if (waiter->alters != alter || (!waiter->may_refuse && is_blocked(set, &waiter->stop)))
            continue;
        waiter->result = try_steps(set, waiter->steps, waiter->count, undo, &waiter->stop);
        if (waiter->result == 1)
            continue;
        if (waiter->result == 0)
            mark_done(set, waiter->steps, waiter->count, waiter->process);
        list_remove(&waiter->node);
        set->waiting--;
        list_append(&set->done, &waiter->node);
        return waiter;
    }
    return NULL;
}

/* SET's values have changed: does the waiting calls that can be done now, in Linux's order: those that wait for zero
 * first, then the others in order of arrival, and again after each that has altered something. */
static void changed(struct set *set, struct file **notify)
{
    do {
        while (serve_one(set, false) != NULL) {
        }
    } while (serve_one(set, true) != NULL);
    ipc_changed(&set->object, notify);
}

/* What the end of CALL's process has to undo in SET. -ENOMEM; -ENOSPC: the user's limit. */
static int get_undo(struct set *set, const struct ipc_call *call, struct undo **out)
{
    struct undo *undo = find_undo(set, call->pid);
    int error = undo == NULL ? ipc_charge(call, undo_size(set), -ENOSPC) : 0;

    if (error != 0)
        return error;
    if (undo == NULL) {
        undo = heap_alloc(undo_size(set));
        if (undo == NULL) {
            ipc_give_back(call->user.uid, undo_size(set));
            return -ENOMEM;
        }
        undo->process = call->pid;
        undo->user = call->user.uid;
        list_append(&set->undos, &undo->node);
    }
    *out = undo;
    return 0;
}

static int64_t operate(const struct ipc_call *call, uint32_t kernel, const struct ipc_step *steps, size_t count,
                       struct file_answer *answer, struct file **notify)
{
    bool alter = alters(steps, count), undoes = false;
    struct ipc_object *object;
    struct stop stopped = {0};
    struct undo *undo = NULL;
    struct set *set;
    int64_t error, result = 0;

    error = ipc_find(&sets, call, alter ? MAY_WRITE : MAY_READ, &object);
    if (object == NULL)
        return error;
    set = set_of(object);
    if ((call->flags & IPC_AGAIN) != 0 && find_waiter(&set->done, call->task) != NULL) {
        forget_waiter(set, call->task, &result);
        return result;
    }
    for (size_t i = 0; i < count; i++) {
        undoes |= (steps[i].flags & SEM_UNDO) != 0 && steps[i].change != 0;
        if (steps[i].number >= object->facts.count)
            return -EFBIG;
    }
    if (error != 0)
        return error;
    if (undoes)
        error = get_undo(set, call, &undo);
    if (error != 0)
        return error;
    error = try_steps(set, steps, count, undo, &stopped);
    if (error == 1) {
        error = note_waiter(set, call, kernel, steps, count, &stopped);
        return error != 0 ? error : ipc_wait(object, call, answer);
    }
    forget_waiter(set, call->task, &result);
    if (error != 0)
        return error;
    mark_done(set, steps, count, call->pid);
    if (alter)
        changed(set, notify);
    return 0;
}

/* After semctl has set semaphore NUMBER: earlier changes are no longer undone. */
static void forget_changes(struct set *set, uint32_t number)
{
    list_for_each(at, &set->undos)
        container_of(at, struct undo, node)->changes[number] = 0;
}

static int64_t set_all(struct set *set, const void *data, size_t size, uint32_t process)
{
    uint32_t count = set->object.facts.count;
    int32_t value;

    if (size != count * sizeof(value))
        return -EPROTO;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&value, (const uint8_t *)data + i * sizeof(value), sizeof(value));
        if (value < 0 || value > SEM_VALUE_MAX)
            return -ERANGE;
    }
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&value, (const uint8_t *)data + i * sizeof(value), sizeof(value));
        set->values[i] = (struct semaphore){.value = value, .pid = process};
        forget_changes(set, i);
    }
    return 0;
}

static int64_t control(const struct ipc_call *call, const void *data, size_t size, void *result, size_t room,
                       struct file_answer *answer, struct file **notify, bool *removed)
{
    bool sets_value = call->flags == SEM_SET_VALUE || call->flags == SEM_SET_ALL;
    bool owners = call->flags == IPC_REMOVE || call->flags == IPC_SET;
    struct ipc_object *object;
    struct set *set;
    int64_t error = ipc_find(&sets, call, owners ? 0 : sets_value ? MAY_WRITE : MAY_READ, &object);

    if (error == 0 && owners)
        error = ipc_owner(object, call);
    if (error != 0)
        return error;
    set = set_of(object);
    if ((call->flags == SEM_GET_VALUE || call->flags == SEM_GET_PID || call->flags == SEM_GET_WAITERS ||
         call->flags == SEM_GET_ZERO_WAITERS || call->flags == SEM_SET_VALUE) &&
        (call->a < 0 || call->a >= object->facts.count))
        return -EINVAL;
    switch (call->flags) {
    case IPC_STAT:
    case IPC_SET:
        return ipc_facts(object, call, data, size, result, room, answer);
    case IPC_REMOVE:
        ipc_remove(&sets, object, notify);
        *removed = true;
        drop(object);
        return 0;
    case SEM_GET_VALUE:
        return set->values[call->a].value;
    case SEM_GET_PID:
        return set->values[call->a].pid;
    case SEM_GET_WAITERS:
    case SEM_GET_ZERO_WAITERS:
        return count_waiters(set, (uint32_t)call->a, call->flags == SEM_GET_ZERO_WAITERS);
    case SEM_GET_ALL:
        if (room < object->facts.count * sizeof(int32_t))
            return -EPROTO;
        for (uint32_t i = 0; i < object->facts.count; i++)
            memcpy((uint8_t *)result + i * sizeof(int32_t), &set->values[i].value, sizeof(int32_t));
        answer->seen = object->facts.count * sizeof(int32_t);
        return 0;
    case SEM_SET_VALUE:
        if (call->b < 0 || call->b > SEM_VALUE_MAX)
            return -ERANGE;
        set->values[call->a].value = (int32_t)call->b;
        set->values[call->a].pid = call->pid;
        forget_changes(set, (uint32_t)call->a);
        break;
    case SEM_SET_ALL:
        error = set_all(set, data, size, call->pid);
        if (error != 0)
            return error;
        break;
    default:
        return -EINVAL;
    }
    object->facts.changed = node_now();
    changed(set, notify);
    return 0;
}

/* Returns 0; or the result of the call, which was done (1) or refused meanwhile. */
static int64_t give_up(const struct ipc_call *call)
{
    struct ipc_object *object;
    int64_t result;

    if (ipc_find(&sets, call, 0, &object) != 0 || !forget_waiter(set_of(object), call->task, &result))
        return 0;
    return result == 0 ? 1 : result;
}

int64_t sem_do(const struct ipc_call *call, uint32_t kernel, const void *data, size_t size, void *result, size_t room,
               struct file_answer *answer, struct file **notify, bool *removed)
{
    switch (call->operation) {
    case IPC_SEM_GET:
        return ipc_get(&sets, call, set_size((size_t)call->a), make, fits, drop);
    case IPC_SEM_OPERATE:
        if (size == 0 || size % sizeof(struct ipc_step) != 0 || size / sizeof(struct ipc_step) > SEM_OPERATIONS_MAX)
            return -EPROTO;
        return operate(call, kernel, data, size / sizeof(struct ipc_step), answer, notify);
    case IPC_SEM_GIVE_UP:
        return give_up(call);
    case IPC_SEM_CONTROL:
        if (call->flags == IPC_NEXT)
            return ipc_next_facts(&sets, call, result, room, answer);
        return control(call, data, size, result, room, answer, notify, removed);
    default:
        return -EPROTO;
    }
}

/* Undoes PROCESS's changes of SET, limited to valid values (semop(2)). False: PROCESS has no SEM_UNDO in this set. */
static bool undo_one(struct set *set, uint32_t process, struct file **notify)
{
    struct undo *undo = find_undo(set, process);

    if (undo == NULL)
        return false;
    for (uint32_t i = 0; i < set->object.facts.count; i++) {
        int32_t value = set->values[i].value + undo->changes[i];

        if (undo->changes[i] == 0)
            continue;
        set->values[i].value = value < 0 ? 0 : value > SEM_VALUE_MAX ? SEM_VALUE_MAX : value;
        set->values[i].pid = process;
    }
    undo_free(set, undo);
    set->object.facts.done_in = node_now();
    changed(set, notify);
    return true;
}

void sem_undo(uint32_t process)
{
    uint32_t index = 0;
    bool more = true;

    while (more) {
        struct file *notify = NULL;

        spin_lock(&ipc_lock);
        while (index < sets.used &&
               (sets.objects[index] == NULL || !undo_one(set_of(sets.objects[index]), process, &notify)))
            index++;
        more = index < sets.used;
        spin_unlock(&ipc_lock);
        ipc_notify(notify, false);
    }
}

/* A process at home on KERNEL that has changes to undo in the set at INDEX; 0: none. */
static uint32_t process_of_locked(uint32_t index, uint32_t kernel)
{
    if (sets.objects[index] == NULL)
        return 0;
    list_for_each(at, &set_of(sets.objects[index])->undos) {
        const struct undo *undo = container_of(at, const struct undo, node);

        if (process_home(undo->process) == kernel)
            return undo->process;
    }
    return 0;
}

/* KERNEL has died: its tasks take nothing any more. */
static void forget_kernel(struct set *set, uint32_t kernel)
{
    list_for_each_safe(at, &set->waiters) {
        struct waiter *waiter = container_of(at, struct waiter, node);

        if (waiter->kernel == kernel)
            stop_waiting(set, waiter);
    }
    list_for_each_safe(at, &set->done) {
        struct waiter *waiter = container_of(at, struct waiter, node);

        if (waiter->kernel == kernel) {
            list_remove(&waiter->node);
            waiter_free(waiter);
        }
    }
}

void sem_lost(uint32_t kernel)
{
    uint32_t process;

    spin_lock(&ipc_lock);
    for (uint32_t i = 0; i < sets.used; i++) {
        if (sets.objects[i] != NULL)
            forget_kernel(set_of(sets.objects[i]), kernel);
        while (i < sets.used &&
               (process = process_of_locked(i, kernel)) != 0) { /* in all sets: those before have none any more */
            spin_unlock(&ipc_lock);
            sem_undo(process);
            slice_check();
            spin_lock(&ipc_lock);
        }
        spin_unlock(&ipc_lock);
        slice_check();
        spin_lock(&ipc_lock);
    }
    spin_unlock(&ipc_lock);
}

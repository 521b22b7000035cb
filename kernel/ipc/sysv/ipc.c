/* System V objects: their ids, keys and owners, and the dispatch of calls. See the header. */
#include "kernel/ipc/sysv/ipc.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/permission.h"
#include "kernel/fs/node/node.h"
#include "kernel/ipc/mqueue/mqueue.h"
#include "kernel/ipc/sysv/internal.h"
#include "kernel/ipc/sysv/shm.h"
#include "kernel/lib/string.h"
#include "tasks/quota/quota.h"
#include "tasks/remote/operation.h"

#define SEQUENCE_MAX 65535u

struct spinlock ipc_lock;

/* An object's file is never read or written: waiters only watch its events. */
static uint32_t never_ready(struct file *file)
{
    (void)file;
    return 0;
}

static const struct file_kind ipc_kind = {.owned = true, .poll = never_ready};

static bool is_owner(const struct ipc_object *object, const struct ipc_call *call)
{
    uint32_t user = call->user.uid;

    return user == 0 || user == object->facts.uid || user == object->facts.creator_uid;
}

int64_t ipc_owner(const struct ipc_object *object, const struct ipc_call *call)
{
    return is_owner(object, call) ? 0 : -EPERM;
}

/* As permission_check, but the creator and its group count as the owner's. */
static int check(const struct ipc_object *object, const struct ipc_call *call, uint32_t may)
{
    const struct ipc_facts *facts = &object->facts;
    const struct file_user *user = &call->user;
    uint32_t uid = user->uid == facts->creator_uid ? user->uid : facts->uid;
    uint32_t gid = permission_in_group(user, facts->creator_gid) ? facts->creator_gid : facts->gid;

    return permission_check(user, facts->mode, uid, gid, may);
}

static struct ipc_object *find_key(const struct ipc_kind *kind, int32_t key)
{
    for (uint32_t i = 0; i < kind->used; i++) {
        if (kind->objects[i] != NULL && kind->objects[i]->facts.key == key)
            return kind->objects[i];
    }
    return NULL;
}

int ipc_charge(const struct ipc_call *call, uint64_t size, int over)
{
    return quota_take(QUOTA_IPC_BYTES, call->user.uid, size, quota_limit(QUOTA_IPC_BYTES), over);
}

void ipc_give_back(uint32_t uid, uint64_t size)
{
    quota_give(QUOTA_IPC_BYTES, uid, size);
}

static int64_t add(struct ipc_kind *kind, struct ipc_object *object, const struct ipc_call *call)
{
    struct file_facts facts = {.device = ANONYMOUS_DEVICE};
    uint32_t index = kind->used, own = 0;

    for (uint32_t i = kind->used; i-- > 0;) {
        if (kind->objects[i] == NULL)
            index = i;
        else
            own += kind->objects[i]->facts.creator_uid == call->user.uid ? 1 : 0;
    }
    if (index == IPC_OBJECTS_MAX || (call->user.uid != 0 && own >= IPC_OBJECTS_MAX / 2))
        return -ENOSPC;
    if (!kind->silent && (object->file = file_create(&ipc_kind, &facts, 0, NULL, NULL)) == NULL)
        return -ENOMEM;
    object->index = index;
    object->facts.sequence = kind->sequence;
    object->id = (int32_t)((kind->sequence % SEQUENCE_MAX) * IPC_SLOTS + index);
    kind->sequence++;
    object->facts.key = call->key;
    object->facts.mode = call->flags & 0777;
    object->facts.uid = object->facts.creator_uid = call->user.uid;
    object->facts.gid = object->facts.creator_gid = call->user.gid;
    object->facts.changed = node_now();
    kind->objects[index] = object;
    if (index == kind->used)
        kind->used++;
    return object->id;
}

int64_t ipc_get(struct ipc_kind *kind, const struct ipc_call *call, uint64_t cost,
                int (*make)(const struct ipc_call *, struct ipc_object **),
                bool (*fits)(const struct ipc_object *, const struct ipc_call *), void (*drop)(struct ipc_object *))
{
    struct ipc_object *object = call->key != (int32_t)IPC_PRIVATE ? find_key(kind, call->key) : NULL;
    uint32_t may = call->flags | call->flags >> 3 | call->flags >> 6; /* access that the mode asks for */
    int64_t result;

    if (object != NULL) {
        if ((call->flags & IPC_CREATE) != 0 && (call->flags & IPC_EXCLUSIVE) != 0)
            return -EEXIST;
        if (!fits(object, call))
            return -EINVAL;
        may &= MAY_READ | MAY_WRITE | MAY_EXECUTE;
        /* root needs no permission, not even to execute: CAP_IPC_OWNER */
        return call->user.uid != 0 && check(object, call, may) != 0 ? -EACCES : object->id;
    }
    if (call->key != (int32_t)IPC_PRIVATE && (call->flags & IPC_CREATE) == 0)
        return -ENOENT;
    if (!fits(NULL, call))
        return -EINVAL;
    result = ipc_charge(call, cost, -ENOSPC);
    if (result != 0)
        return result;
    object = NULL;
    result = make(call, &object);
    if (result == 0)
        result = add(kind, object, call);
    if (result >= 0) {
        object->cost = cost;
        return result;
    }
    if (object != NULL)
        drop(object);
    ipc_give_back(call->user.uid, cost);
    return result;
}

struct ipc_object *ipc_at(const struct ipc_kind *kind, uint32_t id)
{
    return id % IPC_SLOTS < kind->used ? kind->objects[id % IPC_SLOTS] : NULL;
}

struct ipc_object *ipc_next(const struct ipc_kind *kind, const struct ipc_object *object)
{
    uint32_t index = object != NULL ? object->index + 1 : 0;

    while (index < kind->used && kind->objects[index] == NULL)
        index++;
    return index < kind->used ? kind->objects[index] : NULL;
}

int64_t ipc_find(struct ipc_kind *kind, const struct ipc_call *call, uint32_t may, struct ipc_object **out)
{
    *out = call->id >= 0 ? ipc_at(kind, (uint32_t)call->id) : NULL;
    if (*out == NULL || (*out)->id != call->id)
        return (call->flags & IPC_AGAIN) != 0 ? -EIDRM : -EINVAL;
    return may != 0 && check(*out, call, may) != 0 ? -EACCES : 0;
}

int64_t ipc_next_facts(const struct ipc_kind *kind, const struct ipc_call *call, void *result, size_t room,
                       struct file_answer *answer)
{
    struct ipc_call stat = {.flags = IPC_STAT};
    struct ipc_object *object = NULL;
    int64_t error;

    do {
        object = ipc_next(kind, object);
    } while (object != NULL && (int64_t)object->index < call->id);
    if (object == NULL)
        return -EINVAL;
    error = ipc_facts(object, &stat, NULL, 0, result, room, answer);
    return error != 0 ? error : object->id;
}

int64_t ipc_facts(struct ipc_object *object, const struct ipc_call *call, const void *data, size_t size, void *result,
                  size_t room, struct file_answer *answer)
{
    struct ipc_facts new;

    if (call->flags == IPC_STAT) {
        if (room < sizeof(object->facts))
            return -EPROTO;
        memcpy(result, &object->facts, sizeof(object->facts));
        answer->seen = sizeof(object->facts);
        return 0;
    }
    if (size != sizeof(new))
        return -EPROTO;
    memcpy(&new, data, sizeof(new));
    if (new.uid == UINT32_MAX || new.gid == UINT32_MAX)
        return -EINVAL;
    object->facts.uid = new.uid;
    object->facts.gid = new.gid;
    object->facts.mode = (object->facts.mode & ~0777u) | (new.mode & 0777);
    object->facts.changed = node_now();
    return 0;
}

void ipc_changed(struct ipc_object *object, struct file **notify)
{
    if (!object->wanted)
        return;
    object->wanted = false;
    file_pin(object->file);
    *notify = object->file;
}

void ipc_remove(struct ipc_kind *kind, struct ipc_object *object, struct file **notify)
{
    ipc_give_back(object->facts.creator_uid, object->cost);
    kind->objects[object->index] = NULL;
    while (kind->used > 0 && kind->objects[kind->used - 1] == NULL)
        kind->used--;
    if (object->file != NULL)
        file_pin(object->file);
    *notify = object->file;
}

void ipc_notify(struct file *file, bool removed)
{
    if (file == NULL)
        return;
    if (removed)
        file_close(file); /* waiters find that it is closed, and ask again */
    else
        file_event(file->events);
    file_unpin(file);
}

int64_t ipc_wait(struct ipc_object *object, const struct ipc_call *call, struct file_answer *answer)
{
    if ((call->flags & IPC_NO_WAIT) != 0)
        return -EAGAIN;
    object->wanted = true;
    answer->id = object->file->id;
    answer->seen = __atomic_load_n(&object->file->events->source.events, __ATOMIC_ACQUIRE);
    answer->flags = FILE_MAY_WAIT;
    return -EAGAIN;
}

static int64_t serve_object(const struct ipc_call *call, uint32_t kernel, const void *data, size_t size, void *result,
                            struct file_answer *answer)
{
    struct segment *gone = NULL;
    struct file *notify = NULL;
    bool removed = false;
    int64_t value;

    spin_lock(&ipc_lock);
    value = call->operation >= IPC_SHM_GET ? shm_do(call, data, size, result, call->room, answer, &gone)
            : call->operation < IPC_MSG_GET
                ? sem_do(call, kernel, data, size, result, call->room, answer, &notify, &removed)
                : queue_do(call, data, size, result, call->room, answer, &notify, &removed);
    spin_unlock(&ipc_lock);
    shm_end(gone);
    ipc_notify(notify, removed);
    return value;
}

/* IPC. Never waits. */
static int serve(const struct remote_request *request, void *result)
{
    const struct ipc_call *call = request->data;
    size_t size = request->length - sizeof(*call);
    struct file_answer *answer = result;

    *answer = (struct file_answer){.kernel = 0};
    if (call->user.count > FILE_USER_GROUPS)
        return -EPROTO;
    switch (call->operation) {
    case IPC_SEM_UNDO:
        sem_undo(call->pid);
        break;
    case IPC_QUEUE_OPEN:
        answer->value = mqueue_open(call, (const char *)(call + 1), size, answer);
        break;
    case IPC_QUEUE_UNLINK:
        answer->value = mqueue_unlink(call, (const char *)(call + 1), size);
        break;
    default:
        answer->value = serve_object(call, request->kernel, call + 1, size, answer + 1, answer);
    }
    return (int)(sizeof(*answer) + (answer->value >= 0 ? answer->seen : 0));
}

static int room_of(const struct remote_request *request)
{
    const struct ipc_call *call = request->data;

    return call->room <= FILE_CHUNK ? (int)(sizeof(struct file_answer) + call->room) : -EPROTO;
}

void ipc_init(void)
{
    REMOTE_SERVE(IPC, serve, room_of, struct ipc_call, struct file_answer);
}

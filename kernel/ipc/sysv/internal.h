/* What semaphores and message queues share: ids, keys, owners. Under ipc_lock. */
#ifndef KERNEL_IPC_SYSV_INTERNAL_H
#define KERNEL_IPC_SYSV_INTERNAL_H

#include "kernel/file/file.h"
#include "kernel/ipc/sysv/ipc.h"

struct ipc_object {
    int32_t id;
    uint32_t index;
    struct ipc_facts facts;
    struct file *file; /* stands for it where somebody waits: its id and events; one open, ours */
    bool wanted;       /* somebody waits for a change */
};

struct ipc_kind { /* a name space of ids and keys */
    struct ipc_object *objects[IPC_OBJECTS_MAX];
    uint32_t used;     /* none is in use from here on */
    uint32_t sequence; /* of the next object */
    bool silent;       /* nobody waits for one: it has no file */
};

extern struct spinlock ipc_lock; /* before those of files */

/* The id of the object with CALL's key, or of a new one that MAKE gives, whose facts are set. */
int64_t ipc_get(struct ipc_kind *kind, const struct ipc_call *call, struct ipc_object *(*make)(const struct ipc_call *),
                bool (*fits)(const struct ipc_object *, const struct ipc_call *), void (*drop)(struct ipc_object *));
/* The object ID, if CALL's user may do MAY (MAY_*; 0: whatever it is) with it. -EINVAL, -EIDRM, -EACCES. */
int64_t ipc_find(struct ipc_kind *kind, const struct ipc_call *call, uint32_t may, struct ipc_object **out);
/* The one that has ID's index, or NULL; and the first one behind OBJECT (NULL: of all), or NULL. */
struct ipc_object *ipc_at(const struct ipc_kind *kind, uint32_t id);
struct ipc_object *ipc_next(const struct ipc_kind *kind, const struct ipc_object *object);
/* IPC_STAT, IPC_SET: 0 or an error. */
int64_t ipc_facts(struct ipc_object *object, const struct ipc_call *call, const void *data, size_t size, void *result,
                  size_t room, struct file_answer *answer);
/* IPC_NEXT: as IPC_STAT of the first object from the index CALL->id on; its id, or -EINVAL. */
int64_t ipc_next_facts(const struct ipc_kind *kind, const struct ipc_call *call, void *result, size_t room,
                       struct file_answer *answer);
/* -EPERM: CALL's user is neither owner, nor creator, nor root. */
int64_t ipc_owner(const struct ipc_object *object, const struct ipc_call *call);
/* OBJECT is no more; who waits is woken once the lock is free: *TELL is to be told and dropped (ipc_notify). */
void ipc_remove(struct ipc_kind *kind, struct ipc_object *object, struct file **tell);
/* OBJECT has changed for those who wait; as above. */
void ipc_changed(struct ipc_object *object, struct file **tell);
void ipc_notify(struct file *file, bool removed);
/* The call cannot be done now: ANSWER says what to wait for. Returns -EAGAIN. */
int64_t ipc_wait(struct ipc_object *object, const struct ipc_call *call, struct file_answer *answer);

/* Each is one step. *TELL, *REMOVED: as ipc_notify wants them, once the lock is free. */
int64_t sem_do(const struct ipc_call *call, const void *data, size_t size, void *result, size_t room,
               struct file_answer *answer, struct file **tell, bool *removed);
int64_t queue_do(const struct ipc_call *call, const void *data, size_t size, void *result, size_t room,
                 struct file_answer *answer, struct file **tell, bool *removed);
/* PROCESS has ended: what it asked to be undone is. Calls TELL for each set that has changed, without the lock. */
void sem_undo(uint32_t process);

#endif

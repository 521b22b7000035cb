/* Shared by semaphores, message queues and segments: ids, keys, owners. Under ipc_lock. */
#ifndef KERNEL_IPC_SYSV_INTERNAL_H
#define KERNEL_IPC_SYSV_INTERNAL_H

#include "kernel/file/file.h"
#include "kernel/ipc/sysv/ipc.h"

struct ipc_object {
    int32_t id;
    uint32_t index;
    struct ipc_facts facts;
    uint64_t cost;     /* bytes that its creator has for it of QUOTA_IPC_BYTES */
    struct file *file; /* has the id and the events for which waiters wait; the object owns its one open */
    bool wanted;       /* a task waits for a change */
};

struct ipc_kind { /* a name space of ids and keys */
    struct ipc_object *objects[IPC_OBJECTS_MAX];
    uint32_t used;     /* no index from here on is in use */
    uint32_t sequence; /* of the next object */
    bool silent;       /* no task waits for these objects, so they have no files */
};

extern struct spinlock ipc_lock; /* before those of files */

/* Returns the id of the object with CALL's key, if it FITS the call; or makes one with MAKE, which takes COST bytes,
 * and sets its facts. FITS is called with NULL before that. DROP frees an object that MAKE has made. -ENOSPC: the
 * machine, or CALL's user, has as many as there may be. */
int64_t ipc_get(struct ipc_kind *kind, const struct ipc_call *call, uint64_t cost,
                int (*make)(const struct ipc_call *, struct ipc_object **),
                bool (*fits)(const struct ipc_object *, const struct ipc_call *), void (*drop)(struct ipc_object *));
/* The object ID, if CALL's user has the access MAY (MAY_*; 0: no check). -EINVAL, -EIDRM, -EACCES. */
int64_t ipc_find(struct ipc_kind *kind, const struct ipc_call *call, uint32_t may, struct ipc_object **out);
/* The object at ID's index, or NULL; the next object after OBJECT (NULL: the first object), or NULL. */
struct ipc_object *ipc_at(const struct ipc_kind *kind, uint32_t id);
struct ipc_object *ipc_next(const struct ipc_kind *kind, const struct ipc_object *object);
/* Does IPC_STAT or IPC_SET on OBJECT: 0 or an error. */
int64_t ipc_facts(struct ipc_object *object, const struct ipc_call *call, const void *data, size_t size, void *result,
                  size_t room, struct file_answer *answer);
/* IPC_NEXT: IPC_STAT of the first object from index CALL->id on; returns its id, or -EINVAL. */
int64_t ipc_next_facts(const struct ipc_kind *kind, const struct ipc_call *call, void *result, size_t room,
                       struct file_answer *answer);
/* -EPERM: CALL's user is neither owner, nor creator, nor root. */
int64_t ipc_owner(const struct ipc_object *object, const struct ipc_call *call);
/* Removes OBJECT. Its waiters are woken once the lock is free: the caller then passes *TELL to ipc_notify, which
 * notifies and drops the file. */
void ipc_remove(struct ipc_kind *kind, struct ipc_object *object, struct file **notify);
/* OBJECT has changed; its waiters are woken as above. */
void ipc_changed(struct ipc_object *object, struct file **notify);
/* Takes SIZE bytes from CALL's user: 0, -ENOMEM, or OVER, the user's limit. Gives them back to user UID. */
int ipc_charge(const struct ipc_call *call, uint64_t size, int over);
void ipc_give_back(uint32_t uid, uint64_t size);
void ipc_notify(struct file *file, bool removed);
/* For a call that cannot be done now: sets ANSWER so that the caller waits for OBJECT's next event. Returns -EAGAIN. */
int64_t ipc_wait(struct ipc_object *object, const struct ipc_call *call, struct file_answer *answer);

/* Each performs one call, of a task on KERNEL, as one step under ipc_lock. *TELL and *REMOVED are the arguments of
 * ipc_notify, to be called once the lock is free. */
int64_t sem_do(const struct ipc_call *call, uint32_t kernel, const void *data, size_t size, void *result, size_t room,
               struct file_answer *answer, struct file **notify, bool *removed);
int64_t queue_do(const struct ipc_call *call, const void *data, size_t size, void *result, size_t room,
                 struct file_answer *answer, struct file **notify, bool *removed);
/* PROCESS has ended: undoes its operations that have SEM_UNDO, and notifies the waiters of each changed set without the
 * lock. */
void sem_undo(uint32_t process);

#endif

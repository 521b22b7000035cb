/* Requests (IPC) by which any kernel asks kernel 0, which has all objects, for System V IPC and the names of message
 * queues. kernel/ipc/sysv performs them, kernel/ipc/mqueue those for POSIX message queues. */
#ifndef KERNEL_IPC_CALL_H
#define KERNEL_IPC_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/file/wire.h"

enum ipc_operation {
    IPC_SEM_GET = 1, /* key, a: semaphores, flags -> id */
    IPC_SEM_OPERATE, /* id, data: struct ipc_step; pid; a: 1: steps may be undone */
    IPC_SEM_CONTROL, /* id, a: number, flags: command, b: a value; data: int32_t values, or struct ipc_facts -> value */
    IPC_SEM_GIVE_UP, /* id, task: the task no longer waits -> 0; 1 or an errno: its call was done or refused */
    IPC_SEM_UNDO,    /* pid: the process has ended */
    IPC_MSG_GET,     /* key, flags -> id */
    IPC_MSG_SEND,    /* id, b: type, flags; data */
    IPC_MSG_RECEIVE, /* id, b: type, flags, a: bytes of room; result data: int64_t type, bytes */
    IPC_MSG_CONTROL, /* id, flags: command; data: struct ipc_facts */
    IPC_QUEUE_OPEN,  /* kernel/ipc/mqueue/mqueue.h */
    IPC_QUEUE_UNLINK, /* data: name with its NUL */
    IPC_SHM_GET,      /* kernel/ipc/sysv/shm.h. key, a: bytes, flags -> id */
    IPC_SHM_ATTACH,   /* id, flags: of shmat, a: the home; result data: struct shm_answer */
    IPC_SHM_CONTROL   /* id, or an index; flags: command; data: struct ipc_facts, or struct shm_seen of object b; result
                         data: struct shm_answer */
};

struct ipc_call { /* IPC; data follows */
    uint32_t operation;
    uint32_t flags;
    int32_t id, key;
    int64_t a, b;
    uint32_t pid;
    uint32_t task; /* IPC_SEM_OPERATE: the task that waits if the call cannot be done now; IPC_SEM_GIVE_UP. For
                    * IPC_QUEUE_OPEN: the caller's RLIMIT_MSGQUEUE, at most UINT32_MAX */
    uint32_t room; /* bytes of result data that the caller has room for; set by ipc_ask */
    uint32_t pad;
    struct file_user user; /* effective ids */
};

/* Sends the SIZE bytes at CALL, the call and its data, to kernel 0, and returns the answer's value. If it is not
 * negative, ANSWER->seen is the number of bytes of result data. Tasks only; waits for the answer only. */
int64_t ipc_ask(struct ipc_call *call, size_t size, void *result, size_t room, struct file_answer *answer);
/* TASK no longer waits for the semaphores ID. Returns 0; or the result of its call, which was done (1) or refused
 * meanwhile. Tasks only; waits. */
int64_t ipc_give_up(int32_t id, uint32_t task);
/* PROCESS has ended: undoes its semaphore operations that have SEM_UNDO. Tasks only; waits. */
void ipc_undo(uint32_t process);

#endif

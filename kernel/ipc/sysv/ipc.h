/* System V semaphores and message queues (sysvipc(7)). All are kernel 0's, which never stops, so ids and waits stay
 * valid. Each call is one step on kernel 0 (one IPC message from another kernel). A call that cannot be done now
 * returns -EAGAIN with the count of the object's events, as for files. kernel/ipc/sysv/ipc.md. */
#ifndef KERNEL_IPC_SYSV_IPC_H
#define KERNEL_IPC_SYSV_IPC_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/ipc/call.h"

#define IPC_PRIVATE 0u
#define IPC_CREATE 01000u
#define IPC_EXCLUSIVE 02000u
#define IPC_NO_WAIT 04000u
#define IPC_AGAIN 0x80000000u /* Kettle's: the call has waited before, so a missing object was removed: EIDRM */
#define IPC_REMOVE 0u         /* commands of *ctl */
#define IPC_SET 1u
#define IPC_STAT 2u
#define IPC_INFO 3u
#define IPC_NEXT                                                                                                       \
    0x1000u /* Kettle's: IPC_STAT of the first object from index ID on, without a permission check; the value is its   \
               id */
#define SEM_UNDO 0x1000u
#define SEM_GET_PID 11u
#define SEM_GET_VALUE 12u
#define SEM_GET_ALL 13u
#define SEM_GET_WAITERS 14u
#define SEM_GET_ZERO_WAITERS 15u
#define SEM_SET_VALUE 16u
#define SEM_SET_ALL 17u
#define MSG_NO_ERROR 010000u
#define MSG_EXCEPT 020000u
#define MSG_COPY 040000u

#define SEM_VALUE_MAX 32767
#define SEM_COUNT_MAX 4096u /* of a set; Linux: 32000 */
#define SEM_OPERATIONS_MAX 500u
#define IPC_MESSAGE_MAX 8192u /* bytes of a message */
#define IPC_QUEUE_MAX 16384u  /* bytes of a queue, unless another limit is set */
#define IPC_OBJECTS_MAX 4096u /* of each kind: sets, queues, segments */
#define IPC_SLOTS 32768u      /* as on Linux: an id is a sequence number times this plus an index */

struct ipc_step { /* struct sembuf */
    uint16_t number;
    int16_t change;
    uint16_t flags;
};

struct ipc_facts { /* the result of IPC_STAT; IPC_SET takes some of the fields */
    int32_t key;
    uint32_t uid, gid, creator_uid, creator_gid, mode, sequence;
    uint32_t count;                      /* semaphores; messages */
    uint64_t bytes, bytes_max;           /* of a queue */
    uint64_t changed, done_in, done_out; /* ns since 1970: ctime; otime or stime; rtime */
    uint32_t pid_in, pid_out;
};

/* KERNEL has died: undoes the semaphore operations with SEM_UNDO of processes at home there. Any context without locks.
 */
void sem_lost(uint32_t kernel);
/* Registers IPC. Once. */
void ipc_init(void);

#endif

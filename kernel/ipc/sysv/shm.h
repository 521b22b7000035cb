/* System V shared memory (shmget(2)). A segment is a node without a name (kernel/fs/node/node.h) on kernel 0, with an
 * id and a key as the other System V objects have them; the areas that attach it are backed by the node like those of a
 * mapped file (mm/file/file_map.md), and marked BACKING_ATTACHED. So each page has one frame in the machine, and only
 * the homes of the spaces know how many areas there are: a caller that needs the number asks them.
 * kernel/ipc/sysv/shm.md. */
#ifndef KERNEL_IPC_SYSV_SHM_H
#define KERNEL_IPC_SYSV_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/ipc/sysv/ipc.h"
#include "mm/file/hold.h"

#define SHM_MAX (UINT64_MAX - (1ull << 24)) /* bytes of a segment, and pages of all, as Linux's defaults */

#define SHM_HUGETLB 04000u /* flags of shmget */
#define SHM_NORESERVE 010000u
#define SHM_READ_ONLY 010000u /* flags of shmat */
#define SHM_ROUND 020000u
#define SHM_REMAP 040000u
#define SHM_EXECUTE 0100000u
#define SHM_REMOVED 01000u /* in a segment's mode: it is freed when it is no longer attached */
#define SHM_LOCKED 02000u

#define SHM_LOCK 11u /* commands of shmctl, besides those of ipc.h */
#define SHM_UNLOCK 12u
#define SHM_STAT 13u
#define SHM_INFO 14u
#define SHM_STAT_ANY 15u
#define SHM_NEXT IPC_NEXT
#define SHM_TO_SETTLE (IPC_NEXT + 1) /* Kettle's: as SHM_NEXT, among removed segments that are still granted */

/* Result data of IPC_SHM_ATTACH and IPC_SHM_CONTROL. */
struct shm_answer {
    uint64_t backing;  /* the segment's object; IPC_SHM_ATTACH has granted it once more to the home */
    uint64_t kernels;  /* not 0: nothing was done; the caller asks these homes (file_hold_ask) and repeats the call with
                          their answers */
    uint64_t size;     /* bytes, not rounded */
    uint64_t resident; /* pages that have a frame */
    struct ipc_facts facts; /* count: areas attached; bytes: size; done_in, done_out: times of the last attach and
                               detach; pid_in: the creator; pid_out: the process that attached or detached last */
    int32_t id;
    uint32_t used; /* IPC_INFO, SHM_INFO: number of segments; PAGES: their pages */
    uint64_t pages;
    uint32_t granted[KERNELS_MAX]; /* grants of each of KERNELS at this time */
};

struct shm_seen { /* data of IPC_SHM_CONTROL: the homes' answers about the object that B of the call names */
    uint32_t kernel;
    uint32_t granted; /* its grants, as kernel 0 knew them before KERNEL was asked */
    struct file_held held;
};

/* --- kernel 0; none waits --- */

/* One step of IPC_SHM_*, under ipc_lock. *GONE: a segment that was removed, to be passed to shm_end without the
 * lock. */
struct segment;
int64_t shm_do(const struct ipc_call *call, const void *data, size_t size, void *result, size_t room,
               struct file_answer *answer, struct segment **gone);
void shm_end(struct segment *gone);

/* --- any kernel: kernel/ipc/sysv/shm_ask.c --- */

/* Sends CALL to kernel 0, and asks the homes if kernel 0 needs their answers. ANSWER is not set on an error. Tasks
 * only; waits. */
int64_t shm_ask(struct ipc_call *call, const struct ipc_facts *facts, struct shm_answer *answer);
/* Frees removed segments that no area attaches any more, before segments are counted. Tasks only; waits. */
int64_t shm_settle(void);
#endif

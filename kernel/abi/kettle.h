/* Kettle's own system calls: numbers and shared constants. libc/kettle.h is the interface for programs.
 *
 * The numbers lie far above Linux's. A Linux kernel returns ENOSYS for them, which libc/kettle.c turns into the
 * behaviour of a machine with one kernel where that is possible. */
#ifndef KERNEL_ABI_KETTLE_H
#define KERNEL_ABI_KETTLE_H

#define KETTLE_CALL_BASE 0x4b00

#define KETTLE_CALL_MIGRATE 0x4b00   /* (int kernel) -> 0 */
#define KETTLE_CALL_KERNEL 0x4b01    /* () -> number of the kernel the caller runs on */
#define KETTLE_CALL_KERNELS 0x4b02   /* () -> number of kernels in the plan */
#define KETTLE_CALL_NODE 0x4b03      /* (int kernel) -> its NUMA node */
#define KETTLE_CALL_START 0x4b04     /* (int kernel) -> 0 when it runs */
#define KETTLE_CALL_STARTED 0x4b05   /* (int kernel) -> 1 or 0 */
#define KETTLE_CALL_SPAWN 0x4b06     /* (kernel, path, argv, envp, fds, number of fds) -> process id */
#define KETTLE_CALL_MESSAGES 0x4b07  /* (struct kettle_messages *) -> 0 */
#define KETTLE_CALL_TALLY 0x4b08     /* (int from, struct kettle_tally *) -> 0 */
#define KETTLE_CALL_CONTROL 0x4b09   /* (const char *words) -> 0 */
#define KETTLE_CALL_STOP 0x4b0a      /* (int kernel) -> 0 when it does not run any more */
#define KETTLE_CALL_AUDIT 0x4b0b     /* (process id, char *report, size_t size) -> violations */
#define KETTLE_CALL_RETRIEVE 0x4b0c  /* (process id, const char *strategy) -> 0 */
#define KETTLE_CALL_LOCK 0x4b0d      /* (address, size_t length) -> 0 */
#define KETTLE_CALL_KILL 0x4b0e      /* (int kernel, int how) -> 0 when it has died and the others have cleaned up */
#define KETTLE_CALL_NUMA 0x4b0f      /* (process id, const char *policy) -> 0 */
#define KETTLE_CALL_IMAGE 0x4b10     /* (int kernel, path) -> 0 when it runs from this image; kernel -1: if one could */
#define KETTLE_CALL_REPLICATE 0x4b11 /* (address, size_t length) -> pages that are replicated */
#define KETTLE_CALL_FOLLOW 0x4b12    /* (address, size_t length, nodes, const char *policy) -> 0 */
#define KETTLE_CALL_GROUP 0x4b13     /* (thread id, int group) -> 0; group -1: -> its NUMA group */
#define KETTLE_CALL_GATHER 0x4b14    /* (address, size_t length, int group) -> 0 */
#define KETTLE_CALL_COUNT 21

/* How kettle_kill ends a kernel. */
#define KETTLE_KILL_NOW 0   /* its CPUs stop wherever they are */
#define KETTLE_KILL_PANIC 1 /* it panics */
#define KETTLE_KILL_SPIN 2  /* it runs on without taking interrupts */
#define KETTLE_KILL_HALT 3  /* its first CPU halts without taking interrupts */

#include <stdint.h>

/* The operation that kettle_messages repeats COUNT times. */
#define KETTLE_MESSAGES_ONE_WAY 0    /* a one-way message to each kernel of the set in turn */
#define KETTLE_MESSAGES_ROUND_TRIP 1 /* a request to one kernel of the set, in turn, answered with the same bytes */
#define KETTLE_MESSAGES_MULTICAST 2  /* one request to the whole set through relays; all answers are gathered */
#define KETTLE_MESSAGES_UNICAST 3    /* one request to each kernel of the set, one after another */
#define KETTLE_MESSAGES_HANDLER 4    /* as ROUND_TRIP with 48 bytes, but the sending thread never sleeps */
#define KETTLE_MESSAGES_HOSTILE 5    /* a message as no correct kernel sends it, by the seed (root only) */

struct kettle_messages {
    uint32_t operation; /* KETTLE_MESSAGES_* */
    uint32_t size;    /* HOSTILE: the id of a process that the messages may damage; else bytes, 0 to 65536; at most 4096
                         for MULTICAST, 48 for HANDLER and urgent ones */
    uint64_t kernels; /* set of kernels, bit k for kernel k, without the caller's own */
    uint32_t count;   /* operations, 1 to 2^31 - 1 */
    uint32_t urgent;  /* 1: in the class of system-critical messages; HOSTILE: 0, or only type - 1 */
    uint64_t seed;    /* of the content, which the receiver checks; 0: messages are only counted */
    uint64_t *samples; /* COUNT times in ns, one for each operation (ONE_WAY: until it was sent), or NULL */
};

/* One-way messages that a kernel has received from another since boot. */
struct kettle_tally {
    uint64_t messages, bytes;
    uint64_t out_of_order;  /* messages that do not follow their predecessor: one was lost, duplicated or overtaken */
    uint64_t wrong_content; /* messages whose content does not match the sender's seed */
};

#endif

/* Channels: this instance's rings to and from every other, doorbells, sending, and the dispatch of what arrives.
 * The protocol is in msg/PROTOCOL.md; asking is in msg/call.h.
 *
 * Handlers run with interrupts off on whichever CPU polls, one at a time in an instance. They never wait; what they
 * send goes out at once or is put into a queue of the peer's. */
#ifndef MSG_CHANNEL_H
#define MSG_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/lib/list.h"
#include "msg/message.h"

typedef void (*msg_handler)(const struct msg *m);

/* Memory comes from above: SIZE zeroed bytes, 64-byte aligned up to a page, or NULL; or with whatever was there before.
 * Never waits. */
struct msg_memory {
    void *(*allocate)(size_t size);
    void *(*allocate_unset)(size_t size);
    void (*release)(void *object, size_t size);
};

/* Opens the receiving side and prepares the sending side to every kernel of the plan. */
void msg_init(const struct msg_memory *memory);
/* Registers what handles messages of TYPE, once per type, before messages can arrive. SIZE and REPLY_SIZE are those of
 * the payload structs: a message of another length (a shorter one, where the table says BYTES) is dropped and never
 * reaches the handler, or the asker. REPLY_SIZE of a notice is 0. */
void msg_register(enum msg_type type, msg_handler handler, uint32_t size, uint32_t reply_size);

/* The channel to a peer is mapped at VA as physical address PA, and if WRITE may be written there. */
bool msg_maps(uint64_t va, uint64_t pa, bool write);

/* From now on KERNEL may be sent to: it has opened its rings. */
void msg_peer_reach(uint32_t kernel);
bool msg_peer_reachable(uint32_t kernel);
/* All others that may be sent to now. */
kernel_set msg_peers_reachable(void);
/* From now on programs may go to KERNEL: every kernel that runs can reach it. boot/boot.md has the protocol. */
void msg_peer_start(uint32_t kernel);
bool msg_peer_started(uint32_t kernel);
/* Programs do not go there any more; it may still be sent to. */
void msg_peer_leave(uint32_t kernel);

/* A time after every one that was sent or seen here before: the channel's clock (msg/PROTOCOL.md, Time), in units of 32
 * counts. Any context. */
uint64_t msg_time(void);

/* Sends a notice. Waits while the ring is full: tasks only. -EAGAIN: the kernel cannot be reached yet; -EINVAL: no such
 * kernel, or ourselves. */
int msg_notify(uint32_t kernel, enum msg_type type, const void *data, uint32_t length);

/* A message that waits for room in its ring, in the memory of whoever sends it. */
struct msg_outgoing {
    struct list node;                            /* [k] the peer's tx_lock */
    uint64_t header;                             /* of fragment 0 */
    const uint8_t *data;                         /* valid until done */
    uint32_t fragment;                           /* [k] tx_lock: the next one */
    uint8_t class;                               /* enum msg_class */
    volatile bool queued;                        /* [k] tx_lock: waits for room, at least with its last fragment */
    void (*done)(struct msg_outgoing *outgoing); /* it has gone: the memory is free again. Must not wait. NULL: none */
};
/* As msg_notify, but never waits: any context. OUTGOING and DATA stay as they are until DONE is called (or DONE is NULL
 * and OUTGOING is never given back), perhaps before this returns. KERNEL has sent us something, so it can be reached.
 */
void msg_post(struct msg_outgoing *outgoing, uint32_t kernel, enum msg_type type, const void *data, uint32_t length,
              void (*done)(struct msg_outgoing *outgoing));

/* Answers a request in its handler, in at most one slot, which always has room. Never waits. */
void msg_reply(const struct msg_ticket *ticket, const void *data, uint32_t length);
void msg_reply_error(const struct msg_ticket *ticket, int error);

/* A request that its handler does not answer: it is kept, and answered later, once. The memory is the keeper's, part of
 * what it has allocated for the request. */
struct msg_kept {
    struct list node; /* [k] kept_lock */
    struct msg_ticket ticket;
    struct msg_outgoing outgoing;
    uint64_t payload[MSG_SHORT / 8];
    void (*cancelled)(struct msg_kept *kept); /* [i] the asker has given up: a hint. In a handler, under kept_lock: it
                                                 must neither wait nor answer. Or NULL */
    void (*done)(struct msg_kept *kept);      /* see msg_kept_reply */
};

/* In the handler of M: the answer comes later, through KEPT. CANCELLED may be NULL. */
void msg_keep(const struct msg *m, struct msg_kept *kept, void (*cancelled)(struct msg_kept *kept));
/* Answers in at most one slot. DONE (or NULL) is called once KEPT is no longer used, perhaps before this returns, and
 * must not wait. Any context that holds no lock which DONE takes; never waits. */
void msg_kept_reply(struct msg_kept *kept, const void *data, uint32_t length, void (*done)(struct msg_kept *kept));
void msg_kept_reply_error(struct msg_kept *kept, int error, void (*done)(struct msg_kept *kept));
/* The same with up to MSG_MAX bytes, which stay as they are until DONE. */
void msg_kept_reply_long(struct msg_kept *kept, const void *data, uint32_t length, void (*done)(struct msg_kept *kept));

/* How many requests are kept. */
uint64_t msg_kept_count(void);
/* What this part has got and keeps for good, with the first message of a kind or a long one of a peer. */
struct msg_stays {
    uint64_t objects; /* larger than half a page */
    uint64_t bytes;   /* whole pages */
};
extern struct msg_stays msg_stays; /* under rx_lock */

/* Takes and handles what has arrived until nothing more is there, urgent messages first, peers in turn. Returns true
 * when there was any. Any context without locks; does nothing when another CPU of the instance is at it. */
bool msg_poll(void);

/* Doorbells. Armed: a sender interrupts us once, until we arm again. Disarmed: we promise to poll.
 * msg_doorbell_arm looks once more after arming and returns false, disarmed, when something has come meanwhile. Only on
 * the first CPU of the instance. */
bool msg_doorbell_arm(void);
void msg_doorbell_disarm(void);
/* The doorbell interrupt: drains and arms again. */
void msg_doorbell_interrupt(void);

/* Fault injection holds messages back in their rings: when the next of them is due, as clock_now, or 0. Somebody has to
 * poll then. */
uint64_t msg_due(void);

/* The board: words of each kernel that it alone writes and the others read without a message. What is in them is the
 * business of the parts above. A word is read and written whole; nothing orders two of them but the writer's order. */
#define MSG_BOARD_WORDS 496u
#define MSG_BOARD_LOAD 0u   /* a cache line: tasks/sched/load.h */
#define MSG_BOARD_ROOTS 8u  /* a cache line: kernel/file/root.h */
#define MSG_BOARD_FILES 16u /* the others: kernel/file/descriptor_cache.h */
volatile uint64_t *msg_board_own(void);
/* KERNEL's, or NULL: it is not in the plan. Not to be believed: another kernel writes it. Zero until it does. */
const volatile uint64_t *msg_board_of(uint32_t kernel);

/* Writes what this kernel knows of its messages to TEXT, SIZE bytes, from record *CURSOR on; returns the length and in
 * *CURSOR where to go on, 0 at the end. */
size_t msg_report(char *text, size_t size, uint64_t *cursor);
/* The same for the trace. */
size_t msg_trace_report(char *text, size_t size, uint64_t *cursor);

/* The name in messages.def, or NULL for a number that is not in use. */
const char *msg_type_name(uint32_t type);

#endif

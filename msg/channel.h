/* Channels: this instance's rings to and from every other, the doorbells, and the dispatch of what arrives.
 * The protocol is in msg/PROTOCOL.md; requests and their replies are in msg/call.h.
 *
 * Handlers run with interrupts off on whichever CPU polls, one at a time in an instance. They never wait. */
#ifndef MSG_CHANNEL_H
#define MSG_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "msg/message.h"

/* Slots of every ring that only replies may use, and so the replies an instance may have outstanding from one peer. */
#define MSG_RESERVE 16u

typedef void (*msg_handler)(const struct msg *m);

/* Memory for rings and buffers comes from above: SIZE zeroed bytes, 64-byte aligned, or NULL. */
typedef void *(*msg_allocator)(size_t size);

/* Opens the receiving side and prepares the sending side to every kernel of the plan. */
void msg_init(msg_allocator alloc);
/* Registers what handles messages of TYPE, once per type, before messages can arrive. SIZE is that of the payload
 * struct: a message of another length (a shorter one, where the table says BYTES) is dropped and never reaches the
 * handler. */
void msg_register(enum msg_type type, msg_handler handler, uint32_t size);

/* From now on KERNEL may be sent to: it has opened its rings. */
void msg_peer_reach(uint32_t kernel);
bool msg_peer_reachable(uint32_t kernel);
/* From now on programs may go to KERNEL: every kernel that runs can reach it. boot/boot.md has the protocol. */
void msg_peer_start(uint32_t kernel);
bool msg_peer_started(uint32_t kernel);

/* Sends a notice. Waits while the ring is full: tasks only. -EAGAIN: the kernel cannot be reached yet; -EINVAL: no such
 * kernel, or ourselves. */
int msg_notify(uint32_t kernel, enum msg_type type, const void *data, uint32_t length);

/* Answers a request: from its handler, in at most one slot (48 bytes), which always has room; or later from a task with
 * up to MSG_MAX bytes. */
void msg_reply(const struct msg_ticket *ticket, const void *data, uint32_t length);
void msg_reply_error(const struct msg_ticket *ticket, int error);
void msg_reply_long(const struct msg_ticket *ticket, const void *data, uint32_t length);

/* Takes and handles what has arrived, a bounded number from each peer in turn until none has more. Returns true when
 * there was any. Any context without locks; does nothing when another CPU of the instance is at it. */
bool msg_poll(void);

/* Doorbells. Armed: a sender interrupts us once, until we arm again. Disarmed: we promise to poll.
 * msg_doorbell_arm looks once more after arming and returns false, disarmed, when something has come meanwhile. */
bool msg_doorbell_arm(void);
void msg_doorbell_disarm(void);
/* The doorbell interrupt: drains and arms again. */
void msg_doorbell_interrupt(void);

/* Lamport clock: at least one more than every time sent or seen before. */
uint64_t msg_clock_tick(void);

struct msg_type_stats {
    uint64_t sent, received, bytes_sent, bytes_received;
};
struct msg_stats {
    struct msg_type_stats types[MSG_TYPES];
    uint64_t bad_type, bad_source, bad_length, bad_fragment, late_reply, no_memory; /* dropped */
    uint64_t doorbells_sent, doorbells_received, polls, full_waits;
};
const struct msg_stats *msg_stats(void);
void msg_count_late_reply(void);
/* The name in messages.def, or NULL for a number that is not in use. */
const char *msg_type_name(uint32_t type);

/* For msg/call.c: sends one message, replies with the reserve; waits for room unless it is a short reply. */
int msg_transmit(uint32_t kernel, struct msg_header *header, const void *data);
/* For msg/call.c: who takes the replies. */
void msg_set_reply_handler(void (*handler)(const struct msg_header *header, const struct msg *m));

#endif

/* Channels: this instance's rings to and from every other, doorbells, sending, and the dispatch of what arrives.
 * msg/PROTOCOL.md describes the protocol; msg/request/call.h has the requesting side.
 *
 * Handlers run with interrupts off on whichever CPU polls, one at a time in an instance. They never wait; a message
 * that they send goes out at once or is put into the queue for the peer. */
#ifndef MSG_CHANNEL_H
#define MSG_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/lib/list.h"
#include "msg/message.h"

typedef void (*msg_handler)(const struct msg *m);

/* The allocator, which a higher layer provides: SIZE bytes, 64-byte aligned up to a page, or NULL; zeroed (allocate),
 * or with unspecified contents (allocate_unset). Never waits. */
struct msg_memory {
    void *(*allocate)(size_t size);
    void *(*allocate_unset)(size_t size);
    void (*release)(void *object, size_t size);
};

/* Opens the receiving side and prepares the sending side to every kernel of the plan. */
void msg_init(const struct msg_memory *memory);
/* Registers HANDLER for messages of TYPE, once per type, before messages can arrive. SIZE and REPLY_SIZE are the sizes
 * of the payload structs: a message of another length (a shorter one, where the table says BYTES) is dropped and
 * reaches neither the handler nor the asker. REPLY_SIZE of a notice is 0. */
void msg_register(enum msg_type type, msg_handler handler, uint32_t size, uint32_t reply_size);

/* True if the channel to a peer maps physical address PA at VA and, with WRITE, maps it writable. */
bool msg_maps(uint64_t va, uint64_t pa, bool write);

/* KERNEL has opened its rings: from now on messages may be sent to it. */
void msg_peer_reach(uint32_t kernel);
bool msg_peer_reachable(uint32_t kernel);
/* Whether KERNEL has died and is fenced: msg/reset.h. */
bool msg_peer_fenced(uint32_t kernel);
/* The kernels that have died, and after which the others still clean up. */
kernel_set msg_peers_fenced(void);
/* Returns all other kernels to which messages may be sent now. */
kernel_set msg_peers_reachable(void);
/* Those of them that every running kernel can reach, as msg_peer_start has said: what they give, such as a frame,
 * others may come to ask them about. */
kernel_set msg_peers_known(void);
/* From now on programs may migrate to KERNEL: every running kernel can reach it. boot/boot.md describes the protocol.
 */
void msg_peer_start(uint32_t kernel);
bool msg_peer_started(uint32_t kernel);
/* From now on programs must not migrate to KERNEL; messages may still be sent to it. */
void msg_peer_leave(uint32_t kernel);

/* Returns a time later than every time that this kernel has sent or received: the channel's clock (msg/PROTOCOL.md,
 * Time), in units of 32 counts. Any context. */
uint64_t msg_time(void);

/* Sends a notice. Waits while the ring is full: tasks only. -EAGAIN: the kernel cannot be reached yet; -EINVAL: there
 * is no such kernel, or it is this one. */
int msg_notify(uint32_t kernel, enum msg_type type, const void *data, uint32_t length);

/* A message that waits for room in its ring, in its sender's memory. */
struct msg_outgoing {
    struct list node;     /* [k] the peer's tx_lock */
    uint64_t header;      /* of fragment 0 */
    const uint8_t *data;  /* valid until done */
    uint32_t fragment;    /* [k] tx_lock: the next one */
    uint8_t class;        /* enum msg_class */
    volatile bool queued; /* [k] tx_lock: at least its last fragment waits for room */
    uint8_t wish;         /* [k] tx_lock: while DATA is lent: the wish whose answer ends the loan, */
    uint64_t slot;        /* [k] tx_lock: and the slots that its ring had been given, the next of which ends it, too */
    void (*done)(struct msg_outgoing
                     *outgoing); /* it is in the ring, and its memory is no longer used. Must not wait. May be NULL */
};
/* As msg_notify, but never waits: any context. OUTGOING and DATA must not change until DONE is called, perhaps before
 * this returns; if DONE is NULL, never. KERNEL must have sent a message to this kernel, so that it can be reached. */
void msg_post(struct msg_outgoing *outgoing, uint32_t kernel, enum msg_type type, const void *data, uint32_t length,
              void (*done)(struct msg_outgoing *outgoing));

/* Answers a request in its handler, in at most one slot, which always has room. Never waits. */
void msg_reply(const struct msg_ticket *ticket, const void *data, uint32_t length);
void msg_reply_error(const struct msg_ticket *ticket, int error);

/* A kept request: its handler does not answer it, and it is answered exactly once later. The memory belongs to the code
 * that keeps the request, as part of what it has allocated for it. */
struct msg_kept {
    struct list node; /* [k] kept_lock */
    struct msg_ticket ticket;
    struct msg_outgoing outgoing;
    uint64_t payload[MSG_SHORT / 8];
    bool orphan; /* [k] kept_lock: the requester's kernel has died, and the answer is dropped */
    void (*cancelled)(struct msg_kept *kept); /* [i] or NULL: the requester has given up, a hint. Called under
                                                 kept_lock: must neither wait nor answer */
    void (*done)(struct msg_kept *kept);      /* see msg_kept_reply */
};

/* In the handler of M: keeps the request, to be answered later through KEPT. CANCELLED may be NULL. */
void msg_keep(const struct msg *m, struct msg_kept *kept, void (*cancelled)(struct msg_kept *kept));
/* Answers in at most one slot. DONE (or NULL) is called once KEPT is no longer used, perhaps before this returns, and
 * must not wait. Any context that holds no lock which DONE takes; never waits. */
void msg_kept_reply(struct msg_kept *kept, const void *data, uint32_t length, void (*done)(struct msg_kept *kept));
void msg_kept_reply_error(struct msg_kept *kept, int error, void (*done)(struct msg_kept *kept));
/* The same with up to MSG_MAX bytes, which must not change until DONE is called. */
void msg_kept_reply_long(struct msg_kept *kept, const void *data, uint32_t length, void (*done)(struct msg_kept *kept));

/* Returns the number of kept requests. */
uint64_t msg_kept_count(void);
/* Memory that msg/ has allocated for good: at the first message of a type, at the first long message of a peer in
 * fragments. */
struct msg_stays {
    uint64_t objects; /* larger than half a page */
    uint64_t bytes;   /* whole pages */
};
extern struct msg_stays msg_stays; /* under rx_lock */

/* Takes and handles messages until none is left, urgent ones first, peers in turn. Returns true when there was any. Any
 * context without locks; does nothing when another CPU of the instance is polling already. */
bool msg_poll(void);
/* True in a handler, on the CPU that runs it. Any context. */
bool msg_handling(void);

struct completion;
struct wait_reason;
/* Waits until DONE is signalled, for what messages bring: polls for them for a while, then blocks. Tasks only. */
void msg_wait(struct completion *done, const struct wait_reason *reason);
/* The same, but gives up at DEADLINE (ns, as clock_now; 0: never). False if it gave up; DONE may still be signalled. */
bool msg_wait_until(struct completion *done, const struct wait_reason *reason, uint64_t deadline);

/* Doorbells. Armed: a sender interrupts this instance once, until the instance arms again. Disarmed: the instance
 * promises to poll. msg_doorbell_arm checks for messages once more after arming; if one has arrived meanwhile, it
 * disarms and returns false. Only on the first CPU of the instance. */
bool msg_doorbell_arm(void);
void msg_doorbell_disarm(void);
/* The CPU ends its polling, because a thread is to run: takes what is there and arms. Where messages keep coming, it
 * takes some, leaves the doorbell disarmed, and has them looked for a little later (msg_due), so that peers that always
 * ask cannot keep programs from running. */
void msg_doorbell_leave(void);
/* Handles the doorbell interrupt: takes messages, and leaves. */
void msg_doorbell_interrupt(void);

/* Returns when messages have to be looked for without a doorbell, as clock_now, or 0: because fault injection holds one
 * back in a ring until then, or because the first CPU has left with its doorbell disarmed. The caller has to call
 * msg_due_interrupt then, on the first CPU at least; wait_ops.due_changed says that the time has changed. */
uint64_t msg_due(void);
void msg_due_interrupt(void);

/* The board: words that each kernel alone writes and the others read without a message. Higher layers define their
 * meaning. A word is read and written atomically; two words are ordered only as their writer stored them. */
#define MSG_BOARD_WORDS 496u
#define MSG_BOARD_LOAD 0u      /* a cache line: tasks/sched/load.h */
#define MSG_BOARD_ROOTS 8u     /* a cache line: kernel/file/root.h */
#define MSG_BOARD_ALIVE 16u    /* a cache line: msg/alive.h */
#define MSG_BOARD_LOOKS 19u    /* in that line: how often the first CPU, without interrupts, has looked for messages */
#define MSG_BOARD_LACKS 20u    /* in that line: when it last refused itself memory, clock_now: tasks/oom/oom.c */
#define MSG_BOARD_FILES 24u    /* up to the next: kernel/file/descriptor_cache.h */
#define MSG_BOARD_ACTIONS 472u /* a cache line: tasks/signal/action_cache.h */
#define MSG_BOARD_FUTEX 480u   /* two cache lines: tasks/futex/queue.c */
volatile uint64_t *msg_board_own(void);
/* The board of KERNEL, or NULL if KERNEL is not in the plan. The content is not trusted, as another kernel writes it.
 * It is zero until that kernel writes it. */
const volatile uint64_t *msg_board_of(uint32_t kernel);

/* Notes: MSG_NOTES_SIZE bytes of each kernel's memory for each of the others, which that one alone writes, without a
 * message. What a kernel has noted at a peer outlives it, until the channel is reset. Higher layers define the content,
 * which is zero at first; the reader does not trust it, and words are ordered as on the board. */
#define MSG_NOTES_SIZE 4096u
/* This kernel's notes at KERNEL; what KERNEL has noted here. NULL: it is this kernel, or not in the plan. */
volatile void *msg_notes_at(uint32_t kernel);
const volatile void *msg_notes_of(uint32_t kernel);

/* Writes this kernel's message statistics to TEXT, SIZE bytes, from record *CURSOR on. Returns the length, and in
 * *CURSOR the record to continue with, 0 at the end. */
size_t msg_report(char *text, size_t size, uint64_t *cursor);
/* The same for the trace; pauses (msg/slice.h). */
size_t msg_trace_report(char *text, size_t size, uint64_t *cursor);
/* The same for the longest silences of its CPUs and handlers (kernel/arch/x86_64/silence.h). */
size_t msg_silence_report(char *text, size_t size, uint64_t *cursor);

/* The name in messages.def, or NULL for a number that is not in use. */
const char *msg_type_name(uint32_t type);

#endif

/* What the files of msg/ know of each other: the shared memory of a channel, the peers, time, counters.
 *
 * Locks, in the order they are taken: rx_lock is held while messages are taken and handled (one CPU at a time, so the
 * order of a pair is kept through dispatch); then whatever a handler takes; then a peer's tx_lock while slots are
 * filled. An instance with one CPU pays a load, a compare and a store for each. */
#ifndef MSG_CHANNEL_INTERNAL_H
#define MSG_CHANNEL_INTERNAL_H

#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/instance.h"
#include "kernel/wait/completion.h"
#include "msg/channel.h"
#include "msg/ring.h"
#include "msg/stats.h"

/* The head of an instance's receiving memory: three pages with different writers. The rings follow, by source, both
 * classes of a source together on pages of their own. */
struct channel_head {
    volatile uint16_t hints[KERNELS_MAX]; /* [m] by source, who alone writes it: see HINT_SLOT */
    volatile uint8_t wants[KERNELS_MAX];  /* [m] by source, who alone writes it: wishes to be told of room, so far */
    uint8_t pad0[PAGE_SIZE - 3 * KERNELS_MAX];
    struct {
        volatile uint64_t count[MSG_CLASSES]; /* slots taken so far, by the receiver */
        volatile uint8_t answered;            /* the last wish for room that it has answered */
        uint8_t pad[RING_SLOT_SIZE - 8 * MSG_CLASSES - 1];
    } taken[KERNELS_MAX];       /* by source; senders read it */
    volatile uint64_t doorbell; /* by the receiver: generation << 1 | armed; senders read it */
    uint8_t pad1[RING_SLOT_SIZE - 8];
    volatile uint64_t board[MSG_BOARD_WORDS]; /* by the receiver: see msg_board_own; the others read it */
    uint8_t pad2[PAGE_SIZE - RING_SLOT_SIZE - 8 * MSG_BOARD_WORDS];
};

/* A hint counts: slots filled in both rings modulo 2^12, and below that signals about room modulo 2^4. The receiver
 * looks when it has changed. Between two looks there are fewer than 2^12 slots, and a few signals: each wish waits for
 * its answer. */
#define HINT_SLOT 16u
#define HINT_SLOTS_MASK 0xfffu

/* Why a sender does not put messages straight into a ring. */
#define BLOCKED_UNREACHED 1u
#define BLOCKED_QUEUE 2u /* earlier messages wait for room */
#define BLOCKED_TRACE 4u

struct peer;

struct sender_class {
    struct ring_sender ring;       /* [k] tx_lock */
    uint64_t limit;                /* [i] slots that ordinary traffic may fill; the rest is for replies of one slot */
    uint64_t fast_limit;           /* [k] tx_lock: the same, or 0 when the fast path is closed: see msg_put_fast */
    uint64_t fast_reply_limit;     /* [k] tx_lock: all slots, or 0 */
    uint64_t source;               /* [i] of its messages, as in their headers */
    struct peer *peer;             /* [i] */
    volatile uint16_t *hint;       /* [i] ours at the peer */
    const volatile uint64_t *bell; /* [i] the peer's doorbell word */
    struct list queue;             /* [k] tx_lock: struct msg_outgoing, first come first */
};

struct reassembly {
    uint8_t *bytes;    /* MSG_MAX, or NULL until the first fragment */
    uint32_t expected; /* next fragment; 0: none under way */
    uint32_t last;     /* its last fragment, while one is under way */
    uint64_t header;   /* of fragment 0 */
    uint64_t next;     /* header of the next fragment; of the other kind, so no match: none, or there are no bytes */
};

struct peer {
    uint32_t kernel; /* [i] */
    bool started;    /* [a] every kernel can reach it: programs may go there */

    struct spinlock tx_lock;
    volatile uint32_t blocked; /* [k] tx_lock, read without: BLOCKED_* */
    struct sender_class out[MSG_CLASSES];
    uint16_t hint;             /* [k] tx_lock: ours at the peer */
    uint8_t wants;             /* [k] tx_lock: our wishes at the peer */
    uint64_t rung;             /* [k] tx_lock: doorbell word we have rung for */
    struct channel_head *head; /* [i] the peer's receiving memory */
    uint32_t apic_id;          /* [i] of the CPU that takes its doorbells */

    struct ring_receiver in[MSG_CLASSES];      /* [k] rx_lock */
    uint8_t wants_seen;                        /* [k] rx_lock: the peer's wishes that were answered */
    uint64_t empty_at[MSG_CLASSES];            /* [k] rx_lock: position where its ring was last found empty */
    uint64_t most[MSG_CLASSES];                /* [k] rx_lock: most slots taken until it was found empty again */
    struct reassembly partial[MSG_CLASSES][2]; /* [k] rx_lock: requests and notices, replies */
};

/* What is looked up for every message that arrives, by the first byte of its header. */
struct msg_row {
    uint64_t expect; /* header of a good message without request id and source; until the first one of another row: no
                        match */
    msg_handler handler;     /* [i] or NULL */
    struct msg_times *times; /* [k] rx_lock: NULL until the first one */
    uint64_t received;       /* [k] rx_lock */
    uint64_t bytes_received; /* [k] rx_lock, of messages of variable length only */
    uint32_t size;           /* [i] bytes, the least where more may follow */
    bool bytes;              /* [i] more may follow */
    uint64_t first; /* with BYTES: header of a good first fragment without request id, length and source; until the
                       first message of another row: no match */
    uint64_t pad;
};

extern struct peer *msg_peers[KERNELS_MAX]; /* [i] NULL for ourselves and what is not in the plan */
extern struct sender_class *msg_senders[KERNELS_MAX][MSG_CLASSES]; /* [i] of the peers */
extern struct msg_row msg_rows[MSG_ROWS];
extern struct channel_head *msg_own_head; /* [i] */
extern struct msg_memory msg_memory;      /* [i] */
extern struct spinlock msg_rx_lock;
extern uint32_t msg_reserve;      /* [i] slots of a ring that only replies of one slot may use */
extern volatile bool msg_special; /* [a] trace or fault injection: take the long way */

/* NULL: no such kernel, or ourselves. */
static inline struct sender_class *msg_sender(uint32_t kernel, enum msg_class class)
{
    return kernel < KERNELS_MAX ? msg_senders[kernel][class] : NULL;
}

static inline struct peer *msg_peer(uint32_t kernel)
{
    return kernel < KERNELS_MAX ? msg_peers[kernel] : NULL;
}

/* Interrupts the peer's first CPU, if it was not done for this WORD. [tx_lock] */
void msg_ring_doorbell(struct peer *peer, uint64_t word);
/* Changes why the peer is blocked, and so whether the fast path is open. [tx_lock] */
void msg_set_blocked(struct peer *peer, uint32_t set, uint32_t clear);

/* Sending; all for one message of at most MSG_MAX bytes, HEADER without source. */

/* The fast path into a ring, of an instance with one CPU: nothing else runs meanwhile, so there is nothing to lock.
 * False, and nothing has happened, when the general way has to be taken: several CPUs, no room that we know of,
 * messages that wait for room, a trace, or a payload that is not 0 to 6 whole words. */
static inline __attribute__((always_inline)) bool msg_put_fast(struct sender_class *out, uint64_t header,
                                                               const void *data, bool reply)
{
    uint32_t length = (uint32_t)(header >> MSG_LENGTH_SHIFT); /* with all flags: they make it too long */
    uint64_t word;

    if (__builtin_expect(ring_used(&out->ring) >= (reply ? out->fast_reply_limit : out->fast_limit), 0) ||
        __builtin_expect((length >> 3 | length << 29) > MSG_SHORT / 8, 0))
        return false;
    ring_put(&out->ring, header | out->source, msg_clock_tick_one(), data, length >> 3);
    *out->hint = out->peer->hint += HINT_SLOT;
    memory_fence(); /* as announce_locked in msg/send.c */
    msg_sent[header & MSG_ROW_BITS].count++;
    msg_sent[header & MSG_ROW_BITS].bytes += length;
    word = *out->bell;
    if (__builtin_expect((word & 1) != 0, 0))
        msg_ring_doorbell(out->peer, word);
    return true;
}

/* Puts a short message into its ring if there is room at once. REPLY: room includes the reserve. */
bool msg_put(struct peer *peer, enum msg_class class, uint64_t header, const void *data, bool reply);
/* Puts OUTGOING (header, data, class, done set) into its ring now, or when there is room. Never waits. */
void msg_queue(struct peer *peer, struct msg_outgoing *outgoing);
/* Takes OUTGOING out of the queue again. False: some of it has gone out, and DONE is called or will be. */
bool msg_unqueue(struct peer *peer, struct msg_outgoing *outgoing);
/* Puts it now or waits until there was room. 0, -EAGAIN, -EINVAL. */
int msg_send(uint32_t kernel, enum msg_class class, uint64_t header, const void *data);
/* A blocked peer gives a sign of life: it can be reached, and perhaps it has made room for the queues to it. rx_lock
 * held. */
void msg_unblock(struct peer *peer);
/* Tells the peer that we have made room. */
void msg_signal_room(struct peer *peer);

/* Receiving. */

/* Checks and handles a slot that was taken from PEER, the long way. QUEUED: how long it lay in the ring. */
void msg_receive_unusual(struct peer *peer, enum msg_class class, const struct ring_message *slot, uint64_t queued);
/* A fragment of a long message that is what is to be expected: the next, or the first when none is under way. False,
 * and nothing has happened: it is not. */
bool msg_take_fragment(struct peer *peer, enum msg_class class, uint64_t header, const uint64_t *payload, uint64_t time,
                       uint64_t queued);
/* Adds a fragment, the long way, of a message longer than one slot; dispatches it when it was the last. */
void msg_reassemble(struct peer *peer, enum msg_class class, const struct msg_header *header,
                    const struct ring_message *slot, uint64_t queued);
/* Handles the message with header WORD, an answer, an error or what else it is, and notes it in the trace. */
void msg_dispatch(uint64_t word, uint64_t time, const void *data, uint64_t queued);
/* Counts what was dropped; the first of each KIND (0 to 31) is logged. */
void msg_drop(uint64_t *counter, uint32_t kind, const struct peer *peer, const char *what);
/* Memory that is never given back, as what it is for comes again. */
void *msg_allocate_for_good(size_t size);
/* Handles a message and counts it. */
void msg_deliver(struct msg_row *row, const struct msg *m, uint64_t queued);
/* Who takes replies: the handler of all rows with the reply bit, and what else a reply can say. */
void msg_take_reply(const struct msg *m);
void msg_take_reply_error(const struct msg *m, int error);
void msg_take_kept(const struct msg *m);

/* A slot of the request table for a request to ourselves, made by a relay. False: no memory. */
struct msg_asking;
bool msg_own_request(struct msg_asking *asking, uint16_t type,
                     void (*answer)(void *context, uint32_t kernel, const void *reply, int length), void *context,
                     uint16_t *id);

/* The receiving side of PEER is as at start; rx_lock is held. */
void msg_receive_reset_locked(struct peer *peer);
/* No request to KERNEL is under way: its credits are all there. */
bool msg_call_reset(uint32_t kernel);

/* Parts that have options and messages of their own. */
void msg_kept_init(void);
void msg_multicast_init(void);
void msg_exercise_init(void);
void msg_control_init(void);

/* The last hint of each peer that was followed. [k] rx_lock, read without */
union msg_seen {
    uint16_t hints[KERNELS_MAX];
    uint64_t words[KERNELS_MAX / 4];
};
extern union msg_seen msg_seen;

/* Four hints in each. */
static inline const volatile uint64_t *msg_hint_words(void)
{
    return (const volatile uint64_t *)(const volatile void *)msg_own_head->hints;
}

/* A peer has changed its hint. One cache line for every 32 kernels is read. */
static inline bool msg_hinted(void)
{
    const volatile uint64_t *hints = msg_hint_words(), *seen = msg_seen.words;

    for (const volatile uint64_t *end = hints + (instance.kernels + 3) / 4; hints < end; hints++, seen++) {
        if (*hints != *seen)
            return true;
    }
    return false;
}

#endif

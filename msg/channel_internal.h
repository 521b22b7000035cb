/* Declarations that the files of msg/ share: the shared memory of a channel, the peers, time, counters.
 *
 * Locks, in the order in which they are taken: rx_lock is held while messages are taken and handled, by one CPU at a
 * time, so that the order of a pair and class is kept up to the handlers; then the locks that a handler takes; then a
 * peer's tx_lock while slots are filled. In an instance with one CPU, each costs a load, a compare and a store. */
#ifndef MSG_CHANNEL_INTERNAL_H
#define MSG_CHANNEL_INTERNAL_H

#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/instance.h"
#include "kernel/wait/completion.h"
#include "msg/channel.h"
#include "msg/ring.h"
#include "msg/stats.h"

/* The head of an instance's receiving memory: three pages with different writers. The rings follow, by source, each
 * with the source's notes behind them; they are on pages of their own. */
struct channel_head {
    volatile uint16_t hints[KERNELS_MAX]; /* [m] by source, which alone writes it: see HINT_SLOT */
    volatile uint8_t wants[KERNELS_MAX];  /* [m] by source, which alone writes it: the number of its wishes for room */
    uint8_t pad0[PAGE_SIZE - 3 * KERNELS_MAX];
    struct {
        volatile uint64_t count[MSG_CLASSES]; /* written by the receiver: slots taken so far */
        volatile uint8_t answered;            /* the last wish for room that it has answered */
        uint8_t pad[RING_SLOT_SIZE - 8 * MSG_CLASSES - 1];
    } taken[KERNELS_MAX];       /* by source; senders read it */
    volatile uint64_t doorbell; /* written by the receiver, read by senders: generation << 1 | armed */
    uint8_t pad1[RING_SLOT_SIZE - 8];
    volatile uint64_t board[MSG_BOARD_WORDS]; /* written by the receiver, read by all others: see msg_board_own */
    uint8_t pad2[PAGE_SIZE - RING_SLOT_SIZE - 8 * MSG_BOARD_WORDS];
};

/* A hint has two counters: slots filled in both rings modulo 2^12, and below that signals about room modulo 2^4. The
 * receiver looks into the rings when the hint has changed. Between two looks fewer than 2^12 slots are filled and at
 * most two signals are sent, because each wish waits for its answer; so a changed hint never looks unchanged. */
#define HINT_SLOT 16u

/* Why messages to a peer are not put straight into a ring. */
#define BLOCKED_UNREACHED 1u
#define BLOCKED_QUEUE 2u /* earlier messages wait for room */
#define BLOCKED_TRACE 4u
#define BLOCKED_LENT 8u /* none: the peer may still read lent memory, and a change of its hint may end that */

struct peer;

/* The requests to one peer in one class that are under way. */
struct msg_credits {
    uint32_t used;       /* [k] msg_requests.lock: at most msg_reserve */
    struct list waiting; /* [k] msg_requests.lock: struct msg_asking that wait for a credit, first come first */
};

struct sender_class {
    struct ring_sender ring; /* [k] tx_lock */
    uint64_t limit;      /* [i] slots that ordinary traffic may fill; the others are reserved for replies of one slot */
    uint64_t fast_limit; /* [k] tx_lock: LIMIT, or 0 when the fast path is closed: see msg_put_fast */
    uint64_t fast_reply_limit;     /* [k] tx_lock: the number of slots, or 0 when the fast path is closed */
    uint64_t source;               /* [i] source field of the headers */
    uint32_t reply;                /* [i] source field and reply bit of the headers of replies from this peer */
    struct peer *peer;             /* [i] */
    volatile uint16_t *hint;       /* [i] this kernel's hint at the peer */
    const volatile uint64_t *bell; /* [i] the peer's doorbell word */
    struct msg_credits credits;
    struct list queue; /* [k] tx_lock: struct msg_outgoing, first come first */
    uint8_t class;     /* [i] enum msg_class */
};

struct reassembly {
    uint8_t *bytes;    /* MSG_MAX, or NULL until the first fragment */
    uint32_t expected; /* the next fragment; 0: no message is under way */
    uint32_t last;     /* the last fragment of the message under way */
    uint64_t header;   /* of fragment 0 */
    uint64_t next;     /* header of the next fragment; never matches without one, or without BYTES */
};

struct peer {
    uint32_t kernel; /* [i] */
    bool known;      /* [a] every kernel can reach it, or could until it died */
    bool started;    /* [a] the same, and it is not about to stop: programs may migrate there */
    bool fenced;     /* [k] tx_lock and rx_lock, both for writes: it has died: nothing goes to it or is taken from it */

    struct spinlock tx_lock;
    volatile uint32_t blocked; /* [k] tx_lock, read without it: BLOCKED_* */
    struct sender_class out[MSG_CLASSES];
    uint16_t hint;              /* [k] tx_lock: this kernel's hint at the peer */
    uint8_t wants;              /* [k] tx_lock: this kernel's wishes at the peer */
    uint64_t rung;              /* [k] tx_lock: the doorbell word for which this kernel has rung */
    struct list lent;           /* [k] tx_lock: struct msg_outgoing that the peer may still read, first put first */
    struct channel_head *head;  /* [i] the peer's receiving memory */
    volatile void *notes;       /* [i] this kernel's notes in it; written by the upper layers */
    const volatile void *noted; /* [i] the peer's notes in this kernel's memory */
    uint32_t apic_id;           /* [i] of the CPU that takes the peer's doorbells */

    struct ring_receiver in[MSG_CLASSES];      /* [k] rx_lock */
    uint8_t wants_seen;                        /* [k] rx_lock: the peer's wishes that have been seen */
    struct reassembly partial[MSG_CLASSES][2]; /* [k] rx_lock: of requests and notices; of replies */
};

/* What the receiver looks up for every message, by the type and reply bit of its header. */
struct msg_row {
    uint64_t expect;         /* header of a valid message without id and source; no match before the first one */
    msg_handler handler;     /* [i] or NULL */
    struct msg_times *times; /* [k] rx_lock: NULL until the first message */
    uint64_t received;       /* [k] rx_lock */
    uint64_t bytes_received; /* [k] rx_lock, of messages of variable length only */
    uint32_t size;           /* [i] bytes of the payload struct, which is the least if more may follow */
    bool bytes;              /* [i] more bytes may follow */
    uint64_t first;          /* with BYTES: the same of a first fragment, and without length */
    uint64_t pad;
};

extern struct peer *msg_peers[KERNELS_MAX]; /* [i] NULL for this kernel and for those that are not in the plan */
extern struct sender_class *msg_senders[KERNELS_MAX][MSG_CLASSES]; /* [i] of the peers */
extern struct msg_row msg_rows[MSG_ROWS];
extern struct channel_head *msg_own_head; /* [i] */
extern struct msg_memory msg_memory;      /* [i] */
extern struct spinlock msg_rx_lock;
extern uint32_t msg_reserve;      /* [i] slots of a ring that are reserved for replies of one slot */
extern volatile bool msg_ready;   /* [a] msg_init has made everything: an NMI may come before */
extern volatile bool msg_special; /* [a] trace or fault injection is on: messages take the slow path */
/* [a] Messages may be taken directly from the ring of the only peer that has sent, or of the one that is waited for:
 * one CPU, not special, no message is held back, and no wish for room is open. Closed by what ends one of these; opened
 * at the end of a poll that looks at all peers. */
extern volatile bool msg_direct;

static inline void msg_set_special(bool special)
{
    msg_special = special;
    msg_direct = false;
}

/* Ticks after which a poll takes no further message, about a millisecond: interrupts are off as long. */
#define MSG_POLL_TICKS (instance.rates.tsc_hz >> (10 + MSG_TICK_SHIFT))

/* Return NULL if there is no such kernel, or for this kernel. */
static inline struct sender_class *msg_sender(uint32_t kernel, enum msg_class class)
{
    return kernel < KERNELS_MAX ? msg_senders[kernel][class] : NULL;
}

static inline struct peer *msg_peer(uint32_t kernel)
{
    return kernel < KERNELS_MAX ? msg_peers[kernel] : NULL;
}

/* Interrupts the peer's first CPU, unless this kernel has done so for this WORD. With tx_lock held. */
void msg_ring_doorbell(struct peer *peer, uint64_t word);
/* Changes the reasons for which the peer is blocked, and opens or closes the fast path accordingly. With tx_lock
 * held. */
void msg_set_blocked(struct peer *peer, uint32_t set, uint32_t clear);

/* --- sending: each for one message of at most MSG_MAX bytes, HEADER without source --- */

/* The fast path into a ring, in an instance with one CPU: no other code runs meanwhile, so no lock is needed. Returns
 * false without any effect if the general path has to be taken: several CPUs, no known room, messages that wait for
 * room, a trace, or a payload that is not 0 to 6 whole words. */
static inline __attribute__((always_inline)) bool msg_put_fast(struct sender_class *out, uint64_t header,
                                                               const void *data, bool reply)
{
    uint32_t length = (uint32_t)(header >> MSG_LENGTH_SHIFT); /* with all flags: they make it too long */
    uint32_t words = length >> 3 | length << 29;              /* many if the length is no multiple of 8 */
    struct ring_slot *slot = ring_slot_next(&out->ring);
    uint64_t word;

    if (__builtin_expect(ring_used(&out->ring) >= (reply ? out->fast_reply_limit : out->fast_limit), 0) ||
        __builtin_expect(!ring_fill(slot, data, words), 0))
        return false;
    ring_publish(&out->ring, slot, header | out->source, msg_clock_tick_one());
    *out->hint = out->peer->hint += HINT_SLOT;
    memory_fence(); /* as announce_locked in msg/send.c */
    msg_sent[header & MSG_ROW_BITS].count++;
    msg_sent[header & MSG_ROW_BITS].bytes += length;
    word = *out->bell;
    if (__builtin_expect((word & 1) != 0, 0))
        msg_ring_doorbell(out->peer, word);
    return true;
}

/* Puts a short message into its ring if there is room now. REPLY: it may use the reserve. */
bool msg_put(struct peer *peer, enum msg_class class, uint64_t header, const void *data, bool reply);
/* Puts OUTGOING (header, data, class and done are set) into its ring now, or when there is room. Never waits. */
void msg_queue(struct peer *peer, struct msg_outgoing *outgoing);
/* True if LENGTH bytes at DATA are lent to the peer that gets them: they stay in use until the message is answered, or
 * else until msg_return calls `done`. */
bool msg_lends(const void *data, uint64_t length);
/* OUTGOING->done is called when PEER does not use any memory that has been lent to it so far. */
void msg_return(struct peer *peer, struct msg_outgoing *outgoing);
/* Removes OUTGOING from the queue. False: a part of it is in the ring already, and DONE has been or will be called. */
bool msg_unqueue(struct peer *peer, struct msg_outgoing *outgoing);
/* Called when a blocked peer has changed its hint: it can be reached, may have made room for the queues to it, and may
 * have copied what was lent to it. With rx_lock held. */
void msg_unblock(struct peer *peer);
/* Signals the peer that this kernel has made room. */
void msg_signal_room(struct peer *peer);

/* --- receiving --- */

/* For a task that waits for the answer of one peer, in an instance with one CPU. The caller polls for all peers now and
 * then. Returns the ring in which PEER has published a message, perhaps before its hint says so, or NULL. Notes in
 * passing where the rings are empty. */
static inline struct ring_receiver *msg_ring_of_peer(struct peer *peer)
{
    if (ring_ready(&peer->in[MSG_URGENT]))
        return &peer->in[MSG_URGENT];
    if (ring_ready(&peer->in[MSG_ORDINARY]))
        return &peer->in[MSG_ORDINARY];
    peer->in[MSG_URGENT].empty_at = peer->in[MSG_URGENT].next;
    peer->in[MSG_ORDINARY].empty_at = peer->in[MSG_ORDINARY].next;
    return NULL;
}
/* As msg_poll, but takes and handles only the next message of RING, of PEER, if that may be done. */
bool msg_poll_ring(struct peer *peer, struct ring_receiver *ring);
/* The first CPU looks for messages a little later, as msg_due says, unless it leaves with its doorbell armed before. */
void msg_look_later(void);

/* The slow path: checks and handles a slot that was taken from PEER. QUEUED: ticks that it was in the ring. */
void msg_receive_unusual(struct peer *peer, enum msg_class class, const struct ring_message *slot, uint64_t queued);
/* Takes a fragment of a long message if it is the expected one: the next, or the first if no message is under way.
 * Returns false without any effect if it is not. */
bool msg_take_fragment(struct peer *peer, enum msg_class class, uint64_t header, const uint64_t *payload,
                       uint64_t time);
/* The slow path for a fragment of a message longer than one slot. Dispatches the message after its last fragment. */
void msg_reassemble(struct peer *peer, enum msg_class class, const struct msg_header *header,
                    const struct ring_message *slot, uint64_t queued);
/* Answers the request with HEADER, or the requester of that reply, with ERROR in place of its bytes. */
void msg_refuse_long(const struct msg_header *header, int error);
/* Handles the message with header WORD, which may be a request, a notice, an answer or an error, and traces it. */
void msg_dispatch(uint64_t word, uint64_t time, const void *data, uint64_t queued);
/* Counts a dropped message. The first of each KIND (0 to 31) is logged. */
void msg_drop(uint64_t *counter, uint32_t kind, const struct peer *peer, const char *what);
/* Allocates memory that is never freed, because it will be needed again. */
void *msg_allocate_for_good(size_t size);
/* Counts a message of ROW. True: it belongs to the sample, the first of MSG_SAMPLE, whose times are measured. */
static inline bool msg_row_count(struct msg_row *row)
{
    return row->received++ % MSG_SAMPLE == 0;
}
/* Adds the times of a message to the histograms of ROW: it was in its ring for QUEUED ticks, and its handler was called
 * at START. Returns the ticks of now. */
uint64_t msg_measure(struct msg_row *row, uint64_t queued, uint64_t start);
/* Take replies: the handler of all rows with the reply bit; errors; and "kept" replies. */
void msg_take_reply(const struct msg *m);
void msg_take_reply_error(const struct msg *m, int error);
void msg_take_kept(const struct msg *m);

/* Takes a slot of the request table for a request of this kernel to itself. False: there is no slot. */
struct msg_asking;
bool msg_own_request(struct msg_asking *asking, uint16_t type,
                     void (*answer)(void *context, uint32_t kernel, const void *reply, int length), void *context,
                     uint16_t *id);

/* Resets the receiving side of PEER to its initial state. With rx_lock held. */
void msg_receive_reset_locked(struct peer *peer);
/* True if no request to KERNEL is under way, so that it has all its credits. */
bool msg_call_reset(uint32_t kernel);
/* PEER has died. With rx_lock held: its rings are not served any more; what was announced and not taken is counted. */
void msg_receive_fence_locked(struct peer *peer);
/* Completes every request to KERNEL, sent or not, with -EHOSTDOWN, up to MOST of them; returns true if more may be
 * left. With rx_lock held, as the answers are. */
bool msg_requests_fail(uint32_t kernel, uint32_t most);
/* The requests of fenced kernels that are kept here will not be answered: who keeps one is notified as by CANCEL, up to
 * MOST of them from the last call on; BEGIN: another kernel has been fenced. Returns true if others are to be looked
 * at. */
bool msg_kept_orphan(bool begin, uint32_t most);
/* Whether that is still to find requests of KERNEL, which is fenced, whatever it is to find of other kernels. */
bool msg_kept_unorphaned(uint32_t kernel);

/* Allocates what lent bytes are copied to, so that taking a message never fails for lack of memory there. Once; panics.
 */
void msg_dispatch_init(void);

/* --- parts with options and messages of their own --- */
void msg_kept_init(void);
void msg_call_init(void);
/* KERNEL has given up the request that CANCEL names: who keeps it is notified. */
struct msg_cancel;
void msg_kept_cancel(uint32_t kernel, const struct msg_cancel *cancel);
void msg_multicast_init(void);
void msg_exercise_init(void);
void msg_control_init(void);
void msg_slice_init(void);

/* The last hint of each peer that has been followed. [k] rx_lock, read without it */
union msg_seen {
    uint16_t hints[KERNELS_MAX];
    uint64_t words[KERNELS_MAX / 4];
};
extern union msg_seen msg_seen;

/* Returns the hints as words, with four hints in each. */
static inline const volatile uint64_t *msg_hint_words(void)
{
    return (const volatile uint64_t *)(const volatile void *)msg_own_head->hints;
}

void msg_note_look_several(void);
/* The calling CPU polls without interrupts, for as long as its host lets it: whoever watches this kernel sees that it
 * lives. */
static inline void msg_note_look(void)
{
    if (__builtin_expect(cpu_several, 0))
        msg_note_look_several();
    else
        msg_own_head->board[MSG_BOARD_LOOKS]++;
}

/* True if a peer has changed its hint. Reads one cache line for every 32 kernels. */
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

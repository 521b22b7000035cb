/* The table of requests that are under way, and the credits. msg/call.h has the interface for requesters.
 *
 * A request id is a slot of the table and the slot's generation, so a late reply to a reused slot is recognised. A
 * credit is the right to have one unanswered request at the peer, and guarantees room for its short reply. It is
 * returned by the answer, or by the reply that the peer keeps the request. The fast path of a request is inline. */
#ifndef MSG_REQUEST_H
#define MSG_REQUEST_H

#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "msg/call.h"
#include "msg/channel_internal.h"

#define REQUEST_INDEX_BITS 12u
#define REQUEST_GENERATIONS (1u << (16 - REQUEST_INDEX_BITS))
#define REQUEST_BLOCK 64u /* slots that are allocated at a time */
#define REQUEST_BLOCKS ((1u << REQUEST_INDEX_BITS) / REQUEST_BLOCK)
#define REQUEST_NO_SLOT UINT16_MAX
#define REQUEST_SLOTS (1u << REQUEST_INDEX_BITS)
#define REQUEST_RESERVED (REQUEST_SLOTS / 8) /* slots reserved for requests that are sure */

enum request_state { REQUEST_FREE, REQUEST_WAITING, REQUEST_ABANDONED };

struct msg_request {
    struct msg_asking *asking; /* while WAITING */
    uint8_t state;             /* enum request_state */
    uint8_t kernel;            /* the receiver of the request */
    bool credit;               /* the credit has not been returned */
    uint16_t type;
    uint16_t generation;
    uint16_t next_free; /* index, or REQUEST_NO_SLOT */
};

struct msg_credits {
    uint32_t used;
    struct list waiting; /* struct msg_asking, first come first */
};

struct msg_requests {
    /* taken before a peer's tx_lock: requests are sent under this lock, so that a task that gives up finds its request
     * either sent or not */
    struct spinlock lock;
    uint32_t block_count;                       /* [k] lock */
    uint16_t first_free;                        /* [k] lock */
    uint32_t used;                              /* [k] lock: slots in use */
    struct list waiting;                        /* [k] lock: struct msg_asking that wait for a slot, first come first */
    struct msg_request *blocks[REQUEST_BLOCKS]; /* [k] lock */
    struct msg_credits credits[KERNELS_MAX][MSG_CLASSES]; /* [k] lock */
};
extern struct msg_requests msg_requests;

/* Adds a block of slots. False: out of memory, or the table is full. */
bool msg_requests_grow_locked(void);
/* Called when no slot is free: queues ASKING for a slot if it is sure. False: it is not sure, or no request is under
 * way that would free a slot; the request fails. */
bool msg_request_wait_locked(struct msg_asking *asking);
/* A slot has become free: the first request that waits for one takes it, or waits for a credit now. */
void msg_request_pass_on_locked(void);
/* Sends a request that cannot take the fast path, now or when there is room. */
void msg_request_send_slowly_locked(struct msg_asking *asking, struct peer *peer);
/* A credit has been returned: the next request that waits for one takes it. Returns that request if it fails for lack
 * of a slot, else NULL. */
struct msg_asking *msg_request_start_next_locked(struct msg_credits *c);
/* If KERNEL cannot be reached, calls ANSWER with an error and returns true. */
bool msg_request_refused(uint32_t kernel, msg_answer answer, void *context);
/* Notifies KERNEL, perhaps this one, that the request ID, which it keeps, has been abandoned. */
void msg_request_cancel(uint32_t kernel, uint16_t type, uint16_t id);

static inline struct msg_request *msg_request_at(uint32_t index)
{
    return &msg_requests.blocks[index / REQUEST_BLOCK][index % REQUEST_BLOCK];
}

/* Takes a slot for a request to KERNEL, and returns its id in *ID. False: there is none, or only reserved ones. */
static inline bool msg_request_take_locked(struct msg_asking *asking, uint32_t kernel, uint16_t type, bool credit,
                                           uint16_t *id)
{
    struct msg_request *request;

    if ((msg_requests.first_free == REQUEST_NO_SLOT && !msg_requests_grow_locked()) ||
        __builtin_expect(msg_requests.used >= REQUEST_SLOTS - REQUEST_RESERVED && !asking->sure, 0))
        return false;
    msg_requests.used++;
    request = msg_request_at(msg_requests.first_free);
    *id = (uint16_t)(msg_requests.first_free | request->generation << REQUEST_INDEX_BITS);
    msg_requests.first_free = request->next_free;
    request->asking = asking;
    request->state = REQUEST_WAITING;
    request->kernel = (uint8_t)kernel;
    request->type = type;
    request->credit = credit;
    return true;
}

/* Returns the request to which a reply belongs, or NULL: there is no such request. */
static inline struct msg_request *msg_request_find_locked(uint32_t kernel, uint16_t type, uint16_t id)
{
    uint32_t index = id & ((1u << REQUEST_INDEX_BITS) - 1);
    struct msg_request *request;

    if (index >= msg_requests.block_count * REQUEST_BLOCK)
        return NULL;
    request = msg_request_at(index);
    if (request->state == REQUEST_FREE || request->generation != id >> REQUEST_INDEX_BITS ||
        request->kernel != kernel || request->type != type)
        return NULL;
    return request;
}

static inline void msg_request_free_locked(struct msg_request *request, uint16_t id)
{
    msg_requests.used--;
    request->state = REQUEST_FREE;
    request->generation = (uint16_t)((request->generation + 1) % REQUEST_GENERATIONS);
    request->next_free = msg_requests.first_free;
    msg_requests.first_free = id & ((1u << REQUEST_INDEX_BITS) - 1);
}

/* Frees the slot of REQUEST, which goes to the first request that waits for one. */
static inline void msg_request_back_locked(struct msg_request *request, uint16_t id)
{
    msg_request_free_locked(request, id);
    if (__builtin_expect(!list_empty(&msg_requests.waiting), 0))
        msg_request_pass_on_locked();
}

/* Takes a slot for a request and sends it; if there is no slot, a request that is sure waits for one. False: it
 * failed. */
static inline __attribute__((always_inline)) bool
msg_request_start_locked(struct msg_asking *asking, struct msg_credits *c, struct peer *peer, enum msg_class class)
{
    uint64_t header = asking->header;
    uint16_t id;

    if (!msg_request_take_locked(asking, asking->kernel, header & MSG_TYPE_BITS, true, &id))
        return msg_request_wait_locked(asking);
    c->used++;
    header |= (uint64_t)id << MSG_REQUEST_SHIFT;
    asking->header = header;
    if (!msg_put_fast(&peer->out[class], header, asking->data, false))
        msg_request_send_slowly_locked(asking, peer);
    return true;
}

static inline struct msg_asking *msg_credit_back_locked(uint32_t kernel, enum msg_class class)
{
    struct msg_credits *c = &msg_requests.credits[kernel][class];

    c->used--;
    return list_empty(&c->waiting) ? NULL : msg_request_start_next_locked(c);
}

/* Completes FAILED, the result of msg_credit_back_locked, with -ENOMEM. Without locks. */
static inline void msg_request_failed(struct msg_asking *failed)
{
    if (failed != NULL)
        failed->answer(failed->context, failed->kernel, NULL, -ENOMEM);
}

static inline void msg_request_ask(struct msg_asking *asking, uint32_t kernel, enum msg_type type, const void *data,
                                   uint32_t length, msg_answer answer, void *context,
                                   void (*gone)(struct msg_outgoing *), bool sure)
{
    enum msg_class class = msg_kinds[type].class;
    struct peer *peer = msg_peer(kernel);
    struct msg_credits *c;
    bool started;

    if ((peer == NULL || peer->blocked != 0) && (msg_request_refused(kernel, answer, context) || peer == NULL))
        return;
    asking->header = type | (uint64_t)length << MSG_LENGTH_SHIFT;
    asking->kernel = kernel;
    asking->data = data;
    asking->answer = answer;
    asking->context = context;
    asking->outgoing.done = gone;
    asking->outgoing.class = class;
    asking->outgoing.queued = false;
    asking->sure = sure;
    asking->waits = false;
    asking->slow = false;
    c = &msg_requests.credits[kernel][class];
    spin_lock(&msg_requests.lock);
    if (c->used >= msg_reserve) {
        asking->waits = true;
        list_append(&c->waiting, &asking->node);
        msg_stats.credit_waits++;
        spin_unlock(&msg_requests.lock);
        return;
    }
    started = msg_request_start_locked(asking, c, peer, class);
    spin_unlock(&msg_requests.lock);
    if (!started)
        answer(context, kernel, NULL, -ENOMEM);
}

#endif

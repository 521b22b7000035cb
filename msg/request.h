/* The table of requests that are under way, and the credits. See msg/call.h for those who ask.
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
#define REQUEST_RESERVED (REQUEST_SLOTS / 8) /* slots for requests that are sure */

enum request_state { REQUEST_FREE, REQUEST_WAITING, REQUEST_ABANDONED };

struct msg_request {
    struct msg_asking *asking; /* while WAITING */
    uint8_t state;             /* enum request_state */
    uint8_t kernel;            /* who was asked */
    bool credit;               /* not yet given back */
    uint16_t type;
    uint16_t generation;
    uint16_t next_free; /* index, or REQUEST_NO_SLOT */
};

struct msg_credits {
    uint32_t used;
    struct list waiting; /* struct msg_asking, first come first */
};

struct msg_requests {
    /* Before a peer's tx_lock: a request is sent under it, so that giving up finds it sent or not. */
    struct spinlock lock;
    uint32_t block_count;                                 /* [k] lock */
    uint16_t first_free;                                  /* [k] lock */
    uint32_t used;                                        /* [k] lock: slots */
    struct list waiting;                                  /* [k] lock: struct msg_asking that wait for a slot */
    struct msg_request *blocks[REQUEST_BLOCKS];           /* [k] lock */
    struct msg_credits credits[KERNELS_MAX][MSG_CLASSES]; /* [k] lock */
};
extern struct msg_requests msg_requests;

/* Room for more requests. False: no memory. */
bool msg_requests_grow_locked(void);
/* No slot is free: queues ASKING for one if it is sure. False: it is not sure, and the request fails. */
bool msg_request_wait_locked(struct msg_asking *asking);
/* A slot is free again: the first request that waits for one takes it, or waits for a credit now. */
void msg_request_pass_on_locked(void);
/* Sends what cannot go the fast path, now or when there is room. */
void msg_request_send_slowly_locked(struct msg_asking *asking, struct peer *peer);
/* The next request that waits for a credit takes the one that has come back. Returns it if it fails for want of memory.
 */
struct msg_asking *msg_request_start_next_locked(struct msg_credits *c);
/* KERNEL cannot be asked, and ANSWER has been told so; false: it can. */
bool msg_request_refused(uint32_t kernel, msg_answer answer, void *context);
/* Tells KERNEL that nobody waits any more for the request ID, which it keeps. */
void msg_request_cancel(uint32_t kernel, uint16_t type, uint16_t id);

static inline struct msg_request *msg_request_at(uint32_t index)
{
    return &msg_requests.blocks[index / REQUEST_BLOCK][index % REQUEST_BLOCK];
}

/* A slot for a request to KERNEL, its id in *ID. False: there is none, or what there is is reserved. */
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

/* The request that a reply names, or NULL: nobody asked that. */
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

/* The slot of REQUEST is free; whoever waits for one has it now. */
static inline void msg_request_back_locked(struct msg_request *request, uint16_t id)
{
    msg_request_free_locked(request, id);
    if (__builtin_expect(!list_empty(&msg_requests.waiting), 0))
        msg_request_pass_on_locked();
}

/* Gives a request its slot and sends it; one that is sure waits for a slot if there is none. False: there is none. */
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

/* FAILED is what msg_credit_back_locked returned; without locks. */
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

/* The table of requests that are under way, and the credits. msg/request/call.h has the interface for requesters.
 *
 * A request id is a slot of the table and the slot's generation, so a late reply to a reused slot is recognised. A
 * credit is the right to have one unanswered request at the peer, and guarantees room for its short reply. It is
 * returned by the answer, or by the reply that the peer keeps the request. The fast path of a request is inline. */
#ifndef MSG_REQUEST_H
#define MSG_REQUEST_H

#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "msg/channel_internal.h"
#include "msg/request/call.h"

#define REQUEST_INDEX_BITS 12u
#define REQUEST_BLOCK 64u /* slots that are allocated at a time */
#define REQUEST_BLOCKS ((1u << REQUEST_INDEX_BITS) / REQUEST_BLOCK)
#define REQUEST_SLOTS (1u << REQUEST_INDEX_BITS)
#define REQUEST_RESERVED (REQUEST_SLOTS / 8) /* slots reserved for requests that are sure */

enum request_state { REQUEST_FREE, REQUEST_WAITING, REQUEST_ABANDONED };

/* [k] msg_requests.lock, all fields */
struct msg_request {
    struct msg_asking *asking;     /* while WAITING */
    struct msg_request *next_free; /* while FREE */
    struct sender_class *credit;   /* where a credit is out for it, or NULL */
    uint32_t reply;                /* the low half of its reply's header; 0, which is no reply, while FREE */
    uint16_t id;                   /* index and generation: of this request, or while FREE of the next one */
    uint8_t state;                 /* enum request_state */
};

_Static_assert((sizeof(struct msg_request) & (sizeof(struct msg_request) - 1)) == 0, "a slot is found by a shift");

struct msg_requests {
    /* taken before a peer's tx_lock: requests are sent under this lock, so that a task that gives up finds its request
     * either sent or not */
    struct spinlock lock;
    uint32_t block_count;                       /* [k] lock */
    struct msg_request *first_free;             /* [k] lock */
    uint32_t used;                              /* [k] lock: slots in use */
    struct list waiting;                        /* [k] lock: struct msg_asking that wait for a slot, first come first */
    struct msg_request *blocks[REQUEST_BLOCKS]; /* [k] lock: the first BLOCK_COUNT */
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
void msg_request_send_slowly_locked(struct msg_asking *asking);
/* A credit has been returned: the next request that waits for one takes it. Returns that request if it fails for lack
 * of a slot, else NULL. */
struct msg_asking *msg_request_start_next_locked(struct sender_class *out);
/* If KERNEL cannot be reached, calls ANSWER with an error and returns true. */
bool msg_request_refused(uint32_t kernel, msg_answer answer, void *context);
/* Notifies KERNEL, perhaps this one, that the request ID, which it keeps, has been abandoned. */
void msg_request_cancel(uint32_t kernel, uint16_t type, uint16_t id);

static inline struct msg_request *msg_request_at(uint32_t index)
{
    return &msg_requests.blocks[index / REQUEST_BLOCK][index % REQUEST_BLOCK];
}

/* The kernel and the type of a request that is under way. */
static inline uint32_t msg_request_kernel(const struct msg_request *request)
{
    return request->reply >> MSG_SOURCE_SHIFT & (uint32_t)MSG_SOURCE_BITS;
}

static inline uint16_t msg_request_type(const struct msg_request *request)
{
    return request->reply & MSG_TYPE_BITS;
}

/* The low half of the header of the reply to request ID of TYPE by KERNEL. */
static inline uint32_t msg_request_reply(uint32_t kernel, uint32_t type, uint16_t id)
{
    return type | (uint32_t)MSG_REPLY_BIT | kernel << MSG_SOURCE_SHIFT | (uint32_t)id << MSG_REQUEST_SHIFT;
}

/* The same from the ticket of the request or of the reply. */
static inline uint32_t msg_ticket_reply(const struct msg_ticket *ticket)
{
    uint32_t reply;

    __builtin_memcpy(&reply, ticket, sizeof(reply));
    return reply | (uint32_t)MSG_REPLY_BIT;
}

/* Takes a slot for ASKING, a request to which the lower half of the reply's header is REPLY without the request's id;
 * a credit of CREDIT (or NULL) is out for it. NULL: there is none, or only reserved ones. */
static inline struct msg_request *msg_request_take_locked(struct msg_asking *asking, uint32_t reply,
                                                          struct sender_class *credit)
{
    struct msg_request *request = msg_requests.first_free;

    if (__builtin_expect(request == NULL, 0)) {
        if (!msg_requests_grow_locked())
            return NULL;
        request = msg_requests.first_free;
    }
    if (__builtin_expect(msg_requests.used >= REQUEST_SLOTS - REQUEST_RESERVED, 0) && !asking->sure)
        return NULL;
    msg_requests.used++;
    msg_requests.first_free = request->next_free;
    request->asking = asking;
    request->state = REQUEST_WAITING;
    request->reply = reply | (uint32_t)request->id << MSG_REQUEST_SHIFT;
    request->credit = credit;
    return request;
}

/* Returns the request to which REPLY (msg_ticket_reply) belongs, or NULL: there is no such request. */
static inline struct msg_request *msg_request_find_locked(uint32_t reply)
{
    uint32_t index = reply >> MSG_REQUEST_SHIFT & (REQUEST_SLOTS - 1);
    struct msg_request *block = msg_requests.blocks[index / REQUEST_BLOCK];
    struct msg_request *request;

    if (block == NULL)
        return NULL;
    request = &block[index % REQUEST_BLOCK];
    return request->reply == reply ? request : NULL;
}

/* Frees the slot of REQUEST, which goes to the first request that waits for one. */
static inline void msg_request_back_locked(struct msg_request *request)
{
    msg_requests.used--;
    request->state = REQUEST_FREE;
    request->reply = 0;
    request->id = (uint16_t)(request->id + (1u << REQUEST_INDEX_BITS)); /* the next generation */
    request->next_free = msg_requests.first_free;
    msg_requests.first_free = request;
    if (__builtin_expect(!list_empty(&msg_requests.waiting), 0))
        msg_request_pass_on_locked();
}

/* Takes a slot for a request with HEADER, which has no id yet, and sends it; if there is no slot, a request that is
 * sure waits for one. False: it failed. */
static inline __attribute__((always_inline)) bool msg_request_start_locked(struct msg_asking *asking, uint64_t header,
                                                                           struct sender_class *out, const void *data)
{
    struct msg_request *request = msg_request_take_locked(asking, out->reply | (header & MSG_TYPE_BITS), out);

    if (__builtin_expect(request == NULL, 0)) {
        asking->header = header;
        return msg_request_wait_locked(asking);
    }
    out->credits.used++;
    header |= (uint64_t)request->id << MSG_REQUEST_SHIFT;
    asking->header = header;
    if (__builtin_expect(!msg_put_fast(out, header, data, false), 0))
        msg_request_send_slowly_locked(asking);
    return true;
}

static inline struct msg_asking *msg_credit_back_locked(struct sender_class *out)
{
    out->credits.used--;
    return __builtin_expect(list_empty(&out->credits.waiting), 1) ? NULL : msg_request_start_next_locked(out);
}

/* Completes FAILED, the result of msg_credit_back_locked, with -ENOMEM. Without locks. */
static inline void msg_request_failed(struct msg_asking *failed)
{
    if (__builtin_expect(failed != NULL, 0))
        failed->answer(failed->context, failed->kernel, NULL, -ENOMEM);
}

static inline void msg_request_ask(struct msg_asking *asking, uint32_t kernel, enum msg_type type, const void *data,
                                   uint32_t length, msg_answer answer, void *context,
                                   void (*gone)(struct msg_outgoing *), bool sure)
{
    struct sender_class *out = msg_sender(kernel, msg_kinds[type].class);
    bool started;

    /* the fast path is closed to a peer that cannot be reached */
    if ((out == NULL || out->fast_limit == 0) && (msg_request_refused(kernel, answer, context) || out == NULL))
        return;
    asking->out = out;
    asking->kernel = kernel;
    asking->data = data;
    asking->answer = answer;
    asking->context = context;
    asking->outgoing.done = gone;
    asking->sure = sure;
    asking->waits = false;
    asking->slow = false;
    asking->pad = 0;
    spin_lock_briefly(&msg_requests.lock);
    if (__builtin_expect(out->credits.used >= msg_reserve, 0)) {
        asking->header = type | (uint64_t)length << MSG_LENGTH_SHIFT;
        asking->waits = true;
        list_append(&out->credits.waiting, &asking->node);
        msg_stats.credit_waits++;
        spin_unlock(&msg_requests.lock);
        return;
    }
    started = msg_request_start_locked(asking, type | (uint64_t)length << MSG_LENGTH_SHIFT, out, data);
    spin_unlock(&msg_requests.lock);
    if (__builtin_expect(!started, 0))
        answer(context, kernel, NULL, -ENOMEM);
}

#endif

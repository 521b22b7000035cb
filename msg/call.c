/* Requests and their replies. See the header.
 *
 * A request id is a slot of the request table and the slot's generation, so a late reply to a slot used again is
 * recognised. A credit is the right to have a request lie unanswered in the peer's ring: its short reply has room. It
 * comes back with the answer, or with word that the peer keeps the request. A long file: the table, the credits and the
 * two that use them, calls and gathers, share their locks. */
#include "msg/call.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/channel_internal.h"
#include "msg/quiet.h"
#include "msg/wait_dump.h"
#include "msg/wire.h"

#define INDEX_BITS 12u
#define GENERATIONS (1u << (16 - INDEX_BITS))
#define BLOCK 64u /* slots that are allocated at a time */
#define BLOCKS ((1u << INDEX_BITS) / BLOCK)
#define NO_SLOT UINT16_MAX
#define SLOTS_RESERVED (1u << (INDEX_BITS - 3)) /* for requests that are sure */

#define LOOKS_MAX 10000u /* by a waiting task: interrupts are off meanwhile */

enum request_state { REQUEST_FREE, REQUEST_WAITING, REQUEST_ABANDONED };

struct request {
    struct msg_asking *asking; /* while WAITING */
    uint8_t state;             /* enum request_state */
    uint8_t kernel;            /* who was asked */
    bool credit;               /* not yet given back */
    uint16_t type;
    uint16_t generation;
    uint16_t next_free; /* index, or NO_SLOT */
};

struct credits {
    uint32_t used;
    struct list waiting; /* struct msg_asking, first come first */
};

static struct spinlock
    table_lock; /* before a peer's tx_lock: a request is sent under it, so that giving up finds it sent or not */
static struct request *blocks[BLOCKS];                   /* [k] table_lock */
static uint32_t block_count;                             /* [k] table_lock */
static uint16_t first_free = NO_SLOT;                    /* [k] table_lock */
static uint32_t slots_used;                              /* [k] table_lock */
static struct list slot_waiting;                         /* [k] table_lock: struct msg_asking that are sure */
static struct credits credits[KERNELS_MAX][MSG_CLASSES]; /* [k] table_lock */

void msg_call_init(void)
{
    list_init(&slot_waiting);
    for (uint32_t k = 0; k < KERNELS_MAX; k++) {
        for (uint32_t class = 0; class < MSG_CLASSES; class ++)
            list_init(&credits[k][class].waiting);
    }
}

static struct request *request_at(uint32_t index)
{
    return &blocks[index / BLOCK][index % BLOCK];
}

static __attribute__((noinline)) bool add_block_locked(void)
{
    struct request *block = block_count < BLOCKS ? msg_memory.allocate(BLOCK * sizeof(struct request)) : NULL;

    if (block == NULL)
        return false;
    for (uint32_t i = 0; i < BLOCK; i++)
        block[i].next_free = i + 1 < BLOCK ? (uint16_t)(block_count * BLOCK + i + 1) : NO_SLOT;
    first_free = (uint16_t)(block_count * BLOCK);
    blocks[block_count++] = block;
    return true;
}

/* A slot for a request to KERNEL, its id in *ID. False: there is none, or what there is is reserved. */
static inline bool slot_take_locked(struct msg_asking *asking, uint32_t kernel, uint16_t type, bool credit,
                                    uint16_t *id)
{
    struct request *request;

    if ((first_free == NO_SLOT && !add_block_locked()) ||
        __builtin_expect(slots_used >= (1u << INDEX_BITS) - SLOTS_RESERVED && !asking->sure, 0))
        return false;
    slots_used++;
    request = request_at(first_free);
    *id = (uint16_t)(first_free | request->generation << INDEX_BITS);
    first_free = request->next_free;
    request->asking = asking;
    request->state = REQUEST_WAITING;
    request->kernel = (uint8_t)kernel;
    request->type = type;
    request->credit = credit;
    return true;
}

/* The request that a reply names, or NULL: nobody asked that. */
static inline struct request *slot_find_locked(uint32_t kernel, uint16_t type, uint16_t id)
{
    uint32_t index = id & ((1u << INDEX_BITS) - 1);
    struct request *request;

    if (index >= block_count * BLOCK)
        return NULL;
    request = request_at(index);
    if (request->state == REQUEST_FREE || request->generation != id >> INDEX_BITS || request->kernel != kernel ||
        request->type != type)
        return NULL;
    return request;
}

static inline void slot_free_locked(struct request *request, uint16_t id)
{
    slots_used--;
    request->state = REQUEST_FREE;
    request->generation = (uint16_t)((request->generation + 1) % GENERATIONS);
    request->next_free = first_free;
    first_free = id & ((1u << INDEX_BITS) - 1);
}

static __attribute__((noinline)) void send_slowly_locked(struct msg_asking *asking, struct peer *peer)
{
    if (msg_header_length(asking->header) <= MSG_SHORT &&
        msg_put(peer, asking->outgoing.class, asking->header, asking->data, false))
        return;
    asking->outgoing.header = asking->header;
    asking->outgoing.data = asking->data;
    asking->slow = true;
    msg_queue(peer, &asking->outgoing);
}

/* False: ASKING is not sure, and fails. */
static __attribute__((noinline)) bool wait_for_slot_locked(struct msg_asking *asking)
{
    if (!asking->sure || slots_used == 0) /* nobody would give one back */
        return false;
    asking->waits = true;
    list_append(&slot_waiting, &asking->node);
    return true;
}

/* Gives a request its slot and sends it; without a slot one that is sure waits for it. False: there is no slot. */
static inline __attribute__((always_inline)) bool start_locked(struct msg_asking *asking, struct credits *c,
                                                               struct peer *peer, enum msg_class class)
{
    uint64_t header = asking->header;
    uint16_t id;

    if (!slot_take_locked(asking, asking->kernel, header & MSG_TYPE_BITS, true, &id))
        return wait_for_slot_locked(asking);
    c->used++;
    header |= (uint64_t)id << MSG_REQUEST_SHIFT;
    asking->header = header;
    if (!msg_put_fast(&peer->out[class], header, asking->data, false))
        send_slowly_locked(asking, peer);
    return true;
}

/* The next request that waits for a credit takes the one that has come back. Returns it if it fails for want of memory.
 */
static __attribute__((noinline)) struct msg_asking *start_next_locked(struct credits *c)
{
    struct msg_asking *next = container_of(c->waiting.next, struct msg_asking, node);

    list_remove(&next->node);
    next->waits = false;
    return start_locked(next, c, msg_peer(next->kernel), next->outgoing.class) ? NULL : next;
}

static inline struct msg_asking *credit_back_locked(uint32_t kernel, enum msg_class class)
{
    struct credits *c = &credits[kernel][class];

    c->used--;
    return list_empty(&c->waiting) ? NULL : start_next_locked(c);
}

/* A slot is free again: the first that waits for one takes it, or waits for a credit now. */
static __attribute__((noinline)) void slot_pass_on_locked(void)
{
    struct msg_asking *next = container_of(slot_waiting.next, struct msg_asking, node);
    struct credits *c = &credits[next->kernel][next->outgoing.class];

    list_remove(&next->node);
    if (c->used >= msg_reserve) {
        list_append(&c->waiting, &next->node);
        return;
    }
    next->waits = false;
    start_locked(next, c, msg_peer(next->kernel), next->outgoing.class);
}

static inline void slot_back_locked(struct request *request, uint16_t id)
{
    slot_free_locked(request, id);
    if (__builtin_expect(!list_empty(&slot_waiting), 0))
        slot_pass_on_locked();
}

/* FAILED is what credit_back_locked returned; without locks. */
static inline void answer_failed(struct msg_asking *failed)
{
    if (failed != NULL)
        failed->answer(failed->context, failed->kernel, NULL, -ENOMEM);
}

static __attribute__((noinline)) bool kernel_refused(uint32_t kernel, msg_answer answer, void *context)
{
    if (msg_peer(kernel) != NULL && msg_peer_reachable(kernel))
        return false;
    answer(context, kernel, NULL, msg_peer(kernel) == NULL ? -EINVAL : -EAGAIN);
    return true;
}

static inline void ask(struct msg_asking *asking, uint32_t kernel, enum msg_type type, const void *data,
                       uint32_t length, msg_answer answer, void *context, void (*gone)(struct msg_outgoing *))
{
    enum msg_class class = msg_kinds[type].class;
    struct peer *peer = msg_peer(kernel);
    struct credits *c;
    bool started;

    if ((peer == NULL || peer->blocked != 0) && (kernel_refused(kernel, answer, context) || peer == NULL))
        return;
    asking->header = type | (uint64_t)length << MSG_LENGTH_SHIFT;
    asking->kernel = kernel;
    asking->data = data;
    asking->answer = answer;
    asking->context = context;
    asking->outgoing.done = gone;
    asking->outgoing.class = class;
    asking->outgoing.queued = false;
    asking->waits = false;
    asking->slow = false;
    c = &credits[kernel][class];
    spin_lock(&table_lock);
    if (c->used >= msg_reserve) {
        asking->waits = true;
        list_append(&c->waiting, &asking->node);
        msg_stats.credit_waits++;
        spin_unlock(&table_lock);
        return;
    }
    started = start_locked(asking, c, peer, class);
    spin_unlock(&table_lock);
    if (!started)
        answer(context, kernel, NULL, -ENOMEM);
}

bool msg_call_reset(uint32_t kernel)
{
    bool clean = true;

    spin_lock(&table_lock);
    for (uint32_t i = 0; i < block_count * BLOCK; i++) {
        const struct request *request = request_at(i);

        clean = clean && (request->state == REQUEST_FREE || request->kernel != kernel);
    }
    for (uint32_t class = 0; class < MSG_CLASSES; class ++)
        clean = clean && credits[kernel][class].used == 0 && list_empty(&credits[kernel][class].waiting);
    spin_unlock(&table_lock);
    return clean;
}

void msg_ask(struct msg_asking *asking, uint32_t kernel, enum msg_type type, const void *data, uint32_t length,
             msg_answer answer, void *context)
{
    asking->sure = true;
    ask(asking, kernel, type, data, length, answer, context, NULL);
}

/* A wrong peer answers what it cannot have seen: the asker's memory is still in its queue. */
static inline bool not_yet_sent(const struct request *request)
{
    return request->state == REQUEST_WAITING && request->asking->outgoing.queued;
}

/* Ends the request that M answers, with LENGTH or an errno for the asker. */
static void take(const struct msg *m, int length)
{
    uint16_t type = m->ticket.type & MSG_TYPE_BITS;
    uint32_t kernel = m->ticket.kernel;
    struct msg_asking *failed = NULL;
    struct msg_asking *asking;
    struct request *request;
    bool credit;

    spin_lock(&table_lock);
    request = slot_find_locked(kernel, type, m->ticket.request);
    if (request == NULL || not_yet_sent(request)) {
        spin_unlock(&table_lock);
        msg_stats.late_reply++;
        return;
    }
    asking = request->state == REQUEST_WAITING ? request->asking : NULL;
    credit = request->credit;
    slot_back_locked(request, m->ticket.request);
    if (credit)
        failed = credit_back_locked(kernel, msg_kinds[type].class);
    spin_unlock(&table_lock);
    answer_failed(failed);
    if (asking != NULL)
        asking->answer(asking->context, kernel, m->data, length);
    else
        msg_stats.late_reply++;
}

void msg_take_reply(const struct msg *m)
{
    take(m, (int)m->length);
}

void msg_take_reply_error(const struct msg *m, int error)
{
    take(m, error);
}

/* Best effort: what the peer does with the word is its own affair, so one that finds no room is left out. */
static void tell_cancelled(uint32_t kernel, uint16_t type, uint16_t id)
{
    struct msg_cancel message = {.request = id, .type = type};
    uint64_t header = MSG_CANCEL | (uint64_t)sizeof(message) << MSG_LENGTH_SHIFT;

    msg_put(msg_peer(kernel), msg_kinds[MSG_CANCEL].class, header, &message, false);
}

void msg_take_kept(const struct msg *m)
{
    uint16_t type = m->ticket.type & MSG_TYPE_BITS;
    struct msg_asking *failed = NULL;
    struct request *request;
    bool abandoned = false;

    spin_lock(&table_lock);
    request = slot_find_locked(m->ticket.kernel, type, m->ticket.request);
    if (request != NULL && request->credit && !not_yet_sent(request)) {
        request->credit = false;
        abandoned = request->state == REQUEST_ABANDONED;
        failed = credit_back_locked(m->ticket.kernel, msg_kinds[type].class);
    } else {
        msg_stats.late_reply++;
    }
    spin_unlock(&table_lock);
    answer_failed(failed);
    if (abandoned)
        tell_cancelled(m->ticket.kernel, type, m->ticket.request);
}

void msg_dump_asked(void)
{
    uint32_t left = MSG_DUMP_MAX;

    for (uint32_t i = 0; i < block_count * BLOCK && left > 0; i++) {
        const struct request *request = request_at(i);

        if (request->state == REQUEST_FREE || msg_is_quiet(request->type))
            continue;
        log_event("wait kernel %u has asked kernel %u %s%s", instance.kernel, request->kernel,
                  msg_type_name(request->type), request->credit ? "" : ", which is kept there");
        left--;
    }
    for (uint32_t k = 0; k < instance.kernels; k++) {
        for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
            if (!list_empty(&credits[k][class].waiting))
                log_event("wait kernel %u has questions to kernel %u that wait for a credit", instance.kernel, k);
        }
    }
}

/* A word of cancellation that found no room is said again. */
uint32_t msg_unanswered(void)
{
    uint32_t count = 0;

    spin_lock(&table_lock);
    for (uint32_t i = 0; i < block_count * BLOCK; i++) {
        const struct request *request = request_at(i);

        if (request->state == REQUEST_FREE || msg_is_quiet(request->type))
            continue;
        count++;
        if (request->state == REQUEST_ABANDONED && !request->credit && request->kernel != instance.kernel)
            tell_cancelled(request->kernel, request->type, (uint16_t)(i | request->generation << INDEX_BITS));
    }
    for (uint32_t k = 0; k < KERNELS_MAX; k++) {
        for (uint32_t class = 0; class < MSG_CLASSES; class ++)
            count += list_empty(&credits[k][class].waiting) ? 0 : 1;
    }
    spin_unlock(&table_lock);
    return count;
}

bool msg_own_request(struct msg_asking *asking, uint16_t type, msg_answer answer, void *context, uint16_t *id)
{
    bool taken;

    asking->answer = answer;
    asking->context = context;
    asking->sure = true;
    asking->outgoing.queued = false;
    spin_lock(&table_lock);
    taken = slot_take_locked(asking, instance.kernel, type, false, id);
    spin_unlock(&table_lock);
    return taken;
}

struct waiting_call {
    struct completion done;
    struct completion gone; /* of a long request: it is in the ring */
    struct msg_asking asking;
    void *reply;
    uint32_t room;
    int result;
};

static void call_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct waiting_call *call = context;

    (void)kernel;
    if (length > 0 && (uint32_t)length > call->room)
        length = -EMSGSIZE;
    if (length > 0)
        memcpy(call->reply, reply, (size_t)length);
    call->result = length;
    completion_signal(&call->done);
}

/* Looks for messages for a while, as the answer is likely to come soon. */
static __attribute__((noinline)) void idle_poll_answer(const struct completion *done)
{
    bool first = !cpu_several || cpu_index() == 0;
    uint32_t budget = msg_idle_budget();

    if (budget > LOOKS_MAX)
        budget = LOOKS_MAX;
    if (done->done || budget == 0 || !wait_ops.alone())
        return;
    if (first)
        msg_doorbell_disarm();
    for (; budget > 0 && !done->done && wait_ops.alone(); budget--) { /* the answer may need a thread of this CPU */
        if (!idle_poll_look() || !msg_poll())
            cpu_relax();
    }
    while (first && !msg_doorbell_arm()) {
        msg_poll();
        cpu_relax(); /* another CPU may be at it, and its handler may wait for our TLB */
    }
}

void msg_wait(struct completion *done, const struct wait_reason *reason)
{
    uint64_t start;

    idle_poll_answer(done);
    if (done->done && !cpu_several) /* with several CPUs its lock may still be held */
        return;
    start = msg_ticks();
    completion_wait(done, reason);
    msg_idle_gave_up(msg_ticks_to_ns(msg_ticks() - start));
}

/* Nobody waits for CALL's answer any more. False: it is being given. */
static bool abandon(struct waiting_call *call)
{
    struct msg_asking *asking = &call->asking;
    uint16_t type = asking->header & MSG_TYPE_BITS;
    bool slow, unsent, found, kept = false;
    struct msg_asking *failed = NULL;
    struct request *request;
    uint16_t id;

    spin_lock(&table_lock);
    if (asking->waits) {
        list_remove(&asking->node);
        spin_unlock(&table_lock);
        return true;
    }
    slow = asking->slow;
    spin_unlock(&table_lock);
    id = (uint16_t)(asking->header >> MSG_REQUEST_SHIFT);
    unsent = slow && msg_unqueue(msg_peer(asking->kernel), &asking->outgoing);
    if (slow && !unsent) { /* whoever sends it still has our memory in hand */
        struct wait_reason reason = {.what = "rest of a request to go", .kernel = (int32_t)asking->kernel};

        completion_wait(&call->gone, &reason);
    }
    spin_lock(&table_lock);
    request = slot_find_locked(asking->kernel, type, id);
    found = request != NULL && request->state == REQUEST_WAITING && request->asking == asking;
    if (found && unsent) {
        slot_back_locked(request, id);
        failed = credit_back_locked(asking->kernel, msg_kinds[type].class);
    } else if (found) {
        request->state = REQUEST_ABANDONED;
        kept = !request->credit;
    }
    spin_unlock(&table_lock);
    answer_failed(failed);
    if (kept)
        tell_cancelled(asking->kernel, type, id);
    return found;
}

static void call_gone(struct msg_outgoing *outgoing)
{
    completion_signal(&container_of(outgoing, struct waiting_call, asking.outgoing)->gone);
}

static inline void call_start(struct waiting_call *call, uint32_t kernel, enum msg_type type, const void *data,
                              uint32_t length)
{
    assert(length <= MSG_MAX);
    completion_init(&call->done);
    completion_init(&call->gone);
    ask(&call->asking, kernel, type, data, length, call_answer, call, call_gone);
}

int msg_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *reply, uint32_t room,
             const char *why, uint64_t key)
{
    struct wait_reason reason;
    struct waiting_call call;

    call.reply = reply;
    call.room = room;
    call.asking.sure = false;
    reason = (struct wait_reason){.what = why, .kernel = (int32_t)kernel, .key = key};
    call_start(&call, kernel, type, data, length);
    msg_wait(&call.done, &reason);
    return call.result;
}

int msg_call_within(const struct msg_policy *policy, uint32_t kernel, enum msg_type type, const void *data,
                    uint32_t length, void *reply, uint32_t room, const char *why, uint64_t key)
{
    struct wait_reason reason = {.what = why, .kernel = (int32_t)kernel, .key = key};
    struct waiting_call call = {.reply = reply, .room = room, .asking.sure = policy->sure};
    uint64_t deadline = policy->timeout == 0 ? 0 : clock_now() + policy->timeout;

    call_start(&call, kernel, type, data, length);
    if (policy->timeout == 0)
        idle_poll_answer(&call.done);
    if (completion_wait_until(&call.done, &reason, policy->end, deadline) || !abandon(&call)) {
        completion_wait(&call.done, &reason);
        return call.result;
    }
    if (wait_ops.ended(policy->end)) {
        msg_stats.cancelled++;
        return -EINTR;
    }
    msg_stats.timed_out++;
    return -ETIMEDOUT;
}

#define GATHER_NEAR 8u /* kernels asked at the same time without memory for more */

struct gathering {
    struct completion done;
    struct spinlock lock;
    uint32_t left; /* [k] lock: answers still to come, and one until all requests are out */
    msg_answer each;
    void *context;
};

static void one_less(struct gathering *gathering)
{
    uint32_t left;

    spin_lock(&gathering->lock);
    left = --gathering->left;
    spin_unlock(&gathering->lock);
    if (left == 0)
        completion_signal(&gathering->done);
}

static void gather_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct gathering *gathering = context;

    if (gathering->each != NULL) {
        spin_lock(&gathering->lock);
        gathering->each(gathering->context, kernel, reply, length);
        spin_unlock(&gathering->lock);
    }
    one_less(gathering);
}

/* A round of asking: SET has at most as many kernels as ASKINGS has places. */
static void gather_some(struct gathering *gathering, kernel_set set, struct msg_asking *askings, enum msg_type type,
                        const void *data, uint32_t length, const struct wait_reason *reason)
{
    completion_init(&gathering->done);
    gathering->left = kernel_set_count(set) + 1;
    for (kernel_set rest = set; rest != 0; rest &= rest - 1)
        msg_ask(askings++, (uint32_t)__builtin_ctzll(rest), type, data, length, gather_answer, gathering);
    one_less(gathering);
    msg_wait(&gathering->done, reason);
}

void msg_note_error(void *error, uint32_t kernel, const void *reply, int length)
{
    int *lowest = error;

    (void)kernel;
    (void)reply;
    if (length < *lowest)
        *lowest = length;
}

void msg_gather(kernel_set set, enum msg_type type, const void *data, uint32_t length, msg_answer each, void *context,
                const char *why, uint64_t key)
{
    uint32_t count = kernel_set_count(set);
    struct wait_reason reason = {.what = why, .kernel = count == 1 ? __builtin_ctzll(set) : -1, .key = key};
    struct gathering gathering = {.each = each, .context = context};
    struct msg_asking near[GATHER_NEAR];
    struct msg_asking *far;

    if (count > GATHER_NEAR) {
        far = msg_memory.allocate(count * sizeof(near[0]));
        if (far != NULL) {
            gather_some(&gathering, set, far, type, data, length, &reason);
            msg_memory.release(far, count * sizeof(near[0]));
            return;
        }
    }
    while (set != 0) { /* all at once, or without memory for that one group after the other */
        kernel_set some = 0;

        for (uint32_t i = 0; i < GATHER_NEAR && set != 0; i++, set &= set - 1)
            some |= set & -set;
        gather_some(&gathering, some, near, type, data, length, &reason);
    }
}

/* A request whose task waits for the answer. See the header. */
#include "msg/request/call.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/silence.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/channel_internal.h"
#include "msg/idle.h"
#include "msg/request/request.h"
#include "msg/wire.h"

#define LOOKS_AT_PEER 16u /* of so many polls one is for the messages of all peers */
#define TAKES_MAX 32u     /* polls that take messages, during which interrupts are off, for an event */

struct waiting_call {
    struct completion done;
    struct completion gone; /* a request that was queued is in the ring */
    struct msg_asking asking;
    void *reply;
    uint32_t room;
    int result;
};

/* Copies the bytes of an answer; most have a few words. */
static inline void copy_reply(void *to, const void *from, uint32_t length)
{
    if (length > MSG_SHORT || length % 8 != 0) {
        memcpy(to, from, length);
        return;
    }
    for (uint32_t i = 0; i < length; i += 8)
        __builtin_memcpy((uint8_t *)to + i, (const uint8_t *)from + i, 8);
}

static void call_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct waiting_call *call = context;

    (void)kernel;
    if (length > 0 && (uint32_t)length > call->room)
        length = -EMSGSIZE;
    if (length > 0)
        copy_reply(call->reply, reply, (uint32_t)length);
    call->result = length;
    completion_signal(&call->done);
}

/* Looks for a message, of PEER if it is not NULL and else of all, and handles what there is. Returns whether there was
 * any. */
static inline bool look_once(struct peer *peer)
{
    struct ring_receiver *ring = peer != NULL ? msg_ring_of_peer(peer) : NULL;

    msg_note_look();
    if (ring != NULL ? msg_poll_ring(peer, ring) : peer == NULL && idle_poll_look() && msg_poll())
        return true;
    cpu_relax();
    return false;
}

/* Polls for messages for a while, until OVER (a constant) says so of CONTEXT, because what ends the wait is likely to
 * arrive soon: from KERNEL, unless that is -1. Of polls that take messages it makes at most MOST (a constant; 0: any
 * number). */
static inline __attribute__((always_inline)) void poll_until(bool (*over)(const void *context), const void *context,
                                                             int32_t kernel, uint32_t most)
{
    struct peer *peer;
    bool first, took;
    uint32_t budget = msg_idle_budget(), takes = 0;
    uint64_t last = rdtsc_unordered();

    if (!wait_ops.alone() || over(context) || budget == 0)
        return;
    peer = cpu_several || kernel < 0 ? NULL : msg_peer((uint32_t)kernel);
    first = !cpu_several || cpu_index() == 0;
    if (budget > IDLE_LOOKS_MAX)
        budget = IDLE_LOOKS_MAX;
    silence_end((uint64_t)__builtin_return_address(0));
    if (first)
        msg_doorbell_disarm();
    for (uint32_t i = 1; i <= budget; i++) {
        took = look_once(i % LOOKS_AT_PEER != 0 ? peer : NULL);
        /* On the only CPU just a handler ends the wait or makes a thread ready: no interrupt is taken meanwhile. */
        if ((took || cpu_several) && (over(context) || !wait_ops.alone()))
            break; /* what the wait is for may need a thread of this CPU */
        if ((most != 0 && took && ++takes == most) || idle_poll_away(&last))
            break;
    }
    if (first)
        msg_doorbell_leave();
    silence_begin();
}

static inline bool is_done(const void *completion)
{
    return ((const struct completion *)completion)->done;
}

static __attribute__((noinline)) void idle_poll_answer(const struct completion *done, int32_t kernel)
{
    poll_until(is_done, done, kernel, 0);
}

__attribute__((noinline)) void idle_poll_event(bool (*over)(const void *context), const void *context)
{
    poll_until(over, context, -1, TAKES_MAX);
}

bool msg_wait_until(struct completion *done, const struct wait_reason *reason, uint64_t deadline)
{
    uint64_t start;
    bool signalled;

    idle_poll_answer(done, reason->kernel);
    if (done->done && !cpu_several) /* with several CPUs, the signalling one may still hold DONE's lock */
        return true;
    start = msg_ticks();
    signalled = completion_wait_until(done, reason, WAIT_FIRM, deadline);
    msg_idle_gave_up(msg_ticks_to_ns(msg_ticks() - start));
    return signalled;
}

void msg_wait(struct completion *done, const struct wait_reason *reason)
{
    msg_wait_until(done, reason, 0);
}

/* CALL's request has been put, and is abandoned: waits until its kernel does not read its bytes in this task's memory.
 */
static void wait_returned(struct waiting_call *call)
{
    struct wait_reason reason = {.what = "bytes of a request to be copied", .kernel = (int32_t)call->asking.kernel};

    completion_init(&call->gone);
    msg_return(msg_peer(call->asking.kernel), &call->asking.outgoing);
    completion_wait(&call->gone, &reason);
}

/* Abandons CALL. False: its answer is being delivered. */
static bool abandon(struct waiting_call *call)
{
    struct msg_asking *asking = &call->asking;
    uint16_t type = asking->header & MSG_TYPE_BITS;
    bool slow, unsent, found, kept = false;
    struct msg_asking *failed = NULL;
    struct msg_request *request;
    uint16_t id;

    spin_lock(&msg_requests.lock);
    if (asking->waits) {
        list_remove(&asking->node);
        spin_unlock(&msg_requests.lock);
        return true;
    }
    slow = asking->slow;
    spin_unlock(&msg_requests.lock);
    id = (uint16_t)(asking->header >> MSG_REQUEST_SHIFT);
    unsent = slow && msg_unqueue(msg_peer(asking->kernel), &asking->outgoing);
    if (slow && !unsent) { /* the CPU that sends it still uses this task's memory */
        struct wait_reason reason = {.what = "rest of a request to go", .kernel = (int32_t)asking->kernel};

        completion_wait(&call->gone, &reason);
    }
    spin_lock(&msg_requests.lock);
    request = msg_request_find_locked(msg_request_reply(asking->kernel, type, id));
    found = request != NULL && request->state == REQUEST_WAITING && request->asking == asking;
    if (found && unsent) {
        msg_request_back_locked(request);
        failed = msg_credit_back_locked(asking->out);
    } else if (found) {
        request->state = REQUEST_ABANDONED;
        kept = request->credit == NULL;
    }
    spin_unlock(&msg_requests.lock);
    msg_request_failed(failed);
    if (kept)
        msg_request_cancel(asking->kernel, type, id);
    else if (found && slow && !unsent && msg_lends(asking->data, msg_header_length(asking->header)))
        wait_returned(call);
    return found;
}

/* A CANCEL that must not be lost. */
struct recalling {
    struct msg_outgoing outgoing;
    struct msg_cancel message;
    struct completion gone;
};

static void recall_gone(struct msg_outgoing *outgoing)
{
    completion_signal(&container_of(outgoing, struct recalling, outgoing)->gone);
}

/* Has CALL's kernel answer now, if it keeps the request. False: the request was never sent. The CANCEL is put or queued
 * while the slot is certainly this request's, and so before any other request that gets the slot's id. */
static bool recall(struct waiting_call *call)
{
    struct wait_reason reason = {.what = "a CANCEL to go", .kernel = (int32_t)call->asking.kernel};
    struct msg_asking *asking = &call->asking;
    uint16_t type = asking->header & MSG_TYPE_BITS;
    struct msg_request *request = NULL;
    struct recalling recalling;
    bool queued = false;
    bool waits;

    completion_init(&recalling.gone);
    spin_lock(&msg_requests.lock);
    waits = asking->waits;
    if (waits) {
        list_remove(&asking->node);
    } else {
        recalling.message = (struct msg_cancel){.request = (uint16_t)(asking->header >> MSG_REQUEST_SHIFT),
                                                .type = type};
        request = msg_request_find_locked(msg_request_reply(asking->kernel, type, recalling.message.request));
    }
    if (request != NULL && request->state == REQUEST_WAITING && request->asking == asking) {
        recalling.outgoing = (struct msg_outgoing){
            .header = MSG_CANCEL | (uint64_t)sizeof(recalling.message) << MSG_LENGTH_SHIFT,
            .data = (const void *)&recalling.message,
            .class = msg_kinds[MSG_CANCEL].class,
            .done = recall_gone,
        };
        queued = !msg_put(msg_peer(asking->kernel), recalling.outgoing.class, recalling.outgoing.header,
                          &recalling.message, false);
        if (queued)
            msg_queue(msg_peer(asking->kernel), &recalling.outgoing);
    }
    spin_unlock(&msg_requests.lock);
    if (queued)
        completion_wait(&recalling.gone, &reason);
    return !waits;
}

static void call_gone(struct msg_outgoing *outgoing)
{
    completion_signal(&container_of(outgoing, struct waiting_call, asking.outgoing)->gone);
}

static inline void call_start(struct waiting_call *call, uint32_t kernel, enum msg_type type, const void *data,
                              uint32_t length, bool sure)
{
    assert(length <= MSG_MAX);
    completion_init(&call->done);
    completion_init(&call->gone);
    msg_request_ask(&call->asking, kernel, type, data, length, call_answer, call, call_gone, sure);
}

/* The same for a request to this kernel itself. */
static void call_own(struct waiting_call *call, enum msg_type type, const void *data, uint32_t length)
{
    struct msg m = {.ticket = {.type = type & MSG_ROW_BITS, .kernel = instance.kernel & MSG_SOURCE_BITS},
                    .time = msg_clock_tick(),
                    .length = length,
                    .data = data};
    struct msg_asking *asking = &call->asking;

    completion_init(&call->done);
    asking->kernel = instance.kernel;
    if (!msg_own_request(asking, m.ticket.type, call_answer, call, &m.ticket.request)) {
        call_answer(call, instance.kernel, NULL, -ENOMEM);
        return;
    }
    asking->header = type | (uint64_t)m.ticket.request << MSG_REQUEST_SHIFT;
    msg_rows[type].handler(&m);
}

void (*msg_lacks)(uint32_t kernel);

static __attribute__((noinline)) void note_lacks(uint32_t kernel)
{
    if (msg_lacks != NULL && kernel != instance.kernel)
        msg_lacks(kernel);
}

static inline int result_of(const struct waiting_call *call, uint32_t kernel)
{
    if (__builtin_expect(call->result == -ENOMEM, 0))
        note_lacks(kernel);
    return call->result;
}

int msg_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *reply, uint32_t room,
             const char *why, uint64_t key)
{
    struct wait_reason reason;
    struct waiting_call call;

    call.reply = reply;
    call.room = room;
    reason = (struct wait_reason){.what = why, .kernel = (int32_t)kernel, .key = key};
    call_start(&call, kernel, type, data, length, false);
    msg_wait(&call.done, &reason);
    return result_of(&call, kernel);
}

int msg_call_within(const struct msg_policy *policy, uint32_t kernel, enum msg_type type, const void *data,
                    uint32_t length, void *reply, uint32_t room, const char *why, uint64_t key)
{
    struct wait_reason reason = {.what = why, .kernel = (int32_t)kernel, .key = key};
    struct waiting_call call;
    uint64_t deadline = policy->timeout == 0 ? 0 : clock_now() + policy->timeout;

    assert(!policy->recalls || kernel != instance.kernel);
    call.reply = reply;
    call.room = room;
    if (kernel == instance.kernel)
        call_own(&call, type, data, length);
    else
        call_start(&call, kernel, type, data, length, policy->sure);
    if (policy->timeout == 0)
        idle_poll_answer(&call.done, (int32_t)kernel);
    if (call.done.done && !cpu_several) /* as msg_wait_until */
        return result_of(&call, kernel);
    if (completion_wait_until(&call.done, &reason, policy->end, deadline) ||
        (policy->recalls ? recall(&call) : !abandon(&call))) {
        completion_wait(&call.done, &reason);
        return result_of(&call, kernel);
    }
    if (wait_ops.ended(policy->end)) {
        msg_stats.cancelled++;
        return -EINTR;
    }
    msg_stats.timed_out++;
    return -ETIMEDOUT;
}

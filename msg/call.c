/* Requests and their replies. See the header.
 *
 * A request id is a slot of this table and the slot's generation, so a late reply to a slot used again is recognised.
 */
#include "msg/call.h"

#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/channel.h"

#define SLOT_BITS 10u
#define SLOTS (1u << SLOT_BITS)
#define GENERATIONS (1u << (16 - SLOT_BITS))

struct request {
    msg_answer answer; /* NULL: free */
    void *context;
    uint16_t generation;
    uint8_t kernel;
    uint8_t type;
    uint16_t next_free;
};

static struct spinlock table_lock;
static struct request table[SLOTS];       /* [k] table_lock */
static uint16_t first_free;               /* [k] table_lock: SLOTS when all are taken */
static uint32_t outstanding[KERNELS_MAX]; /* [k] table_lock: requests a peer has not answered */

static void take_reply(const struct msg_header *header, const struct msg *m);

void msg_call_init(void)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        table[i].next_free = (uint16_t)(i + 1);
    msg_set_reply_handler(take_reply);
}

/* The peer's replies have MSG_RESERVE slots of the ring to us: no more than that many requests at a time. */
static bool slot_take(uint32_t kernel, enum msg_type type, msg_answer answer, void *context, uint16_t *id)
{
    bool taken = false;

    spin_lock(&table_lock);
    if (first_free < SLOTS && outstanding[kernel] < MSG_RESERVE) {
        struct request *request = &table[first_free];

        *id = (uint16_t)(first_free | (uint32_t)request->generation << SLOT_BITS);
        first_free = request->next_free;
        request->answer = answer;
        request->context = context;
        request->kernel = (uint8_t)kernel;
        request->type = (uint8_t)type;
        outstanding[kernel]++;
        taken = true;
    }
    spin_unlock(&table_lock);
    return taken;
}

/* Frees the slot of request ID and copies what it was. False: no such request is outstanding. */
static bool slot_give(uint16_t id, uint32_t kernel, uint32_t type, struct request *was)
{
    uint16_t index = id & (SLOTS - 1);
    struct request *request = &table[index];
    bool found;

    spin_lock(&table_lock);
    found = request->answer != NULL && request->generation == id >> SLOT_BITS && request->kernel == kernel &&
            request->type == type;
    if (found) {
        *was = *request;
        request->answer = NULL;
        request->generation = (request->generation + 1) % GENERATIONS;
        request->next_free = first_free;
        first_free = index;
        outstanding[kernel]--;
    }
    spin_unlock(&table_lock);
    return found;
}

static void take_reply(const struct msg_header *header, const struct msg *m)
{
    struct request request;
    int length = (int)m->length;

    if (!slot_give(header->request, m->ticket.kernel, m->ticket.type, &request)) {
        msg_count_late_reply();
        return;
    }
    if (header->error) {
        int64_t error;

        memcpy(&error, m->data, sizeof(error));
        length = error < 0 && error > -4096 ? (int)error : -EPROTO;
    }
    request.answer(request.context, m->ticket.kernel, m->data, length);
}

void msg_ask(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, msg_answer answer, void *context)
{
    struct msg_header header = {.type = (uint8_t)type, .length = length};
    struct request request;
    int error;

    assert(length <= MSG_MAX);
    if (kernel >= instance.kernels || kernel == instance.kernel) {
        answer(context, kernel, NULL, -EINVAL);
        return;
    }
    if (!msg_peer_reachable(kernel)) {
        answer(context, kernel, NULL, -EAGAIN);
        return;
    }
    while (!slot_take(kernel, type, answer, context, &header.request)) {
        msg_poll();
        wait_ops.yield();
    }
    error = msg_transmit(kernel, &header, data);
    if (error != 0 && slot_give(header.request, kernel, type, &request))
        answer(context, kernel, NULL, error);
}

struct waiting_call {
    struct completion done;
    struct spinlock lock;
    uint32_t left; /* [k] lock: answers still to come, and one until all requests are sent */
    void *reply;
    uint32_t room;
    int result;
    msg_answer each;
    void *context;
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

int msg_call(uint32_t kernel, enum msg_type type, const void *data, uint32_t length, void *reply, uint32_t room,
             const char *why, uint64_t key)
{
    struct waiting_call call = {.reply = reply, .room = room};
    struct wait_reason reason = {.what = why, .kernel = (int32_t)kernel, .key = key};

    msg_ask(kernel, type, data, length, call_answer, &call);
    completion_wait(&call.done, &reason);
    return call.result;
}

static void gather_one_less(struct waiting_call *call)
{
    uint32_t left;

    spin_lock(&call->lock);
    left = --call->left;
    spin_unlock(&call->lock);
    if (left == 0)
        completion_signal(&call->done);
}

static void gather_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct waiting_call *call = context;

    if (call->each != NULL) {
        spin_lock(&call->lock);
        call->each(call->context, kernel, reply, length);
        spin_unlock(&call->lock);
    }
    gather_one_less(call);
}

void msg_gather(kernel_set set, enum msg_type type, const void *data, uint32_t length, msg_answer each, void *context,
                const char *why, uint64_t key)
{
    struct waiting_call call = {.each = each, .context = context};
    struct wait_reason reason = {.what = why, .kernel = -1, .key = key};

    if (set == 0)
        return;
    call.left = kernel_set_count(set) + 1;
    for (kernel_set rest = set; rest != 0; rest &= rest - 1) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(rest);

        if (rest == (rest & -rest))
            reason.kernel = (int32_t)kernel;
        msg_ask(kernel, type, data, length, gather_answer, &call);
    }
    gather_one_less(&call);
    completion_wait(&call.done, &reason);
}

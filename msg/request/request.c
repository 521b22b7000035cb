/* The table of requests. See the header. */
#include "msg/request/request.h"

#include "kernel/lib/log.h"
#include "msg/quiet.h"
#include "msg/wait_dump.h"
#include "msg/wire.h"

struct msg_requests msg_requests;

void msg_call_init(void)
{
    list_init(&msg_requests.waiting);
}

bool msg_requests_grow_locked(void)
{
    struct msg_request *block = msg_requests.block_count < REQUEST_BLOCKS
                                    ? msg_memory.allocate(REQUEST_BLOCK * sizeof(struct msg_request))
                                    : NULL;

    if (block == NULL)
        return false;
    for (uint32_t i = 0; i < REQUEST_BLOCK; i++) {
        block[i].id = (uint16_t)(msg_requests.block_count * REQUEST_BLOCK + i);
        block[i].next_free = i + 1 < REQUEST_BLOCK ? &block[i + 1] : NULL;
    }
    msg_requests.first_free = block;
    msg_requests.blocks[msg_requests.block_count++] = block;
    return true;
}

bool msg_request_wait_locked(struct msg_asking *asking)
{
    if (!asking->sure || msg_requests.used == 0) /* no request is under way that would free a slot */
        return false;
    asking->waits = true;
    list_append(&msg_requests.waiting, &asking->node);
    return true;
}

void msg_request_pass_on_locked(void)
{
    struct msg_asking *next = container_of(msg_requests.waiting.next, struct msg_asking, node);
    struct sender_class *out = next->out;

    list_remove(&next->node);
    if (out->credits.used >= msg_reserve) {
        list_append(&out->credits.waiting, &next->node);
        return;
    }
    next->waits = false;
    msg_request_start_locked(next, next->header, out, next->data);
}

void msg_request_send_slowly_locked(struct msg_asking *asking)
{
    struct sender_class *out = asking->out;

    if (msg_header_length(asking->header) <= MSG_SHORT &&
        msg_put(out->peer, out->class, asking->header, asking->data, false))
        return;
    asking->outgoing.header = asking->header;
    asking->outgoing.data = asking->data;
    asking->outgoing.class = out->class;
    asking->slow = true;
    msg_queue(out->peer, &asking->outgoing);
}

struct msg_asking *msg_request_start_next_locked(struct sender_class *out)
{
    struct msg_asking *next = container_of(out->credits.waiting.next, struct msg_asking, node);

    list_remove(&next->node);
    next->waits = false;
    return msg_request_start_locked(next, next->header, out, next->data) ? NULL : next;
}

bool msg_request_refused(uint32_t kernel, msg_answer answer, void *context)
{
    if (msg_peer(kernel) != NULL && msg_peer_reachable(kernel))
        return false;
    answer(context, kernel, NULL, msg_peer(kernel) == NULL ? -EINVAL : msg_peer(kernel)->fenced ? -EHOSTDOWN : -EAGAIN);
    return true;
}

bool msg_call_reset(uint32_t kernel)
{
    bool clean = true;

    spin_lock(&msg_requests.lock);
    for (uint32_t i = 0; i < msg_requests.block_count * REQUEST_BLOCK; i++) {
        const struct msg_request *request = msg_request_at(i);

        clean = clean && (request->state == REQUEST_FREE || msg_request_kernel(request) != kernel);
    }
    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        const struct sender_class *out = msg_sender(kernel, class);

        clean = clean && (out == NULL || (out->credits.used == 0 && list_empty(&out->credits.waiting)));
    }
    spin_unlock(&msg_requests.lock);
    return clean;
}

/* Takes a request to KERNEL that waits for a credit or for a slot out of its list; NULL: none does. */
static struct msg_asking *take_waiting_locked(uint32_t kernel)
{
    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        struct list *waiting = &msg_sender(kernel, class)->credits.waiting;

        if (!list_empty(waiting)) {
            struct msg_asking *asking = container_of(waiting->next, struct msg_asking, node);

            list_remove(&asking->node);
            asking->waits = false;
            return asking;
        }
    }
    list_for_each(node, &msg_requests.waiting) {
        struct msg_asking *asking = container_of(node, struct msg_asking, node);

        if (asking->kernel == kernel) {
            list_remove(&asking->node);
            asking->waits = false;
            return asking;
        }
    }
    return NULL;
}

/* Frees the slot of a request to KERNEL from index *AT on. False: there is none. *ASKING: who asked, or NULL if it has
 * given up. */
static bool take_sent_locked(uint32_t kernel, uint32_t *at, struct msg_asking **asking)
{
    for (; *at < msg_requests.block_count * REQUEST_BLOCK; (*at)++) {
        struct msg_request *request = msg_request_at(*at);

        if (request->state == REQUEST_FREE || msg_request_kernel(request) != kernel)
            continue;
        *asking = request->state == REQUEST_WAITING ? request->asking : NULL;
        if (request->credit != NULL)
            request->credit->credits.used--;
        msg_request_back_locked(request);
        return true;
    }
    return false;
}

bool msg_requests_fail(uint32_t kernel, uint32_t most)
{
    uint32_t at = 0;
    bool found = true;

    for (; most > 0 && found; most--) {
        struct msg_asking *asking;

        spin_lock(&msg_requests.lock);
        asking = take_waiting_locked(kernel);
        found = asking != NULL || take_sent_locked(kernel, &at, &asking);
        spin_unlock(&msg_requests.lock);
        if (asking != NULL)
            asking->answer(asking->context, kernel, NULL, -EHOSTDOWN);
    }
    return found;
}

void msg_ask(struct msg_asking *asking, uint32_t kernel, enum msg_type type, const void *data, uint32_t length,
             msg_answer answer, void *context)
{
    msg_request_ask(asking, kernel, type, data, length, answer, context, NULL, true);
}

/* True if the request is not entirely in the ring yet: then the requester's memory is still in the queue, and a reply
 * comes from a faulty peer. */
static inline bool not_yet_sent(const struct msg_request *request)
{
    return request->state == REQUEST_WAITING && request->asking->slow && request->asking->outgoing.queued;
}

/* Ends the request that M answers, with LENGTH, which may be an errno, for the requester. */
static inline __attribute__((always_inline)) void take(const struct msg *m, int length)
{
    struct msg_asking *failed = NULL;
    struct msg_asking *asking;
    struct msg_request *request;
    struct sender_class *out;

    spin_lock_briefly(&msg_requests.lock);
    request = msg_request_find_locked(msg_ticket_reply(&m->ticket));
    if (__builtin_expect(request == NULL || not_yet_sent(request), 0)) {
        spin_unlock(&msg_requests.lock);
        msg_stats.late_reply++;
        return;
    }
    asking = __builtin_expect(request->state == REQUEST_WAITING, 1) ? request->asking : NULL;
    out = request->credit;
    msg_request_back_locked(request);
    if (out != NULL)
        failed = msg_credit_back_locked(out);
    spin_unlock(&msg_requests.lock);
    msg_request_failed(failed);
    if (__builtin_expect(asking == NULL, 0)) {
        msg_stats.late_reply++;
        return;
    }
    asking->answer(asking->context, asking->kernel, m->data, length);
}

void msg_take_reply(const struct msg *m)
{
    take(m, (int)m->length);
}

void msg_take_reply_error(const struct msg *m, int error)
{
    take(m, error);
}

/* Best effort: a CANCEL is only a hint, so one that finds no room is not sent. */
void msg_request_cancel(uint32_t kernel, uint16_t type, uint16_t id)
{
    struct msg_cancel message = {.request = id, .type = type};
    uint64_t header = MSG_CANCEL | (uint64_t)sizeof(message) << MSG_LENGTH_SHIFT;

    if (kernel == instance.kernel)
        msg_kept_cancel(kernel, &message);
    else
        msg_put(msg_peer(kernel), msg_kinds[MSG_CANCEL].class, header, &message, false);
}

void msg_take_kept(const struct msg *m)
{
    uint16_t type = m->ticket.type & MSG_TYPE_BITS;
    struct msg_asking *failed = NULL;
    struct msg_request *request;
    bool abandoned = false;

    spin_lock(&msg_requests.lock);
    request = msg_request_find_locked(msg_ticket_reply(&m->ticket));
    if (request != NULL && request->credit != NULL && !not_yet_sent(request)) {
        struct sender_class *out = request->credit;

        request->credit = NULL;
        abandoned = request->state == REQUEST_ABANDONED;
        failed = msg_credit_back_locked(out);
    } else {
        msg_stats.late_reply++;
    }
    spin_unlock(&msg_requests.lock);
    msg_request_failed(failed);
    if (abandoned)
        msg_request_cancel(m->ticket.kernel, type, m->ticket.request);
}

void msg_dump_asked(void)
{
    uint32_t left = MSG_DUMP_MAX;

    for (uint32_t i = 0; i < msg_requests.block_count * REQUEST_BLOCK && left > 0; i++) {
        const struct msg_request *request = msg_request_at(i);

        if (request->state == REQUEST_FREE || msg_is_quiet(msg_request_type(request)))
            continue;
        log_event("wait kernel %u has asked kernel %u %s%s", instance.kernel, msg_request_kernel(request),
                  msg_type_name(msg_request_type(request)), request->credit != NULL ? "" : ", which is kept there");
        left--;
    }
    for (uint32_t k = 0; k < instance.kernels; k++) {
        for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
            const struct sender_class *out = msg_sender(k, class);

            if (out != NULL && !list_empty(&out->credits.waiting))
                log_event("wait kernel %u has questions to kernel %u that wait for a credit", instance.kernel, k);
        }
    }
}

/* Whether REQUEST may be under way while programs are quiesced: it is of the quiescing protocol, or a peer keeps it
 * until a program goes on. */
static bool may_rest(const struct msg_request *request)
{
    uint32_t type = msg_request_type(request);

    return msg_is_quiet(type) ||
           (type == MSG_GROUP_STOP && request->state == REQUEST_WAITING && request->credit == NULL);
}

/* Sends CANCEL again, in case the first one found no room. */
uint32_t msg_unanswered(void)
{
    uint32_t count = 0;

    spin_lock(&msg_requests.lock);
    for (uint32_t i = 0; i < msg_requests.block_count * REQUEST_BLOCK; i++) {
        const struct msg_request *request = msg_request_at(i);

        if (request->state == REQUEST_FREE || may_rest(request))
            continue;
        count++;
        if (request->state == REQUEST_ABANDONED && request->credit == NULL &&
            msg_request_kernel(request) != instance.kernel)
            msg_request_cancel(msg_request_kernel(request), msg_request_type(request), request->id);
    }
    for (uint32_t k = 0; k < KERNELS_MAX; k++) {
        for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
            const struct sender_class *out = msg_sender(k, class);

            count += out == NULL || list_empty(&out->credits.waiting) ? 0 : 1;
        }
    }
    spin_unlock(&msg_requests.lock);
    return count;
}

bool msg_own_request(struct msg_asking *asking, uint16_t type, msg_answer answer, void *context, uint16_t *id)
{
    struct msg_request *request;

    asking->answer = answer;
    asking->context = context;
    asking->kernel = instance.kernel;
    asking->sure = true;
    asking->waits = false;
    asking->slow = false;
    asking->out = NULL;
    spin_lock(&msg_requests.lock);
    request = msg_request_take_locked(asking, msg_request_reply(instance.kernel, type, 0), NULL);
    if (request != NULL)
        *id = request->id;
    spin_unlock(&msg_requests.lock);
    return request != NULL;
}

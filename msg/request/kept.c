/* Answers: at once in the handler, or later for a kept request. See msg/channel.h and msg/PROTOCOL.md. */
#include "kernel/abi/errno.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "kernel/wait/completion.h"
#include "msg/channel_internal.h"
#include "msg/quiet.h"
#include "msg/wait_dump.h"
#include "msg/wire.h"

static struct spinlock kept_lock; /* taken before a peer's tx_lock */
static struct list kept_requests; /* [k] kept_lock: struct msg_kept, not yet answered */
static struct list *orphans_from; /* [k] kept_lock: where the look for requests of the dead goes on; NULL: it is over */
#define LOOKS_FOR_ORPHAN 16u      /* for each that may be notified: what is passed over costs less */

/* The lower half of a request's header. */
static inline uint32_t ticket_word(const struct msg_ticket *ticket)
{
    uint32_t word;

    __builtin_memcpy(&word, ticket, sizeof(word));
    return word;
}

static inline uint64_t reply_header(const struct msg_ticket *ticket, uint32_t length)
{
    return (ticket_word(ticket) & ~(uint32_t)(MSG_SOURCE_BITS << MSG_SOURCE_SHIFT)) | MSG_REPLY_BIT |
           (uint64_t)length << MSG_LENGTH_SHIFT;
}

/* Answers a request of this kernel to itself. */
static void reply_own(const struct msg_ticket *ticket, uint64_t header, const void *data)
{
    struct msg m = {.ticket = *ticket, .length = (uint32_t)msg_header_length(header), .data = data};
    int64_t error;

    if ((header & MSG_ERROR_BIT) == 0) {
        msg_take_reply(&m);
        return;
    }
    memcpy(&error, data, sizeof(error));
    msg_take_reply_error(&m, (int)error);
}

/* Within the credits of a peer there is always room; a peer that exceeds them loses the answer. */
static __attribute__((noinline)) void reply_slowly(const struct msg_ticket *ticket, uint64_t header, const void *data)
{
    struct peer *peer = msg_peer(ticket->kernel);

    if (peer == NULL)
        reply_own(ticket, header, data);
    else if (!msg_put(peer, msg_kinds[ticket->type].class, header, data, true))
        msg_stats.overrun++;
}

static inline __attribute__((always_inline)) void reply_now(const struct msg_ticket *ticket, uint64_t header,
                                                            const void *data)
{
    uint32_t word = ticket_word(ticket);
    struct sender_class *out = msg_senders[msg_header_source(word)][msg_kinds[word & MSG_TYPE_BITS].class];

    if (__builtin_expect(out == NULL, 0) || __builtin_expect(!msg_put_fast(out, header, data, true), 0))
        reply_slowly(ticket, header, data);
}

void msg_reply(const struct msg_ticket *ticket, const void *data, uint32_t length)
{
    assert(length <= MSG_SHORT);
    reply_now(ticket, reply_header(ticket, length), data);
}

void msg_reply_error(const struct msg_ticket *ticket, int error)
{
    int64_t value = error;

    reply_now(ticket, reply_header(ticket, sizeof(value)) | MSG_ERROR_BIT, &value);
}

void msg_keep(const struct msg *m, struct msg_kept *kept, void (*cancelled)(struct msg_kept *kept))
{
    kept->ticket = m->ticket;
    kept->cancelled = cancelled;
    kept->orphan = false;
    spin_lock(&kept_lock);
    list_append(&kept_requests, &kept->node);
    spin_unlock(&kept_lock);
    if (m->ticket.kernel != instance.kernel)
        reply_now(&m->ticket, reply_header(&m->ticket, 0) | MSG_KEPT_BIT,
                  &kept->ticket); /* a valid pointer, of which no bytes are sent */
}

static void kept_gone(struct msg_outgoing *outgoing)
{
    struct msg_kept *kept = container_of(outgoing, struct msg_kept, outgoing);

    if (kept->done != NULL)
        kept->done(kept);
}

static void kept_send(struct msg_kept *kept, uint64_t header, const void *data, void (*done)(struct msg_kept *kept))
{
    struct peer *peer = msg_peer(kept->ticket.kernel);
    uint32_t length = (uint32_t)msg_header_length(header);
    enum msg_class class = msg_kinds[kept->ticket.type].class;
    bool orphan;

    spin_lock(&kept_lock);
    if (__builtin_expect(orphans_from == &kept->node, 0))
        orphans_from = kept->node.next;
    list_remove(&kept->node);
    orphan = kept->orphan;
    spin_unlock(&kept_lock);
    if (orphan) { /* its kernel may run again, and may use the same id for another request */
        msg_stats.late_epoch++;
    } else if (peer == NULL) {
        struct msg_ticket ticket = kept->ticket;

        reply_own(&ticket, header, data);
    } else if (!msg_put_fast(&peer->out[class], header, data, false) &&
               (length > MSG_SHORT || !msg_put(peer, class, header, data, false))) {
        if (length <= MSG_SHORT) {
            memcpy(kept->payload, data, length);
            data = kept->payload;
        }
        kept->done = done;
        kept->outgoing = (struct msg_outgoing){.header = header, .data = data, .class = class, .done = kept_gone};
        msg_queue(peer, &kept->outgoing);
        return;
    }
    if (done != NULL)
        done(kept);
}

void msg_kept_reply(struct msg_kept *kept, const void *data, uint32_t length, void (*done)(struct msg_kept *kept))
{
    assert(length <= MSG_SHORT);
    kept_send(kept, reply_header(&kept->ticket, length), data, done);
}

void msg_kept_reply_error(struct msg_kept *kept, int error, void (*done)(struct msg_kept *kept))
{
    int64_t value = error;

    kept_send(kept, reply_header(&kept->ticket, sizeof(value)) | MSG_ERROR_BIT, &value, done);
}

void msg_kept_reply_long(struct msg_kept *kept, const void *data, uint32_t length, void (*done)(struct msg_kept *kept))
{
    assert(length <= MSG_MAX);
    kept_send(kept, reply_header(&kept->ticket, length), data, done);
}

void msg_kept_cancel(uint32_t kernel, const struct msg_cancel *cancel)
{
    spin_lock(&kept_lock);
    list_for_each(node, &kept_requests) {
        struct msg_kept *kept = container_of(node, struct msg_kept, node);

        if (kept->ticket.kernel == kernel && kept->ticket.request == cancel->request &&
            kept->ticket.type == cancel->type) {
            if (kept->cancelled != NULL)
                kept->cancelled(kept);
            break;
        }
    }
    spin_unlock(&kept_lock);
}

bool msg_kept_orphan(bool begin, uint32_t most)
{
    uint32_t looks = LOOKS_FOR_ORPHAN * most;
    bool more;

    spin_lock(&kept_lock);
    if (begin)
        orphans_from = kept_requests.next;
    for (; orphans_from != NULL && looks > 0 && most > 0; looks--) {
        struct msg_kept *kept = container_of(orphans_from, struct msg_kept, node);

        orphans_from = orphans_from != &kept_requests ? orphans_from->next : NULL;
        if (orphans_from == NULL || kept->orphan || !msg_peer_fenced(kept->ticket.kernel))
            continue;
        kept->orphan = true;
        most--;
        if (kept->cancelled != NULL)
            kept->cancelled(kept);
    }
    more = orphans_from != NULL;
    spin_unlock(&kept_lock);
    return more;
}

bool msg_kept_unorphaned(uint32_t kernel)
{
    bool found = false;

    spin_lock(&kept_lock);
    for (struct list *node = orphans_from; node != NULL && node != &kept_requests && !found; node = node->next) {
        const struct msg_kept *kept = container_of(node, const struct msg_kept, node);

        found = kept->ticket.kernel == kernel && !kept->orphan;
    }
    spin_unlock(&kept_lock);
    return found && msg_peer_fenced(kernel);
}

static void handle_cancel(const struct msg *m)
{
    msg_kept_cancel(m->ticket.kernel, m->data);
}

void msg_dump_kept(void)
{
    uint32_t left = MSG_DUMP_MAX;

    list_for_each(node, &kept_requests) {
        const struct msg_kept *kept = container_of(node, const struct msg_kept, node);

        if (!msg_is_quiet(kept->ticket.type))
            log_event("wait kernel %u keeps %s of kernel %u", instance.kernel, msg_type_name(kept->ticket.type),
                      kept->ticket.kernel);
        if (--left == 0)
            break;
    }
}

uint64_t msg_kept_count(void)
{
    uint64_t count = 0;

    spin_lock(&kept_lock);
    list_for_each(node, &kept_requests)
        count++;
    spin_unlock(&kept_lock);
    return count;
}

void msg_kept_init(void)
{
    list_init(&kept_requests);
    msg_register(MSG_CANCEL, handle_cancel, sizeof(struct msg_cancel), 0);
}

/* The slow path of a message that was taken: checks, and the handler of its row. msg/receive.c has the fast path. */
#include "kernel/abi/errno.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/channel_internal.h"
#include "msg/lend.h"
#include "msg/quiet.h"
#include "msg/trace.h"

struct msg_stays msg_stays;
struct msg_row msg_rows[MSG_ROWS];

_Static_assert((sizeof(struct msg_row) & (sizeof(struct msg_row) - 1)) == 0, "a row is found by a shift");

static uint8_t *lent_copy;    /* [k] rx_lock: MSG_MAX bytes: one message is handled at a time */
static uint32_t logged_kinds; /* [k] rx_lock: bad input is logged once per kind */

void msg_drop(uint64_t *counter, uint32_t kind, const struct peer *peer, const char *what)
{
    (*counter)++;
    if ((logged_kinds & 1u << kind) == 0) {
        logged_kinds |= 1u << kind;
        log_line("msg: dropped a message from kernel %u: %s (logged once)", peer->kernel, what);
    }
}

void *msg_allocate_for_good(size_t size)
{
    void *memory = msg_memory.allocate(size);

    if (memory != NULL) {
        msg_stays.objects++;
        msg_stays.bytes += (size + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
    }
    return memory;
}

void msg_dispatch_init(void)
{
    lent_copy = msg_memory.allocate_unset(MSG_MAX);
    if (lent_copy == NULL)
        panic("msg: no memory to copy what is lent");
}

/* After the first message of a row: allocates its histograms and opens the fast path for it. */
static bool row_prepare(struct msg_row *row, uint32_t number)
{
    if (row->times != NULL)
        return true;
    row->times = msg_allocate_for_good(sizeof(*row->times));
    if (row->times == NULL)
        return false;
    if (row->bytes)
        row->first = number;
    else if (row->size <= MSG_SHORT)
        row->expect = number | (uint64_t)row->size << MSG_LENGTH_SHIFT;
    return true;
}

uint64_t msg_measure(struct msg_row *row, uint64_t queued, uint64_t start)
{
    uint64_t now = msg_ticks();

    msg_histogram_add(&row->times->queueing, queued);
    msg_histogram_add(&row->times->handling, now - start);
    return now;
}

/* Calls the handler of a message and counts the message. */
static __attribute__((noinline)) void deliver(struct msg_row *row, const struct msg *m, uint64_t queued)
{
    uint64_t start = msg_ticks();
    bool measured = msg_row_count(row);

    if (row->bytes)
        row->bytes_received += m->length;
    row->handler(m);
    if (row_prepare(row, (uint32_t)(row - msg_rows)) && measured)
        msg_measure(row, queued, start);
}

void msg_dispatch(uint64_t word, uint64_t time, const void *data, uint64_t queued)
{
    struct msg_row *row = &msg_rows[word & MSG_ROW_BITS];
    struct msg m = {.length = (uint32_t)msg_header_length(word), .time = time, .data = data};
    uint64_t start = msg_ticks();

    memcpy(&m.ticket, &word, sizeof(m.ticket));
    if ((word & MSG_ERROR_BIT) != 0) {
        int64_t error;

        memcpy(&error, data, sizeof(error));
        row->received++;
        msg_take_reply_error(&m, error < 0 && error > -4096 ? (int)error : -EPROTO);
    } else if ((word & MSG_KEPT_BIT) != 0) {
        msg_take_kept(&m);
    } else {
        deliver(row, &m, queued);
    }
    if (msg_special)
        trace_taken(word, time, queued, msg_ticks() - start);
}

static bool length_right(const struct msg_header *header, const struct msg_row *row)
{
    if (header->length > MSG_MAX)
        return false;
    if (header->error || header->kept)
        return header->reply && !header->lent && header->length == (header->error ? 8 : 0);
    if (header->lent && header->length <= MSG_SHORT)
        return false;
    return row->bytes ? header->length >= row->size : header->length == row->size;
}

void msg_refuse_long(const struct msg_header *header, int error)
{
    struct msg_ticket ticket = {header->type, header->source & MSG_SOURCE_BITS, header->request};
    struct msg m = {.ticket = ticket};

    if (header->reply)
        msg_take_reply_error(&m, error);
    else if (!msg_kinds[header->type].notice)
        msg_reply_error(&ticket, error);
}

/* Copies and dispatches a message whose bytes are lent. */
static __attribute__((noinline)) void take_lent(struct peer *peer, const struct msg_header *header,
                                                const struct ring_message *slot, uint64_t queued)
{
    const void *lent = lend_open(peer->kernel, slot->payload[0], header->length, false);

    if (lent == NULL) {
        msg_drop(&msg_stats.bad_loan, 8, peer, "it lends memory that is not its own");
        msg_refuse_long(header, -EPROTO);
        return;
    }
    memcpy(lent_copy, lent, header->length);
    lend_close();
    msg_dispatch(slot->header & ~MSG_LENT_BIT, slot->time, lent_copy, queued);
}

void msg_receive_unusual(struct peer *peer, enum msg_class class, const struct ring_message *slot, uint64_t queued)
{
    const struct msg_row *row = &msg_rows[slot->header & MSG_ROW_BITS];
    struct msg_header header;

    msg_header_unpack(slot->header, &header);
    if (header.source != peer->kernel) {
        msg_drop(&msg_stats.bad_source, 3, peer, "it names another source");
        return;
    }
    if ((slot->header & MSG_ZERO_BITS) != 0 || (header.error && header.kept)) {
        msg_drop(&msg_stats.bad_header, 4, peer, "bits of its header that are not in use");
        return;
    }
    if (row->handler == NULL || msg_kinds[header.type].class != class) {
        msg_drop(&msg_stats.bad_type, 5, peer, "a type that is not in use, or not in this class");
        return;
    }
    if (!length_right(&header, row)) {
        msg_drop(&msg_stats.bad_length, 6, peer, "an impossible length");
        return;
    }
    if (header.fragment > 0 && (header.fragment * MSG_SHORT >= header.length || header.lent)) {
        msg_drop(&msg_stats.bad_fragment, 7, peer, "a fragment behind the end, or of what is lent");
        return;
    }
    if (header.lent)
        take_lent(peer, &header, slot, queued);
    else if (header.length > MSG_SHORT)
        msg_reassemble(peer, class, &header, slot, queued);
    else
        msg_dispatch(slot->header, slot->time, slot->payload, queued);
}

uint64_t msg_taken(void)
{
    uint64_t taken = 0;

    for (uint32_t type = 0; type < MSG_TYPES; type++) {
        if (!msg_is_quiet(type))
            taken += msg_rows[type].received + msg_rows[type | MSG_REPLY_BIT].received;
    }
    return taken;
}

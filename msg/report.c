/* The message statistics of a kernel as text, for /proc/kettle/messages: a line for each type and for each reply, one
 * for each peer, and one of totals. */
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "msg/channel_internal.h"

#define PEERS_FROM MSG_ROWS /* the cursor counts rows, then peers, then the line of totals */
#define TOTALS (PEERS_FROM + KERNELS_MAX)
#define LINE_MAX 768 /* longer than any line */

static int times(char *text, size_t room, const char *what, const struct msg_histogram *histogram)
{
    return snprintf(text, room, " %s p50 %lu p99 %lu max %lu", what,
                    (unsigned long)msg_ticks_to_ns(msg_histogram_quantile(histogram, 500)),
                    (unsigned long)msg_ticks_to_ns(msg_histogram_quantile(histogram, 990)),
                    (unsigned long)msg_ticks_to_ns(histogram->most));
}

static int format_row(char *text, size_t room, uint32_t index)
{
    const struct msg_row *row = &msg_rows[index];
    const struct msg_sent *sent = &msg_sent[index];
    uint64_t bytes = row->bytes ? row->bytes_received : row->received * row->size;
    int length;

    if (row->received + sent->count == 0)
        return 0;
    length = snprintf(text, room, "kernel %u %s%s sent %lu received %lu bytes out %lu in %lu", instance.kernel,
                      msg_type_name(index % MSG_TYPES), index >= MSG_TYPES ? ".reply" : "", (unsigned long)sent->count,
                      (unsigned long)row->received, (unsigned long)sent->bytes, (unsigned long)bytes);
    if (row->times != NULL && row->received > 0) {
        length += times(text + length, room - (size_t)length, "queued", &row->times->queueing);
        length += times(text + length, room - (size_t)length, "handled", &row->times->handling);
        length += snprintf(text + length, room - (size_t)length, " ns");
    }
    return length + snprintf(text + length, room - (size_t)length, "\n");
}

/* The most slots that were taken between two empty states of the ring, at most the number of its slots. */
static uint64_t most(const struct peer *peer, enum msg_class class)
{
    uint64_t slots = peer->in[class].mask + 1;

    return peer->in[class].most < slots ? peer->in[class].most : slots;
}

static int format_peer(char *text, size_t room, uint32_t kernel)
{
    const struct peer *peer = msg_peer(kernel);

    if (peer == NULL || peer->in[MSG_ORDINARY].next + peer->in[MSG_URGENT].next == 0)
        return 0;
    return snprintf(text, room, "kernel %u from %u ordinary %lu most %lu urgent %lu most %lu of %lu slots\n",
                    instance.kernel, kernel, (unsigned long)peer->in[MSG_ORDINARY].next,
                    (unsigned long)most(peer, MSG_ORDINARY), (unsigned long)peer->in[MSG_URGENT].next,
                    (unsigned long)most(peer, MSG_URGENT), (unsigned long)peer->in[MSG_ORDINARY].mask + 1);
}

static int format_totals(char *text, size_t room)
{
    const struct msg_stats *s = &msg_stats;
    uint64_t idle_polls = 0, interrupts = 0;
    int length;

    for (uint32_t i = 0; i < cpu_total; i++) {
        idle_polls += cpus[i]->idle_polls;
        interrupts += cpus[i]->interrupts;
    }
    length = snprintf(text, room,
                      "kernel %u doorbells sent %lu received %lu polls %lu idle polls %lu full %lu room %lu credit %lu "
                      "looks later %lu relayed %lu late %lu late epoch %lu cancelled %lu timed out %lu",
                      instance.kernel, (unsigned long)s->doorbells_sent, (unsigned long)interrupts,
                      (unsigned long)s->polls, (unsigned long)idle_polls, (unsigned long)s->room_waits,
                      (unsigned long)s->room_signals, (unsigned long)s->credit_waits, (unsigned long)s->looks_later,
                      (unsigned long)s->relayed, (unsigned long)s->late_reply, (unsigned long)s->late_epoch,
                      (unsigned long)s->cancelled, (unsigned long)s->timed_out);
    return length + snprintf(text + length, room - (size_t)length,
                             " dropped type %lu source %lu length %lu fragment %lu loan %lu header %lu time %lu memory "
                             "%lu overrun %lu\n",
                             (unsigned long)s->bad_type, (unsigned long)s->bad_source, (unsigned long)s->bad_length,
                             (unsigned long)s->bad_fragment, (unsigned long)s->bad_loan, (unsigned long)s->bad_header,
                             (unsigned long)s->bad_time, (unsigned long)s->no_memory, (unsigned long)s->overrun);
}

size_t msg_report(char *text, size_t size, uint64_t *cursor)
{
    size_t length = 0;

    for (; *cursor <= TOTALS; (*cursor)++) {
        char *to = text + length;

        if (size - length < LINE_MAX)
            return length; /* the next part continues here */
        if (*cursor < PEERS_FROM)
            length += (size_t)format_row(to, LINE_MAX, (uint32_t)*cursor);
        else if (*cursor < TOTALS)
            length += (size_t)format_peer(to, LINE_MAX, (uint32_t)(*cursor - PEERS_FROM));
        else
            length += (size_t)format_totals(to, LINE_MAX);
    }
    *cursor = 0;
    return length;
}

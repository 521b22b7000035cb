/* The trace. See the header. */
#include "msg/trace.h"

#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/log.h"
#include "kernel/lib/printf.h"
#include "msg/channel_internal.h"
#include "msg/inject.h"
#include "msg/slice.h"

struct record {
    uint64_t time; /* when the message was sent; of a note: the clock when it was made */
    union {
        uint64_t header;  /* of a message */
        const char *note; /* of a note: its text */
    };
    uint32_t queued; /* ticks, capped; of a note: its first figure */
    uint32_t handled;
    uint32_t tid; /* of a note */
    uint8_t peer;
    bool taken, noted;
};
_Static_assert(sizeof(struct record) == 32, "half a cache line");

static struct spinlock lock;   /* no other lock is taken with it held */
static struct record *records; /* [k] lock */
static uint32_t capacity;      /* [i] records there is room for */
static uint64_t next;          /* [k] lock: records written so far */
static volatile bool on;

void trace_init(void)
{
    capacity = (uint32_t)option_number(instance.cmdline, "tracesize");
}

bool trace_is_on(void)
{
    return on;
}

int trace_switch(bool wanted)
{
    spin_lock(&lock);
    if (wanted && records == NULL)
        records = msg_memory.allocate_unset(capacity * sizeof(*records));
    on = wanted && records != NULL;
    spin_unlock(&lock);
    for (uint32_t k = 0; k < instance.kernels; k++) {
        struct peer *peer = msg_peer(k);

        if (peer == NULL)
            continue;
        spin_lock(&peer->tx_lock);
        msg_set_blocked(peer, on ? BLOCKED_TRACE : 0, on ? 0 : BLOCKED_TRACE);
        spin_unlock(&peer->tx_lock);
    }
    msg_set_special(on || inject_is_on());
    return on == wanted ? 0 : -ENOMEM;
}

void trace_clear(void)
{
    spin_lock(&lock);
    next = 0;
    spin_unlock(&lock);
}

static uint32_t bounded(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static void add(const struct record *record)
{
    spin_lock(&lock);
    if (on)
        records[next++ % capacity] = *record;
    spin_unlock(&lock);
}

void trace_sent(uint32_t kernel, uint64_t header)
{
    struct record record = {.time = msg_clock, .header = header, .peer = (uint8_t)kernel};

    add(&record);
}

void trace_taken(uint64_t header, uint64_t time, uint64_t queued, uint64_t handled)
{
    struct record record = {.time = time,
                            .header = header,
                            .queued = bounded(queued),
                            .handled = bounded(handled),
                            .peer = msg_header_source(header),
                            .taken = true};

    add(&record);
}

void trace_note(const char *what, uint32_t tid, uint32_t peer, uint64_t first, uint64_t second)
{
    struct record record = {.time = msg_clock,
                            .note = what,
                            .queued = bounded(first),
                            .handled = bounded(second),
                            .tid = tid,
                            .peer = (uint8_t)peer,
                            .noted = true};

    if (on)
        add(&record);
}

/* Reads the record at POSITION. False: it has been overwritten, or does not exist yet. */
static bool get(uint64_t position, struct record *record)
{
    bool there;

    spin_lock(&lock);
    there = position < next && position + capacity >= next;
    if (there)
        *record = records[position % capacity];
    spin_unlock(&lock);
    return there;
}

static int format(char *text, size_t room, const struct record *record)
{
    struct msg_header h;
    const char *name;

    if (record->noted)
        return snprintf(text, room, "kernel %u time %lu noted %s thread %u:%u peer %u figures %u %u\n", instance.kernel,
                        (unsigned long)record->time, record->note, record->tid >> 16, record->tid & 0xffff,
                        record->peer, record->queued, record->handled);
    msg_header_unpack(record->header, &h);
    name = msg_type_name(h.type);
    return snprintf(
        text, room, "kernel %u time %lu %s %s%s%s%s peer %u request %u length %u queued %lu ns handled %lu ns\n",
        instance.kernel, (unsigned long)record->time, record->taken ? "took" : "sent", name != NULL ? name : "?",
        h.reply ? " reply" : "", h.error ? " error" : "", h.kept ? " kept" : "", record->peer, h.request, h.length,
        (unsigned long)msg_ticks_to_ns(record->queued), (unsigned long)msg_ticks_to_ns(record->handled));
}

/* The cursor is one more than a position, so that 0 means the oldest record. */
size_t msg_trace_report(char *text, size_t size, uint64_t *cursor)
{
    uint64_t end = next;
    uint64_t oldest = end > capacity ? end - capacity : 0;
    uint64_t position = *cursor > oldest ? *cursor - 1 : oldest;
    size_t length = 0;

    for (; position < end; position++) {
        struct record record;
        int more;

        slice_check();
        if (!get(position, &record))
            continue;
        more = format(text + length, size - length, &record);
        if ((size_t)more >= size - length)
            break;
        length += (size_t)more;
    }
    *cursor = position < end && length > 0 ? position + 1 : 0;
    return length;
}

/* /proc/kettle. See the header. A report is the sum of what each kernel writes about itself: the kernel that opens the
 * file asks the others with REPORT. */
#include "kernel/fs/proc.h"

#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame.h"
#include "mm/heap.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "tasks/work.h"

#define REPORT_MAX 8192u /* bytes of one kernel's part */

struct msg_report {
    uint32_t report; /* index into reports */
    uint32_t pad;
};

struct text {
    char *bytes;
    size_t size;
    size_t length;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *text, const char *format, ...)
{
    size_t room = text->length < text->size ? text->size - text->length : 0;
    va_list args;

    va_start(args, format);
    text->length += (size_t)vsnprintf(text->bytes + text->length, room, format, args);
    va_end(args);
    if (text->length >= text->size)
        text->length = text->size - 1; /* cut */
}

static void report_plan(struct text *text)
{
    size_t length = plan_format(&instance.plan, text->bytes, text->size);

    text->length = length < text->size ? length : text->size - 1;
}

static void report_kernels(struct text *text)
{
    struct frame_stats frames;

    frame_stats(&frames);
    put(text,
        "kernel %u started cpus %u node %u memory %lu KiB free %lu KiB lent %lu pages image %lu KiB tables and rings "
        "%lu KiB\n",
        instance.kernel, cpu_total, instance.plan.kernels[instance.kernel].node,
        (unsigned long)(instance.plan.kernels[instance.kernel].memory >> 10), (unsigned long)(frames.free * 4),
        (unsigned long)frames.lent, (unsigned long)(instance.layout.stack >> 10),
        (unsigned long)((instance.plan.kernels[instance.kernel].memory - frames.total * PAGE_SIZE -
                         instance.layout.stack) >>
                        10));
}

static void report_messages(struct text *text)
{
    const struct msg_stats *stats = msg_stats();

    for (uint32_t type = 0; type < MSG_TYPES; type++) {
        const struct msg_type_stats *row = &stats->types[type];

        if (row->sent + row->received > 0)
            put(text, "kernel %u %s sent %lu received %lu bytes out %lu in %lu\n", instance.kernel, msg_type_name(type),
                (unsigned long)row->sent, (unsigned long)row->received, (unsigned long)row->bytes_sent,
                (unsigned long)row->bytes_received);
    }
    put(text, "kernel %u doorbells sent %lu received %lu polls %lu full %lu late %lu dropped %lu\n", instance.kernel,
        (unsigned long)stats->doorbells_sent, (unsigned long)stats->doorbells_received, (unsigned long)stats->polls,
        (unsigned long)stats->full_waits, (unsigned long)stats->late_reply,
        (unsigned long)(stats->bad_type + stats->bad_source + stats->bad_length + stats->bad_fragment +
                        stats->no_memory));
}

static void report_syscalls(struct text *text)
{
    for (uint32_t number = 0; number < CALLS_MAX; number++) {
        uint64_t count = calls_absent_count(number);

        if (count > 0)
            put(text, "kernel %u %s %lu\n", instance.kernel, calls_name(number), (unsigned long)count);
    }
}

struct report {
    const char *name;
    void (*write)(struct text *text);
    bool everywhere; /* each kernel adds its part */
};

static const struct report reports[] = {
    {"plan", report_plan, false},
    {"kernels", report_kernels, true},
    {"messages", report_messages, true},
    {"syscalls", report_syscalls, true},
};
#define REPORTS (sizeof(reports) / sizeof(reports[0]))

struct report_work {
    struct work work;
    struct msg_ticket ticket;
    uint32_t report;
};

static void run_report(struct work *work)
{
    struct report_work *w = container_of(work, struct report_work, work);
    struct text text = {.bytes = heap_alloc(REPORT_MAX), .size = REPORT_MAX};

    if (text.bytes == NULL) {
        msg_reply_error(&w->ticket, -ENOMEM);
    } else {
        reports[w->report].write(&text);
        msg_reply_long(&w->ticket, text.bytes, (uint32_t)text.length);
    }
    heap_free(text.bytes, REPORT_MAX);
    heap_free(w, sizeof(*w));
}

static void handle_report(const struct msg *m)
{
    const struct msg_report *message = m->data;
    struct report_work *w = message->report < REPORTS ? heap_alloc(sizeof(*w)) : NULL;

    if (w == NULL) {
        msg_reply_error(&m->ticket, message->report < REPORTS ? -ENOMEM : -EINVAL);
        return;
    }
    w->ticket = m->ticket;
    w->report = message->report;
    w->work.run = run_report;
    work_submit(&w->work);
}

void proc_init(void)
{
    msg_register(MSG_REPORT, handle_report, sizeof(struct msg_report));
}

/* -ENOENT not below /proc/kettle; -EISDIR a directory; else the index of a report. */
static int64_t find(const char *path)
{
    static const char prefix[] = "proc/kettle/";

    if (strcmp(path, "proc") == 0 || strcmp(path, "proc/kettle") == 0)
        return -EISDIR;
    if (strncmp(path, prefix, sizeof(prefix) - 1) != 0)
        return -ENOENT;
    for (uint32_t i = 0; i < REPORTS; i++) {
        if (strcmp(path + sizeof(prefix) - 1, reports[i].name) == 0)
            return i;
    }
    return -ENOENT;
}

/* Every kernel's part, in order of kernels; one that does not run is named. */
static void write_everywhere(struct text *text, uint32_t report)
{
    struct msg_report message = {.report = report};

    for (uint32_t k = 0; k < instance.kernels; k++) {
        int length;

        if (k == instance.kernel) {
            reports[report].write(text);
            continue;
        }
        length = msg_call(k, MSG_REPORT, &message, sizeof(message), text->bytes + text->length,
                          (uint32_t)(text->size - text->length - 1), "report", report);
        if (length > 0)
            text->length += (size_t)length;
        else if (length == -EAGAIN && report == 1)
            put(text, "kernel %u not started\n", k);
    }
}

int64_t proc_open(const char *path, struct file **out)
{
    int64_t report = find(path);
    struct text text = {.size = (size_t)REPORT_MAX * (instance.kernels < 8 ? 8 : instance.kernels)};
    struct file_facts facts = {.inode = 2 + (uint64_t)report, .device = 2, .mode = FILE_REGULAR | 0444};

    if (report < 0)
        return report;
    text.bytes = heap_alloc(text.size);
    if (text.bytes == NULL)
        return -ENOMEM;
    if (reports[report].everywhere)
        write_everywhere(&text, (uint32_t)report);
    else
        reports[report].write(&text);
    facts.size = text.length;
    *out = file_create(&file_memory_kind, &facts, text.bytes, text.size);
    if (*out == NULL) {
        heap_free(text.bytes, text.size);
        return -ENOMEM;
    }
    return 0;
}

int64_t proc_stat(const char *path, struct file_facts *facts)
{
    int64_t report = find(path);

    if (report == -ENOENT)
        return -ENOENT;
    *facts = (struct file_facts){
        .inode = 2 + (uint64_t)report, .device = 2, .mode = report < 0 ? FILE_DIRECTORY | 0555 : FILE_REGULAR | 0444};
    return 0;
}

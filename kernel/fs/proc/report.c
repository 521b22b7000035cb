/* The reports of /proc/kettle. See the header. A report consists of the parts that the kernels write about themselves:
 * the kernel that opens the file asks the others with REPORT, one part at a time. */
#include "kernel/fs/proc/report.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/file/file.h"
#include "kernel/fs/node/content.h"
#include "kernel/fs/share/share.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/kept.h"
#include "mm/frame/object_page.h"
#include "mm/frame/refuse.h"
#include "mm/life/life.h"
#include "mm/lock/lock.h"
#include "mm/retrieve/strategy.h"
#include "mm/seen/seen.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"
#include "tasks/account/facts.h"
#include "tasks/balance/balance.h"
#include "tasks/futex/futex.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/watch.h"
#include "tasks/timer/timer.h"

#define PART_MAX 16128u     /* maximum length of the text in one message */
#define FILE_MAX (4u << 20) /* maximum length of a report; the rest is left out, and the last line says so */
#define CUT "the rest is left out\n"

struct msg_report {
    uint64_t cursor; /* 0, or the cursor that the previous part returned */
    uint32_t report; /* index into reports */
    uint32_t pad;
};

struct msg_report_part { /* text follows */
    uint64_t cursor;     /* cursor of the next part; 0: this was the last */
};

/* Each of these functions writes one part into SIZE bytes and returns its length. *CURSOR says which part, and is set
 * to the next one, or 0. */

static size_t report_plan(char *bytes, size_t size, uint64_t *cursor)
{
    size_t length = plan_format(&instance.plan, bytes, size);

    *cursor = 0;
    return length < size ? length : size - 1;
}

static size_t report_kernels(char *bytes, size_t size, uint64_t *cursor)
{
    struct text text = {bytes, size, 0};
    struct frame_stats frames;
    uint64_t image = image_size(&image_header) - instance_text_shared();

    *cursor = 0;
    frame_stats(&frames);
    text_put(
        &text,
        "kernel %u started cpus %u node %u memory %lu KiB free %lu KiB lent %lu pages image %lu KiB tables and rings "
        "%lu KiB build %016lx\n",
        instance.kernel, cpu_total, instance.plan.kernels[instance.kernel].node,
        (unsigned long)(instance.plan.kernels[instance.kernel].memory >> 10), (unsigned long)(frames.free * 4),
        (unsigned long)frames.lent, (unsigned long)(image >> 10),
        (unsigned long)((instance.plan.kernels[instance.kernel].memory - frames.total * PAGE_SIZE - image) >> 10),
        (unsigned long)image_header.build);
    return text.length;
}

/* Objects that are allocated and freed while programs run. Memory that is kept for reuse and never freed is listed
 * separately, in frames: kernel stacks, the frames of small objects, what the message channels allocated with the first
 * messages of a kind, and pages of files and of programs that are kept for their next exec. So are what looks at spaces
 * have shown ("looks"), of which a space gets a table at some time of its life. "used" counts the other frames that are
 * not free, "large" the other objects over half a page. */
static size_t report_objects(char *bytes, size_t size, uint64_t *cursor)
{
    struct text text = {bytes, size, 0};
    struct frame_stats frames;
    struct heap_stats heap;
    struct thread_counts threads;
    struct task_counts tasks;
    struct file_counts files;
    struct seen_tables looks;
    uint64_t stack_frames, message_frames = msg_stays.bytes / PAGE_SIZE;
    uint64_t cached = content_frames() + frame_kept_count();
    uint64_t named = object_page_tables(); /* each an object and a frame, which stay */

    *cursor = 0;
    task_counts(&tasks);
    thread_counts(&threads);
    file_count(&files);
    heap_stats(&heap);
    seen_count(&looks);
    frame_stats(&frames);
    stack_frames = threads.stacks * (STACK_SIZE / PAGE_SIZE);
    text_put(&text, "kernel %u groups %lu processes %lu present %lu threads %lu spaces %lu ", instance.kernel,
             (unsigned long)tasks.groups, (unsigned long)tasks.processes, (unsigned long)tasks.present,
             (unsigned long)threads.threads, (unsigned long)space_count());
    text_put(&text, "files %lu proxies %lu watchers %lu waiters %lu locks %lu kept %lu timers %lu ",
             (unsigned long)files.files, (unsigned long)files.proxies, (unsigned long)watch_count(),
             (unsigned long)futex_count(), (unsigned long)space_lock_count(), (unsigned long)msg_kept_count(),
             (unsigned long)timer_count());
    text_put(&text,
             "looks %lu objects %lu large %lu used %lu small-frames %lu stack-frames %lu message-frames %lu "
             "cache-frames %lu\n",
             (unsigned long)(looks.small + looks.large),
             (unsigned long)(heap.small - page_tree_nodes() - named - looks.small),
             (unsigned long)(heap.large - msg_stays.objects - looks.large),
             (unsigned long)(frames.total - frames.free - heap.small_frames - stack_frames - message_frames - cached -
                             named),
             (unsigned long)heap.small_frames, (unsigned long)stack_frames, (unsigned long)message_frames,
             (unsigned long)cached);
    return text.length;
}

static size_t report_syscalls(char *bytes, size_t size, uint64_t *cursor)
{
    struct text text = {bytes, size, 0};

    *cursor = 0;
    for (uint32_t number = 0; number < CALLS_MAX; number++) {
        uint64_t count = calls_absent_count(number);

        if (count > 0)
            text_put(&text, "kernel %u %s %lu\n", instance.kernel, calls_name(number), (unsigned long)count);
    }
    return text.length;
}

/* struct report_machine, not a file: the source of /proc/meminfo and others. */
static size_t report_numbers(char *bytes, size_t size, uint64_t *cursor)
{
    struct report_machine part = {0};
    struct frame_stats frames;
    struct heap_stats heap;
    struct task_counts counts;
    struct thread_counts threads;

    *cursor = 0;
    frame_stats(&frames);
    task_counts(&counts);
    part.frames = frames.total;
    part.free = frames.free;
    heap_stats(&heap);
    part.files = content_frames() + frame_kept_count();
    part.kernel = heap.small_frames;
    part.processes = counts.processes;
    part.threads = counts.present;
    thread_counts(&threads);
    part.made = threads.made;
    part.last = threads.last;
    part.last_ns = threads.last_ns;
    if (size < sizeof(part))
        return 0;
    memcpy(bytes, &part, sizeof(part));
    return sizeof(part);
}

/* struct report_cpu of each CPU; also not a file. */
static size_t report_times(char *bytes, size_t size, uint64_t *cursor)
{
    size_t done = 0;

    *cursor = 0;
    for (uint32_t index = 0; index < cpu_total; index++) {
        struct report_cpu cpu = {.number = cpus[index]->number};

        if (done + sizeof(cpu) > size)
            break;
        sched_cpu_use(index, &cpu.use);
        memcpy(bytes + done, &cpu, sizeof(cpu));
        done += sizeof(cpu);
    }
    return done;
}

/* struct report_node of each node where this kernel has memory or has counted allocations; also not a file. */
static size_t report_nodes(char *bytes, size_t size, uint64_t *cursor)
{
    size_t done = 0;

    *cursor = 0;
    for (uint32_t node = 0; node < instance.plan.node_count; node++) {
        struct report_node part = {.node = node};
        bool counted;

        frame_stats_on(node, &part.free, &part.frames);
        numa_counts_of(node, &part.counts);
        counted = part.counts.hit + part.counts.miss + part.counts.foreign > 0;
        if ((part.frames == 0 && !counted) || done + sizeof(part) > size)
            continue;
        memcpy(bytes + done, &part, sizeof(part));
        done += sizeof(part);
    }
    return done;
}

_Static_assert(NODES_MAX * sizeof(struct report_node) <= PART_MAX, "one part has all nodes");

/* Mounted shares, for /proc/mounts and mountinfo; only kernel 0 has them. */
static size_t report_shares(char *bytes, size_t size, uint64_t *cursor)
{
    struct text text = {bytes, size, 0};

    *cursor = 0;
    share_list(&text, false);
    return text.length;
}

static size_t report_share_infos(char *bytes, size_t size, uint64_t *cursor)
{
    struct text text = {bytes, size, 0};

    *cursor = 0;
    share_list(&text, true);
    return text.length;
}

struct report {
    const char *name; /* NULL: not a file */
    size_t (*write)(char *text, size_t size, uint64_t *cursor);
    bool everywhere; /* the parts of all kernels, not only of the asking one */
};

enum { REPORT_PLAN, REPORT_KERNELS, REPORT_MACHINE, REPORT_CPUS, REPORT_NODES, REPORT_SHARES, REPORT_SHARE_INFOS };

static const struct report reports[] = {
    [REPORT_PLAN] = {"plan", report_plan, false},
    [REPORT_KERNELS] = {"kernels", report_kernels, true},
    [REPORT_MACHINE] = {NULL, report_numbers, true},
    [REPORT_CPUS] = {NULL, report_times, true},
    [REPORT_NODES] = {NULL, report_nodes, true},
    [REPORT_SHARES] = {NULL, report_shares, true},
    [REPORT_SHARE_INFOS] = {NULL, report_share_infos, true},
    {"messages", msg_report, true},
    {"silence", msg_silence_report, true},
    {"trace", msg_trace_report, true},
    {"syscalls", report_syscalls, true},
    {"balance", balance_report, true},
    {"objects", report_objects, true},
    {"allocations", refuse_report, true},
    {"strategies", space_strategy_report, false},
};
#define REPORTS (sizeof(reports) / sizeof(reports[0]))

static int report_room(const struct remote_request *request)
{
    const struct msg_report *message = request->data;

    return message->report < REPORTS ? (int)(sizeof(struct msg_report_part) + PART_MAX) : -EINVAL;
}

static int run(const struct remote_request *request, void *result)
{
    const struct msg_report *message = request->data;
    struct msg_report_part *part = result;

    part->cursor = message->cursor;
    return (int)(sizeof(*part) + reports[message->report].write((char *)(part + 1), PART_MAX, &part->cursor));
}

void report_init(void)
{
    REMOTE_SERVE_TASK(REPORT, WORK_LEAF, run, report_room, struct msg_report, struct msg_report_part);
}

int64_t report_find(const char *name)
{
    for (uint32_t i = 0; i < REPORTS; i++) {
        if (reports[i].name != NULL && strcmp(name, reports[i].name) == 0)
            return i;
    }
    return -ENOENT;
}

void report_list(struct dirents *to)
{
    for (uint32_t i = 0; i < REPORTS; i++) {
        if (reports[i].name != NULL)
            dirents_add(to, reports[i].name, strlen(reports[i].name), 2 + i, FILE_REGULAR);
    }
}

/* Makes room for another part. False: the report has reached FILE_MAX, or there is no memory. */
static bool grow(struct text *text)
{
    size_t size = 2 * text->size;
    char *more;

    if (text->size - text->length > 2 * sizeof(struct msg_report_part) + PART_MAX + sizeof(CUT))
        return true;
    more = size <= FILE_MAX ? heap_alloc(size) : NULL;
    if (more == NULL)
        return false;
    memcpy(more, text->bytes, text->length);
    heap_free(text->bytes, text->size);
    text->bytes = more;
    text->size = size;
    return true;
}

/* Appends one part of KERNEL to TEXT. Returns the cursor of the next part, 0 at the end. */
static uint64_t add_part(struct text *text, uint32_t kernel, const struct msg_report *message)
{
    char *to = text->bytes + ((text->length + 7) & ~7ull); /* results of operations must be aligned */
    const struct remote_how how = {.why = "report", .key = message->report};
    struct msg_report_part part;
    int length = remote_call(kernel, MSG_REPORT, message, sizeof(*message), to, (uint32_t)sizeof(part) + PART_MAX,
                             &how);

    if (length >= (int)sizeof(part)) {
        memcpy(&part, to, sizeof(part));
        memmove(text->bytes + text->length, to + sizeof(part), (size_t)length - sizeof(part));
        text->length += (size_t)length - sizeof(part);
        return part.cursor;
    }
    if (length == -EAGAIN && message->report == REPORT_KERNELS)
        text_put(text, "kernel %u not started\n", kernel);
    return 0;
}

/* Writes the parts of all kernels, in order of kernels. */
static void write_report(struct text *text, uint32_t report)
{
    for (uint32_t k = 0; k < instance.kernels; k++) {
        struct msg_report message = {.report = report};

        if (!reports[report].everywhere && k != instance.kernel)
            continue;
        do {
            if (!grow(text)) {
                text_put(text, CUT);
                return;
            }
            message.cursor = add_part(text, k, &message);
            slice_check();
        } while (message.cursor != 0);
    }
}

int64_t report_write(struct text *text, uint32_t number)
{
    *text = (struct text){.size = 4 * PART_MAX};
    text->bytes = heap_alloc(text->size);
    if (text->bytes == NULL)
        return -ENOMEM;
    write_report(text, number);
    return 0;
}

void report_machine(struct report_machine *out)
{
    struct text text;

    *out = (struct report_machine){0};
    if (report_write(&text, REPORT_MACHINE) != 0)
        return;
    for (size_t at = 0; at + sizeof(*out) <= text.length; at += sizeof(*out)) {
        struct report_machine part;

        memcpy(&part, text.bytes + at, sizeof(part));
        out->frames += part.frames;
        out->free += part.free;
        out->files += part.files;
        out->kernel += part.kernel;
        out->processes += part.processes;
        out->threads += part.threads;
        out->made += part.made;
        if (part.last_ns > out->last_ns) {
            out->last_ns = part.last_ns;
            out->last = part.last;
        }
    }
    heap_free(text.bytes, text.size);
}

int64_t report_cpus(struct text *text)
{
    return report_write(text, REPORT_CPUS);
}

int64_t report_load(struct report_load *out)
{
    struct report_cpu cpu;
    struct text text;
    int64_t error = report_cpus(&text);

    *out = (struct report_load){.ready = 0};
    if (error != 0)
        return error;
    for (size_t at = 0; at + sizeof(cpu) <= text.length; at += sizeof(cpu)) {
        memcpy(&cpu, text.bytes + at, sizeof(cpu));
        for (uint32_t i = 0; i < LOAD_AVERAGES; i++)
            out->average[i] += cpu.use.average[i];
        out->ready += cpu.use.ready;
        out->idle_ns += cpu.use.idle_ns;
    }
    heap_free(text.bytes, text.size);
    return 0;
}

int64_t report_node(uint32_t node, struct report_node *out)
{
    struct report_node part;
    struct text text;
    int64_t error = report_write(&text, REPORT_NODES);

    *out = (struct report_node){.node = node};
    if (error != 0)
        return error;
    for (size_t at = 0; at + sizeof(part) <= text.length; at += sizeof(part)) {
        memcpy(&part, text.bytes + at, sizeof(part));
        if (part.node != node)
            continue;
        out->frames += part.frames;
        out->free += part.free;
        out->counts.hit += part.counts.hit;
        out->counts.miss += part.counts.miss;
        out->counts.foreign += part.counts.foreign;
        out->counts.interleave += part.counts.interleave;
        out->counts.local += part.counts.local;
        out->counts.other += part.counts.other;
    }
    heap_free(text.bytes, text.size);
    return 0;
}

void report_mounts(struct text *text, bool info)
{
    struct msg_report message = {.report = info ? REPORT_SHARE_INFOS : REPORT_SHARES};
    struct text part = {.size = sizeof(struct msg_report_part) + PART_MAX};

    part.bytes = heap_alloc(part.size);
    if (part.bytes == NULL)
        return;
    do {
        part.length = 0;
        message.cursor = add_part(&part, 0, &message);
        part.bytes[part.length] = '\0';
        text_put(text, "%s", part.bytes);
    } while (message.cursor != 0);
    heap_free(part.bytes, part.size);
}

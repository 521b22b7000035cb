/* Moving files, the side of the kernel that is to stop. See the header. */
#include "kernel/file/move/move.h"

#include "kernel/abi/errno.h"
#include "kernel/file/move/internal.h"
#include "kernel/file/path.h"
#include "kernel/file/table.h"
#include "kernel/file/table_share.h"
#include "kernel/fs/device/device.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/pipe/pipe.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/request/call.h"
#include "msg/slice.h"
#include "tasks/process/group.h"

#define SLOTS_AT_ONCE 128u /* of a descriptor table, in a message: a handler takes them */

struct sending {
    uint32_t successor;
    int error;
    struct msg_move *message; /* MSG_MAX bytes */
};

static void add(struct sending *s, const void *data, size_t size)
{
    memcpy((uint8_t *)(s->message + 1) + s->message->size, data, size);
    s->message->size += (uint32_t)size;
}

static void send(struct sending *s)
{
    int error = 0;

    if (s->error == 0)
        error = msg_call(s->successor, MSG_MOVE_FILES, s->message, (uint32_t)sizeof(*s->message) + s->message->size,
                         NULL, 0, "files to go to another kernel", s->message->part);
    if (error < 0)
        s->error = error;
}

static void begin(struct sending *s, enum move_part part)
{
    *s->message = (struct msg_move){.part = part};
}

static enum moved_kind kind_of(const struct file *file)
{
    if (file->kind == &file_memory_kind && file->owned != 0)
        return MOVED_MEMORY;
    if (file->kind == &file_directory_kind)
        return MOVED_DIRECTORY;
    if (file->kind == device_kind(file->facts.number))
        return MOVED_DEVICE;
    return pipe_is_end(file) ? MOVED_PIPE : 0;
}

static void check_file(struct file *file, void *context)
{
    if (kind_of(file) == 0 || (pipe_is_end(file) && !pipe_is_usual(file)) || file->pins != 1 ||
        file_events_polled(file->events)) {
        log_line("kernel: no stop: open file %lx (%u opens, %u pins, flags %x) cannot move%s", file->id, file->opens,
                 file->pins, file->flags, file_events_polled(file->events) ? ", somebody waits for it" : "");
        *(int *)context = -EBUSY;
    }
}

/* A process that shares its descriptors or directories cannot move. */
static bool check_table(struct group *group, void *context)
{
    slice_check();
    if (group->home == instance.kernel && group->files != NULL && file_table_is_shared(group->files)) {
        log_line("kernel: no stop: process %u shares its descriptors", group->id);
        *(int *)context = -EBUSY;
    }
    return true;
}

int move_check(void)
{
    int error = 0;

    file_each(check_file, &error);
    group_each_still(check_table, &error);
    return error;
}

static struct moved_file facts_of(const struct file *file)
{
    struct moved_file facts = {.kind = file != NULL ? kind_of(file) : MOVED_PIPE};

    if (file == NULL)
        return facts;
    facts.id = file->id;
    facts.offset = file->offset;
    facts.facts = file->facts;
    facts.opens = file->opens;
    facts.flags = file->flags;
    return facts;
}

static void send_data(struct sending *s, const uint8_t *data, size_t size)
{
    size_t most = MSG_MAX - sizeof(*s->message);

    for (size_t done = 0; done < size && s->error == 0;) {
        size_t some = size - done < most ? size - done : most;

        begin(s, MOVE_DATA);
        add(s, data + done, some);
        send(s);
        done += some;
    }
}

/* Both ends are sent together: with the reader, or with the writer if the reader is closed. */
static void send_pipe(struct sending *s, const struct file *file)
{
    struct pipe_buffer buffer;
    struct file *ends[2];
    struct moved_file facts[2];
    size_t used;
    uint8_t *bytes;

    pipe_look(file, ends, &buffer);
    if (ends[0] != NULL && ends[0] != file)
        return;
    used = pipe_buffer_used(&buffer);
    bytes = heap_alloc(used + 1);
    if (bytes == NULL) {
        s->error = -ENOMEM;
        return;
    }
    pipe_buffer_take(&buffer, bytes, used); /* changes only the copy of the buffer's indices */
    for (uint32_t i = 0; i < 2; i++)
        facts[i] = facts_of(ends[i]);
    facts[0].size = used;
    begin(s, MOVE_PIPE);
    add(s, facts, sizeof(facts));
    send(s);
    send_data(s, bytes, used);
    heap_free(bytes, used + 1);
}

static void send_file(struct file *file, void *context)
{
    struct sending *s = context;
    struct moved_file facts = facts_of(file);

    if (facts.kind == MOVED_PIPE) {
        send_pipe(s, file);
        return;
    }
    facts.size = file->owned;
    begin(s, MOVE_FILE);
    add(s, &facts, sizeof(facts));
    if (file->path != NULL)
        add(s, file->path, strlen(file->path) + 1);
    send(s);
    send_data(s, file->data, file->owned);
}

static void add_name(struct sending *s, const char *name)
{
    add(s, name != NULL ? name : "", name != NULL ? strlen(name) + 1 : 1);
}

static void add_slot(struct sending *s, uint32_t fd, const struct descriptor *descriptor)
{
    const struct file *file = descriptor->file;
    struct moved_slot slot = {.fd = fd, .flags = descriptor->flags, .key = (uint64_t)file};

    if (file == NULL)
        return;
    slot.id = file->id;
    slot.kernel = file->kernel;
    if (s->message->size == SLOTS_AT_ONCE * sizeof(slot)) {
        send(s);
        begin(s, MOVE_SLOTS);
    }
    add(s, &slot, sizeof(slot));
}

static bool send_table(struct group *group, void *context)
{
    struct sending *s = context;
    const struct file_table *table = group->files;
    struct moved_table facts = {.group = group->id};

    slice_check();
    if (group->home != instance.kernel || table == NULL)
        return true;
    facts.size = table->size;
    facts.lowest = table->lowest;
    facts.process = table->process;
    facts.undo = table->undo;
    facts.limit = table->limit;
    facts.file_limit = table->file_limit;
    begin(s, MOVE_TABLE);
    add(s, &facts, sizeof(facts));
    add_name(s, table->program);
    send(s);
    begin(s, MOVE_SLOTS);
    for (uint32_t fd = 0; fd < table->size; fd++)
        add_slot(s, fd, &table->slots[fd]);
    add_slot(s, MOVED_WORKING_DIRECTORY, &(struct descriptor){.file = table->directory});
    add_slot(s, MOVED_ROOT, &(struct descriptor){.file = table->root});
    add_slot(s, MOVED_EXECUTABLE, &(struct descriptor){.file = table->executable});
    send(s);
    return s->error == 0;
}

_Static_assert(sizeof(struct msg_move) + SLOTS_AT_ONCE * sizeof(struct moved_slot) <= MSG_MAX, "one message");

int move_files(uint32_t successor)
{
    struct sending s = {.successor = successor, .message = heap_alloc(MSG_MAX)};

    if (s.message == NULL)
        return -ENOMEM;
    file_each(send_file, &s);
    group_each_still(send_table, &s);
    heap_free(s.message, MSG_MAX);
    return s.error;
}

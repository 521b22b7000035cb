/* File operations from any kernel. See the header. An operation may wait (for terminal input), so the home's handler
 * hands it to a worker, which answers. */
#include "kernel/fs/remote.h"

#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/fs/file.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"
#include "msg/call.h"
#include "tasks/group.h"
#include "tasks/work.h"

struct msg_file_call { /* data follows */
    uint32_t group;
    uint32_t room; /* bytes the caller takes back */
    struct file_request request;
};

struct msg_file_result { /* data follows */
    int64_t value;
};

_Static_assert(sizeof(struct msg_file_call) == 32, "wire format");

/* PATH operations trust nobody for the NUL. */
static bool is_string(const void *data, size_t size)
{
    return size > 0 && ((const char *)data)[size - 1] == '\0';
}

static int64_t execute(struct group *group, const struct file_request *request, const void *data, size_t size,
                       void *result, size_t room)
{
    struct file_table *table = group->files;

    switch (request->operation) {
    case FILE_OPEN:
        return is_string(data, size) ? file_open(table, data, (uint32_t)request->argument) : -EPROTO;
    case FILE_CLOSE:
        return file_close(table, request->fd);
    case FILE_READ:
        return file_read(table, request->fd, result,
                         (size_t)request->argument < room ? (size_t)request->argument : room, group);
    case FILE_WRITE:
        return file_write(table, request->fd, data, size);
    case FILE_SEEK:
        return file_seek(table, request->fd, request->argument, request->extra);
    case FILE_STAT:
        return room < sizeof(struct file_facts) ? -EPROTO : file_stat(table, request->fd, result);
    case FILE_STAT_PATH:
        return room < sizeof(struct file_facts) || !is_string(data, size) ? -EPROTO : file_stat_path(data, result);
    case FILE_TERMINAL:
        return file_is_terminal(table, request->fd);
    case FILE_FLAGS:
        return file_flags(table, request->fd);
    default:
        return -EPROTO;
    }
}

static size_t result_size(const struct file_request *request, int64_t value)
{
    if (value < 0)
        return 0;
    if (request->operation == FILE_READ)
        return (size_t)value;
    if (request->operation == FILE_STAT || request->operation == FILE_STAT_PATH)
        return sizeof(struct file_facts);
    return 0;
}

struct file_work {
    struct work work;
    struct msg_kept kept;
    struct group *group;
    struct msg_file_call call;
    uint32_t size; /* of the data below */
    uint8_t data[FILE_CHUNK];
    struct msg_file_result result;
    uint8_t result_data[FILE_CHUNK];
};

static void call_done(struct msg_kept *kept)
{
    struct file_work *w = container_of(kept, struct file_work, kept);

    heap_free(w, sizeof(*w));
}

static void run_call(struct work *work)
{
    struct file_work *w = container_of(work, struct file_work, work);
    int64_t value = execute(w->group, &w->call.request, w->data, w->size, w->result_data, w->call.room);

    w->result.value = value;
    group_put(w->group);
    msg_kept_reply_long(&w->kept, &w->result, (uint32_t)(sizeof(w->result) + result_size(&w->call.request, value)),
                        call_done);
}

static void handle_call(const struct msg *m)
{
    const struct msg_file_call *call = m->data;
    uint32_t size = m->length - (uint32_t)sizeof(*call);
    struct file_work *w = NULL;
    struct group *group = group_find(call->group);
    int error = -ESRCH;

    if (group != NULL && group->home == instance.kernel && size <= FILE_CHUNK && call->room <= FILE_CHUNK) {
        w = heap_alloc(sizeof(*w));
        error = -ENOMEM;
    }
    if (w == NULL) {
        if (group != NULL)
            group_put(group);
        msg_reply_error(&m->ticket, error);
        return;
    }
    msg_keep(m, &w->kept, NULL);
    w->group = group;
    w->call = *call;
    w->size = size;
    memcpy(w->data, call + 1, size);
    w->work.run = run_call;
    work_submit(&w->work);
}

void remote_init(void)
{
    msg_register(MSG_FILE_CALL, handle_call, sizeof(struct msg_file_call), sizeof(struct msg_file_result));
}

static int64_t call_home(struct group *group, const struct file_request *request, const void *data, size_t size,
                         void *result, size_t room)
{
    struct buffers {
        struct msg_file_call call;
        uint8_t data[FILE_CHUNK];
        struct msg_file_result result;
        uint8_t result_data[FILE_CHUNK];
    } *b = heap_alloc(sizeof(*b));
    static const struct msg_policy killable = {.end = WAIT_KILLABLE};
    int64_t value;
    int length;

    if (b == NULL)
        return -ENOMEM;
    b->call = (struct msg_file_call){.group = group->id, .room = (uint32_t)room, .request = *request};
    memcpy(b->data, data, size);
    length = msg_call_within(&killable, group->home, MSG_FILE_CALL, &b->call, (uint32_t)(sizeof(b->call) + size),
                             &b->result, (uint32_t)(sizeof(b->result) + room), "file operation", (uint64_t)request->fd);
    value = length < 0 ? length : length < (int)sizeof(b->result) ? -EPROTO : b->result.value;
    if (length > (int)sizeof(b->result))
        memcpy(result, b->result_data, (size_t)length - sizeof(b->result));
    heap_free(b, sizeof(*b));
    return value;
}

int64_t file_call(struct group *group, const struct file_request *request, const void *data, size_t size, void *result,
                  size_t room)
{
    if (group->home == instance.kernel)
        return execute(group, request, data, size, result, room);
    return call_home(group, request, data, size, result, room);
}

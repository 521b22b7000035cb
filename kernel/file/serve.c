/* Operations requested by other kernels (kernel/file/remote.h): a process's home does those on its descriptors
 * (home.h), a file's kernel those on the file (operation.h). The handler does them at once, and so in the order of the
 * messages, unless the file's kind waits: then a task does them. */
#include "kernel/file/serve.h"

#include "kernel/abi/errno.h"
#include "kernel/file/home.h"
#include "kernel/file/kept_read.h"
#include "kernel/file/operation.h"
#include "kernel/file/rule.h"
#include "kernel/file/table.h"
#include "kernel/file/zero_copy.h"
#include "kernel/lib/string.h"
#include "msg/lend.h"
#include "tasks/process/group.h"
#include "tasks/remote/operation.h"

/* A request, and where its data and its result are. */
struct serving {
    const struct msg_file_call *call;
    const uint8_t *data;
    void *result;
    uint32_t size, room;
};

static uint32_t whole_words(uint32_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* Maps KERNEL's zero-copy data, or its room for a result, in place of the data that came with the request. Only for
 * operations that read such data once: the peer may change them meanwhile. */
static int open_zero_copy(struct serving *s, uint32_t kernel)
{
    bool write = s->call->request.zero_copy == FILE_ZERO_COPY_RESULT;
    uint64_t address;
    void *zero_copy;

    if (!file_rule_zero_copy(&s->call->request) || s->size != sizeof(address) || s->call->room > FILE_CHUNK ||
        (!write && s->call->request.zero_copy != FILE_ZERO_COPY_DATA))
        return -EPROTO;
    memcpy(&address, s->data, sizeof(address));
    zero_copy = lend_open(kernel, address, s->call->room, write);
    if (zero_copy == NULL)
        return -EPROTO;
    if (write) {
        s->result = zero_copy;
        s->size = 0;
    } else {
        s->data = zero_copy;
        s->size = s->room;
        s->room = 0;
    }
    return 0;
}

/* An operation that does not wait, although others on a file of such a kind do: FILE_LOCK, unless its range is relative
 * to the file's end. The handler does it, so that locks are released and taken in the order of the messages. */
static bool is_at_once(const struct serving *s)
{
    struct file_lock lock;

    if (s->call->request.operation != MSG_FILE_LOCK || s->size != sizeof(lock))
        return false;
    memcpy(&lock, s->data, sizeof(lock));
    return lock.whence != 2;
}

/* A request with less than ZERO_COPY_MIN bytes of zero-copy data, turned into one that carries them. Handlers run one
 * at a time. */
static struct copied {
    struct msg_file_call call;
    uint8_t data[ZERO_COPY_MIN];
} copied;

_Static_assert(offsetof(struct copied, data) == sizeof(struct msg_file_call), "data follows the request");

/* For a file whose kind waits. REMOTE_TASK: a task does the operation; zero-copy data have been copied to the request,
 * and zero-copy results come with the answer. 0: the handler can do it now. 1: nothing was done, and the caller has to
 * send it without zero-copy. Or a negative errno. */
static int leave_to_task(struct serving *s, const struct remote_request *request)
{
    int error;

    if (s->call->request.zero_copy == 0)
        return is_at_once(s) ? 0 : REMOTE_TASK;
    if (s->call->room >= ZERO_COPY_MIN)
        return 1;
    error = open_zero_copy(s, request->kernel);
    if (error == 0 && s->size > 0)
        memcpy(copied.data, s->data, s->size);
    lend_close();
    if (error != 0)
        return error;
    copied.call = *s->call;
    copied.call.room = s->room;
    copied.call.request.zero_copy = 0;
    s->call = &copied.call;
    s->data = copied.data;
    if (is_at_once(s))
        return 0;
    return remote_task_with(request, &copied, (uint32_t)sizeof(copied.call) + s->size,
                            (uint32_t)sizeof(struct file_answer) + whole_words(s->room));
}

static int serve_table(struct serving *s, uint32_t kernel, struct file_answer *answer)
{
    struct group *group = group_find(s->call->group);
    struct file_table *table = group != NULL ? file_table_of(group) : NULL; /* NULL if this kernel is not the home */
    int error = 0;

    if (group != NULL)
        group_put(group);
    if (table == NULL)
        return -ESRCH;
    if (s->call->request.zero_copy != 0)
        error = open_zero_copy(s, kernel);
    if (error == 0)
        home_do(table, &s->call->request, s->data, s->size, s->result, s->room, answer);
    lend_close();
    file_table_free(table);
    return error;
}

static int serve_file(struct serving *s, struct file *file, const struct remote_request *request,
                      struct file_answer *answer)
{
    struct serving as_sent = *s;
    bool moves = false;
    int error = 0;

    if (request->task) { /* its data came with the request, and the window belongs to handlers */
        if (s->call->request.zero_copy != 0)
            return -EPROTO;
        file_do_waiting(file, &s->call->request, s->data, s->size, s->result, s->room, answer);
        return 0;
    }
    if (file->kind->waits)
        error = leave_to_task(s, request);
    if (error == 0 && s->call->request.zero_copy != 0)
        error = open_zero_copy(s, request->kernel);
    if (error == 0)
        moves = file_do(file, &s->call->request, s->data, s->size, s->result, s->room, answer) == FILE_MOVES;
    lend_close();
    if (moves) {
        *s = as_sent;
        error = leave_to_task(s, request);
    }
    if (error == 1)
        *answer = (struct file_answer){.flags = FILE_NOT_ZERO_COPY};
    return error == 1 ? 0 : error;
}

/* The length of the answer to REQUEST with its result data. */
static inline int length_of(const struct file_request *request, struct file_answer *answer, uint32_t room)
{
    uint32_t length = (uint32_t)(sizeof(*answer) + file_result_size(request, answer, room));

    /* Whole words are sent faster; the caller ignores bytes beyond its room. */
    if (length <= MSG_SHORT && length % 8 != 0) {
        memset((uint8_t *)answer + length, 0, 8 - length % 8);
        length = whole_words(length);
    }
    return (int)length;
}

/* Serves an operation on a descriptor (FILE NULL), or one on FILE that is zero-copy or may need a task. */
static __attribute__((noinline)) int serve_slowly(const struct remote_request *request, struct file *file,
                                                  struct file_answer *answer)
{
    const struct msg_file_call *call = request->data;
    struct serving s = {.call = call,
                        .data = (const uint8_t *)(call + 1),
                        .result = answer + 1,
                        .size = request->length - (uint32_t)sizeof(*call),
                        .room = call->room};
    int error = file != NULL ? serve_file(&s, file, request, answer) : serve_table(&s, request->kernel, answer);

    if (error != 0)
        return error;
    return call->request.zero_copy != 0 && s.call == call ? (int)sizeof(*answer)
                                                          : length_of(&call->request, answer, s.room);
}

/* Whether the answer to REQUEST, of LENGTH bytes, says that there was nothing to read, and the caller lets this kernel
 * keep the request. */
static inline bool may_be_kept(const struct remote_request *request, const struct file_answer *answer, int length)
{
    const struct msg_file_call *call = request->data;

    return request->type == MSG_FILE_READ && (call->request.move.flags & FILE_KEEP) != 0 &&
           length == (int)sizeof(*answer) && answer->value == -EAGAIN && !request->task;
}

static int serve(const struct remote_request *request, void *result)
{
    const struct msg_file_call *call = request->data;
    struct file_answer *answer = result;
    struct file *file;
    int length;

    if (call->request.operation != request->type)
        return -EPROTO;
    file = call->group == 0 ? file_find(call->id) : NULL;
    if (file == NULL && call->group == 0)
        return -ESRCH;
    if (file == NULL || file->kind->waits || call->request.zero_copy != 0) {
        length = serve_slowly(request, file, answer);
    } else {
        file_do(file, &call->request, call + 1, request->length - sizeof(*call), answer + 1, call->room, answer);
        length = __builtin_expect(answer->value == FILE_MOVES, 0) ? serve_slowly(request, file, answer)
                                                                  : length_of(&call->request, answer, call->room);
    }
    if (file != NULL)
        file_unpin(file);
    if (__builtin_expect(may_be_kept(request, answer, length), 0) && kept_read_begin(request, answer))
        return REMOTE_KEPT;
    return length;
}

static int room_of(const struct remote_request *request)
{
    const struct msg_file_call *call = request->data;

    if (call->room > FILE_CHUNK)
        return -EPROTO;
    return (int)(sizeof(struct file_answer) + (call->request.zero_copy != 0 ? 0 : whole_words(call->room)));
}

void serve_init(void)
{
    for (uint32_t type = FILE_OPERATION_FIRST; type <= FILE_OPERATION_LAST; type++)
        remote_serve(type, serve, room_of, sizeof(struct msg_file_call), sizeof(struct file_answer));
}

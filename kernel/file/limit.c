/* The file size limit. See the header. */
#include "kernel/file/limit.h"

#include "kernel/abi/errno.h"
#include "kernel/file/operation.h"
#include "kernel/file/rule.h"
#include "kernel/lib/string.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"

/* The length of FILE, which has a node. */
static uint64_t size_of(const struct file *file)
{
    struct file_facts facts;

    node_hooks.facts(file_node(file), &facts);
    return facts.size;
}

/* The offset at which a write of FILE begins. It is read before the write, so of two simultaneous writes both may be
 * allowed. */
static uint64_t begin_of(struct file *file, const struct file_request *request)
{
    if ((file->flags & OPEN_APPEND) != 0 || (request->move.flags & FILE_APPEND) != 0)
        return size_of(file);
    return request->operation == MSG_FILE_WRITE ? file->offset : (uint64_t)request->move.offset;
}

/* Does the limit allow LIMITED's request? Of a write at least one byte; *SIZE, the bytes of its data, is reduced to
 * what is allowed. */
static bool allows(struct file *file, const struct file_limited *limited, const void *data, size_t *size)
{
    const struct file_request *request = &limited->request;
    int64_t length, end;
    uint64_t begin;

    switch (request->operation) {
    case MSG_FILE_RESIZE:
        return request->space.offset < 0 || (uint64_t)request->space.offset <= limited->limit ||
               (uint64_t)request->space.offset <= size_of(file);
    case MSG_FILE_ALLOCATE:
        if (*size < sizeof(length))
            return true; /* file_do refuses it */
        memcpy(&length, data, sizeof(length));
        return __builtin_add_overflow(request->space.offset, length, &end) || (request->space.mode & 1u) != 0 ||
               (uint64_t)end <= limited->limit || (uint64_t)end <= size_of(file);
    default:
        begin = begin_of(file, request);
        if (begin >= limited->limit && *size > 0)
            return false;
        if (*size > limited->limit - begin)
            *size = (size_t)(limited->limit - begin);
        return true;
    }
}

int64_t file_limit_do(struct file *file, uint8_t refused, const void *data, size_t size, struct file_answer *answer)
{
    struct file_limited limited;
    const uint8_t *rest = (const uint8_t *)data + sizeof(limited);
    bool regular = file_node(file) != NULL && (file->facts.mode & FILE_TYPE_MASK) == FILE_REGULAR;

    *answer = (struct file_answer){.value = -EPROTO};
    if (size < sizeof(limited))
        return -EPROTO;
    memcpy(&limited, data, sizeof(limited));
    limited.request.refused = refused;
    size -= sizeof(limited);
    if (!file_is_operation(limited.request.operation) || !file_rule(limited.request.operation)->grows)
        return -EPROTO;
    if (regular && (file->flags & OPEN_ACCESS) != 0 && (file->flags & OPEN_PATH) == 0 &&
        !allows(file, &limited, rest, &size)) {
        *answer = (struct file_answer){.value = -EFBIG, .flags = FILE_LIMITED_SIZE};
        return -EFBIG;
    }
    return file_do(file, &limited.request, rest, size, NULL, 0, answer);
}

static void send_signal(void)
{
    struct thread *thread = thread_current();
    struct signal_info info = {.signal = SIGXFSZ, .code = SI_USER, .pid = thread->group->id};

    spin_lock(&thread->group->lock);
    signal_send_thread_locked(thread, &info);
    spin_unlock(&thread->group->lock);
}

void file_limit_notify(int64_t value, const struct file_answer *answer)
{
    if (value == -EFBIG && (answer->flags & FILE_LIMITED_SIZE) != 0)
        send_signal();
}

int64_t file_limit_check(uint64_t bytes)
{
    struct msg_process_call call = {
        .id = thread_current()->group->id, .type = MSG_PROCESS_LIMIT, .limit.which = LIMIT_FSIZE};
    struct msg_process_result result;

    if (process_call(&call, &result) != 0 || bytes <= result.limit.soft)
        return 0;
    send_signal();
    return -EFBIG;
}

/* Reads and writes whose buffer is partly inaccessible. See the header. Other transfers never come here, so speed does
 * not matter. */
#include "kernel/calls/files/partly.h"

#include "kernel/abi/errno.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/common/socket.h"
#include "kernel/calls/files/live.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/remote.h"
#include "kernel/ipc/pipe/buffer.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define DEVICE_NULL 0x103u
#define DEVICE_ZERO 0x105u
#define DEVICE_FULL 0x107u
#define DEVICE_RANDOM 0x108u
#define DEVICE_URANDOM 0x109u
#define TERMINAL_PART 2048u /* a write to a terminal accepts whole parts of so many bytes */

static int64_t facts_of(int64_t fd, struct file_facts *facts)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = (int32_t)fd};
    struct file_answer answer;

    *facts = (struct file_facts){.mode = 0};
    return file_call(thread_current()->group, &request, NULL, 0, facts, sizeof(*facts), &answer);
}

/* The result of a read of a regular file into a buffer that cannot be written at all: 0 at the end of the file, the
 * file's error, or -EFAULT. */
static int64_t read_nothing(const struct file_request *request, struct file_answer *answer)
{
    struct file_request one = {.operation = MSG_FILE_READ_AT, .fd = request->fd, .move.offset = request->move.offset};
    uint64_t byte;
    int64_t result;

    if (request->operation == MSG_FILE_READ)
        one.move.offset = files_seek(request->fd, 0, 1);
    if (one.move.offset < 0)
        return -EFAULT;
    result = file_call(thread_current()->group, &one, NULL, 0, &byte, 1, answer);
    return result > 0 || live_is(result, answer) ? -EFAULT : result;
}

static int64_t read_pipe(const struct file_request *request, uint64_t part, uint64_t good, uint8_t *buffer,
                         struct file_answer *answer)
{
    struct file_request fit = {
        .operation = MSG_FILE_OPERATE, .fd = request->fd, .special = {.what = SPECIAL_PIPE_FIT, .argument = part}};

    return file_call(thread_current()->group, &fit, NULL, 0, buffer, good, answer);
}

static int64_t read_socket(int64_t fd, uint64_t part, uint64_t good, uint8_t *buffer, bool waits,
                           struct file_answer *answer)
{
    struct socket_call call = {
        .operation = SOCKET_RECEIVE, .flags = MESSAGE_FIT, .a = (uint32_t)good, .asked = (uint32_t)part};
    size_t room = sizeof(struct socket_result) + good;
    struct socket_result *result = heap_alloc_unset(room);
    int64_t count;

    if (result == NULL)
        return -ENOMEM;
    count = socket_do(fd, &call, sizeof(call), result, room, !waits, "input of a socket", answer);
    answer->flags = 0; /* socket_do has waited already: the caller must not wait again */
    answer->tenths = 0;
    if (count == 0) {
        count = result->size;
        memcpy(buffer, result + 1, result->size);
    }
    heap_free(result, room);
    return count;
}

int64_t partly_read(const struct file_request *request, uint64_t *part, uint64_t good, uint8_t *buffer, bool waits,
                    struct file_answer *answer)
{
    struct file_facts facts;
    int64_t result = facts_of(request->fd, &facts);
    bool moves = request->operation == MSG_FILE_READ;

    *answer = (struct file_answer){.flags = 0};
    if (result < 0)
        return result;
    switch (facts.mode & FILE_TYPE_MASK) {
    case FILE_REGULAR:
        if (good == 0)
            return read_nothing(request, answer);
        *part = good;
        break;
    case FILE_FIFO:
        if (moves)
            return read_pipe(request, *part, good, buffer, answer);
        break;
    case FILE_SOCKET:
        if (moves)
            return read_socket(request->fd, *part, good, buffer, waits, answer);
        break;
    default:
        break;
    }
    result = file_call(thread_current()->group, request, NULL, 0, buffer, *part, answer);
    if (result > 0 && (uint64_t)result > good && (facts.mode & FILE_TYPE_MASK) == 0)
        result = -EFAULT; /* the data of an eventfd or a similar file is lost, as on Linux */
    return result;
}

/* Returns how many bytes of a write of PART bytes, of which COUNT could be read, a file of FACTS accepts. Some devices
 * accept PART bytes without reading them. */
static uint64_t taken_of(const struct file_facts *facts, uint64_t part, uint64_t count)
{
    switch (facts->mode & FILE_TYPE_MASK) {
    case FILE_REGULAR:
        return count;
    case FILE_FIFO:
        return count - count % PIPE_PART;
    case FILE_CHARACTER:
        if (facts->number == DEVICE_NULL || facts->number == DEVICE_ZERO || facts->number == DEVICE_FULL)
            return part;
        return facts->number == DEVICE_RANDOM || facts->number == DEVICE_URANDOM ? count
                                                                                 : count - count % TERMINAL_PART;
    default:
        return 0;
    }
}

int64_t partly_write(int64_t fd, int64_t at, uint8_t *buffer, uint64_t part, uint64_t count)
{
    struct file_facts facts;
    int64_t result = facts_of(fd, &facts), flags = files_get_flags(fd);
    uint32_t type = facts.mode & FILE_TYPE_MASK;

    if (result < 0 || flags < 0)
        return result < 0 ? result : flags;
    if (((uint64_t)flags & OPEN_PATH) != 0 || ((uint64_t)flags & OPEN_ACCESS) == 0)
        return -EBADF;
    if (at >= 0 && (type == FILE_FIFO || type == FILE_SOCKET))
        return -ESPIPE;
    result = (int64_t)taken_of(&facts, part, count);
    if ((uint64_t)result > count)
        memset(buffer + count, 0, part - count); /* the device ignores them */
    return result > 0 ? result : -EFAULT;
}

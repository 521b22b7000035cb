/* Long messages of sockets, piece by piece. See the header. */
#include "kernel/calls/common/datagram.h"

#include "kernel/abi/errno.h"
#include "kernel/calls/common/socket.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

static const char why_room[] = "room in a socket";

void datagram_drop(int64_t fd, uint64_t number)
{
    struct socket_call call = {.operation = SOCKET_DROP, .draft = number};
    struct socket_result result;
    struct file_answer answer;

    if (number != 0)
        socket_do(fd, &call, sizeof(call), &result, sizeof(result), true, "", &answer);
}

/* A message that is being sent: MEMORY has a call, room for its files, and for the PIECE bytes of one request. */
struct sending {
    int64_t fd;
    struct spans *spans;
    uint64_t total, piece;
    uint8_t *memory;
    const struct file_place *places;
};

/* Sends all pieces. Only the first waits, until the socket has room for the whole message. *LATE: another message has
 * taken that room meanwhile. */
static int64_t send_pieces(const struct sending *s, struct socket_call *call, bool dont_wait, bool *late)
{
    struct socket_call *piece = (struct socket_call *)(void *)s->memory;
    struct socket_result result = {.draft = 0};
    struct file_answer answer;
    int64_t error = 0;
    uint64_t draft = 0;

    for (uint64_t done = 0, part; done < s->total && error == 0; done += part) {
        size_t head = sizeof(*call);

        part = s->total - done < s->piece ? s->total - done : s->piece;
        *piece = *call;
        piece->b = call->files;
        piece->files = 0;
        piece->whole = (uint32_t)s->total;
        piece->at = (uint32_t)done;
        piece->draft = draft;
        if (done + part == s->total && call->files > 0) {
            piece->files = call->files;
            memcpy(s->memory + head, s->places, call->files * sizeof(*s->places));
            head += call->files * sizeof(*s->places);
        }
        error = spans_move(s->spans, s->memory + head, part, false);
        if (error == 0)
            error = socket_do(s->fd, piece, head + part, &result, sizeof(result), dont_wait || done > 0, why_room,
                              &answer);
        if (error == 0)
            draft = result.draft;
        *late = error == -EAGAIN && done > 0;
    }
    if (error != 0)
        datagram_drop(s->fd, draft);
    else
        call->files = 0;
    return error;
}

int64_t datagram_send(int64_t fd, struct spans *spans, uint64_t total, struct socket_call *call,
                      const struct file_place *places, bool dont_wait)
{
    size_t head = sizeof(*call) + call->files * sizeof(*places), size = FILE_CHUNK;
    struct sending s = {.fd = fd, .spans = spans, .total = total, .piece = FILE_CHUNK - head, .places = places};
    const struct spans begin = *spans;
    bool late;
    int64_t error;

    if (total > INT32_MAX)
        return -EMSGSIZE;
    s.memory = heap_alloc_unset(size);
    if (s.memory == NULL)
        return -ENOMEM;
    do {
        *spans = begin;
        late = false;
        error = send_pieces(&s, call, dont_wait, &late);
    } while (late && !dont_wait);
    heap_free(s.memory, size);
    return error != 0 ? error : (int64_t)total;
}

int64_t datagram_rest(int64_t fd, struct spans *spans, const struct socket_result *first, uint64_t total,
                      uint64_t *done)
{
    uint64_t end = first->length < total ? first->length : total;
    size_t size = FILE_CHUNK;
    struct socket_result *result = heap_alloc_unset(size);
    int64_t error = result != NULL ? 0 : -ENOMEM;

    while (error == 0 && *done < end) {
        uint64_t part = end - *done < size - sizeof(*result) ? end - *done : size - sizeof(*result);
        struct socket_call call = {.operation = SOCKET_RECEIVE,
                                   .a = (uint32_t)part,
                                   .whole = (uint32_t)end,
                                   .at = (uint32_t)*done,
                                   .draft = first->draft};
        struct file_answer answer;

        error = socket_do(fd, &call, sizeof(call), result, size, true, "", &answer);
        if (error == 0 && result->size != part)
            error = -EPROTO;
        if (error == 0)
            error = spans_move(spans, (uint8_t *)(result + 1), part, true);
        if (error == 0)
            *done += part;
    }
    if (error != 0)
        datagram_drop(fd, first->draft);
    if (result != NULL)
        heap_free(result, size);
    return error == -ENOMEM ? -ENOBUFS : error; /* the message is gone: the call must not begin again (tasks/oom) */
}

int64_t datagram_receive(int64_t fd, struct spans *spans, uint64_t total)
{
    size_t size = FILE_CHUNK;
    uint64_t most = size - sizeof(struct socket_result), done;
    struct socket_result *result = heap_alloc_unset(size);
    struct socket_call call = {.operation = SOCKET_RECEIVE,
                               .a = (uint32_t)(total < most ? total : most),
                               .whole = (uint32_t)(total < INT32_MAX ? total : INT32_MAX)};
    struct file_answer answer;
    int64_t error = -ENOMEM;

    if (result == NULL)
        return error;
    error = socket_do(fd, &call, sizeof(call), result, size, false, "a message of a socket", &answer);
    done = error == 0 ? result->size : 0;
    if (error == 0)
        error = spans_move(spans, (uint8_t *)(result + 1), done, true);
    if (error == 0 && result->draft != 0)
        error = datagram_rest(fd, spans, result, total, &done);
    else if (error == -EFAULT)
        datagram_drop(fd, result->draft);
    heap_free(result, size);
    return error != 0 ? error : (int64_t)done;
}

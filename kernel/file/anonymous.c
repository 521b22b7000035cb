/* Files without a name: making them, and what only some kinds can do. See the header. */
#include "kernel/file/anonymous.h"

#include "kernel/abi/errno.h"
#include "kernel/file/descriptor.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/call.h"

/* [i] */
static int (*makers[ANONYMOUS_COUNT])(uint32_t flags, const void *data, size_t size, struct file *made[2]);

void anonymous_register(enum anonymous what,
                        int (*make)(uint32_t flags, const void *data, size_t size, struct file *made[2]))
{
    assert(what < ANONYMOUS_COUNT && makers[what] == NULL);
    makers[what] = make;
}

/* Makes what is asked for. 0, and MADE[1] is NULL if it is one file only. */
static int make(uint32_t what, uint32_t flags, const void *data, size_t size, struct file *made[2])
{
    made[1] = NULL;
    if (what >= ANONYMOUS_COUNT || makers[what] == NULL)
        return -EPROTO;
    return makers[what](flags & (OPEN_NONBLOCK | (what == ANONYMOUS_PIPE ? OPEN_DIRECT : 0)), data, size, made);
}

int64_t anonymous_add(struct file_table *table, enum anonymous what, uint32_t flags, const void *data, size_t size,
                      void *result, size_t room)
{
    uint32_t close = (flags & OPEN_CLOEXEC) != 0 ? DESCRIPTOR_CLOEXEC : 0;
    int32_t fds[2] = {-1, -1};
    struct file *made[2];
    int error;

    if (room < sizeof(fds))
        return -EPROTO;
    error = make(what, flags, data, size, made);
    if (error != 0)
        return error;
    for (int i = 0; i < 2 && made[i] != NULL; i++) {
        int64_t fd = table_add(table, made[i], 0, close); /* has closed it when it fails */

        if (fd < 0 && i == 0 && made[1] != NULL)
            file_close(made[1]);
        if (fd < 0 && i == 1)
            table_close(table, fds[0]);
        if (fd < 0)
            return fd;
        fds[i] = (int32_t)fd;
    }
    memcpy(result, fds, sizeof(fds));
    return sizeof(fds);
}

static void handle_make(const struct msg *m)
{
    const struct msg_file_make *asked = m->data;
    struct msg_file_made answer = {.id = 0};
    struct file *made[2];
    int error = -EPROTO;

    if (asked->size <= sizeof(asked->data) && asked->what != ANONYMOUS_SOCKET_PAIR && asked->what != ANONYMOUS_PIPE)
        error = make(asked->what, asked->flags, asked->data, asked->size, made);
    if (error != 0) {
        msg_reply_error(&m->ticket, error);
        return;
    }
    answer.id = made[0]->id;
    msg_reply(&m->ticket, &answer, sizeof(answer));
}

int64_t anonymous_make_at(uint32_t kernel, enum anonymous what, uint32_t flags, const void *data, uint32_t size,
                          struct file_place *place)
{
    struct msg_file_make message = {.what = what, .flags = flags, .size = size};
    struct msg_file_made answer;
    struct file *made[2];
    int result;

    *place = (struct file_place){.kernel = kernel};
    if (kernel == instance.kernel) {
        result = make(what, flags, data, size, made);
        if (result == 0)
            place->id = made[0]->id;
        return result;
    }
    memcpy(message.data, data, size);
    result = msg_call(kernel, MSG_FILE_MAKE, &message, sizeof(message), &answer, sizeof(answer), "a new file", what);
    if (result < 0)
        return result;
    place->id = answer.id;
    return 0;
}

int64_t anonymous_operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                          void *result, size_t room, struct file_answer *answer)
{
    if (request->extra == SPECIAL_WATCHABLE)
        return file->kind->poll == NULL ? -EPERM : 0;
    if ((file->flags & OPEN_PATH) != 0)
        return -EBADF;
    if (request->extra == SPECIAL_SOCKET && !file->kind->socket)
        return -ENOTSOCK;
    if (file->kind->operate == NULL)
        return -EINVAL;
    return file->kind->operate(file, request, data, size, result, room, answer);
}

void anonymous_init(void)
{
    msg_register(MSG_FILE_MAKE, handle_make, sizeof(struct msg_file_make), sizeof(struct msg_file_made));
}

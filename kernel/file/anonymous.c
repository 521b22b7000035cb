/* Files without a name: their makers, and operations that only some kinds have. See the header. */
#include "kernel/file/anonymous.h"

#include "kernel/abi/errno.h"
#include "kernel/file/descriptor.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "tasks/remote/operation.h"

/* [i] */
static int (*makers[ANONYMOUS_COUNT])(uint32_t flags, const void *data, size_t size, struct file *made[2]);

void anonymous_register(enum anonymous what,
                        int (*make)(uint32_t flags, const void *data, size_t size, struct file *made[2]))
{
    assert(what < ANONYMOUS_COUNT && makers[what] == NULL);
    makers[what] = make;
}

/* Makes one file of kind WHAT, or two; MADE[1] is NULL if it is one. Returns 0 or a negative errno. */
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
        int64_t fd = table_add(table, made[i], 0, close); /* closes the file if it fails */

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

static int serve_make(const struct remote_request *request, void *result)
{
    const struct msg_file_make *asked = request->data;
    struct file *made[2];
    int error = -EPROTO;

    if (asked->size <= sizeof(asked->data) && asked->what != ANONYMOUS_SOCKET_PAIR && asked->what != ANONYMOUS_PIPE)
        error = make(asked->what, asked->flags, asked->data, asked->size, made);
    if (error != 0)
        return error;
    *(struct msg_file_made *)result = (struct msg_file_made){.id = made[0]->id};
    return sizeof(struct msg_file_made);
}

int64_t anonymous_make_at(uint32_t kernel, enum anonymous what, uint32_t flags, const void *data, uint32_t size,
                          struct file_place *place)
{
    const struct remote_how how = {.why = "a new file", .key = what};
    struct msg_file_make message = {.what = what, .flags = flags, .size = size};
    struct msg_file_made made = {.id = 0};
    int result;

    if (size > 0)
        memcpy(message.data, data, size);
    result = remote_call(kernel, MSG_FILE_MAKE, &message, sizeof(message), &made, sizeof(made), &how);
    *place = (struct file_place){.id = made.id, .kernel = kernel};
    return result < 0 ? result : 0;
}

int64_t anonymous_operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                          void *result, size_t room, struct file_answer *answer)
{
    if (request->special.what == SPECIAL_WATCHABLE)
        return file->kind->poll == NULL ? -EPERM : file->kind->set;
    if (request->special.what == SPECIAL_SOCKET && !file->kind->socket)
        return -ENOTSOCK;
    if (file->kind->operate == NULL)
        return -EINVAL;
    return file->kind->operate(file, request, data, size, result, room, answer);
}

int64_t anonymous_info(const void *data, size_t size, const char *text, void *result, size_t room)
{
    size_t length = strlen(text);
    uint32_t skipped;

    if (size != sizeof(skipped) || room < length)
        return -EPROTO;
    memcpy(&skipped, data, sizeof(skipped));
    if (skipped != 0)
        return 0;
    memcpy(result, text, length);
    return (int64_t)length;
}

void anonymous_init(void)
{
    REMOTE_SERVE(FILE_MAKE, serve_make, NULL, struct msg_file_make, struct msg_file_made);
}

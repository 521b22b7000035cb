/* FILE_CALL at the kernel that is asked: a process's home does what is about its descriptors (home.h), a file's kernel
 * what is about the file (operation.h), kernel 0 what is about neither (service.h). The handler does it at once, but
 * for files of a kind that waits, which a worker serves (later.h). See kernel/file/remote.h for who asks. */
#include "kernel/file/serve.h"

#include "kernel/abi/errno.h"
#include "kernel/file/home.h"
#include "kernel/file/later.h"
#include "kernel/file/lent.h"
#include "kernel/file/operation.h"
#include "kernel/file/service.h"
#include "kernel/file/table.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/call.h"
#include "tasks/process/group.h"

/* What is asked of a kernel, and not of a file. */
static bool is_service(const struct msg_file_call *call)
{
    return call->group == 0 && call->id == 0 && service_has(call->request.operation);
}

struct long_answer {
    struct msg_kept kept;
    size_t size; /* of this and the data */
    struct file_answer answer;
    uint8_t data[];
};

_Static_assert(offsetof(struct long_answer, data) == offsetof(struct long_answer, answer) + sizeof(struct file_answer),
               "data follows the answer");

static void long_answer_done(struct msg_kept *kept)
{
    struct long_answer *l = container_of(kept, struct long_answer, kept);

    heap_free(l, l->size);
}

/* Data or room for a result that the caller of M lends, in place of what came with it. */
static int open_lent(const struct msg *m, const uint8_t **data, uint32_t *size, void **result, uint32_t *room)
{
    const struct msg_file_call *call = m->data;
    bool write = call->request.lent == FILE_LENT_RESULT;
    uint64_t address;
    void *lent;

    if (*size != sizeof(address) || (!write && call->request.lent != FILE_LENT_DATA))
        return -EPROTO;
    memcpy(&address, *data, sizeof(address));
    lent = lent_open(m->ticket.kernel, address, call->room, write);
    if (lent == NULL)
        return -EPROTO;
    if (write) {
        *result = lent;
        *size = 0;
    } else {
        *data = lent;
        *size = *room;
        *room = 0;
    }
    return 0;
}

/* An operation that waits for nobody though others on such a file do: a lock, unless it begins at the file's end. So it
 * is done in the order of messages, and what was given back is free for who asks later. */
static bool is_at_once(const struct msg_file_call *call, uint32_t size)
{
    struct file_lock lock;

    if (call->request.operation != FILE_LOCK || size != sizeof(lock))
        return false;
    memcpy(&lock, call + 1, sizeof(lock));
    return lock.whence != 2;
}

/* A request that lent less than LENT_SMALL bytes, as if it had sent them. */
struct unlent {
    struct msg message;
    struct msg_file_call call;
    uint8_t data[LENT_SMALL];
};

_Static_assert(offsetof(struct unlent, data) == offsetof(struct unlent, call) + sizeof(struct msg_file_call),
               "data follows the request");

/* A task does what M asks, when the caller's memory is out of reach: nothing is lent then. NULL: M is answered. */
static const struct msg *take_loan(const struct msg *m, struct unlent *own)
{
    const struct msg_file_call *call = m->data;
    const uint8_t *data = (const uint8_t *)(call + 1);
    struct file_answer answer = {.flags = FILE_NOT_LENT};
    uint32_t size = m->length - (uint32_t)sizeof(*call), room = call->room;
    void *result = NULL;
    int error = 0;

    if (room < LENT_SMALL) {
        error = open_lent(m, &data, &size, &result, &room);
        if (error == 0 && size > 0)
            memcpy(own->data, data, size);
        lent_close();
        if (error == 0) {
            own->call = *call;
            own->call.room = room;
            own->call.request.lent = 0;
            own->message = *m;
            own->message.data = &own->call;
            own->message.length = (uint32_t)sizeof(own->call) + size;
            return &own->message;
        }
        msg_reply_error(&m->ticket, error);
        return NULL;
    }
    msg_reply(&m->ticket, &answer, sizeof(answer));
    return NULL;
}

/* FILE is pinned, or NULL: M is not about a file. */
static void serve(const struct msg *m, struct file *file)
{
    const struct msg_file_call *call = m->data;
    uint32_t size = m->length - (uint32_t)sizeof(*call);
    const uint8_t *data = (const uint8_t *)(call + 1);
    uint64_t small[MSG_SHORT / 8] = {0};
    struct long_answer *l = NULL;
    struct file_answer *answer = (struct file_answer *)(void *)small;
    uint32_t room = call->room;
    struct group *group = call->group != 0 ? group_find(call->group) : NULL;
    struct file_table *table = group != NULL ? file_table_of(group) : NULL; /* only the home has one */
    void *result = NULL;
    int error = 0;

    if (group != NULL)
        group_put(group);

    if (room > FILE_CHUNK)
        error = -EPROTO;
    else if (table == NULL && file == NULL && !is_service(call))
        error = -ESRCH;
    if (error == 0 && file != NULL && file->kind->waits && !is_at_once(call, size)) {
        file_later(m, file);
        return;
    }
    if (error == 0 && call->request.lent != 0) {
        error = open_lent(m, &data, &size, &result, &room);
    } else if (error == 0 && sizeof(*answer) + room > MSG_SHORT) {
        l = heap_alloc(sizeof(*l) + room);
        if (l == NULL) {
            error = -ENOMEM;
        } else {
            l->size = sizeof(*l) + room;
            answer = &l->answer;
        }
    }
    if (error == 0) {
        if (result == NULL)
            result = answer + 1;
        if (file != NULL)
            file_do(file, &call->request, data, size, result, room, answer);
        else if (table == NULL)
            service_do(&call->request, data, size, result, room, answer);
        else
            home_do(table, &call->request, data, size, result, room, answer);
    }
    lent_close();
    if (table != NULL)
        file_table_free(table);
    if (file != NULL)
        file_unpin(file);
    if (error != 0) {
        msg_reply_error(&m->ticket, error);
        return;
    }
    size = (uint32_t)(sizeof(*answer) + (call->request.lent != 0 ? 0 : file_result_size(&call->request, answer, room)));
    if (size <= MSG_SHORT) {
        size = (size + 7) / 8 * 8; /* whole words take a shorter way; the caller knows its room */
        msg_reply(&m->ticket, answer, size);
        if (l != NULL)
            heap_free(l, l->size);
        return;
    }
    msg_keep(m, &l->kept, NULL);
    msg_kept_reply_long(&l->kept, answer, size, long_answer_done);
}

static void handle_call(const struct msg *m)
{
    const struct msg_file_call *call = m->data;
    struct file *file = call->group == 0 ? file_find(call->id) : NULL;
    struct unlent own;

    if (file != NULL && file->kind->waits && call->request.lent != 0) {
        m = take_loan(m, &own);
        if (m == NULL) {
            file_unpin(file);
            return;
        }
    }
    serve(m, file);
}

void serve_init(void)
{
    msg_register(MSG_FILE_CALL, handle_call, sizeof(struct msg_file_call), sizeof(struct file_answer));
}

/* Operations on descriptors from any kernel. See the header. */
#include "kernel/file/remote.h"

#include "kernel/abi/errno.h"
#include "kernel/file/known.h"
#include "kernel/file/lent.h"
#include "kernel/file/serve/anonymous.h"
#include "kernel/file/serve/home.h"
#include "kernel/file/table.h"
#include "kernel/fs/name/later.h"
#include "kernel/fs/node/lock.h"
#include "kernel/fs/node/regular.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/socket/write.h"
#include "kernel/ipc/sysv/ipc.h"
#include "kernel/lib/string.h"
#include "kernel/tty/tty.h"
#include "mm/frame/heap.h"
#include "msg/call.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/sched/sched.h"
#include "tasks/thread/thread.h"

#define SMALL 320u       /* bytes with the header: on the stack */
#define RETRIES_MAX 1000 /* of a file that is closed between the home's answer and the call */

/* What is asked of a kernel, and not of a file. */
static bool is_for_kernel(const struct msg_file_call *call)
{
    return call->group == 0 && call->id == 0 &&
           (call->request.operation == FILE_NAMELESS || call->request.operation == FILE_IPC ||
            call->request.operation == FILE_SESSION_ENDED || call->request.operation == FILE_SESSION_TERMINAL ||
            call->request.operation == FILE_LOCK_OVER);
}

static void do_for_kernel(const struct file_request *request, const void *data, size_t size, void *result, size_t room,
                          struct file_answer *answer)
{
    *answer = (struct file_answer){.kernel = instance.kernel};
    if (instance.kernel != 0) {
        answer->value = -EPROTO;
        return;
    }
    switch (request->operation) {
    case FILE_IPC:
        ipc_do(data, size, result, room, answer);
        break;
    case FILE_SESSION_ENDED:
        tty_session_ended((uint32_t)request->argument);
        break;
    case FILE_SESSION_TERMINAL:
        answer->value = tty_of_session((uint32_t)request->argument);
        break;
    case FILE_LOCK_OVER:
        node_lock_over((uint32_t)request->argument);
        break;
    case FILE_NAMELESS:
        answer->value = regular_create_nameless((uint32_t)request->argument, request->extra, (uint32_t)request->fd,
                                                &answer->id);
        break;
    default:
        answer->value = -EPROTO;
    }
}

size_t file_result_size(const struct file_request *request, const struct file_answer *answer, size_t room)
{
    if (answer->value < 0 || (answer->flags & FILE_ELSEWHERE) != 0)
        return 0;
    switch (request->operation) {
    case FILE_PIPE:
    case FILE_LOCATE:
    case FILE_LIST:
    case FILE_READ:
    case FILE_READ_AT:
    case FILE_STAT:
    case FILE_SPACE:
    case FILE_ENTRIES:
    case FILE_NEW:
    case FILE_OPERATE:
        return (size_t)answer->value;
    case FILE_IPC:
        return (size_t)answer->seen;
    case FILE_ATTRIBUTE:
        return (size_t)answer->value <= room ? (size_t)answer->value : 0;
    case FILE_GET_PROGRAM:
    case FILE_PATH:
        return (size_t)answer->value + 1;
    case FILE_LOCK:
        return room < sizeof(struct file_lock) ? 0 : sizeof(struct file_lock);
    case FILE_CONTROL:
        return FILE_CONTROL_MAX;
    default:
        return 0;
    }
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
    else if (table == NULL && file == NULL && !is_for_kernel(call))
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
            do_for_kernel(&call->request, data, size, result, room, answer);
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

void remote_init(void)
{
    lent_init();
    msg_register(MSG_FILE_CALL, handle_call, sizeof(struct msg_file_call), sizeof(struct file_answer));
}

/* What FILE_OPERATE with SPECIAL moves its data like. */
static uint32_t operates_as(uint32_t special)
{
    switch (special) {
    case SPECIAL_PIPE_TAKE:
    case SPECIAL_PIPE_LOOK:
        return FILE_READ;
    case SPECIAL_PIPE_PUT:
        return FILE_WRITE;
    default:
        return FILE_OPERATE;
    }
}

/* Whether data, or result data, of REQUEST may stay in this kernel's memory: what is read there once, or only written.
 */
static bool may_lend(const struct file_request *request)
{
    switch (request->operation == FILE_OPERATE ? operates_as(request->extra) : request->operation) {
    case FILE_READ:
    case FILE_READ_AT:
    case FILE_WRITE:
    case FILE_WRITE_AT:
    case FILE_ENTRIES:
    case FILE_STAT:
    case FILE_SPACE:
    case FILE_LOCK:
        return true;
    default:
        return false;
    }
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Asks KERNEL, with LOAN in place of DATA or RESULT. */
static int64_t ask(uint32_t kernel, uint32_t group, uint64_t id, const struct file_request *request, const void *data,
                   size_t size, void *result, size_t room, struct loan *loan, struct file_answer *answer)
{
    bool takes = loan->how != FILE_LENT_RESULT || room < LENT_SMALL;
    size_t out = sizeof(struct msg_file_call) + (loan->how != 0 ? sizeof(loan->address) : size);
    size_t in = sizeof(struct file_answer) + (takes ? (room + 7) / 8 * 8 : 0);
    uint64_t small[2 * SMALL / 8];
    size_t total = (out + 7) / 8 * 8 + in;
    uint8_t *memory = total <= sizeof(small) ? (uint8_t *)small : heap_alloc(total);
    struct msg_file_call *call = (struct msg_file_call *)(void *)memory;
    uint8_t *back;
    int64_t value;
    int length;

    loan->sent = loan->how != FILE_LENT_RESULT;
    if (memory == NULL) {
        *answer = (struct file_answer){.value = -ENOMEM};
        return -ENOMEM;
    }
    back = memory + (out + 7) / 8 * 8;
    *call = (struct msg_file_call){.group = group, .room = (uint32_t)room, .id = id, .request = *request};
    call->request.lent = (uint16_t)loan->how;
    if (loan->how != 0) {
        call->room = loan->size;
        memcpy(call + 1, &loan->address, sizeof(loan->address));
    } else if (size > 0) {
        memcpy(call + 1, data, size);
    }
    length = msg_call(kernel, MSG_FILE_CALL, call, (uint32_t)out, back, (uint32_t)in, "file operation",
                      group != 0 ? (uint64_t)request->fd : id);
    if (length < 0) {
        *answer = (struct file_answer){.value = length};
    } else {
        memcpy(answer, back, sizeof(*answer));
        loan->sent |= (size_t)length > sizeof(*answer);
        if (loan->sent && room > 0)
            memcpy(result, back + sizeof(*answer), smaller((size_t)length - sizeof(*answer), room));
    }
    value = answer->value;
    if (memory != (uint8_t *)small)
        heap_free(memory, total);
    return value;
}

/* Asks KERNEL. */
static int64_t call_at(uint32_t kernel, uint32_t group, uint64_t id, const struct file_request *request,
                       const void *data, size_t size, void *result, size_t room, struct file_answer *answer)
{
    struct loan loan = {.how = 0};
    int64_t value;

    if (may_lend(request))
        loan_begin(&loan, data, size, result, room);
    value = ask(kernel, group, id, request, data, size, result, room, &loan, answer);
    if (loan.memory != NULL)
        loan_end(&loan, result, loan.sent ? 0 : file_result_size(request, answer, room));
    if (loan.how != 0 && value == 0 && (answer->flags & FILE_NOT_LENT) != 0) {
        loan.how = 0;
        value = ask(kernel, group, id, request, data, size, result, room, &loan, answer);
    }
    return value;
}

int64_t file_create_nameless(uint32_t flags, uint64_t *id)
{
    const struct credentials *own = &thread_current()->context.credentials;
    struct file_request request = {
        .operation = FILE_NAMELESS, .argument = flags, .extra = own->fsuid, .fd = (int32_t)own->fsgid};
    struct file_answer answer;

    if (instance.kernel == 0)
        do_for_kernel(&request, NULL, 0, NULL, 0, &answer);
    else
        call_at(0, 0, 0, &request, NULL, 0, NULL, 0, &answer);
    *id = answer.id;
    return answer.value;
}

int64_t file_call_ipc(const void *data, size_t size, void *result, size_t room, struct file_answer *answer)
{
    struct file_request request = {.operation = FILE_IPC};

    if (instance.kernel != 0)
        return call_at(0, 0, 0, &request, data, size, result, room, answer);
    do_for_kernel(&request, data, size, result, room, answer);
    return answer->value;
}

void file_undo_semaphores(uint32_t process)
{
    struct ipc_call call = {.operation = IPC_SEM_UNDO, .pid = process};
    struct file_answer answer;

    while (file_call_ipc(&call, sizeof(call), NULL, 0, &answer) == -ENOMEM) { /* an answer gives some back */
        msg_poll();
        sched_yield();
    }
}

int64_t file_call_at(const struct file_place *place, const struct file_request *request, const void *data, size_t size,
                     void *result, size_t room, struct file_answer *answer)
{
    int64_t value = -ESRCH;
    struct file *file;

    if (place->kernel != instance.kernel)
        return call_at(place->kernel, 0, place->id, request, data, size, result, room, answer);
    *answer = (struct file_answer){.value = -ESRCH};
    file = file_find(place->id);
    if (file != NULL) {
        value = file_do(file, request, data, size, result, room, answer);
        file_unpin(file);
    }
    return value;
}

static int64_t call_process(struct file_table *table, uint32_t id, const struct file_request *request, const void *data,
                            size_t size, void *result, size_t room, struct file_answer *answer);

/* REQUEST again, with the limit that ANSWER tells. */
static int64_t call_limited(struct file_table *table, uint32_t id, const struct file_request *request, const void *data,
                            size_t size, struct file_answer *answer)
{
    struct file_request outer = {.operation = FILE_LIMITED, .fd = request->fd};
    struct file_limited *limited = heap_alloc_unset(sizeof(*limited) + size);
    int64_t value;

    if (limited == NULL) {
        *answer = (struct file_answer){.value = -ENOMEM};
        return -ENOMEM;
    }
    *limited = (struct file_limited){.limit = answer->seen, .request = *request};
    if (size > 0)
        memcpy(limited + 1, data, size);
    value = call_process(table, id, &outer, limited, sizeof(*limited) + size, NULL, 0, answer);
    heap_free(limited, sizeof(*limited) + size);
    return value;
}

/* TABLE is that of process ID, if its home is here. */
static int64_t call_process(struct file_table *table, uint32_t id, const struct file_request *request, const void *data,
                            size_t size, void *result, size_t room, struct file_answer *answer)
{
    int64_t value = -EBADF;

    uint32_t home = table != NULL ? instance.kernel : process_home(id);

    for (int turn = 0; turn < RETRIES_MAX; turn++) {
        struct file_place place;
        struct file *file;

        if (table != NULL || !known_find(id, home, request, &place)) {
            if (table != NULL)
                value = home_do(table, request, data, size, result, room, answer);
            else
                value = call_at(home, id, 0, request, data, size, result, room, answer);
            if (value == 0 && (answer->flags & FILE_LIMITED_SIZE) != 0)
                return call_limited(table, id, request, data, size, answer);
            if ((answer->flags & FILE_ELSEWHERE) == 0)
                return value;
            place = (struct file_place){.id = answer->id, .kernel = answer->kernel};
            if (table == NULL)
                known_note(id, home, request, answer);
        }
        if (place.kernel != instance.kernel) {
            value = call_at(place.kernel, 0, place.id, request, data, size, result, room, answer);
            if (value != -ESRCH || answer->id != 0) /* else it may be what a file that is there says */
                return value;
        } else {
            file = file_find(place.id);
            if (file != NULL) {
                value = file_do(file, request, data, size, result, room, answer);
                file_unpin(file);
                return value;
            }
        }
        if (table == NULL) /* closed meanwhile, or another file is behind the descriptor: the home knows */
            known_forget(id, request->fd);
    }
    return -EBADF;
}

int64_t file_call(struct group *group, const struct file_request *request, const void *data, size_t size, void *result,
                  size_t room, struct file_answer *answer)
{
    int64_t value = call_process(group->files, group->id, request, data, size, result, room, answer);

    return __builtin_expect(value == -FILE_WHO, 0) ? socket_write_as(group, request->fd, data, size, answer) : value;
}

int64_t file_call_process(uint32_t id, const struct file_request *request, const void *data, size_t size, void *result,
                          size_t room, struct file_answer *answer)
{
    struct file_table *table = NULL;
    int64_t value;

    if (process_home(id) == instance.kernel) {
        struct group *group = group_find(id);

        if (group != NULL) {
            table = file_table_of(group);
            group_put(group);
        }
        if (table == NULL)
            return -ESRCH;
    }
    value = call_process(table, id, request, data, size, result, room, answer);
    if (table != NULL)
        file_table_free(table);
    return value == -EAGAIN ? -ESRCH : value;
}

struct file *file_near(struct group *group, int64_t fd)
{
    struct file *file;

    if (group->home != instance.kernel)
        return NULL;
    file = table_find(group->files, fd);
    if (file != NULL && file->kernel != instance.kernel) {
        file_unpin(file);
        return NULL;
    }
    return file;
}

/* Operations on descriptors from any kernel. See the header. */
#include "kernel/file/remote.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/descriptor.h"
#include "kernel/file/descriptor_cache.h"
#include "kernel/file/home.h"
#include "kernel/file/operation.h"
#include "kernel/file/rule.h"
#include "kernel/file/table.h"
#include "kernel/file/zero_copy.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/remote/operation.h"
#include "tasks/role/role.h"

#define SMALL 320u       /* bytes of a message, with its header, that are kept on the stack */
#define RETRIES_MAX 1000 /* when the file is closed between the home's answer and the operation */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Sends REQUEST to KERNEL, for descriptor REQUEST->fd of GROUP or, if GROUP is 0, for file ID. If ZERO_COPY is in use,
 * the message has its address in place of DATA or RESULT. */
static int64_t ask(uint32_t kernel, uint32_t group, uint64_t id, const struct file_request *request, const void *data,
                   size_t size, void *result, size_t room, struct zero_copy *zero_copy, struct file_answer *answer)
{
    bool takes = zero_copy->how != FILE_ZERO_COPY_RESULT || room < ZERO_COPY_MIN;
    size_t out = sizeof(struct msg_file_call) + (zero_copy->how != 0 ? sizeof(zero_copy->address) : size);
    size_t in = sizeof(struct file_answer) + (takes ? (room + 7) / 8 * 8 : 0);
    uint64_t small[2 * SMALL / 8];
    size_t total = (out + 7) / 8 * 8 + in;
    uint8_t *memory = total <= sizeof(small) ? (uint8_t *)small : heap_alloc(total);
    struct msg_file_call *call = (struct msg_file_call *)(void *)memory;
    uint8_t *back;
    int64_t value;
    int length;

    zero_copy->sent = zero_copy->how != FILE_ZERO_COPY_RESULT;
    if (memory == NULL) {
        *answer = (struct file_answer){.value = -ENOMEM};
        return -ENOMEM;
    }
    back = memory + (out + 7) / 8 * 8;
    *call = (struct msg_file_call){.group = group, .room = (uint32_t)room, .id = id, .request = *request};
    call->request.zero_copy = (uint8_t)zero_copy->how;
    if (zero_copy->how != 0) {
        call->room = zero_copy->size;
        memcpy(call + 1, &zero_copy->address, sizeof(zero_copy->address));
    } else if (size > 0) {
        memcpy(call + 1, data, size);
    }
    if (request->operation == MSG_FILE_READ && (request->move.flags & FILE_KEEP) != 0) {
        const struct remote_how how = {.why = "input of a file", .key = id, .end = WAIT_INTERRUPTIBLE, .recalls = true};

        length = remote_call(kernel, MSG_FILE_READ, call, (uint32_t)out, back, (uint32_t)in, &how);
        if (length == -EINTR)
            length = -ERESTARTSYS;
    } else if (__builtin_expect(zero_copy->sure, 0)) {
        const struct remote_how how = {.why = "file operation", .key = id, .sure = true};

        length = remote_call(kernel, request->operation, call, (uint32_t)out, back, (uint32_t)in, &how);
    } else {
        length = remote_ask(kernel, request->operation, call, (uint32_t)out, back, (uint32_t)in, "file operation",
                            group != 0 ? (uint64_t)request->fd : id);
    }
    if (length < 0) {
        *answer = (struct file_answer){.value = length};
    } else {
        memcpy(answer, back, sizeof(*answer));
        zero_copy->sent |= (size_t)length > sizeof(*answer);
        if (zero_copy->sent && room > 0)
            memcpy(result, back + sizeof(*answer), smaller((size_t)length - sizeof(*answer), room));
    }
    value = answer->value;
    if (memory != (uint8_t *)small)
        heap_free(memory, total);
    return value;
}

/* The same, with zero-copy where the operation allows it. ZERO_COPY is not in use yet. */
static inline int64_t call_zero_copy(uint32_t kernel, uint32_t group, uint64_t id, const struct file_request *request,
                                     const void *data, size_t size, void *result, size_t room,
                                     struct zero_copy *zero_copy, struct file_answer *answer)
{
    int64_t value;

    if (file_rule_zero_copy(request))
        zero_copy_begin(zero_copy, data, size, result, room);
    value = ask(kernel, group, id, request, data, size, result, room, zero_copy, answer);
    if (zero_copy->memory != NULL)
        zero_copy_end(zero_copy, result, zero_copy->sent ? 0 : file_result_size(request, answer, room));
    if (zero_copy->how != 0 && value == 0 && (answer->flags & FILE_NOT_ZERO_COPY) != 0) {
        zero_copy->how = 0;
        value = ask(kernel, group, id, request, data, size, result, room, zero_copy, answer);
    }
    return value;
}

static int64_t call_at(uint32_t kernel, uint32_t group, uint64_t id, const struct file_request *request,
                       const void *data, size_t size, void *result, size_t room, struct file_answer *answer)
{
    struct zero_copy zero_copy = {.how = 0};

    return call_zero_copy(kernel, group, id, request, data, size, result, room, &zero_copy, answer);
}

/* Whether the file at PLACE has gone with its kernel: that kernel is fenced, or has been forgotten with its roles. */
static bool is_lost(const struct file_place *place)
{
    return place->kernel != instance.kernel &&
           (!msg_peer_reachable(place->kernel) || role_kernel((uint32_t)(place->id >> ROLE_FILE_SHIFT)) == KERNELS_MAX);
}

/* Whether HOME, which has the descriptors of a process with threads here, has not died. If it has, these threads run
 * until this kernel is told to end them; -ESRCH would have their calls try again for ever, and that would not be. */
static bool has_home(uint32_t home)
{
    return home == instance.kernel || msg_peer_reachable(home);
}

static int64_t call_here(uint64_t id, const struct file_request *request, const void *data, size_t size, void *result,
                         size_t room, struct file_answer *answer)
{
    struct file *file = file_find(id);
    int64_t value = -ESRCH;

    *answer = (struct file_answer){.value = -ESRCH};
    if (file != NULL) {
        value = file_do_waiting(file, request, data, size, result, room, answer);
        file_unpin(file);
    }
    return value;
}

int64_t file_call_at(const struct file_place *place, const struct file_request *request, const void *data, size_t size,
                     void *result, size_t room, struct file_answer *answer)
{
    if (place->kernel == instance.kernel)
        return call_here(place->id, request, data, size, result, room, answer);
    if (is_lost(place)) {
        *answer = (struct file_answer){.value = -EIO};
        return -EIO;
    }
    return call_at(place->kernel, 0, place->id, request, data, size, result, room, answer);
}

int64_t file_call_surely(const struct file_place *place, const struct file_request *request, const void *data,
                         size_t size, void *result, size_t room, struct file_answer *answer)
{
    struct zero_copy zero_copy = {.sure = true};

    if (place->kernel == instance.kernel)
        return call_here(place->id, request, data, size, result, room, answer);
    return call_zero_copy(place->kernel, 0, place->id, request, data, size, result, room, &zero_copy, answer);
}

static int64_t call_process(struct file_table *table, uint32_t id, const struct file_request *request, const void *data,
                            size_t size, void *result, size_t room, struct file_answer *answer);

/* Sends REQUEST again, in FILE_LIMITED with the file size limit that ANSWER has. */
static int64_t call_limited(struct file_table *table, uint32_t id, const struct file_request *request, const void *data,
                            size_t size, struct file_answer *answer)
{
    struct file_request outer = {.operation = MSG_FILE_LIMITED, .fd = request->fd};
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

/* Does REQUEST for process ID. TABLE is its descriptor table if its home is this kernel, else NULL. */
static int64_t call_process(struct file_table *table, uint32_t id, const struct file_request *request, const void *data,
                            size_t size, void *result, size_t room, struct file_answer *answer)
{
    uint32_t home = table != NULL ? instance.kernel : process_home(id);
    int64_t value = -EBADF;

    for (int turn = 0; turn < RETRIES_MAX; turn++) {
        struct file_place place;
        struct file *file;

        if (table != NULL || !descriptor_cache_find(id, home, request, &place)) {
            if (table != NULL)
                value = home_do(table, request, data, size, result, room, answer);
            else
                value = call_at(home, id, 0, request, data, size, result, room, answer);
            if (value == 0 && (answer->flags & FILE_LIMITED_SIZE) != 0)
                return call_limited(table, id, request, data, size, answer);
            if ((answer->flags & FILE_ELSEWHERE) == 0)
                return value;
            place = (struct file_place){.id = answer->id, .kernel = answer->kernel};
            if (table == NULL && request->fd >= 0)
                descriptor_cache_note(id, home, request->fd, &place, answer);
        }
        if (__builtin_expect(is_lost(&place), 0)) {
            *answer = (struct file_answer){.value = -EIO};
            return -EIO;
        }
        if (place.kernel != instance.kernel) {
            value = call_at(place.kernel, 0, place.id, request, data, size, result, room, answer);
            if (value != -ESRCH || answer->id != 0) /* with an id, the file itself has answered -ESRCH */
                return value;
        } else {
            file = file_find(place.id);
            if (file != NULL) {
                value = file_do_waiting(file, request, data, size, result, room, answer);
                file_unpin(file);
                return value;
            }
        }
        if (table == NULL) /* closed meanwhile, or the descriptor has changed: ask the home again */
            descriptor_cache_forget(id, request->fd);
    }
    return -EBADF;
}

int64_t file_call(struct group *group, const struct file_request *request, const void *data, size_t size, void *result,
                  size_t room, struct file_answer *answer)
{
    if (__builtin_expect(group->files == NULL && !has_home(process_home(group->id)), 0)) {
        *answer = (struct file_answer){.value = -EIO};
        return -EIO;
    }
    return call_process(group->files, group->id, request, data, size, result, room, answer);
}

int64_t file_locate(struct group *group, int32_t fd, struct file_place *place)
{
    struct file_request request = {.operation = MSG_FILE_LOCATE};
    struct file_answer answer;
    int64_t result;
    uint32_t home;

    *place = (struct file_place){.id = 0};
    if (group->files != NULL) {
        struct file *file = table_find(group->files, fd);

        if (file != NULL) {
            *place = (struct file_place){.id = file->id, .kernel = file->kernel};
            file_unpin(file);
        }
        return 0;
    }
    home = process_home(group->id);
    if (descriptor_cache_locate(group->id, home, fd, place))
        return 0;
    result = file_call(group, &request, &fd, sizeof(fd), place, sizeof(*place), &answer);
    if (result >= 0 && place->id != 0)
        descriptor_cache_note(group->id, home, fd, place, &answer);
    return result < 0 ? result : 0;
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
    return value;
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

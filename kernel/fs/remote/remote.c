/* Operations on names of the tree, requested from kernel 0. See the header. */
#include "kernel/fs/remote/remote.h"

#include "kernel/abi/errno.h"
#include "kernel/file/path.h"
#include "kernel/file/permission.h"
#include "kernel/fs/share/share.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "tasks/remote/operation.h"
#include "tasks/thread/thread.h"

static int64_t unpack(const uint8_t *answer, size_t length, struct tree_result *result)
{
    memcpy(&result->answer, answer, sizeof(result->answer));
    answer += sizeof(result->answer);
    length -= sizeof(result->answer);
    if (result->answer.facts != 0) {
        if (length < sizeof(result->facts))
            return -EPROTO;
        memcpy(&result->facts, answer, sizeof(result->facts));
        answer += sizeof(result->facts);
        length -= sizeof(result->facts);
    }
    if (length > PATH_MAX || (length > 0 && answer[length - 1] != '\0'))
        return -EPROTO;
    if (length > 0) {
        result->text = heap_alloc_unset(PATH_MAX);
        if (result->text == NULL)
            return -ENOMEM;
        memcpy(result->text, answer, length);
    }
    return result->answer.value;
}

/* Sends the request to kernel 0. The request and the reply share one buffer, which kernel 0 reads and writes directly
 * (zero-copy). */
static int64_t ask_zero(const struct msg_file_name *asked, const struct file_user *user, size_t user_size,
                        const char *const names[2], struct tree_result *result)
{
    size_t lengths[2] = {strlen(names[0]) + 1, strlen(names[1]) + 1};
    size_t size = sizeof(*asked) + user_size + lengths[0] + lengths[1];
    size_t room = size < PATH_MAX ? FILE_NAME_AT + PATH_MAX : FILE_NAME_AT + size; /* a text is no longer */
    uint8_t *memory = heap_alloc_unset(room), *to;
    struct msg_file_name_zero_copy zero_copy = {(uint64_t)memory - DIRECT_BASE, (uint32_t)size, (uint32_t)room};
    int64_t value;

    *result = (struct tree_result){.text = NULL};
    if (memory == NULL)
        return -ENOMEM;
    to = memory + FILE_NAME_AT;
    memcpy(to, asked, sizeof(*asked));
    if (user_size != 0) {
        ((struct msg_file_name *)(void *)to)->as_user = 1;
        memcpy(to + sizeof(*asked), user, user_size);
    }
    to += sizeof(*asked) + user_size;
    memcpy(to, names[0], lengths[0]);
    memcpy(to + lengths[0], names[1], lengths[1]);
    value = remote_ask(0, asked->operation, &zero_copy, sizeof(zero_copy), memory, (uint32_t)room, "file by name", 0);
    if (value >= 0) {
        const struct msg_file_named *named = (const struct msg_file_named *)(void *)memory;
        size_t length = (size_t)value;

        if (length == sizeof(*named)) /* the buffer has facts and text */
            length += (named->facts != 0 ? sizeof(result->facts) : 0) + named->text;
        value = length <= room ? unpack(memory, length, result) : -EPROTO;
        if (value < 0 && result->answer.value >= 0 && result->answer.id != 0)
            file_drop(0, result->answer.id); /* the file that the reply names is not used */
    }
    heap_free(memory, room);
    return value;
}

/* Waits until kernel 0 has handled the ordinary messages that this kernel has sent to it. */
static int flush(void)
{
    const struct remote_how how = {.why = "messages to kernel 0 to be handled", .sure = true};

    return remote_call(0, MSG_STOP_FLUSH, NULL, 0, NULL, 0, &how);
}

static int run_catch_up(const struct remote_request *request, void *result)
{
    (void)request;
    (void)result;
    return flush();
}

/* Waits until kernel 0 has handled what all kernels had sent to it: nobody waits for the end of a remote open
 * (file_close), so a file may seem to be open that was closed before this thread's call began. */
static void catch_up(void)
{
    const struct remote_how how = {.why = "ends of opens to reach kernel 0", .sure = true};

    flush();
    for (kernel_set rest = msg_peers_reachable() & ~1ull; rest != 0; rest &= rest - 1)
        remote_call((uint32_t)__builtin_ctzll(rest), MSG_FILE_CATCH_UP, NULL, 0, NULL, 0, &how);
}

static int64_t ask(const struct msg_file_name *asked, const char *first, const char *second, bool whole,
                   struct tree_result *result)
{
    const struct credentials *who = &thread_current()->context.credentials;
    struct credentials rootless;
    const char *const names[2] = {first, second};
    const struct file_user *as;
    struct file_user user;
    size_t user_size;

    if (whole && who->root != 0) {
        rootless = *who;
        rootless.root = 0;
        who = &rootless;
    }
    user_size = permission_user(who, &user);
    as = user_size != 0 ? &user : NULL;
    if (instance.kernel == 0) {
        int64_t value = tree_do(asked, as, first, second, result);
        if (!result->waits)
            return value;
        heap_free(result->text, PATH_MAX);
        return share_do(asked, as, first, second, result);
    }
    return ask_zero(asked, as, user_size, names, result);
}

int64_t tree_ask(const struct msg_file_name *asked, const char *first, const char *second, bool whole,
                 struct tree_result *result)
{
    int64_t value = ask(asked, first, second, whole, result);

    if (__builtin_expect(value != -ETXTBSY, 1))
        return value;
    heap_free(result->text, PATH_MAX);
    catch_up();
    return ask(asked, first, second, whole, result);
}

void tree_remote_init(void)
{
    REMOTE_SERVE_TASK(FILE_CATCH_UP, WORK_LEAF, run_catch_up, NULL, struct msg_none, struct msg_none);
}

int64_t tree_ask_mapped(uint32_t kernel, uint32_t object, char *name, size_t room, struct file_facts *facts)
{
    struct msg_file_name asked = {.operation = MSG_NAME_MAPPED, .number = object};
    struct tree_result result;
    size_t length;
    int64_t error = kernel == 0 ? tree_ask(&asked, "", "", false, &result) : -ENOENT;

    if (error != 0)
        return error;
    length = result.text != NULL ? strnlen(result.text, room - 1) : 0;
    if (length > 0)
        memcpy(name, result.text, length);
    name[length] = '\0';
    *facts = result.facts;
    heap_free(result.text, PATH_MAX);
    return 0;
}

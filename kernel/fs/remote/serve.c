/* Serves operations on names of the tree at kernel 0. See the header. The handler performs an operation on the tree at
 * once; a worker task performs an operation whose name leads into a share. */
#include "kernel/fs/remote/serve.h"

#include "kernel/abi/errno.h"
#include "kernel/file/descriptor.h"
#include "kernel/file/file.h"
#include "kernel/file/home.h"
#include "kernel/file/path.h"
#include "kernel/file/permission.h"
#include "kernel/file/table.h"
#include "kernel/fs/share/share.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/lend.h"
#include "tasks/process/group.h"
#include "tasks/remote/operation.h"

/* A private copy of the request, which the sender cannot change. One buffer suffices because handlers run one at a
 * time. */
static uint64_t own_request[(sizeof(struct msg_file_name) + sizeof(struct file_user) + 2ul * PATH_MAX) / 8];

/* A decoded request. */
struct naming {
    const struct msg_file_name *asked;
    const struct file_user *as; /* NULL: root */
    const char *first, *second;
    struct file_user user;
};

/* Drops the open file of a RESULT that cannot be sent. */
static void take_back(const struct tree_result *result)
{
    if (result->answer.id != 0)
        file_drop(0, result->answer.id);
}

/* Returns true if the SIZE bytes at TEXT are exactly two strings of at most PATH_MAX bytes each. */
static bool are_names(const char *text, size_t size)
{
    size_t first = strnlen(text, size) + 1;

    return first < size && first <= PATH_MAX && size - first <= PATH_MAX &&
           strnlen(text + first, size - first) == size - first - 1;
}

/* Decodes a request. Returns false if it is malformed. */
static inline bool take_apart(enum msg_type type, const void *data, size_t size, struct naming *naming)
{
    const struct msg_file_name *asked = data;
    const char *names = (const char *)(asked + 1);
    size_t user_size = 0;

    size -= sizeof(*asked);
    if (asked->as_user != 0)
        user_size = permission_take(names, size, &naming->user);
    if (asked->operation != type || (asked->as_user != 0) != (user_size != 0) ||
        !are_names(names + user_size, size - user_size))
        return false;
    naming->asked = asked;
    naming->as = user_size != 0 ? &naming->user : NULL;
    naming->first = names + user_size;
    naming->second = naming->first + strlen(naming->first) + 1;
    return true;
}

/* Copies KERNEL's zero-copy request into own_request, so that the sender cannot change it any more. Returns false if
 * the buffer is not KERNEL's memory or a length is out of range. */
static bool take_request(const struct msg_file_name_zero_copy *zero_copy, uint32_t kernel)
{
    const uint8_t *from;

    if (zero_copy->size < sizeof(struct msg_file_name) || zero_copy->size > sizeof(own_request) ||
        zero_copy->room > FILE_CHUNK || zero_copy->room < FILE_NAME_AT + zero_copy->size)
        return false;
    from = lend_open(kernel, zero_copy->address + FILE_NAME_AT, zero_copy->size, false);
    if (from != NULL)
        memcpy(own_request, from, zero_copy->size);
    lend_close();
    return from != NULL;
}

/* Writes facts and text to TO, in the layout that size_of computes. */
static void put_rest(const struct tree_result *result, uint8_t *to)
{
    if (result->answer.facts != 0) {
        memcpy(to, &result->facts, sizeof(result->facts));
        to += sizeof(result->facts);
    }
    if (result->answer.text > 0)
        memcpy(to, result->text, result->answer.text);
}

/* Sets the length of RESULT's text and returns the length of the whole reply. */
static size_t size_of(struct tree_result *result)
{
    result->answer.text = result->text != NULL ? (uint32_t)strlen(result->text) + 1 : 0;
    return sizeof(result->answer) + (result->answer.facts != 0 ? sizeof(result->facts) : 0) + result->answer.text;
}

/* Writes facts and text to the sender's zero-copy buffer. */
static int answer_there(const struct msg_file_name_zero_copy *zero_copy, uint32_t kernel, struct tree_result *result)
{
    size_t size = size_of(result);
    uint8_t *to = size <= zero_copy->room ? lend_open(kernel, zero_copy->address, size, true) : NULL;

    if (to == NULL) {
        take_back(result);
        return -EPROTO;
    }
    put_rest(result, to + sizeof(result->answer));
    lend_close();
    return 0;
}

/* Installs the file that RESULT has opened, if the asker wants that and its home is this kernel. */
static void install(const struct msg_file_name *asked, struct tree_result *result)
{
    struct file_request request = {.operation = MSG_FILE_INSTALL,
                                   .fd = -1,
                                   .install = {.id = result->answer.id,
                                               .kernel = instance.kernel,
                                               .flags = (asked->flags & OPEN_CLOEXEC) != 0 ? DESCRIPTOR_CLOEXEC : 0}};
    struct group *group = group_find((uint32_t)asked->number);
    struct file_table *table = group != NULL ? file_table_of(group) : NULL; /* NULL if this kernel is not the home */
    struct file_answer answer;

    if (group != NULL)
        group_put(group);
    if (table == NULL)
        return; /* the asker does it */
    home_do(table, &request, NULL, 0, NULL, 0, &answer);
    file_table_free(table);
    if (answer.value == -ENOSPC) { /* no memory, and the open is still the asker's */
        take_back(result);
        answer.value = -ENOMEM;
    }
    result->answer.id = 0;
    result->answer.what = NAMED_INSTALLED;
    result->answer.number = answer.value >= 0 ? (uint64_t)answer.value : 0;
    result->answer.value = answer.value < 0 ? answer.value : 0;
}

static int serve_here(const struct remote_request *request, struct msg_file_named *named)
{
    const struct msg_file_name_zero_copy *zero_copy = request->data;
    struct tree_result result;
    struct naming naming;
    int error = 0;

    if (!take_request(zero_copy, request->kernel) || !take_apart(request->type, own_request, zero_copy->size, &naming))
        return -EPROTO;
    tree_do(naming.asked, naming.as, naming.first, naming.second, &result);
    if (request->type == MSG_NAME_OPEN && naming.asked->number != 0 && !result.waits && result.answer.value == 0 &&
        result.answer.what == NAMED_FILE)
        install(naming.asked, &result);
    if (result.waits)
        error = remote_task_with(request, own_request, zero_copy->size, FILE_NAME_AT + PATH_MAX);
    else if (result.answer.facts != 0 || result.text != NULL)
        error = answer_there(zero_copy, request->kernel, &result);
    heap_free(result.text, PATH_MAX);
    *named = result.answer;
    return error != 0 ? error : (int)sizeof(*named);
}

/* In a worker task: the name leads into a share. The request is with the task, and the reply carries facts and text
 * itself. */
static int serve_share(const struct remote_request *request, struct msg_file_named *named)
{
    struct tree_result result;
    struct naming naming;
    size_t length;

    if (!take_apart(request->type, request->data, request->length, &naming))
        return -EPROTO;
    share_do(naming.asked, naming.as, naming.first, naming.second, &result);
    length = size_of(&result);
    *named = result.answer;
    put_rest(&result, (uint8_t *)(named + 1));
    heap_free(result.text, PATH_MAX);
    return (int)length;
}

static int serve(const struct remote_request *request, void *result)
{
    return request->task ? serve_share(request, result) : serve_here(request, result);
}

void tree_serve_init(void)
{
    for (uint32_t type = MSG_NAME_OPEN; type <= MSG_NAME_WHERE; type++)
        remote_serve(type, serve, NULL, sizeof(struct msg_file_name_zero_copy), sizeof(struct msg_file_named));
}

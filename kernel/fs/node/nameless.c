/* Regular files without a name. See the header. */
#include "kernel/fs/node/nameless.h"

#include "kernel/abi/errno.h"
#include "kernel/file/remote.h"
#include "kernel/file/service.h"
#include "kernel/fs/node/regular.h"
#include "tasks/thread/thread.h"

/* A new file of UID and GID without a name, for reading and writing: *ID, of which an open is the caller's. -ENOMEM. */
static int64_t create_nameless(uint32_t flags, uint32_t uid, uint32_t gid, uint64_t *id)
{
    struct node *node = node_create(FILE_REGULAR | 0777);
    struct file *file;

    if (node == NULL)
        return -ENOMEM;
    node->uid = uid;
    node->gid = gid;
    node->seals = (flags & NAMELESS_SEALS) != 0 ? 0 : SEAL_SEAL;
    file = regular_open(node, 2u | OPEN_LARGE);
    node_put(node);
    if (file == NULL)
        return -ENOMEM;
    *id = file->id;
    return 0;
}

static void create(const struct file_request *request, const void *data, size_t size, void *result, size_t room,
                   struct file_answer *answer)
{
    (void)data;
    (void)size;
    (void)result;
    (void)room;
    answer->value = create_nameless((uint32_t)request->argument, request->extra, (uint32_t)request->fd, &answer->id);
}

int64_t nameless_create(uint32_t flags, uint64_t *id)
{
    const struct credentials *own = &thread_current()->context.credentials;
    struct file_request request = {
        .operation = FILE_NAMELESS, .argument = flags, .extra = own->fsuid, .fd = (int32_t)own->fsgid};
    struct file_answer answer;

    file_call_zero(&request, NULL, 0, NULL, 0, &answer);
    *id = answer.id;
    return answer.value;
}

void nameless_init(void)
{
    service_register(FILE_NAMELESS, create);
}

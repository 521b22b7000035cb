/* Regular files without a name. See the header. */
#include "kernel/fs/node/nameless.h"

#include "kernel/abi/errno.h"
#include "kernel/file/wire.h"
#include "kernel/fs/node/regular.h"
#include "tasks/remote/operation.h"
#include "tasks/thread/thread.h"

/* Creates a file without a name, open for reading and writing. The open reference of *ID is the caller's. -ENOMEM,
 * -EDQUOT. */
static int create_nameless(const struct msg_file_nameless *asked, uint64_t *id)
{
    struct node *node = node_create(FILE_REGULAR | 0777);
    struct file *file;
    int error;

    if (node == NULL)
        return -ENOMEM;
    error = node_own(node, asked->uid, 0);
    if (error != 0) {
        node_put(node);
        return error;
    }
    node->gid = asked->gid;
    node->seals = (asked->flags & NAMELESS_SEALS) != 0 ? 0 : SEAL_SEAL;
    /* As under Linux, the first open file of memfd_create does not keep the file from being executed. */
    error = regular_open(node, 2u | OPEN_LARGE | OPEN_UNCOUNTED, &file);
    node_put(node);
    if (error == 0)
        *id = file->id;
    return error;
}

static int serve(const struct remote_request *request, void *result)
{
    const struct msg_file_nameless *asked = request->data;
    struct msg_file_made *made = result;
    int error = create_nameless(asked, &made->id);

    return error != 0 ? error : (int)sizeof(*made);
}

int64_t nameless_create(uint32_t flags, uint64_t *id)
{
    const struct credentials *own = &thread_current()->context.credentials;
    const struct msg_file_nameless asked = {.flags = flags, .uid = own->fsuid, .gid = own->fsgid};
    const struct remote_how how = {.why = "file without a name"};
    struct msg_file_made made;
    int length = remote_call(0, MSG_FILE_NAMELESS, &asked, sizeof(asked), &made, sizeof(made), &how);

    *id = length > 0 ? made.id : 0;
    return length > 0 ? 0 : length;
}

void nameless_init(void)
{
    REMOTE_SERVE(FILE_NAMELESS, serve, NULL, struct msg_file_nameless, struct msg_file_made);
}

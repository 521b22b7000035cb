/* Operations that describe and change names of shares. See kernel/fs/share/internal.h. The order of the checks is
 * Linux's (fs/namei.c), as in kernel/fs/tree/change.c. The host may change names between a check and the operation; the
 * server's answer decides. */
#include "kernel/abi/errno.h"
#include "kernel/file/permission.h"
#include "kernel/fs/share/internal.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

/* Checks that the last part of WALK can be made. As new_entry of kernel/fs/tree/change.c. */
static int check_new(struct share_walk *walk, bool directory)
{
    bool slash = walk->slash;
    int error;

    if (walk->last != SHARE_NAME)
        return -EEXIST;
    walk->slash = false;
    error = share_walk_to_last(walk, false);
    if (error != 0)
        return error;
    return walk->node != NULL ? -EEXIST : slash && !directory ? -ENOENT : 0;
}

int64_t share_walk_create(struct share_walk *walk, const struct msg_file_name *asked, const struct file_user *user,
                          const char *text)
{
    uint32_t type = asked->mode & FILE_TYPE_MASK;
    int error = share_walk_to_parent(walk);

    if (error == 0)
        error = check_new(walk, type == FILE_DIRECTORY);
    if (error == 0 && ((type == FILE_CHARACTER && asked->number != 0) || type == FILE_BLOCK) && !permission_root(user))
        error = -EPERM; /* the server does not know the user, and might allow it */
    if (error != 0)
        return error;
    switch (type) {
    case FILE_DIRECTORY:
        return p9_make_directory(share_walk_at(walk), &walk->name, asked->mode & 07777);
    case FILE_LINK:
        return p9_make_link(share_walk_at(walk), &walk->name, text);
    case FILE_SOCKET:
        return -EOPNOTSUPP; /* the socket would be on the host, where nobody listens */
    default:
        return p9_make_node(share_walk_at(walk), &walk->name, asked->mode, asked->number);
    }
}

int64_t share_walk_unlink(struct share_walk *walk, bool directory)
{
    uint64_t opened;
    char *path;
    bool slash;
    int error = share_walk_to_parent(walk);

    if (error != 0)
        return error;
    if (directory && walk->last != SHARE_NAME)
        return walk->last == SHARE_DOT_DOT ? -ENOTEMPTY : walk->last == SHARE_DOT ? -EINVAL : -EBUSY;
    if (walk->last != SHARE_NAME)
        return -EISDIR;
    slash = walk->slash;
    walk->slash = false;
    error = share_walk_to_last(walk, false);
    if (error != 0)
        return error;
    if (walk->node == NULL)
        return -ENOENT;
    if (directory && (walk->node_qid.type & P9_QID_DIRECTORY) == 0)
        return -ENOTDIR;
    if (!directory && (walk->node_qid.type & P9_QID_DIRECTORY) != 0)
        return -EISDIR;
    if (!directory && slash)
        return -ENOTDIR;
    path = heap_alloc(PATH_MAX);
    if (path == NULL)
        return -ENOMEM;
    error = share_walk_path(walk, path);
    opened = share_opened(walk->share);
    if (error == 0)
        error = p9_unlink(share_walk_at(walk), &walk->name, directory);
    if (error == 0)
        share_path_gone(walk->share, path, opened);
    heap_free(path, PATH_MAX);
    return error;
}

int64_t share_fid_do(struct host_share *share, struct p9_fid *fid, const struct msg_file_name *asked, bool empty,
                     struct tree_result *result)
{
    struct p9_attributes attributes;
    int64_t error = p9_get(fid, &attributes);
    bool link = (attributes.mode & FILE_TYPE_MASK) == FILE_LINK;

    if (error != 0)
        return error;
    switch (asked->operation) {
    case MSG_NAME_STAT:
        share_facts(share, &attributes, &result->facts);
        result->answer.facts = 1;
        return 0;
    case MSG_NAME_CHANGE:
        return (asked->change.what & CHANGE_MODE) != 0 && link ? -EOPNOTSUPP : share_change(fid, &asked->change);
    case MSG_NAME_READ_LINK:
        if (!link)
            return empty ? -ENOENT : -EINVAL;
        result->text = heap_alloc(PATH_MAX);
        if (result->text == NULL)
            return -ENOMEM;
        error = p9_read_link(fid, result->text, PATH_MAX);
        return error < 0 ? error : 0;
    default:
        return -EPROTO;
    }
}

int64_t share_walk_do(struct share_walk *walk, const struct msg_file_name *asked, struct tree_result *result)
{
    bool follows = (asked->flags & NAME_NO_FOLLOW) == 0 && asked->operation != MSG_NAME_READ_LINK;
    int64_t error = share_walk_to_parent(walk);

    if (error == 0)
        error = share_walk_to_last(walk, follows);
    if (error != 0)
        return error;
    return walk->node == NULL ? -ENOENT : share_fid_do(walk->share, walk->node, asked, false, result);
}

int64_t share_walk_link(struct share_walk *from, struct p9_fid *file, bool directory, bool follows,
                        struct share_walk *to)
{
    int error = 0;

    if (file == NULL) {
        error = share_walk_to_last(from, follows);
        if (error == SHARE_OUT)
            return -EXDEV; /* the link leads out of the share */
        file = from->node;
        directory = (from->node_qid.type & P9_QID_DIRECTORY) != 0;
        if (error == 0 && file == NULL)
            error = -ENOENT;
    }
    if (error == 0)
        error = check_new(to, false);
    if (error == 0 && directory)
        error = -EPERM;
    return error != 0 ? error : p9_link(share_walk_at(to), &to->name, file);
}

/* Returns true if PATH is ABOVE or below it. */
static bool is_below(const char *path, const char *above)
{
    size_t length = strlen(above);

    return length == 0 || (strncmp(path, above, length) == 0 && (path[length] == '\0' || path[length] == '/'));
}

/* PATHS: the old name and the new one. */
static int check_rename(const struct share_walk *from, const struct share_walk *to, const bool slashes[2],
                        char *const paths[2], uint32_t flags)
{
    bool directory, onto;

    if (from->node == NULL)
        return -ENOENT;
    if ((flags & NAME_NO_REPLACE) != 0 && to->node != NULL)
        return -EEXIST;
    if ((flags & NAME_EXCHANGE) != 0 && to->node == NULL)
        return -ENOENT;
    directory = (from->node_qid.type & P9_QID_DIRECTORY) != 0;
    onto = to->node != NULL && (to->node_qid.type & P9_QID_DIRECTORY) != 0;
    if (!directory && (slashes[0] || slashes[1]))
        return -ENOTDIR;
    if (directory && is_below(to->path, paths[0]))
        return -EINVAL;
    if (onto && strcmp(paths[0], paths[1]) != 0 && is_below(from->path, paths[1]))
        return (flags & NAME_EXCHANGE) != 0 ? -EINVAL : -ENOTEMPTY;
    if (flags != 0)
        return -EINVAL; /* as in Linux's 9P: the protocol has no such rename */
    if (to->node == NULL)
        return 0;
    return directory && !onto ? -ENOTDIR : !directory && onto ? -EISDIR : 0;
}

static int rename_named(struct share_walk *from, struct share_walk *to, const bool slashes[2], char *const paths[2],
                        uint32_t flags)
{
    uint64_t opened = share_opened(from->share);
    int error = share_walk_path(from, paths[0]);

    if (error == 0)
        error = share_walk_path(to, paths[1]);
    if (error == 0)
        error = check_rename(from, to, slashes, paths, flags);
    if (error == 0 && to->node != NULL && to->node_qid.path == from->node_qid.path)
        return 0; /* two names of one file: rename does nothing */
    if (error == 0)
        error = p9_rename(share_walk_at(from), &from->name, share_walk_at(to), &to->name);
    if (error == 0 && strcmp(paths[0], paths[1]) != 0) {
        share_path_gone(from->share, paths[1], opened);
        share_paths_change(from->share, paths[0], paths[1]);
    }
    return error;
}

int64_t share_walk_rename(struct share_walk *from, struct share_walk *to, uint32_t flags)
{
    bool slashes[2] = {from->slash, to->slash};
    char *paths[2];
    int error;

    if (from->last != SHARE_NAME)
        return -EBUSY;
    if (to->last != SHARE_NAME)
        return (flags & NAME_NO_REPLACE) != 0 ? -EEXIST : -EBUSY;
    from->slash = false;
    to->slash = false;
    error = share_walk_to_last(from, false);
    if (error == 0)
        error = share_walk_to_last(to, false);
    if (error != 0)
        return error;
    paths[0] = heap_alloc(2u * PATH_MAX);
    if (paths[0] == NULL)
        return -ENOMEM;
    paths[1] = paths[0] + PATH_MAX;
    error = rename_named(from, to, slashes, paths, flags);
    heap_free(paths[0], 2u * PATH_MAX);
    return error;
}

/* Opening files of shares by name. See kernel/fs/share/internal.h. The order of the checks is Linux's (fs/namei.c), as
 * in kernel/fs/tree/open.c. */
#include "kernel/abi/errno.h"
#include "kernel/fs/share/internal.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

static int64_t give(struct tree_result *result, struct file *file)
{
    if (file == NULL)
        return -ENOMEM;
    result->answer.id = file->id;
    result->answer.what = NAMED_FILE;
    return 0;
}

/* Moves the fid of the last part to *FID, which belongs to the caller then. */
static void take_node(struct share_walk *walk, struct p9_fid **fid)
{
    *fid = walk->node;
    walk->node = NULL;
}

/* The server has done O_TRUNC: does the same to the pages that programs map. */
static void cut_mapped(struct share_body *body, struct tree_result *result)
{
    struct file_answer answer = {.flags = 0};

    share_mutex_lock(&body->mutex);
    share_body_resize(body, 0, &answer);
    share_mutex_unlock(&body->mutex);
    if ((answer.flags & FILE_SETTLES) != 0) {
        result->answer.what = NAMED_FILE_SETTLES;
        result->answer.number = answer.seen;
    }
}

/* Creates and opens the last part. If it has come into existence since the walk, the server opens it as it is, with
 * O_TRUNC if asked. */
static int64_t make_here(struct share_walk *walk, const struct msg_file_name *asked, const char *path,
                         struct tree_result *result)
{
    uint32_t flags = asked->flags & (OPEN_ACCESS | OPEN_EXCLUSIVE | OPEN_TRUNCATE);
    struct p9_attributes attributes;
    struct p9_fid *fid;
    struct p9_qid qid;
    struct file *file;
    uint32_t done;
    int64_t error = p9_walk(share_walk_at(walk), NULL, 0, &fid, NULL, &done);

    if (error == 0)
        error = p9_create(fid, &walk->name, flags | OPEN_CREATE, asked->mode & 07777, &qid);
    if (error == 0)
        error = p9_get(fid, &attributes);
    if (error != 0) {
        p9_drop(fid);
        return error;
    }
    file = share_file_open(walk->share, fid, NULL, true, &attributes, asked->flags, path);
    error = give(result, file);
    if (error == 0 && (flags & OPEN_TRUNCATE) != 0)
        cut_mapped(share_open_of(file)->body, result);
    return error;
}

/* As find_or_make of kernel/fs/tree/open.c. 2: the file was made and opened, and RESULT is set. */
static int64_t find_or_make(struct share_walk *walk, const struct msg_file_name *asked, char *path,
                            struct tree_result *result)
{
    int64_t error = share_walk_to_parent(walk);

    while (error == 0) {
        if (walk->last != SHARE_NAME)
            return share_walk_to_last(walk, false);
        if (walk->slash)
            return -EISDIR;
        error = share_walk_to_last(walk, false);
        if (error != 0)
            return error;
        if (walk->node == NULL) {
            error = share_walk_path(walk, path);
            if (error == 0)
                error = make_here(walk, asked, path, result);
            return error != 0 ? error : 2;
        }
        if ((walk->node_qid.type & P9_QID_LINK) == 0 || (asked->flags & (OPEN_EXCLUSIVE | OPEN_NO_FOLLOW)) != 0)
            return 0;
        error = share_walk_on(walk);
    }
    return error;
}

static int check(uint32_t mode, uint32_t flags)
{
    bool writing = (flags & OPEN_ACCESS) != 0 || (flags & OPEN_TRUNCATE) != 0;
    uint32_t type = mode & FILE_TYPE_MASK;

    if ((flags & OPEN_CREATE) != 0 && (flags & OPEN_EXCLUSIVE) != 0)
        return -EEXIST;
    if ((flags & OPEN_CREATE) != 0 && type == FILE_DIRECTORY)
        return -EISDIR;
    if ((flags & OPEN_DIRECTORY) != 0 && type != FILE_DIRECTORY)
        return -ENOTDIR;
    if ((flags & OPEN_PATH) != 0)
        return 0;
    if (type == FILE_LINK)
        return -ELOOP;
    if ((flags & OPEN_RUN) != 0)
        return type == FILE_REGULAR && (mode & 0111) != 0 ? 0 : -EACCES;
    if (type == FILE_DIRECTORY)
        return writing ? -EISDIR : 0;
    return type == FILE_REGULAR || type == FILE_CHARACTER ? 0 : -ENXIO;
}

/* Computes a number that changes with the file's size, mtime or version, and differs from all version numbers of the
 * tree. */
static uint64_t version_of(const struct host_share *share, const struct p9_attributes *attributes)
{
    uint64_t version = attributes->mtime * 0x9e3779b97f4a7c15ull;

    version ^= attributes->size + ((uint64_t)attributes->qid.version << 32) + share->device * 0xff51afd7ed558ccdull;
    return version | 1ull << 63;
}

/* Opens the last part, which existed. */
static int64_t open_node(struct share_walk *walk, uint32_t flags, const char *path, struct tree_result *result)
{
    struct p9_attributes attributes;
    struct p9_fid *fid, *list = NULL;
    struct file *file;
    uint32_t type, done;
    int64_t error = p9_get(walk->node, &attributes);

    if (error == 0)
        error = check(attributes.mode, flags);
    if (error != 0)
        return error;
    type = attributes.mode & FILE_TYPE_MASK;
    share_facts(walk->share, &attributes, &result->facts);
    if (type == FILE_CHARACTER && (flags & OPEN_PATH) == 0) {
        result->answer.facts = 1;
        result->answer.number = attributes.device;
        result->answer.what = NAMED_DEVICE;
        return 0;
    }
    if ((flags & OPEN_PATH) == 0 && type == FILE_DIRECTORY) {
        error = p9_walk(walk->node, NULL, 0, &list, NULL, &done);
        if (error == 0)
            error = p9_open(list, OPEN_DIRECTORY);
    } else if ((flags & OPEN_PATH) == 0) {
        error = p9_open(walk->node, flags & (OPEN_ACCESS | OPEN_TRUNCATE));
    }
    if (error != 0) {
        p9_drop(list);
        return error;
    }
    if ((flags & OPEN_RUN) != 0) {
        result->text = heap_alloc_unset(PATH_MAX);
        if (result->text == NULL)
            return -ENOMEM;
        if (share_path(walk->share, NULL, path, result->text, PATH_MAX) < 0)
            result->text[0] = '\0';
        result->answer.facts = 1;
        result->answer.number = version_of(walk->share, &attributes);
    }
    take_node(walk, &fid);
    file = share_file_open(walk->share, fid, list, type == FILE_REGULAR && (flags & OPEN_PATH) == 0, &attributes, flags,
                           path);
    error = give(result, file);
    if (error == 0 && type == FILE_REGULAR && (flags & (OPEN_TRUNCATE | OPEN_PATH)) == OPEN_TRUNCATE)
        cut_mapped(share_open_of(file)->body, result);
    return error;
}

int64_t share_walk_open(struct share_walk *walk, const struct msg_file_name *asked, struct tree_result *result)
{
    char *path;
    int64_t error;

    if ((asked->flags & OPEN_TEMPORARY) != 0)
        return -EOPNOTSUPP;
    path = heap_alloc(PATH_MAX);
    if (path == NULL)
        return -ENOMEM;
    if ((asked->flags & OPEN_CREATE) != 0) {
        error = find_or_make(walk, asked, path, result);
    } else {
        error = share_walk_to_parent(walk);
        if (error == 0)
            error = share_walk_to_last(walk, (asked->flags & OPEN_NO_FOLLOW) == 0);
    }
    if (error == 0 && walk->node == NULL)
        error = -ENOENT;
    if (error == 0)
        error = share_walk_path(walk, path);
    if (error == 0)
        error = open_node(walk, asked->flags, path, result);
    heap_free(path, PATH_MAX);
    return error == 2 ? 0 : error;
}

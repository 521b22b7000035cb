/* Walking through a share. See kernel/fs/share/internal.h. Up to sixteen directories on the way are walked by one
 * message; if a part is not a directory but a link, "..", or missing, parts are walked one by one. */
#include "kernel/abi/errno.h"
#include "kernel/fs/share/internal.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

#define LINKS_MAX 40u

static const char *skip_slashes(const char *text)
{
    while (*text == '/')
        text++;
    return text;
}

static size_t name_length(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0' && text[length] != '/')
        length++;
    return length;
}

static bool is_dots(const char *text, size_t length, size_t count)
{
    return length == count && text[0] == '.' && text[length - 1] == '.';
}

int share_walk_begin(struct share_walk *walk, struct host_share *share, struct node *root,
                     const struct share_open *start, const char *text, uint32_t links)
{
    struct p9_attributes attributes;
    size_t length = strlen(text);
    uint32_t done;
    int error = 0;

    *walk = (struct share_walk){.share = share, .root = root, .qid = share->qid, .links = links};
    walk->path = heap_alloc(PATH_MAX);
    walk->text = heap_alloc_unset(PATH_MAX);
    if (walk->path == NULL || walk->text == NULL)
        return -ENOMEM;
    if (length >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(walk->text, text, length + 1);
    walk->rest = walk->text;
    if (start == NULL)
        return 0;
    spin_lock(&share->lock);
    memcpy(walk->path, start->path, strlen(start->path) + 1);
    spin_unlock(&share->lock);
    error = p9_get(start->fid, &attributes);
    if (error == 0 && (attributes.mode & FILE_TYPE_MASK) != FILE_DIRECTORY)
        error = -ENOTDIR;
    walk->qid = attributes.qid;
    return error != 0 ? error : p9_walk(start->fid, NULL, 0, &walk->at, NULL, &done);
}

void share_walk_end(struct share_walk *walk)
{
    p9_drop(walk->at);
    p9_drop(walk->node);
    heap_free(walk->path, PATH_MAX);
    heap_free(walk->text, PATH_MAX);
    *walk = (struct share_walk){.share = walk->share};
}

/* Makes FID, of QID, the current directory. */
static void stand(struct share_walk *walk, struct p9_fid *fid, const struct p9_qid *qid)
{
    p9_drop(walk->at);
    walk->at = fid;
    walk->qid = *qid;
}

static bool is_root(const struct share_walk *walk)
{
    return walk->at == NULL || walk->qid.path == walk->share->qid.path;
}

/* NAME behind PATH. */
static int add_name(char *path, const char *name, size_t length)
{
    size_t at = strlen(path);

    if (at + length + 2 > PATH_MAX)
        return -ENAMETOOLONG;
    if (at > 0)
        path[at++] = '/';
    memcpy(path + at, name, length);
    path[at + length] = '\0';
    return 0;
}

static void cut_name(char *path)
{
    size_t at = strlen(path);

    while (at > 0 && path[at - 1] != '/')
        at--;
    path[at > 0 ? at - 1 : 0] = '\0';
}

/* Sets the path to walk to FIRST (LENGTH bytes) followed by AFTER, which is a part of the old text. */
static int replace(struct share_walk *walk, const char *first, size_t length, const char *after)
{
    size_t more = strlen(after);
    char *text;

    if (length + more + 1 > PATH_MAX)
        return -ENAMETOOLONG;
    text = heap_alloc_unset(PATH_MAX);
    if (text == NULL)
        return -ENOMEM;
    memcpy(text, first, length);
    memcpy(text + length, after, more + 1);
    heap_free(walk->text, PATH_MAX);
    walk->text = text;
    walk->rest = text;
    return *text == '/' ? SHARE_OUT : 0;
}

/* Continues above the share's root, in the directory of the tree that contains the mount. */
static int leave(struct share_walk *walk, const char *after)
{
    char *name = heap_alloc(PATH_MAX);
    int64_t length;
    int result;

    if (name == NULL)
        return -ENOMEM;
    length = share_path(walk->share, walk->root, "", name, PATH_MAX);
    if (length > 0 && *name != '/')
        length = -ENOENT; /* the mount is not below the caller's root */
    while (length > 0 && name[length - 1] != '/')
        length--;
    result = length < 0 ? (int)length : replace(walk, name, (size_t)length, skip_slashes(after));
    heap_free(name, PATH_MAX);
    return result;
}

/* Continues with the target of LINK, a link in the current directory, followed by AFTER. */
static int follow(struct share_walk *walk, struct p9_fid *link, const char *after)
{
    char *target;
    int64_t length;
    int result;

    if (++walk->links > LINKS_MAX)
        return -ELOOP;
    target = heap_alloc_unset(PATH_MAX);
    if (target == NULL)
        return -ENOMEM;
    length = p9_read_link(link, target, PATH_MAX);
    result = length < 0 ? (int)length : replace(walk, target, (size_t)length, after);
    heap_free(target, PATH_MAX);
    return result;
}

/* Walks to one name of the current directory: *OUT. -ENOENT. */
static int walk_one(const struct share_walk *walk, const struct p9_name *name, struct p9_fid **out, struct p9_qid *qid)
{
    uint32_t done;
    int error = p9_walk(share_walk_at(walk), name, 1, out, qid, &done);

    return error != 0 ? error : done == 0 ? -ENOENT : 0;
}

static int step_up(struct share_walk *walk, const char *after)
{
    static const struct p9_name dots = {"..", 2};
    struct p9_fid *up;
    struct p9_qid qid;
    int error;

    if (is_root(walk))
        return leave(walk, after);
    error = walk_one(walk, &dots, &up, &qid);
    if (error != 0)
        return error;
    stand(walk, up, &qid);
    cut_name(walk->path);
    walk->rest = skip_slashes(after);
    return 0;
}

/* Walks one part that is not the last; AFTER is what follows it. */
static int step(struct share_walk *walk, size_t length, const char *after)
{
    struct p9_name name = {walk->rest, (uint16_t)length};
    struct p9_fid *fid;
    struct p9_qid qid;
    int error;

    if (is_dots(name.text, length, 1)) {
        walk->rest = skip_slashes(after);
        return 0;
    }
    if (is_dots(name.text, length, 2))
        return step_up(walk, after);
    error = walk_one(walk, &name, &fid, &qid);
    if (error != 0)
        return error;
    if ((qid.type & P9_QID_DIRECTORY) != 0) {
        error = add_name(walk->path, name.text, length);
        stand(walk, fid, &qid);
        walk->rest = skip_slashes(after);
        return error;
    }
    error = (qid.type & P9_QID_LINK) != 0 ? follow(walk, fid, after) : -ENOTDIR;
    p9_drop(fid);
    return error;
}

/* Walks the directories ahead of the last part in one message, if all of them are directories. *DONE: it did. */
static int stride(struct share_walk *walk, bool *done)
{
    struct p9_name names[P9_WALK_MAX];
    struct p9_qid qids[P9_WALK_MAX];
    const char *text = walk->rest, *after;
    uint32_t count = 0, found;
    struct p9_fid *fid;
    int error;

    *done = false;
    while (count < P9_WALK_MAX) {
        size_t length = name_length(text);

        after = skip_slashes(text + length);
        if (length == 0 || length > NAME_MAX || *after == '\0' || is_dots(text, length, 1) || is_dots(text, length, 2))
            break;
        names[count++] = (struct p9_name){text, (uint16_t)length};
        text = after;
    }
    if (count < 2)
        return 0;
    error = p9_walk(share_walk_at(walk), names, count, &fid, qids, &found);
    if (error != 0 || fid == NULL)
        return 0; /* walking one by one finds the error */
    for (uint32_t i = 0; i < count; i++) {
        if ((qids[i].type & P9_QID_DIRECTORY) == 0) {
            p9_drop(fid);
            return 0;
        }
    }
    for (uint32_t i = 0; i < count && error == 0; i++)
        error = add_name(walk->path, names[i].text, names[i].length);
    stand(walk, fid, &qids[count - 1]);
    walk->rest = text;
    *done = true;
    return error;
}

int share_walk_to_parent(struct share_walk *walk)
{
    int error = 0;

    while (error == 0) {
        const char *name = skip_slashes(walk->rest);
        size_t length = name_length(name);
        bool done;

        if (length > NAME_MAX)
            return -ENAMETOOLONG;
        walk->rest = name;
        if (*skip_slashes(name + length) != '\0') {
            error = stride(walk, &done);
            if (error == 0 && !done)
                error = step(walk, length, name + length);
            continue;
        }
        walk->name = (struct p9_name){name, (uint16_t)length};
        walk->slash = name[length] == '/';
        walk->last = length == 0                ? SHARE_ROOT
                     : is_dots(name, length, 1) ? SHARE_DOT
                     : is_dots(name, length, 2) ? SHARE_DOT_DOT
                                                : SHARE_NAME;
        return 0;
    }
    return error;
}

int share_walk_on(struct share_walk *walk)
{
    int error = follow(walk, walk->node, walk->name.text + walk->name.length);

    return error != 0 ? error : share_walk_to_parent(walk);
}

/* The last part is not a name: takes the current directory or its parent. */
static int take_directory(struct share_walk *walk)
{
    uint32_t done;
    int error = 0;

    if (walk->last == SHARE_DOT_DOT)
        error = step_up(walk, "");
    if (error == 0) {
        error = p9_walk(share_walk_at(walk), NULL, 0, &walk->node, NULL, &done);
        walk->node_qid = walk->qid;
    }
    return error;
}

int share_walk_to_last(struct share_walk *walk, bool follows)
{
    int error = 0;

    while (error == 0) {
        p9_drop(walk->node);
        walk->node = NULL;
        if (walk->last != SHARE_NAME)
            return take_directory(walk);
        error = walk_one(walk, &walk->name, &walk->node, &walk->node_qid);
        if (error != 0)
            return error == -ENOENT ? 0 : error;
        if ((walk->node_qid.type & P9_QID_LINK) != 0 && (follows || walk->slash)) {
            error = share_walk_on(walk);
            continue;
        }
        return (walk->node_qid.type & P9_QID_DIRECTORY) == 0 && walk->slash ? -ENOTDIR : 0;
    }
    return error;
}

int share_walk_path(const struct share_walk *walk, char *out)
{
    memcpy(out, walk->path, strlen(walk->path) + 1);
    return walk->last == SHARE_NAME ? add_name(out, walk->name.text, walk->name.length) : 0;
}

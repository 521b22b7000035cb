/* Operations on names of shares. See kernel/fs/share.h. A name begins in the tree, or at an open file of a share; it
 * may lead from one to the other any number of times, as links and ".." do. Each turn goes on with an absolute text.
 * The order of the checks is Linux's (fs/namei.c), as in tree_open.c and tree_change.c. */
#include "kernel/abi/errno.h"
#include "kernel/fs/device.h"
#include "kernel/fs/share_internal.h"
#include "kernel/fs/tree.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"

/* A name on its way. */
struct course {
    const struct msg_file_name *asked;
    const struct file_user *user; /* in the tree; NULL: root */
    uint64_t start;
    const char *text;
    char *own; /* heap, PATH_MAX: TEXT, once it led away, or NULL */
    uint32_t links;
    struct file *file; /* the open file of a share where it begins, pinned, or NULL */
    bool shared;       /* WALK is in a share */
    struct share_walk walk;
};

bool share_begins(uint64_t start, const char *name)
{
    struct file *file = *name != '/' && start != 0 && shares != NULL ? file_find(start) : NULL;
    bool begins = file != NULL && file->kind->waits;

    if (file != NULL)
        file_unpin(file);
    return begins;
}

static void course_begin(struct course *course, const struct msg_file_name *asked, const struct file_user *user,
                         uint64_t start, const char *text)
{
    *course = (struct course){.asked = asked, .user = user, .start = start, .text = text, .links = asked->links};
    course->file = share_begins(start, text) ? file_find(start) : NULL;
}

static void course_end(struct course *course)
{
    if (course->shared)
        share_walk_end(&course->walk);
    if (course->file != NULL)
        file_unpin(course->file);
    heap_free(course->own, PATH_MAX);
    *course = (struct course){.shared = false};
}

/* The walk has led out of the share. */
static void course_leave(struct course *course)
{
    heap_free(course->own, PATH_MAX);
    course->own = course->walk.text;
    course->walk.text = NULL;
    course->text = course->own;
    course->links = course->walk.links;
    course->start = 0;
    share_walk_end(&course->walk);
    course->shared = false;
    if (course->file != NULL)
        file_unpin(course->file);
    course->file = NULL;
}

/* In the share that RESULT of the tree names, behind the mount. */
static int course_enter(struct course *course, struct tree_result *result)
{
    int error;

    course->links = result->answer.links;
    error = share_walk_begin(&course->walk, result->share, NULL, result->text, course->links);
    course->shared = true;
    heap_free(result->text, PATH_MAX);
    result->text = NULL;
    return error;
}

static int course_enter_file(struct course *course)
{
    struct share_open *open = share_open_of(course->file);

    course->shared = true;
    return share_walk_begin(&course->walk, open->share, open, course->text, course->links);
}

/* --- one name --- */

static int64_t give(struct tree_result *result, struct file *file)
{
    if (file == NULL)
        return -ENOMEM;
    result->answer.id = file->id;
    result->answer.what = NAMED_FILE;
    return 0;
}

/* The last part becomes *FID, which is the caller's then. */
static void take_node(struct share_walk *walk, struct p9_fid **fid)
{
    *fid = walk->node;
    walk->node = NULL;
}

static int64_t make_here(struct share_walk *walk, const struct msg_file_name *asked, const char *path,
                         struct tree_result *result)
{
    struct p9_attributes attributes;
    struct p9_fid *fid;
    struct p9_qid qid;
    uint32_t done;
    int error = p9_walk(share_walk_at(walk), NULL, 0, &fid, NULL, &done);

    if (error == 0)
        error = p9_create(fid, &walk->name, (asked->flags & (OPEN_ACCESS | OPEN_EXCLUSIVE)) | OPEN_CREATE,
                          asked->mode & 07777, &qid);
    if (error == 0)
        error = p9_get(fid, &attributes);
    if (error != 0) {
        p9_drop(fid);
        return error;
    }
    return give(result, share_file_open(walk->share, fid, NULL, true, &attributes, asked->flags, path));
}

/* As tree_open.c's. 1: it is made now, and the result is there. */
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

/* Another number whenever the bytes may be others, and none of the tree's. */
static uint64_t version_of(const struct host_share *share, const struct p9_attributes *attributes)
{
    uint64_t version = attributes->mtime * 0x9e3779b97f4a7c15ull;

    version ^= attributes->size + ((uint64_t)attributes->qid.version << 32) + share->device * 0xff51afd7ed558ccdull;
    return version | 1ull << 63;
}

/* The last part, which was there. */
static int64_t open_node(struct share_walk *walk, uint32_t flags, const char *path, struct tree_result *result)
{
    struct p9_attributes attributes;
    struct p9_fid *fid, *list = NULL;
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
        if (share_path(walk->share, path, result->text, PATH_MAX) < 0)
            result->text[0] = '\0';
        result->answer.facts = 1;
        result->answer.number = version_of(walk->share, &attributes);
    }
    take_node(walk, &fid);
    return give(result, share_file_open(walk->share, fid, list, type == FILE_REGULAR && (flags & OPEN_PATH) == 0,
                                        &attributes, flags, path));
}

static int64_t do_open(struct share_walk *walk, const struct msg_file_name *asked, struct tree_result *result)
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

/* WALK, at the last part's folder, is where something is to be made. As tree_change.c's new_entry. */
static int check_new(struct share_walk *walk, bool folder)
{
    bool slash = walk->slash;
    int error;

    if (walk->last != SHARE_NAME)
        return -EEXIST;
    walk->slash = false;
    error = share_walk_to_last(walk, false);
    if (error != 0)
        return error;
    return walk->node != NULL ? -EEXIST : slash && !folder ? -ENOENT : 0;
}

static int64_t do_create(struct share_walk *walk, const struct msg_file_name *asked, const char *text)
{
    uint32_t type = asked->mode & FILE_TYPE_MASK;
    int error = share_walk_to_parent(walk);

    if (error == 0)
        error = check_new(walk, type == FILE_DIRECTORY);
    if (error != 0)
        return error;
    switch (type) {
    case FILE_DIRECTORY:
        return p9_make_folder(share_walk_at(walk), &walk->name, asked->mode & 07777);
    case FILE_LINK:
        return p9_make_link(share_walk_at(walk), &walk->name, text);
    case FILE_SOCKET:
        return -EOPNOTSUPP; /* it would be the host's, where nobody listens */
    default:
        return p9_make_node(share_walk_at(walk), &walk->name, asked->mode, asked->number);
    }
}

static int64_t do_unlink(struct share_walk *walk, bool folder)
{
    char *path;
    bool slash;
    int error = share_walk_to_parent(walk);

    if (error != 0)
        return error;
    if (folder && walk->last != SHARE_NAME)
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
    if (folder && (walk->node_qid.type & P9_QID_FOLDER) == 0)
        return -ENOTDIR;
    if (!folder && (walk->node_qid.type & P9_QID_FOLDER) != 0)
        return -EISDIR;
    if (!folder && slash)
        return -ENOTDIR;
    path = heap_alloc(PATH_MAX);
    if (path == NULL)
        return -ENOMEM;
    error = share_walk_path(walk, path);
    if (error == 0)
        error = p9_unlink(share_walk_at(walk), &walk->name, folder);
    if (error == 0)
        share_paths_change(walk->share, path, NULL);
    heap_free(path, PATH_MAX);
    return error;
}

static int64_t with_fid(struct host_share *share, struct p9_fid *fid, const struct msg_file_name *asked, bool empty,
                        struct tree_result *result)
{
    struct p9_attributes attributes;
    int64_t error = p9_get(fid, &attributes);
    bool link = (attributes.mode & FILE_TYPE_MASK) == FILE_LINK;

    if (error != 0)
        return error;
    switch (asked->operation) {
    case NAME_STAT:
        share_facts(share, &attributes, &result->facts);
        result->answer.facts = 1;
        return 0;
    case NAME_CHANGE:
        return (asked->change.what & CHANGE_MODE) != 0 && link ? -EOPNOTSUPP : share_change(fid, &asked->change);
    case NAME_READ_LINK:
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

static int64_t with_node(struct share_walk *walk, const struct msg_file_name *asked, struct tree_result *result)
{
    bool follows = (asked->flags & NAME_NO_FOLLOW) == 0 && asked->operation != NAME_READ_LINK;
    int64_t error = share_walk_to_parent(walk);

    if (error == 0)
        error = share_walk_to_last(walk, follows);
    if (error != 0)
        return error;
    return walk->node == NULL ? -ENOENT : with_fid(walk->share, walk->node, asked, false, result);
}

static int64_t do_here(struct share_walk *walk, const struct msg_file_name *asked, const char *second,
                       struct tree_result *result)
{
    switch (asked->operation) {
    case NAME_OPEN:
        return do_open(walk, asked, result);
    case NAME_CREATE:
        return do_create(walk, asked, second);
    case NAME_UNLINK:
    case NAME_REMOVE_DIRECTORY:
        return do_unlink(walk, asked->operation == NAME_REMOVE_DIRECTORY);
    default:
        return with_node(walk, asked, result);
    }
}

static int64_t do_one(struct course *course, const char *second, struct tree_result *result)
{
    struct msg_file_name asked = *course->asked;
    int64_t error;

    for (;;) {
        if (course->file != NULL && *course->text == '\0') {
            struct share_open *open = share_open_of(course->file);

            return (asked.flags & NAME_EMPTY) == 0 || asked.operation == NAME_OPEN
                       ? -ENOENT
                       : with_fid(open->share, open->fid, &asked, true, result);
        }
        if (course->file != NULL) {
            error = course_enter_file(course);
        } else {
            asked.start = course->start;
            asked.links = course->links;
            error = tree_do(&asked, course->user, course->text, second, result);
            if (!result->waits)
                return error;
            error = course_enter(course, result);
            *result = (struct tree_result){.text = NULL};
        }
        if (error == 0)
            error = do_here(&course->walk, &asked, second, result);
        if (error != SHARE_OUT)
            return error;
        course_leave(course);
    }
}

/* --- two names --- */

/* To the folder of the last part, if that is in a share: SHARED says so. 0, or an error; 1: it leads away from the tree
 * and from all shares. */
static int to_parent(struct course *course)
{
    struct msg_file_name asked = {.operation = NAME_WHERE};
    struct tree_result result;
    int64_t error = SHARE_OUT;

    while (error == SHARE_OUT) {
        if (course->shared)
            course_leave(course);
        if (course->file != NULL) {
            error = course_enter_file(course);
        } else {
            asked.start = course->start;
            asked.links = course->links;
            error = tree_do(&asked, course->user, course->text, "", &result);
            if (!result.waits) {
                heap_free(result.text, PATH_MAX);
                return error != 0 ? (int)error : result.answer.what == NAMED_ON;
            }
            error = course_enter(course, &result);
        }
        if (error == 0)
            error = share_walk_to_parent(&course->walk);
    }
    return (int)error;
}

static int64_t do_link(struct course *from, struct course *to)
{
    bool follows = (from->asked->flags & NAME_NO_FOLLOW) == 0;
    struct p9_fid *fid;
    int error = 0;

    if (from->file != NULL && *from->text == '\0') {
        struct share_open *open = share_open_of(from->file);

        fid = open->fid;
        if ((from->file->facts.mode & FILE_TYPE_MASK) == FILE_DIRECTORY)
            error = -EPERM;
    } else {
        error = share_walk_to_last(&from->walk, follows);
        if (error == SHARE_OUT)
            return -EXDEV; /* to a link that leads out */
        fid = from->walk.node;
        if (error == 0 && fid == NULL)
            error = -ENOENT;
    }
    if (error == 0)
        error = check_new(&to->walk, false);
    if (error == 0 && from->walk.node != NULL && (from->walk.node_qid.type & P9_QID_FOLDER) != 0)
        error = -EPERM;
    return error != 0 ? error : p9_link(share_walk_at(&to->walk), &to->walk.name, fid);
}

/* PATH is ABOVE, or below it. */
static bool is_below(const char *path, const char *above)
{
    size_t length = strlen(above);

    return length == 0 || (strncmp(path, above, length) == 0 && (path[length] == '\0' || path[length] == '/'));
}

/* PATHS: of what is renamed, and of its new name. */
static int check_rename(const struct share_walk *from, const struct share_walk *to, const bool slashes[2],
                        char *const paths[2], uint32_t flags)
{
    bool folder, onto;

    if (from->node == NULL)
        return -ENOENT;
    if ((flags & NAME_NO_REPLACE) != 0 && to->node != NULL)
        return -EEXIST;
    if ((flags & NAME_EXCHANGE) != 0 && to->node == NULL)
        return -ENOENT;
    folder = (from->node_qid.type & P9_QID_FOLDER) != 0;
    onto = to->node != NULL && (to->node_qid.type & P9_QID_FOLDER) != 0;
    if (!folder && (slashes[0] || slashes[1]))
        return -ENOTDIR;
    if (folder && is_below(to->path, paths[0]))
        return -EINVAL;
    if (onto && strcmp(paths[0], paths[1]) != 0 && is_below(from->path, paths[1]))
        return (flags & NAME_EXCHANGE) != 0 ? -EINVAL : -ENOTEMPTY;
    if (flags != 0)
        return -EINVAL; /* as Linux's 9P: the server has no such rename */
    if (to->node == NULL)
        return 0;
    return folder && !onto ? -ENOTDIR : !folder && onto ? -EISDIR : 0;
}

static int rename_named(struct share_walk *from, struct share_walk *to, const bool slashes[2], char *const paths[2],
                        uint32_t flags)
{
    int error = share_walk_path(from, paths[0]);

    if (error == 0)
        error = share_walk_path(to, paths[1]);
    if (error == 0)
        error = check_rename(from, to, slashes, paths, flags);
    if (error == 0 && to->node != NULL && to->node_qid.path == from->node_qid.path)
        return 0; /* two names of one file stay */
    if (error == 0)
        error = p9_rename(share_walk_at(from), &from->name, share_walk_at(to), &to->name);
    if (error == 0 && strcmp(paths[0], paths[1]) != 0) {
        share_paths_change(from->share, paths[1], NULL);
        share_paths_change(from->share, paths[0], paths[1]);
    }
    return error;
}

static int64_t do_rename(struct share_walk *from, struct share_walk *to, uint32_t flags)
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

static int64_t do_two(struct course *from, struct course *to, struct tree_result *result)
{
    struct msg_file_name asked = *from->asked;
    bool link = asked.operation == NAME_LINK, is_file = link && from->file != NULL && *from->text == '\0';
    int away[2] = {0, 0};
    struct host_share *shared;

    if (is_file && (asked.flags & NAME_EMPTY) == 0)
        return -ENOENT;
    if (!is_file)
        away[0] = to_parent(from);
    if (away[0] >= 0)
        away[1] = to_parent(to);
    if (away[0] < 0 || away[1] < 0)
        return away[0] < 0 ? away[0] : away[1];
    shared = is_file ? share_open_of(from->file)->share : from->shared ? from->walk.share : NULL;
    if (shared == NULL && !to->shared) { /* no share: the names are absolute, or as they were */
        asked.start = from->start;
        asked.second = to->start;
        asked.links = from->links > to->links ? from->links : to->links;
        return tree_do(&asked, from->user, from->text, to->text, result);
    }
    if (shared == NULL || !to->shared || shared != to->walk.share)
        return -EXDEV;
    return link ? do_link(from, to) : do_rename(&from->walk, &to->walk, asked.flags);
}

int64_t share_do(const struct msg_file_name *asked, const struct file_user *user, const char *first, const char *second,
                 struct tree_result *result)
{
    bool two = asked->operation == NAME_LINK || asked->operation == NAME_RENAME;
    struct course from, to;
    int64_t error;

    *result = (struct tree_result){.text = NULL};
    course_begin(&from, asked, user, asked->start, first);
    course_begin(&to, asked, user, asked->second, two ? second : "/");
    error = two ? do_two(&from, &to, result) : do_one(&from, second, result);
    course_end(&from);
    course_end(&to);
    if (error < 0)
        result->answer.what = NAMED_DONE;
    result->answer.value = error;
    return error;
}

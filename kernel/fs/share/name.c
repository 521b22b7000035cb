/* Operations on names of shares. See kernel/fs/share/share.h. A name begins in the tree or at an open file of a share.
 * Links and ".." may lead it from the tree into a share and back any number of times; after each such step it continues
 * with an absolute path. name_open.c and change.c perform the operations. */
#include "kernel/abi/errno.h"
#include "kernel/fs/share/internal.h"
#include "kernel/fs/tree/tree.h"
#include "mm/frame/heap.h"

/* The state of resolving one name. */
struct course {
    const struct msg_file_name *asked;
    const struct file_user *user; /* NULL: root */
    struct node *root;            /* that user's root, in the tree */
    uint64_t start;
    const char *text;
    char *own; /* heap, PATH_MAX: holds TEXT after the name has left a share; or NULL */
    uint32_t links;
    struct file *file; /* the open file of a share at which the name begins, pinned; or NULL */
    bool shared;       /* WALK is in a share */
    struct share_walk walk;
};

static void course_begin(struct course *course, const struct msg_file_name *asked, const struct file_user *user,
                         struct node *root, uint64_t start, const char *text)
{
    *course = (struct course){
        .asked = asked, .user = user, .root = root, .start = start, .text = text, .links = asked->links};
    course->file = tree_begins_in_share(start, text) ? file_find(start) : NULL;
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

/* The walk has left the share. */
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

/* Begins a walk in the share that RESULT of the tree names, behind its mount. */
static int course_enter(struct course *course, struct tree_result *result)
{
    int error;

    course->links = result->answer.links;
    error = share_walk_begin(&course->walk, result->share, course->root, NULL, result->text, course->links);
    course->shared = true;
    heap_free(result->text, PATH_MAX);
    result->text = NULL;
    return error;
}

static int course_enter_file(struct course *course)
{
    struct share_open *open = share_open_of(course->file);

    course->shared = true;
    return share_walk_begin(&course->walk, open->share, course->root, open, course->text, course->links);
}

/* --- one name --- */

static int64_t do_here(struct course *course, const struct msg_file_name *asked, const char *second,
                       struct tree_result *result)
{
    struct share_walk *walk = &course->walk;

    switch (asked->operation) {
    case MSG_NAME_OPEN:
        return share_walk_open(walk, asked, result);
    case MSG_NAME_CREATE:
        return share_walk_create(walk, asked, course->user, second);
    case MSG_NAME_UNLINK:
    case MSG_NAME_REMOVE_DIRECTORY:
        return share_walk_unlink(walk, asked->operation == MSG_NAME_REMOVE_DIRECTORY);
    default:
        return share_walk_do(walk, asked, result);
    }
}

static int64_t do_one(struct course *course, const char *second, struct tree_result *result)
{
    struct msg_file_name asked = *course->asked;
    int64_t error;

    for (;;) {
        if (course->file != NULL && *course->text == '\0') {
            struct share_open *open = share_open_of(course->file);

            return (asked.flags & NAME_EMPTY) == 0 || asked.operation == MSG_NAME_OPEN
                       ? -ENOENT
                       : share_fid_do(open->share, open->fid, &asked, true, result);
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
            error = do_here(course, &asked, second, result);
        if (error != SHARE_OUT)
            return error;
        course_leave(course);
    }
}

/* --- two names --- */

/* Resolves the name up to the directory of its last part; course->shared says whether that is in a share. 0 or a
 * negative errno; 1: the name leads to a mount that is not a share (/proc). */
static int to_parent(struct course *course)
{
    struct msg_file_name asked = {.operation = MSG_NAME_WHERE};
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

static int64_t do_two(struct course *from, struct course *to, struct tree_result *result)
{
    struct msg_file_name asked = *from->asked;
    bool link = asked.operation == MSG_NAME_LINK, is_file = link && from->file != NULL && *from->text == '\0';
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
    if (shared == NULL && !to->shared) { /* no share is involved: the names are absolute or unchanged */
        asked.start = from->start;
        asked.second = to->start;
        asked.links = from->links > to->links ? from->links : to->links;
        tree_do(&asked, from->user, from->text, to->text, result);
        if (!result->waits)
            return result->answer.value;
        heap_free(result->text, PATH_MAX); /* a change has made one of them lead into a share meanwhile */
        *result = (struct tree_result){.text = NULL};
        return -EXDEV;
    }
    if (shared == NULL || !to->shared || shared != to->walk.share)
        return -EXDEV;
    if (!link)
        return share_walk_rename(&from->walk, &to->walk, asked.flags);
    return share_walk_link(&from->walk, is_file ? share_open_of(from->file)->fid : NULL,
                           is_file && (from->file->facts.mode & FILE_TYPE_MASK) == FILE_DIRECTORY,
                           (asked.flags & NAME_NO_FOLLOW) == 0, &to->walk);
}

int64_t share_do(const struct msg_file_name *asked, const struct file_user *user, const char *first, const char *second,
                 struct tree_result *result)
{
    bool two = asked->operation == MSG_NAME_LINK || asked->operation == MSG_NAME_RENAME;
    struct course from, to;
    struct file *file;
    struct node *root;
    int64_t error = tree_find_root(user, &file, &root);

    *result = (struct tree_result){.text = NULL};
    if (error == 0) {
        course_begin(&from, asked, user, root, asked->start, first);
        course_begin(&to, asked, user, root, asked->second, two ? second : "/");
        error = two ? do_two(&from, &to, result) : do_one(&from, second, result);
        course_end(&from);
        course_end(&to);
    }
    if (file != NULL)
        file_unpin(file);
    if (error < 0)
        result->answer.what = NAMED_DONE;
    result->answer.value = error;
    return error;
}

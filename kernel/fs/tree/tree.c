/* The tree: dispatch of the operations on names. See the header. */
#include "kernel/fs/tree/tree.h"

#include "kernel/abi/errno.h"
#include "kernel/fs/node/notify.h"
#include "kernel/fs/tree/fifo.h"
#include "kernel/fs/tree/internal.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

struct spinlock tree_lock; /* before node->lock and the lock of the table of files */
struct node *tree_root;
bool tree_has_shares;

/* Finds the node where a relative name begins: open file ID; *FILE is pinned. 0 or a negative errno; 1: it is a
 * directory of /proc or /sys, opened on this kernel. */
static int64_t find_start(uint64_t id, struct file **file, struct node **node)
{
    *node = NULL;
    *file = NULL;
    if (id == 0)
        return 0;
    *file = file_find(id);
    if (*file == NULL)
        return -ESRCH;
    *node = file_node(*file);
    if (*node != NULL)
        return 0;
    return (*file)->kind->directory ? 1 : -ENOTDIR;
}

/* PATH begins in a directory of /proc or /sys: the caller's kernel continues, with the absolute path in RESULT->text.
 */
static int64_t away_from(const struct file *file, const char *path, struct tree_result *result)
{
    size_t first = strlen(file->path), more = strlen(path);

    if (first + more + 3 > PATH_MAX)
        return -ENAMETOOLONG;
    result->text = heap_alloc_unset(PATH_MAX);
    if (result->text == NULL)
        return -ENOMEM;
    result->text[0] = '/';
    memcpy(result->text + 1, file->path, first);
    result->text[first + 1] = '/';
    memcpy(result->text + first + 2, path, more + 1);
    return 0;
}

/* Begins a walk. An empty path, where it is allowed, names its starting node. */
static int begin(struct walk *walk, const struct walker *walker, struct node *start, const char *path,
                 const struct msg_file_name *asked)
{
    uint32_t empty = asked->operation == MSG_NAME_OPEN ? OPEN_PLACE : NAME_EMPTY;

    if (*path == '\0' && (asked->flags & empty) != 0) {
        *walk = (struct walk){.user = walker->user,
                              .root = walker->root,
                              .at = start != NULL ? start : walker->root,
                              .rest = "",
                              .links = asked->links};
        walk->node = walk->at;
        walk->last = WALK_ROOT;
        walk->name = "";
        return 0;
    }
    return walk_begin(walk, walker, start, path, asked->links);
}

/* Walks to the node of a name, which must exist. An empty name has its node already. */
static int to_node(struct walk *walk, bool follow)
{
    int error = 0;

    if (*walk->rest != '\0') {
        error = walk_to_parent(walk);
        if (error == 0)
            error = walk_to_last(walk, follow);
    }
    return error != 0 ? error : walk->node == NULL ? -ENOENT : 0;
}

static int64_t with_node(struct walk *walk, const struct msg_file_name *asked, struct tree_result *result)
{
    bool empty = *walk->rest == '\0';
    int64_t error = to_node(walk, (asked->flags & NAME_NO_FOLLOW) == 0);
    size_t size;

    if (error != 0)
        return error;
    switch (asked->operation) {
    case MSG_NAME_STAT:
        tree_facts(walk->node, &result->facts);
        result->answer.facts = 1;
        return 0;
    case MSG_NAME_CHANGE:
        if ((asked->change.what & CHANGE_MODE) != 0 && tree_is(walk->node, FILE_LINK))
            return -EOPNOTSUPP;
        error = tree_change(walk->node, walk->user, &asked->change);
        if (error == 0)
            inotify_locked(walk->node, WATCH_ATTRIB);
        return error;
    case MSG_NAME_READ_LINK:
        if (!tree_is(walk->node, FILE_LINK))
            return empty ? -ENOENT : -EINVAL;
        result->text = heap_alloc_unset(PATH_MAX);
        if (result->text == NULL)
            return -ENOMEM;
        size = walk->node->content.size + 1;
        memcpy(result->text, tree_of(walk->node)->link, size);
        return 0;
    default:
        return -EPROTO;
    }
}

static int64_t with_one(const struct msg_file_name *asked, const char *text, struct walk *walk,
                        struct tree_result *result, struct node **gone)
{
    switch (asked->operation) {
    case MSG_NAME_OPEN:
        return tree_open(walk, asked, result, gone);
    case MSG_NAME_CREATE:
        return tree_create(walk, asked, text);
    case MSG_NAME_UNLINK:
    case MSG_NAME_REMOVE_DIRECTORY:
        return tree_unlink(walk, asked->operation == MSG_NAME_REMOVE_DIRECTORY, gone);
    case MSG_NAME_WHERE:
        return walk_to_parent(walk);
    default:
        return with_node(walk, asked, result);
    }
}

/* The name WHICH leads to a mount: the caller's kernel or a task continues there. */
static int64_t notify_away(struct walk *walk, uint32_t which, struct tree_result *result)
{
    result->text = walk->text;
    result->share = walk->share;
    result->waits = walk->share != NULL;
    walk->text = NULL;
    result->answer.what = which;
    result->answer.links = walk->links;
    return 0;
}

/* O_TRUNC of the file that was just opened. */
static int64_t cut(struct tree_result *result)
{
    struct file_answer answer = {.flags = 0};
    int64_t error = node_resize(result->cut, 0, &answer);

    if (error >= 0) {
        inotify_node(result->cut, WATCH_MODIFY);
        inotify_node(result->cut, WATCH_OPEN);
    }
    node_put(result->cut);
    result->cut = NULL;
    if (error < 0) {
        file_drop(0, result->answer.id);
        result->answer.id = 0;
    } else if ((answer.flags & FILE_SETTLES) != 0) {
        result->answer.what = NAMED_FILE_SETTLES;
        result->answer.number = answer.seen;
    }
    return error < 0 ? error : 0;
}

static int64_t open_fifo(struct tree_result *result, uint32_t flags)
{
    struct file *file = NULL;
    bool wait = false;
    int64_t error = fifo_open(result->fifo, flags, &file, &wait);

    node_put(result->fifo);
    result->fifo = NULL;
    if (error == 0) {
        result->answer.id = file->id;
        result->answer.what = wait ? NAMED_FILE_WAIT : NAMED_FILE;
    }
    return error;
}

static int64_t do_one(const struct msg_file_name *asked, const struct walker *walker, struct node *start,
                      const char *path, const char *text, struct tree_result *result)
{
    struct node *gone = NULL;
    struct walk walk = {.at = NULL};
    int64_t error;

    spin_lock(&tree_lock);
    error = begin(&walk, walker, start, path, asked);
    if (error == 0)
        error = with_one(asked, text, &walk, result, &gone);
    if (error == WALK_AWAY)
        error = notify_away(&walk, NAMED_ON, result);
    spin_unlock(&tree_lock);
    walk_end(&walk);
    if (gone != NULL)
        node_put(gone);
    if (result->cut != NULL)
        error = cut(result);
    if (result->fifo != NULL)
        error = open_fifo(result, asked->flags);
    inotify_flush();
    return error;
}

static int64_t do_two(const struct msg_file_name *asked, const struct walker *walker, struct node *const starts[2],
                      const char *first, const char *second, struct tree_result *result)
{
    struct walk from = {.at = NULL}, to = {.at = NULL};
    struct node *gone = NULL;
    int64_t error;

    spin_lock(&tree_lock);
    error = begin(&from, walker, starts[0], first, asked);
    if (error == 0)
        error = walk_begin(&to, walker, starts[1], second, asked->links);
    if (error == 0 && *from.rest != '\0')
        error = walk_to_parent(&from);
    if (error == WALK_AWAY) {
        error = notify_away(&from, NAMED_ON, result);
    } else if (error == 0) {
        error = walk_to_parent(&to);
        if (error == WALK_AWAY)
            error = notify_away(&to, NAMED_SECOND_ON, result);
        else if (error == 0)
            error = asked->operation == MSG_NAME_LINK ? tree_link(&from, &to, (asked->flags & NAME_NO_FOLLOW) == 0)
                                                      : tree_rename(&from, &to, asked->flags, &gone);
        if (error == WALK_AWAY) /* the last part is a mount, or a link leads to one */
            error = asked->operation == MSG_NAME_LINK ? -EXDEV : -EBUSY;
    }
    spin_unlock(&tree_lock);
    walk_end(&from);
    walk_end(&to);
    if (gone != NULL)
        node_put(gone);
    inotify_flush();
    return error;
}

/* The facts of a mapped object and its name, "" if it has none. */
static int64_t find_mapped(uint64_t object, struct tree_result *result)
{
    struct node *node = node_find(object);

    if (node == NULL)
        return -ENOENT;
    result->text = heap_alloc_unset(PATH_MAX);
    if (result->text != NULL) {
        if (node->owner != NULL) {
            node->owner->describe(node, result->text, &result->facts);
        } else {
            if (tree_of(node) == NULL || tree_name(node, NULL, result->text, PATH_MAX) < 0)
                memcpy(result->text, "", 1);
            tree_facts(node, &result->facts);
        }
        result->answer.facts = 1;
    }
    node_put(node);
    return result->text != NULL ? 0 : -ENOMEM;
}

bool tree_begins_in_share(uint64_t start, const char *name)
{
    struct file *file = *name != '/' && start != 0 && tree_has_shares ? file_find(start) : NULL;
    bool begins = file != NULL && file->kind->waits;

    if (file != NULL)
        file_unpin(file);
    return begins;
}

int64_t tree_find_root(const struct file_user *user, struct file **file, struct node **root)
{
    *file = NULL;
    *root = tree_root;
    if (user == NULL || user->root == 0)
        return 0;
    *file = file_find(user->root);
    if (*file == NULL || file_node(*file) == NULL || !tree_is(file_node(*file), FILE_DIRECTORY))
        return -ESRCH;
    *root = file_node(*file);
    return 0;
}

/* Whether open file ID is one of a node of the tree, or of memory. */
static bool has_node(uint64_t id)
{
    struct file *file = file_find(id);
    bool has = file != NULL && file_node(file) != NULL;

    if (file != NULL)
        file_unpin(file);
    return has;
}

int64_t tree_do(const struct msg_file_name *asked, const struct file_user *user, const char *first, const char *second,
                struct tree_result *result)
{
    struct walker walker = {.user = user};
    bool two = asked->operation == MSG_NAME_LINK || asked->operation == MSG_NAME_RENAME;
    struct node *starts[2];
    struct file *files[3] = {NULL, NULL, NULL};
    int64_t error;

    *result = (struct tree_result){.text = NULL};
    if (asked->operation == MSG_NAME_MAPPED) {
        result->answer.value = find_mapped(asked->number, result);
        return result->answer.value;
    }
    if (asked->operation == MSG_NAME_OPEN && (asked->flags & OPEN_PLACE) != 0 && !has_node(asked->start)) {
        result->answer.value = -EXDEV;
        return -EXDEV;
    }
    if (tree_begins_in_share(asked->start, first) || (two && tree_begins_in_share(asked->second, second))) {
        result->waits = true;
        return 0;
    }
    error = tree_find_root(user, &files[2], &walker.root);
    if (error != 0) {
        /* -ESRCH: the root was closed; the caller retries */
    } else if ((error = find_start(asked->start, &files[0], &starts[0])) == 1 && *first != '/') {
        result->answer.what = NAMED_ON;
        error = away_from(files[0], first, result);
    } else if (error >= 0 || *first == '/') {
        error = two ? find_start(asked->second, &files[1], &starts[1]) : 0;
        if (error == 1 && *second != '/') {
            result->answer.what = NAMED_SECOND_ON;
            error = away_from(files[1], second, result);
        } else if (error >= 0 || *second == '/') {
            error = two ? do_two(asked, &walker, starts, first, second, result)
                        : do_one(asked, &walker, starts[0], first, second, result);
        }
    }
    for (int i = 0; i < 3; i++) {
        if (files[i] != NULL)
            file_unpin(files[i]);
    }
    if (error < 0)
        result->answer.what = NAMED_DONE;
    result->answer.value = error;
    return error;
}

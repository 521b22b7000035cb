/* Opening by name. See kernel/fs/tree/internal.h. Everything here runs under tree_lock. The order of the checks is
 * Linux's (fs/namei.c). */
#include "kernel/abi/errno.h"
#include "kernel/fs/device/device.h"
#include "kernel/fs/node/notify.h"
#include "kernel/fs/node/regular.h"
#include "kernel/fs/tree/file.h"
#include "kernel/fs/tree/internal.h"
#include "mm/frame/heap.h"

static int make_here(struct walk *walk, uint32_t mode)
{
    struct entry *entry;
    struct node *node;
    int error;

    if (walk->at->links == 0)
        return -ENOENT; /* the directory was removed */
    if (tree_may(walk, walk->at, MAY_WRITE | MAY_EXECUTE) != 0)
        return -EACCES;
    error = entry_new(walk->name, walk->length, tree_user(walk), &entry);
    if (error != 0)
        return error;
    error = tree_make_in(walk, walk->at, FILE_REGULAR | (mode & 07777), 0, NULL, 0, &node);
    if (error != 0) {
        entry_free(entry);
        return error;
    }
    tree_put(walk->at, entry, node);
    inotify_name_locked(walk->at, entry->name, node, WATCH_CREATE, 0);
    node_put(node);
    walk->node = node;
    return 0;
}

/* Walks to the last part, and makes a regular file there if it does not exist. */
static int find_or_make(struct walk *walk, const struct msg_file_name *asked, bool *made)
{
    int error = walk_to_parent(walk);

    while (error == 0) {
        if (walk->last != WALK_NAME)
            return walk_to_last(walk, false);
        if (walk->slash)
            return -EISDIR;
        error = walk_to_last(walk, false);
        if (error != 0)
            return error;
        if (walk->node == NULL) {
            *made = true;
            return make_here(walk, asked->mode);
        }
        if (!tree_is(walk->node, FILE_LINK) || (asked->flags & (OPEN_EXCLUSIVE | OPEN_NO_FOLLOW)) != 0)
            return 0;
        error = walk_on(walk);
    }
    return error;
}

/* O_TMPFILE: makes a file without a name in the directory that is named. */
static int make_nameless(struct walk *walk, const struct msg_file_name *asked, struct node **made)
{
    int error = walk_to_parent(walk);

    if (error == 0)
        error = walk_to_last(walk, true);
    if (error != 0)
        return error;
    if (walk->node == NULL)
        return -ENOENT;
    if (!tree_is(walk->node, FILE_DIRECTORY))
        return -ENOTDIR;
    if (walk->node->links == 0)
        return -ENOENT;
    if (tree_may(walk, walk->node, MAY_WRITE | MAY_EXECUTE) != 0)
        return -EACCES;
    error = tree_make_in(walk, walk->node, FILE_REGULAR | (asked->mode & 07777), 0, NULL, 0, made);
    if (error == 0) {
        tree_of(*made)->temporary = (asked->flags & OPEN_EXCLUSIVE) == 0;
        walk->node = *made;
    }
    return error;
}

/* Checks FLAGS and the user's permissions against NODE, which existed before. */
static int check(const struct walk *walk, const struct node *node, uint32_t flags)
{
    static const uint32_t may[4] = {MAY_READ, MAY_WRITE, MAY_READ | MAY_WRITE, MAY_READ | MAY_WRITE};
    bool writing = (flags & OPEN_ACCESS) != 0 || (flags & OPEN_TRUNCATE) != 0;
    bool directory = tree_is(node, FILE_DIRECTORY);

    if ((flags & OPEN_CREATE) != 0 && (flags & OPEN_EXCLUSIVE) != 0)
        return -EEXIST;
    if ((flags & OPEN_CREATE) != 0 && directory)
        return -EISDIR;
    if ((flags & OPEN_DIRECTORY) != 0 && !directory)
        return -ENOTDIR;
    if ((flags & OPEN_PATH) != 0)
        return 0;
    if (tree_is(node, FILE_LINK))
        return -ELOOP;
    if ((flags & OPEN_RUN) != 0)
        return tree_is(node, FILE_REGULAR) ? tree_may(walk, node, MAY_EXECUTE) : -EACCES;
    if (directory && writing)
        return -EISDIR;
    if (walk->user != NULL) {
        if (tree_may(walk, node, may[flags & OPEN_ACCESS] | ((flags & OPEN_TRUNCATE) != 0 ? MAY_WRITE : 0)) != 0)
            return -EACCES;
        if ((flags & OPEN_NO_ATIME) != 0 && !permission_owner(walk->user, node->uid))
            return -EPERM;
    }
    return tree_is(node, FILE_BLOCK) || tree_is(node, FILE_SOCKET) ? -ENXIO : 0;
}

static int64_t give(struct tree_result *result, struct file *file, enum named what)
{
    if (file == NULL)
        return -ENOMEM;
    result->answer.id = file->id;
    result->answer.what = what;
    return 0;
}

static int64_t open_terminal(struct node *node, uint32_t flags, struct tree_result *result)
{
    struct file_facts facts;
    struct file *file;
    uint32_t session;
    int64_t error;

    tree_facts(node, &facts);
    error = device_terminals.open(node->device, &facts, flags, &file, &session);
    if (error != 0)
        return error;
    result->answer.number = session;
    return give(result, file, NAMED_TERMINAL);
}

/* Opens NODE, or returns what the calling kernel needs to open it itself (a device). */
static int64_t open_node(struct node *node, uint32_t flags, bool made, struct tree_result *result)
{
    bool truncate = (flags & OPEN_TRUNCATE) != 0 && !made;
    uint32_t anyway = flags & OPEN_ANYWAY;
    struct file *file;
    int64_t error;

    flags &= ~OPEN_ANYWAY;
    if ((flags & (OPEN_PATH | OPEN_QUIET)) == 0 && tree_is(node, FILE_DIRECTORY))
        inotify_locked(node, WATCH_OPEN);
    if ((flags & OPEN_PATH) != 0 || tree_is(node, FILE_DIRECTORY))
        return give(result, tree_file_open(node, flags), NAMED_FILE);
    if ((flags & OPEN_RUN) != 0) {
        result->text = heap_alloc_unset(PATH_MAX);
        if (result->text == NULL)
            return -ENOMEM;
        if (tree_name_locked(node, NULL, result->text, PATH_MAX) < 0)
            result->text[0] = '\0';
        tree_facts(node, &result->facts);
        result->answer.facts = 1;
        result->answer.number = node_version(node);
    }
    if (tree_is(node, FILE_REGULAR)) {
        error = regular_open(node, flags & ~(made ? OPEN_TRUNCATE : 0), &file);
        if (error != 0)
            return error;
        if (truncate) {
            node_hold(node);
            result->cut = node;
        } else if ((flags & OPEN_QUIET) == 0) {
            inotify_locked(node, WATCH_OPEN);
        }
        return give(result, file, NAMED_FILE);
    }
    if (tree_is(node, FILE_FIFO)) {
        node_hold(node);
        result->fifo = node;
        return 0;
    }
    if (tree_is(node, FILE_CHARACTER) && device_terminals.has(node->device))
        return open_terminal(node, flags | anyway, result);
    tree_facts(node, &result->facts);
    result->answer.facts = 1;
    result->answer.number = node->device;
    result->answer.what = NAMED_DEVICE;
    return 0;
}

int64_t tree_open(struct walk *walk, const struct msg_file_name *asked, struct tree_result *result, struct node **made)
{
    uint32_t flags = (asked->flags & ~OPEN_ANYWAY) | (permission_root(walk->user) ? OPEN_ANYWAY : 0);
    bool is_new = false;
    int64_t error;

    if ((flags & OPEN_PLACE) != 0) { /* the walk has its node already */
        flags &= ~(OPEN_PLACE | OPEN_CREATE);
        error = check(walk, walk->node, flags);
        return error != 0 ? error : open_node(walk->node, flags, false, result);
    }
    if ((flags & OPEN_TEMPORARY) != 0) {
        error = make_nameless(walk, asked, made); /* the caller drops the reference */
        return error != 0 ? error : open_node(walk->node, flags & ~OPEN_TRUNCATE, true, result);
    }
    if ((flags & OPEN_CREATE) != 0) {
        error = find_or_make(walk, asked, &is_new);
    } else {
        error = walk_to_parent(walk);
        if (error == 0)
            error = walk_to_last(walk, (flags & OPEN_NO_FOLLOW) == 0);
    }
    if (error == 0 && walk->node == NULL)
        error = -ENOENT;
    if (error == 0 && !is_new)
        error = check(walk, walk->node, flags);
    return error != 0 ? error : open_node(walk->node, flags, is_new, result);
}

/* Operations that change names in the tree. See kernel/fs/tree/internal.h. Everything here runs under tree_lock; all
 * checks and allocations come before the first change. The order of the checks is Linux's (fs/namei.c). */
#include "kernel/abi/errno.h"
#include "kernel/fs/node/notify.h"
#include "kernel/fs/tree/internal.h"
#include "kernel/lib/panic.h"

/* Makes an entry for the last part of WALK, which must not exist. DIRECTORY: slashes may follow the name. */
/* Whether WALK's user may give NODE another name: its owner may, and who may read and write a file that does not run as
 * another user or group, as with Linux's fs.protected_hardlinks. */
static bool may_link(const struct walk *walk, const struct node *node)
{
    if (walk->user == NULL || permission_owner(walk->user, node->uid))
        return true;
    return tree_is(node, FILE_REGULAR) && (node->mode & 04000) == 0 && (node->mode & 02010) != 02010 &&
           tree_may(walk, node, MAY_READ | MAY_WRITE) == 0;
}

/* An entry for a new name, of LINKED, which has one already, unless that is NULL. */
static int new_entry(struct walk *walk, bool directory, const struct node *linked, struct entry **out)
{
    bool slash = walk->slash;
    int error;

    if (walk->last != WALK_NAME)
        return -EEXIST;
    walk->slash = false; /* no link is followed because of the slash */
    error = walk_to_last(walk, false);
    if (error == WALK_AWAY || walk->node != NULL)
        return -EEXIST;
    if (error != 0)
        return error;
    if ((slash && !directory) || walk->at->links == 0)
        return -ENOENT; /* also if the directory was removed */
    if (linked != NULL && !may_link(walk, linked))
        return -EPERM;
    if (tree_may(walk, walk->at, MAY_WRITE | MAY_EXECUTE) != 0)
        return -EACCES;
    return entry_new(walk->name, walk->length, tree_user(walk), out);
}

int64_t tree_create(struct walk *walk, const struct msg_file_name *asked, const char *text)
{
    uint32_t type = asked->mode & FILE_TYPE_MASK;
    struct entry *entry = NULL;
    struct node *node;
    size_t size = 0;
    int error = walk_to_parent(walk);

    while (type == FILE_LINK && text[size] != '\0')
        size++;
    if (error == 0)
        error = new_entry(walk, type == FILE_DIRECTORY, NULL, &entry);
    if (error == 0 && ((type == FILE_CHARACTER && asked->number != 0) || type == FILE_BLOCK) &&
        !permission_root(walk->user)) { /* anyone may make character device 0, which is no device */
        entry_free(entry);
        error = -EPERM;
    }
    if (error != 0)
        return error;
    error = tree_make_in(walk, walk->at, asked->mode, asked->number, text, size, &node);
    if (error != 0) {
        entry_free(entry);
        return error;
    }
    tree_put(walk->at, entry, node);
    inotify_name_locked(walk->at, entry->name, node, WATCH_CREATE, 0);
    node_put(node); /* the entry holds a reference */
    return 0;
}

static bool is_empty(const struct node *directory)
{
    return tree_of(directory)->entries.count == 0;
}

/* Marks a removed directory: its open files list nothing, and nothing can be made in it. */
static void end_directory(struct node *directory)
{
    spin_lock(&directory->lock);
    directory->links = 0;
    spin_unlock(&directory->lock);
}

/* Removes and frees ENTRY; the reference to its node moves to *GONE. With TELLS, watches are notified. */
static void remove(struct entry *entry, bool notifies, struct node **gone)
{
    *gone = entry->node;
    if (notifies && !tree_is(*gone, FILE_DIRECTORY))
        inotify_self_locked(*gone, WATCH_ATTRIB); /* its link count changes */
    if (notifies)
        inotify_name_locked(entry->directory, entry->name, *gone, WATCH_DELETE, 0);
    tree_take(entry);
    entry_free(entry);
    if (tree_is(*gone, FILE_DIRECTORY))
        end_directory(*gone);
    tree_touch(*gone, false);
}

/* Checks whether the walk's user may remove the name that WALK has found. */
static int may_remove(const struct walk *walk)
{
    const struct node *directory = walk->at;

    if (walk->user == NULL)
        return 0;
    if (tree_may(walk, directory, MAY_WRITE | MAY_EXECUTE) != 0)
        return -EACCES;
    return permission_remove(walk->user, directory->mode, directory->uid, walk->node->uid) ? 0 : -EPERM;
}

int64_t tree_unlink(struct walk *walk, bool directory, struct node **gone)
{
    bool slash;
    int error = walk_to_parent(walk);

    if (error != 0)
        return error;
    if (directory && walk->last != WALK_NAME)
        return walk->last == WALK_DOT_DOT ? -ENOTEMPTY : walk->last == WALK_DOT ? -EINVAL : -EBUSY;
    if (walk->last != WALK_NAME)
        return -EISDIR;
    slash = walk->slash;
    walk->slash = false;
    error = walk_to_last(walk, false);
    if (error == WALK_AWAY)
        return directory ? -EBUSY : -EISDIR;
    if (error != 0)
        return error;
    if (walk->node == NULL)
        return -ENOENT;
    if (!directory && slash)
        return tree_is(walk->node, FILE_DIRECTORY) ? -EISDIR : -ENOTDIR;
    error = may_remove(walk);
    if (error != 0)
        return error;
    if (directory && !tree_is(walk->node, FILE_DIRECTORY))
        return -ENOTDIR;
    if (!directory && tree_is(walk->node, FILE_DIRECTORY))
        return -EISDIR;
    if (directory && !is_empty(walk->node))
        return -ENOTEMPTY;
    remove(walk->entry, true, gone);
    return 0;
}

int64_t tree_link(struct walk *from, struct walk *to, bool follow)
{
    struct entry *entry;
    int error = from->node != NULL ? 0 : walk_to_last(from, follow);

    if (error != 0)
        return error;
    if (from->node == NULL)
        return -ENOENT;
    error = new_entry(to, false, from->node, &entry);
    if (error != 0)
        return error;
    if (tree_of(from->node) == NULL)
        error = -EXDEV; /* it belongs to no tree: memfd_create(2) */
    else if (tree_is(from->node, FILE_DIRECTORY))
        error = -EPERM;
    else if (from->node->links == 0 && !tree_of(from->node)->temporary)
        error = -ENOENT; /* it has lost its names */
    if (error != 0) {
        entry_free(entry);
        return error;
    }
    tree_of(from->node)->temporary = false;
    inotify_self_locked(from->node, WATCH_ATTRIB);
    tree_put(to->at, entry, from->node);
    tree_touch(from->node, false);
    inotify_name_locked(to->at, entry->name, from->node, WATCH_CREATE, 0);
    return 0;
}

/* Returns true if ABOVE is NODE or a directory above it. */
static bool is_above(const struct node *above, const struct node *node)
{
    while (node != above && node != tree_root)
        node = tree_of(node)->parent;
    return node == above;
}

static int may_rename(const struct walk *from, const struct walk *to, uint32_t flags)
{
    int error = may_remove(from);

    if (error == 0)
        error = to->node != NULL ? may_remove(to) : tree_may(to, to->at, MAY_WRITE | MAY_EXECUTE);
    if (error == 0 && from->at != to->at && tree_is(from->node, FILE_DIRECTORY)) /* its ".." changes */
        error = tree_may(from, from->node, MAY_WRITE);
    if (error == 0 && (flags & NAME_EXCHANGE) != 0 && from->at != to->at && tree_is(to->node, FILE_DIRECTORY))
        error = tree_may(to, to->node, MAY_WRITE);
    return error;
}

/* Checks whether FROM may be renamed to TO. Both walks are at their last parts; SLASHES: slashes followed the names. */
static int check_rename(const struct walk *from, const struct walk *to, const bool slashes[2], uint32_t flags)
{
    bool exchange = (flags & NAME_EXCHANGE) != 0;
    bool directory;
    int error;

    if (from->node == NULL)
        return -ENOENT;
    if ((flags & NAME_NO_REPLACE) != 0 && to->node != NULL)
        return -EEXIST;
    if (exchange && to->node == NULL)
        return -ENOENT;
    if (exchange && !tree_is(to->node, FILE_DIRECTORY) && slashes[1])
        return -ENOTDIR;
    directory = tree_is(from->node, FILE_DIRECTORY);
    if (!directory && (slashes[0] || (!exchange && slashes[1])))
        return -ENOTDIR;
    if (directory && is_above(from->node, to->at))
        return -EINVAL;
    if (to->node != NULL && tree_is(to->node, FILE_DIRECTORY) && to->node != from->node && is_above(to->node, from->at))
        return exchange ? -EINVAL : -ENOTEMPTY;
    if (from->node == to->node)
        return 0;
    if (to->node == NULL && to->at->links == 0)
        return -ENOENT;
    error = may_rename(from, to, flags);
    if (error != 0)
        return error;
    if (to->node == NULL)
        return 0;
    if (exchange)
        return 0;
    if (directory && !tree_is(to->node, FILE_DIRECTORY))
        return -ENOTDIR;
    if (!directory && tree_is(to->node, FILE_DIRECTORY))
        return -EISDIR;
    return directory && !is_empty(to->node) ? -ENOTEMPTY : 0;
}

/* Makes ENTRY lead to NODE instead. The reference to the old node becomes the caller's. */
static void turn(struct entry *entry, struct node *node)
{
    struct node *directory = entry->directory;

    tree_take(entry);
    tree_put(directory, entry, node);
}

static void exchange(struct entry *one, struct entry *other)
{
    struct node *first = one->node, *second = other->node;

    node_hold(first); /* each has no entry for a moment */
    node_hold(second);
    turn(one, second);
    node_put(first);
    turn(other, first);
    node_put(second);
    tree_touch(first, false);
    tree_touch(second, false);
    node_put(first);
    node_put(second);
}

static void notify_moved(struct node *from, const char *old, struct node *to, const char *new, struct node *node)
{
    uint32_t cookie = inotify_cookie();

    inotify_name_locked(from, old, node, WATCH_MOVED_FROM, cookie);
    inotify_name_locked(to, new, node, WATCH_MOVED_TO, cookie);
    inotify_self_locked(node, WATCH_MOVE_SELF);
}

int64_t tree_rename(struct walk *from, struct walk *to, uint32_t flags, struct node **gone)
{
    bool slashes[2] = {from->slash, to->slash};
    struct entry *entry;
    struct node *node;
    int error;

    if (from->last != WALK_NAME)
        return -EBUSY;
    if (to->last != WALK_NAME)
        return (flags & NAME_NO_REPLACE) != 0 ? -EEXIST : -EBUSY;
    from->slash = false;
    to->slash = false;
    error = walk_to_last(from, false);
    if (error == 0)
        error = walk_to_last(to, false);
    if (error == 0)
        error = check_rename(from, to, slashes, flags);
    if (error != 0 || from->node == to->node)
        return error;
    if ((flags & NAME_EXCHANGE) != 0) {
        exchange(from->entry, to->entry);
        notify_moved(from->at, from->entry->name, to->at, to->entry->name, from->node);
        notify_moved(to->at, to->entry->name, from->at, from->entry->name, to->node);
        return 0;
    }
    node = from->node;
    error = entry_new_for(from->entry, to->entry, to->name, to->length, tree_user(from), &entry);
    if (error != 0)
        return error;
    if (to->entry != NULL)
        remove(to->entry, false, gone);
    node_hold(node);
    tree_take(from->entry);
    node_put(node); /* the old entry's reference */
    tree_put(to->at, entry, node);
    node_put(node);
    tree_touch(node, false);
    notify_moved(from->at, from->entry->name, to->at, entry->name, node);
    entry_free(from->entry);
    if (*gone != NULL)
        inotify_self_locked(*gone, WATCH_ATTRIB);
    return 0;
}

/* The tree: nodes of all kinds, their names, and which operation does what. See the header. */
#include "kernel/fs/tree/tree.h"

#include "kernel/abi/errno.h"
#include "kernel/file/serve/device.h"
#include "kernel/fs/inotify/inotify.h"
#include "kernel/fs/share/share.h"
#include "kernel/fs/tree/internal.h"
#include "kernel/ipc/pipe/fifo.h"
#include "kernel/ipc/sysv/shm.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/area/backing.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"

#define DIRECTORY_SIZE 40u /* st_size of an empty directory, and of one entry: as Linux's tmpfs */
#define ENTRY_SIZE 20u

struct spinlock tree_lock; /* before node->lock and the lock of the table of files */
struct node *tree_root;

/* --- nodes --- */

/* The last reference of a node is gone. */
static void end(struct node *node)
{
    struct tree_part *part = node->state;

    if (tree_is(node, FILE_DIRECTORY) && part->parent != NULL && part->parent != node)
        node_put(part->parent);
    else if (tree_is(node, FILE_LINK))
        heap_free(part->link, node->content.size + 1);
    else if (tree_is(node, FILE_FIFO))
        fifo_free(part->fifo);
    heap_free(part, sizeof(*part));
}

int tree_make(uint32_t mode, uint64_t device, const char *text, size_t size, struct node **out)
{
    struct node *node = node_create(mode);
    struct tree_part *part = heap_alloc(sizeof(*part));
    bool whole = node != NULL && part != NULL;

    if (whole && tree_is(node, FILE_LINK))
        whole = (part->link = heap_alloc(size + 1)) != NULL;
    else if (whole && tree_is(node, FILE_FIFO))
        whole = (part->fifo = fifo_new()) != NULL;
    if (!whole) {
        if (node != NULL)
            node_put(node);
        heap_free(part, sizeof(*part));
        return -ENOSPC;
    }
    list_init(&part->names);
    node->device = device;
    node->state = part;
    node->end = end;
    if (tree_is(node, FILE_LINK)) {
        memcpy(part->link, text, size);
        node->content.size = size;
    } else if (tree_is(node, FILE_DIRECTORY)) {
        node->links = 1; /* its "." */
        node->content.size = DIRECTORY_SIZE;
    }
    *out = node;
    return 0;
}

void tree_touch(struct node *node, bool content)
{
    uint64_t now = node_now();

    spin_lock(&node->lock);
    node->ctime = now;
    if (content)
        node->mtime = now;
    spin_unlock(&node->lock);
}

static void change_directory(struct node *folder, int64_t size, int32_t links)
{
    spin_lock(&folder->lock);
    folder->content.size += (uint64_t)size;
    folder->links += (uint32_t)links;
    spin_unlock(&folder->lock);
    tree_touch(folder, true);
}

void tree_put(struct node *folder, struct entry *entry, struct node *node)
{
    bool directory = tree_is(node, FILE_DIRECTORY);

    assert(spin_held(&tree_lock));
    entry->folder = folder;
    entry->node = node;
    node_hold(node);
    node->links++;
    list_append(&tree_of(node)->names, &entry->of_node);
    folder_add(&tree_of(folder)->entries, entry);
    change_directory(folder, ENTRY_SIZE, directory ? 1 : 0);
    if (directory && tree_of(node)->parent != folder) {
        struct node *old = tree_of(node)->parent;

        node_hold(folder);
        tree_of(node)->parent = folder;
        if (old != NULL)
            node_put(old); /* it is alive otherwise: the caller walked there */
    }
}

void tree_take(struct entry *entry)
{
    struct node *node = entry->node, *folder = entry->folder;

    assert(spin_held(&tree_lock));
    folder_remove(&tree_of(folder)->entries, entry);
    list_remove(&entry->of_node);
    entry->folder = NULL;
    entry->node = NULL;
    node->links--;
    change_directory(folder, -(int64_t)ENTRY_SIZE, tree_is(node, FILE_DIRECTORY) ? -1 : 0);
}

void tree_facts(struct node *node, struct file_facts *facts)
{
    node_facts(node, facts);
    facts->device = TREE_DEVICE;
}

void tree_own(const struct walk *walk, const struct node *folder, struct node *node)
{
    if (walk->user != NULL) {
        node->uid = walk->user->uid;
        node->gid = walk->user->gid;
    }
    if ((folder->mode & MODE_SET_GROUP) != 0) { /* what is below it is of its group, too */
        node->gid = folder->gid;
        if (tree_is(node, FILE_DIRECTORY))
            node->mode |= MODE_SET_GROUP;
        else if ((node->mode & MODE_GROUP_EXECUTE) != 0 && !permission_root(walk->user) &&
                 !permission_in_group(walk->user, node->gid))
            node->mode &= ~MODE_SET_GROUP; /* a program of a group is made by one who is in it */
    }
}

int64_t tree_change(struct node *node, const struct file_user *user, const struct node_change *asked)
{
    uint64_t now = node_now();
    struct node_change own = *asked, *change = &own;
    int error;

    spin_lock(&node->lock);
    error = permission_change(user, node->mode, node->uid, node->gid, change);
    if (error != 0) {
        spin_unlock(&node->lock);
        return error;
    }
    if ((change->what & CHANGE_MODE) != 0)
        node->mode = (node->mode & FILE_TYPE_MASK) | (change->mode & 07777);
    if ((change->what & CHANGE_UID) != 0)
        node->uid = change->uid;
    if ((change->what & CHANGE_GID) != 0)
        node->gid = change->gid;
    if ((change->what & CHANGE_OWNER) != 0) /* who gets a program does not become its owner by it */
        node->mode &= ~permission_lost(node->mode);
    if ((change->what & CHANGE_ATIME) != 0)
        node->atime = (change->what & CHANGE_ATIME_NOW) != 0 ? now : change->atime;
    if ((change->what & CHANGE_MTIME) != 0)
        node->mtime = (change->what & CHANGE_MTIME_NOW) != 0 ? now : change->mtime;
    node->ctime = now;
    spin_unlock(&node->lock);
    return 0;
}

/* The name in OUT, which begins at AT and ends the buffer, is from the tree's root on, and who asks has another. */
static int64_t put_unreachable(char *out, size_t size, size_t at)
{
    static const char prefix[] = "(unreachable)";
    size_t length;

    if (at == size) /* the root itself */
        out[at -= 2] = '/';
    length = size - 1 - at;
    if (length + sizeof(prefix) > size)
        return -ENAMETOOLONG;
    memmove(out + sizeof(prefix) - 1, out + at, length);
    memcpy(out, prefix, sizeof(prefix) - 1);
    out[sizeof(prefix) - 1 + length] = '\0';
    return (int64_t)(sizeof(prefix) - 1 + length);
}

int64_t tree_name_locked(const struct node *node, const struct node *root, char *out, size_t size)
{
    size_t at = size, length;

    if (root == NULL)
        root = tree_root;
    if (node == root) {
        if (size < 2)
            return -ENAMETOOLONG;
        memcpy(out, "/", 2);
        return 1;
    }
    while (node != root) {
        const struct entry *entry;

        if (node == tree_root) /* ROOT is not above it */
            return put_unreachable(out, size, at);
        if (tree_of(node) == NULL || list_empty(&tree_of(node)->names))
            return -ENOENT;
        entry = container_of(tree_of(node)->names.next, struct entry, of_node);
        if (at == size)
            at--; /* the NUL */
        if (at < entry->length + 1u)
            return -ENAMETOOLONG;
        at -= entry->length;
        memcpy(out + at, entry->name, entry->length);
        out[--at] = '/';
        node = entry->folder;
    }
    length = size - 1 - at;
    memmove(out, out + at, length);
    out[length] = '\0';
    return (int64_t)length;
}

int64_t tree_name(struct node *node, const struct node *root, char *out, size_t size)
{
    int64_t length;

    spin_lock(&tree_lock);
    length = tree_name_locked(node, root, out, size);
    spin_unlock(&tree_lock);
    return length;
}

void tree_statfs(struct file_space *space)
{
    struct frame_stats frames;

    frame_stats(&frames);
    *space = (struct file_space){.type = TMPFS_MAGIC,
                                 .block = PAGE_SIZE,
                                 .blocks = frames.total,
                                 .free = frames.free,
                                 .files = BACKING_OBJECTS - 1,
                                 .files_free = BACKING_OBJECTS - 1 - node_count()};
}

/* --- operations --- */

/* The directory, or other node, where a name begins that is not absolute. *FILE is pinned meanwhile. 0, or a negative
 * errno; 1: it is a directory of /proc, which was opened on this kernel. */
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

/* PATH begins in a directory of /proc: the asker goes on. */
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

/* A path that is empty, where that is allowed, is what it would begin at. */
static int begin(struct walk *walk, const struct walker *walker, struct node *start, const char *path,
                 const struct msg_file_name *asked)
{
    if (*path == '\0' && (asked->flags & NAME_EMPTY) != 0 && asked->operation != NAME_OPEN) {
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

/* To the last part of the name, which has to exist. Of a name that is empty the node is there. */
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
    case NAME_STAT:
        tree_facts(walk->node, &result->facts);
        result->answer.facts = 1;
        return 0;
    case NAME_CHANGE:
        if ((asked->change.what & CHANGE_MODE) != 0 && tree_is(walk->node, FILE_LINK))
            return -EOPNOTSUPP;
        error = tree_change(walk->node, walk->user, &asked->change);
        if (error == 0)
            inotify_locked(walk->node, WATCH_ATTRIB);
        return error;
    case NAME_READ_LINK:
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
    case NAME_OPEN:
        return tree_open(walk, asked, result, gone);
    case NAME_CREATE:
        return tree_create(walk, asked, text);
    case NAME_UNLINK:
    case NAME_REMOVE_DIRECTORY:
        return tree_unlink(walk, asked->operation == NAME_REMOVE_DIRECTORY, gone);
    case NAME_WHERE:
        return walk_to_parent(walk);
    default:
        return with_node(walk, asked, result);
    }
}

/* What FIRST or SECOND leads to is elsewhere: there the asker goes on. */
static int64_t tell_away(struct walk *walk, uint32_t which, struct tree_result *result)
{
    result->text = walk->text;
    result->share = walk->share;
    result->waits = walk->share != NULL;
    walk->text = NULL;
    result->answer.what = which;
    result->answer.links = walk->links;
    return 0;
}

/* O_TRUNC of what was opened just now. */
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
        error = tell_away(&walk, NAMED_ON, result);
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
        error = tell_away(&from, NAMED_ON, result);
    } else if (error == 0) {
        error = walk_to_parent(&to);
        if (error == WALK_AWAY)
            error = tell_away(&to, NAMED_SECOND_ON, result);
        else if (error == 0)
            error = asked->operation == NAME_LINK ? tree_link(&from, &to, (asked->flags & NAME_NO_FOLLOW) == 0)
                                                  : tree_rename(&from, &to, asked->flags, &gone);
        if (error == WALK_AWAY) /* what is linked or renamed is a mount, or a link leads there */
            error = asked->operation == NAME_LINK ? -EXDEV : -EBUSY;
    }
    spin_unlock(&tree_lock);
    walk_end(&from);
    walk_end(&to);
    if (gone != NULL)
        node_put(gone);
    inotify_flush();
    return error;
}

/* A mapped object: what it is, and its name, "" if it has none. */
static int64_t find_mapped(uint64_t object, struct tree_result *result)
{
    struct node *node = node_find(object);

    if (node == NULL)
        return -ENOENT;
    result->text = heap_alloc_unset(PATH_MAX);
    if (result->text != NULL) {
        if (node->segment != 0) {
            shm_name(node, result->text, PATH_MAX);
            tree_facts(node, &result->facts);
            result->facts.inode = node->segment - 1;
        } else if (tree_of(node) != NULL || !share_mapped(node, result->text, &result->facts)) {
            if (tree_of(node) == NULL || tree_name(node, NULL, result->text, PATH_MAX) < 0)
                memcpy(result->text, "", 1);
            tree_facts(node, &result->facts);
        }
        result->answer.facts = 1;
    }
    node_put(node);
    return result->text != NULL ? 0 : -ENOMEM;
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

int64_t tree_do(const struct msg_file_name *asked, const struct file_user *user, const char *first, const char *second,
                struct tree_result *result)
{
    struct walker walker = {.user = user};
    bool two = asked->operation == NAME_LINK || asked->operation == NAME_RENAME;
    struct node *starts[2];
    struct file *files[3] = {NULL, NULL, NULL};
    int64_t error;

    *result = (struct tree_result){.text = NULL};
    if (asked->operation == NAME_MAPPED) {
        result->answer.value = find_mapped(asked->number, result);
        return result->answer.value;
    }
    if (share_begins(asked->start, first) || (two && share_begins(asked->second, second))) {
        result->waits = true;
        return 0;
    }
    error = tree_find_root(user, &files[2], &walker.root);
    if (error != 0) {
        /* closed: asked again */
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

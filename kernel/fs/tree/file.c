/* Open directories, and the tree's part of operations on all open files with a node. See the header. A directory's
 * offset is the cookie of the last entry listed, so a listing continues behind that entry whatever was added or removed
 * meanwhile. */
#include "kernel/fs/tree/file.h"

#include "kernel/abi/errno.h"
#include "kernel/file/operation.h"
#include "kernel/fs/node/attribute.h"
#include "kernel/fs/node/notify.h"
#include "kernel/fs/text/dirent.h"
#include "kernel/fs/tree/internal.h"
#include "kernel/lib/string.h"
#include "mm/area/backing.h"
#include "mm/frame/frame.h"

#define DOT 1u /* cookies of "." and ".." */
#define DOT_DOT 2u

static bool put_name(uint8_t *to, size_t room, size_t *done, const char *name, size_t length, const struct node *node,
                     uint64_t cookie)
{
    size_t size = dirent_write(NULL, name, length, 0, 0, 0);

    if (size > room - *done)
        return false;
    *done += dirent_write(to + *done, name, length, node->number, node->mode, cookie);
    return true;
}

/* Writes the entries behind *COOKIE. *MORE: some did not fit. */
static size_t list_locked(const struct node *directory, uint8_t *to, size_t room, uint64_t *cookie, bool *more)
{
    struct tree_part *part = tree_of(directory);
    struct entry *entry;
    size_t done = 0;

    *more = true;
    if (*cookie < DOT) {
        if (!put_name(to, room, &done, ".", 1, directory, DOT))
            return done;
        *cookie = DOT;
    }
    if (*cookie < DOT_DOT) {
        if (!put_name(to, room, &done, "..", 2, part->parent, DOT_DOT))
            return done;
        *cookie = DOT_DOT;
    }
    for (entry = directory_next(&part->entries, *cookie); entry != NULL;
         entry = directory_next(&part->entries, *cookie)) {
        if (!put_name(to, room, &done, entry->name, entry->length, entry->node, entry->by_cookie.key))
            return done;
        *cookie = entry->by_cookie.key;
    }
    *more = false;
    return done;
}

static int64_t list(struct file *file, void *data, size_t room)
{
    struct node *directory = file->state;
    size_t done = 0;
    bool more = false, there;

    spin_lock(&tree_lock);
    there = directory->links != 0;
    spin_lock(&file->lock);
    if (there)
        done = list_locked(directory, data, room, &file->offset, &more);
    spin_unlock(&file->lock);
    if (there) {
        spin_lock(&directory->lock);
        node_accessed_locked(directory);
        spin_unlock(&directory->lock);
    }
    spin_unlock(&tree_lock);
    if (there && done > 0)
        inotify_node(file->state, WATCH_ACCESS);
    if (!there)
        return -ENOENT; /* the directory was removed */
    return done == 0 && more ? -EINVAL : (int64_t)done;
}

static void release(struct file *file)
{
    if ((file->flags & OPEN_PATH) == 0)
        inotify_node(file->state, WATCH_CLOSE_NOWRITE);
}

static void forget(struct file *file)
{
    node_put(file->state);
}

static const struct file_kind directory_kind = {
    .entries = list, .release = release, .forget = forget, .directory = true, .of_node = true};
static const struct file_kind path_kind = {.forget = forget, .of_node = true};

struct file *tree_file_open(struct node *node, uint32_t flags)
{
    struct file_facts facts;
    struct file *file;

    tree_facts(node, &facts);
    file = file_create(tree_is(node, FILE_DIRECTORY) ? &directory_kind : &path_kind, &facts, flags, node, NULL);
    if (file != NULL)
        node_hold(node);
    return file;
}

/* --- open files of nodes (kernel/file/operation.h) --- */

static int64_t change(struct node *node, const struct file_user *user, const struct node_change *asked)
{
    int64_t error = tree_change(node, user, asked);

    if (error == 0)
        inotify_node(node, WATCH_ATTRIB);
    return error;
}

static void space_of_tree(struct file_space *space)
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

void tree_files_init(void)
{
    node_hooks = (struct node_hooks){
        .facts = tree_facts, .change = change, .name = tree_name, .space = space_of_tree, .attribute = attribute_do};
}

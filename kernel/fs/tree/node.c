/* Nodes of the tree: state of their types, entries, facts and names. See kernel/fs/tree/internal.h. */
#include "kernel/abi/errno.h"
#include "kernel/fs/tree/fifo.h"
#include "kernel/fs/tree/internal.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

#define DIRECTORY_SIZE 40u /* st_size of an empty directory, as in Linux's tmpfs; each entry adds ENTRY_SIZE */
#define ENTRY_SIZE 20u

/* Frees the tree's part of a node whose last reference is gone. */
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
        node->links = 1; /* for "." */
        node->content.size = DIRECTORY_SIZE;
    }
    *out = node;
    return 0;
}

/* Sets the owner and group of NODE, which was just made in DIRECTORY. -EDQUOT, -ENOSPC. */
static int own(const struct walk *walk, const struct node *directory, struct node *node)
{
    size_t cost = sizeof(struct tree_part) + (tree_is(node, FILE_LINK) ? node->content.size + 1 : 0);
    int error = node_own(node, tree_user(walk), (uint32_t)cost);

    if (error != 0)
        return error == -ENOMEM ? -ENOSPC : error;
    if (walk->user != NULL)
        node->gid = walk->user->gid;
    if ((directory->mode & MODE_SET_GROUP) != 0) { /* set-group-ID directory: nodes made in it get its group */
        node->gid = directory->gid;
        if (tree_is(node, FILE_DIRECTORY))
            node->mode |= MODE_SET_GROUP;
        else if ((node->mode & MODE_GROUP_EXECUTE) != 0 && !permission_root(walk->user) &&
                 !permission_in_group(walk->user, node->gid))
            node->mode &= ~MODE_SET_GROUP; /* only a member of the group may make a set-group-ID program of it */
    }
    return 0;
}

int tree_make_in(const struct walk *walk, const struct node *directory, uint32_t mode, uint64_t device,
                 const char *text, size_t size, struct node **out)
{
    int error = tree_make(mode, device, text, size, out);

    if (error != 0)
        return error;
    error = own(walk, directory, *out);
    if (error != 0)
        node_put(*out);
    return error;
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

static void change_directory(struct node *directory, int64_t size, int32_t links)
{
    spin_lock(&directory->lock);
    directory->content.size += (uint64_t)size;
    directory->links += (uint32_t)links;
    spin_unlock(&directory->lock);
    tree_touch(directory, true);
}

void tree_put(struct node *directory, struct entry *entry, struct node *node)
{
    bool is_directory = tree_is(node, FILE_DIRECTORY);

    assert(spin_held(&tree_lock));
    entry->directory = directory;
    entry->node = node;
    node_hold(node);
    node->links++;
    list_append(&tree_of(node)->names, &entry->of_node);
    directory_add(&tree_of(directory)->entries, entry);
    change_directory(directory, ENTRY_SIZE, is_directory ? 1 : 0);
    if (is_directory && tree_of(node)->parent != directory) {
        struct node *old = tree_of(node)->parent;

        node_hold(directory);
        tree_of(node)->parent = directory;
        if (old != NULL)
            node_put(old); /* not the last reference: the caller's walk went through it */
    }
}

void tree_take(struct entry *entry)
{
    struct node *node = entry->node, *directory = entry->directory;

    assert(spin_held(&tree_lock));
    directory_remove(&tree_of(directory)->entries, entry);
    list_remove(&entry->of_node);
    entry->directory = NULL;
    entry->node = NULL;
    node->links--;
    change_directory(directory, -(int64_t)ENTRY_SIZE, tree_is(node, FILE_DIRECTORY) ? -1 : 0);
}

void tree_facts(struct node *node, struct file_facts *facts)
{
    node_facts(node, facts);
    facts->device = TREE_DEVICE;
}

int64_t tree_change(struct node *node, const struct file_user *user, const struct node_change *asked)
{
    uint64_t now = node_now();
    struct node_change own = *asked, *change = &own;
    int error;

    spin_lock(&node->lock);
    error = permission_change(user, node->mode, node->uid, node->gid, change);
    if (error == 0 && (change->what & CHANGE_UID) != 0)
        error = node_give_locked(node, change->uid);
    if (error != 0) {
        spin_unlock(&node->lock);
        return error;
    }
    if ((change->what & CHANGE_MODE) != 0)
        node->mode = (node->mode & FILE_TYPE_MASK) | (change->mode & 07777);
    if ((change->what & CHANGE_GID) != 0)
        node->gid = change->gid;
    if ((change->what & CHANGE_OWNER) != 0) /* a change of owner clears set-user-ID and set-group-ID */
        node->mode &= ~permission_lost(node->mode);
    if ((change->what & CHANGE_ATIME) != 0)
        node->atime = (change->what & CHANGE_ATIME_NOW) != 0 ? now : change->atime;
    if ((change->what & CHANGE_MTIME) != 0)
        node->mtime = (change->what & CHANGE_MTIME_NOW) != 0 ? now : change->mtime;
    node->ctime = now;
    spin_unlock(&node->lock);
    return 0;
}

/* OUT has, from AT to the end of the buffer, a name from the tree's root, and the caller's root is not above the node.
 */
static int64_t put_unreachable(char *out, size_t size, size_t at)
{
    static const char prefix[] = "(unreachable)";
    size_t length;

    if (at == size) /* the node is the tree's root */
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

        if (node == tree_root) /* ROOT is not above NODE */
            return put_unreachable(out, size, at);
        if (tree_of(node) == NULL || list_empty(&tree_of(node)->names))
            return -ENOENT;
        entry = container_of(tree_of(node)->names.next, struct entry, of_node);
        if (at == size)
            at--; /* for the NUL */
        if (at < entry->length + 1u)
            return -ENAMETOOLONG;
        at -= entry->length;
        memcpy(out + at, entry->name, entry->length);
        out[--at] = '/';
        node = entry->directory;
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

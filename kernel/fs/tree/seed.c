/* The initial content of the tree: the boot image, and the directories and devices that every system has. See tree.h.
 * The lock is taken although nothing else runs yet. */
#include "kernel/abi/errno.h"
#include "kernel/fs/device/device.h"
#include "kernel/fs/node/content.h"
#include "kernel/fs/tree/internal.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"

void tree_init(void)
{
    int error = tree_make(FILE_DIRECTORY | 0755, 0, NULL, 0, &tree_root);

    if (error != 0)
        panic("fs: no memory for the root (error %d)", error);
    tree_of(tree_root)->parent = tree_root;
    tree_root->links = 2;
}

static int add_locked(struct node *directory, const char *name, size_t length, const struct tree_seed *seed,
                      struct node **out)
{
    uint32_t type = seed->mode & FILE_TYPE_MASK;
    struct entry *entry;
    int error = entry_new(name, length, 0, &entry);

    if (error == 0)
        error = tree_make(seed->mode, seed->rdev, seed->content, seed->size, out);
    if (error != 0) {
        entry_free(entry);
        return error;
    }
    if (type == FILE_REGULAR && seed->size > 0)
        content_init(&(*out)->content, seed->content, seed->size);
    (*out)->uid = (*out)->content.uid = seed->uid;
    (*out)->gid = seed->gid;
    tree_put(directory, entry, *out);
    node_put(*out); /* the entry holds a reference */
    if (seed->mtime != 0)
        (*out)->atime = (*out)->mtime = (*out)->ctime = seed->mtime;
    return 0;
}

static int enter_locked(struct node **at, const char *name, size_t length)
{
    static const struct tree_seed directory = {.mode = FILE_DIRECTORY | 0755};
    struct entry *entry = directory_find(&tree_of(*at)->entries, name, length);

    if (entry == NULL)
        return add_locked(*at, name, length, &directory, at);
    if (!tree_is(entry->node, FILE_DIRECTORY))
        return -ENOTDIR;
    if (tree_of(entry->node)->mount)
        return -EBUSY; /* names made there would be hidden by the mount */
    *at = entry->node;
    return 0;
}

/* Finds the directory of NAME's last part, which is *LAST (*LENGTH bytes; 0: NAME is the root), making missing
 * directories on the way. */
static int find_locked(const char *name, struct node **at, const char **last, size_t *length)
{
    int error = 0;

    *at = tree_root;
    *length = 0;
    while (error == 0) {
        size_t part = 0;

        while (*name == '/')
            name++;
        while (name[part] != '\0' && name[part] != '/')
            part++;
        if (part == 0 || (part == 1 && name[0] == '.' && name[1] == '\0'))
            return 0;
        if (part > NAME_MAX || (part == 2 && name[0] == '.' && name[1] == '.'))
            return -EINVAL;
        if (*length > 0)
            error = enter_locked(at, *last, *length);
        *last = name;
        *length = part;
        name += part;
    }
    return error;
}

static int seed_locked(const struct tree_seed *seed, struct node **gone)
{
    struct node *at, *node;
    struct entry *old;
    const char *name;
    size_t length;
    int error = find_locked(seed->name, &at, &name, &length);

    if (error != 0)
        return error;
    old = length > 0 ? directory_find(&tree_of(at)->entries, name, length) : NULL;
    node = length == 0 ? tree_root : old != NULL ? old->node : NULL;
    if (node != NULL && tree_is(node, FILE_DIRECTORY)) {
        if ((seed->mode & FILE_TYPE_MASK) != FILE_DIRECTORY)
            return -EEXIST;
        node->mode = seed->mode;
        return 0;
    }
    if (old != NULL) {
        tree_take(old);
        entry_free(old);
        *gone = node;
    }
    return add_locked(at, name, length, seed, &node);
}

int tree_seed(const struct tree_seed *seed)
{
    struct node *gone = NULL;
    int error;

    spin_lock(&tree_lock);
    error = seed_locked(seed, &gone);
    spin_unlock(&tree_lock);
    if (gone != NULL)
        node_put(gone);
    return error;
}

void tree_remove_device(const char *name, uint64_t number)
{
    struct node *at, *gone = NULL;
    struct entry *entry;
    const char *last;
    size_t length;

    spin_lock(&tree_lock);
    entry = find_locked(name, &at, &last, &length) == 0 ? directory_find(&tree_of(at)->entries, last, length) : NULL;
    if (entry != NULL && tree_is(entry->node, FILE_CHARACTER) && entry->node->device == number) {
        gone = entry->node;
        tree_take(entry);
        entry_free(entry);
    }
    spin_unlock(&tree_lock);
    if (gone != NULL)
        node_put(gone);
}

/* Makes a node as SEED says, unless the name exists. */
static int seed_missing(const struct tree_seed *seed)
{
    struct node *at;
    const char *name;
    size_t length;
    int error;

    spin_lock(&tree_lock);
    error = find_locked(seed->name, &at, &name, &length);
    if (error == 0 && length > 0 && directory_find(&tree_of(at)->entries, name, length) == NULL)
        error = add_locked(at, name, length, seed, &at);
    spin_unlock(&tree_lock);
    return error;
}

/* Marks NAME as a mount whose content the calling kernel generates (kernel/fs/proc/proc.h). */
static void mount(const char *name)
{
    struct entry *entry;

    spin_lock(&tree_lock);
    entry = directory_find(&tree_of(tree_root)->entries, name, strlen(name));
    if (entry != NULL && tree_is(entry->node, FILE_DIRECTORY))
        tree_of(entry->node)->mount = true;
    spin_unlock(&tree_lock);
}

static int mount_locked(const char *name, struct host_share *share, struct node **mount)
{
    static const struct tree_seed directory = {.mode = FILE_DIRECTORY | 0755};
    struct entry *entry;
    struct node *at;
    const char *last;
    size_t length;
    int error = find_locked(name, &at, &last, &length);

    if (error == 0 && length == 0)
        error = -EBUSY;
    if (error != 0)
        return error;
    entry = directory_find(&tree_of(at)->entries, last, length);
    if (entry != NULL)
        *mount = entry->node;
    else
        error = add_locked(at, last, length, &directory, mount);
    if (error == 0 && !tree_is(*mount, FILE_DIRECTORY))
        error = -ENOTDIR;
    if (error == 0 && tree_of(*mount)->mount)
        error = -EBUSY;
    if (error != 0)
        return error;
    tree_of(*mount)->mount = true;
    tree_of(*mount)->share = share;
    tree_has_shares = true;
    return 0;
}

int tree_mount(const char *name, struct host_share *share, struct node **mount)
{
    int error;

    spin_lock(&tree_lock);
    error = mount_locked(name, share, mount);
    spin_unlock(&tree_lock);
    return error;
}

void tree_seed_rest(void)
{
    static const struct tree_seed rest[] = {
        {.name = "dev", .mode = FILE_DIRECTORY | 0755},
        {.name = "dev/pts", .mode = FILE_DIRECTORY | 0755},
        {.name = "dev/shm", .mode = FILE_DIRECTORY | 01777},
        {.name = "proc", .mode = FILE_DIRECTORY | 0555},
        {.name = "sys", .mode = FILE_DIRECTORY | 0555},
        {.name = "tmp", .mode = FILE_DIRECTORY | 01777},
        {.name = "dev/fd", .mode = FILE_LINK | 0777, .content = "/proc/self/fd", .size = 13},
        {.name = "dev/stdin", .mode = FILE_LINK | 0777, .content = "/proc/self/fd/0", .size = 15},
        {.name = "dev/stdout", .mode = FILE_LINK | 0777, .content = "/proc/self/fd/1", .size = 15},
        {.name = "dev/stderr", .mode = FILE_LINK | 0777, .content = "/proc/self/fd/2", .size = 15},
    };
    char text[NAME_MAX];
    struct tree_seed device = {.name = text};
    const char *name;
    int error = 0;

    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]) && error == 0; i++)
        error = seed_missing(&rest[i]);
    for (uint32_t i = 0; error == 0 && (name = device_name(i, &device.rdev)) != NULL; i++) {
        snprintf(text, sizeof(text), "dev/%s", name);
        device.mode = FILE_CHARACTER | (device_terminals.has(device.rdev) ? 0620 : 0666);
        error = seed_missing(&device);
    }
    mount("proc");
    mount("sys");
    if (error != 0)
        panic("fs: what every tree has could not be made (error %d)", error);
}

/* Loading programs. See the header. */
#include "kernel/fs/load.h"

#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/fs/initramfs.h"
#include "kernel/fs/name.h"
#include "kernel/fs/path.h"
#include "kernel/fs/proc.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"

#define KEPT_MAX (8u << 20) /* bytes of files that nobody uses just now */
#define FILE_MAX (4u << 20)

struct kept_file {
    struct list node; /* [k] lock: in order of use, the last one first */
    uint32_t users;   /* [k] lock */
    char *name;       /* [i] heap */
    uint8_t *data;    /* [i] heap */
    size_t size;      /* [i] */
};

static struct spinlock lock;
static struct list kept_files; /* [k] lock */
static size_t kept_bytes;      /* [k] lock: of all of them */

void load_init(void)
{
    list_init(&kept_files);
}

static void kept_free(struct kept_file *file)
{
    if (file->name != NULL)
        heap_free(file->name, strlen(file->name) + 1);
    if (file->data != NULL)
        heap_free(file->data, file->size);
    heap_free(file, sizeof(*file));
}

/* Takes the least recently used files out that nobody uses until the rest is within the bound; to be freed by the
 * caller. */
static void evict_locked(struct list *out)
{
    struct list *node = kept_files.previous;

    while (kept_bytes > KEPT_MAX && node != &kept_files) {
        struct kept_file *file = container_of(node, struct kept_file, node);

        node = node->previous;
        if (file->users != 0)
            continue;
        list_remove(&file->node);
        kept_bytes -= file->size;
        list_append(out, &file->node);
    }
}

static void free_all(struct list *files)
{
    while (!list_empty(files)) {
        struct kept_file *file = container_of(files->next, struct kept_file, node);

        list_remove(&file->node);
        kept_free(file);
    }
}

static struct kept_file *find_locked(const char *name)
{
    list_for_each(node, &kept_files) {
        struct kept_file *file = container_of(node, struct kept_file, node);

        if (strcmp(file->name, name) == 0) {
            file->users++;
            list_remove(&file->node);
            list_prepend(&kept_files, &file->node);
            return file;
        }
    }
    return NULL;
}

/* Puts FILE, used once, among those kept; or frees it and returns another of its name that has come meanwhile. */
static struct kept_file *keep(struct kept_file *file)
{
    struct kept_file *other;
    struct list evicted;

    list_init(&evicted);
    spin_lock(&lock);
    other = find_locked(file->name);
    if (other == NULL) {
        file->users = 1;
        list_prepend(&kept_files, &file->node);
        kept_bytes += file->size;
        evict_locked(&evicted);
    }
    spin_unlock(&lock);
    free_all(&evicted);
    if (other == NULL)
        return file;
    kept_free(file);
    return other;
}

/* May this file be run? */
static int check(int64_t error, const struct file_facts *facts)
{
    if (error == -EISDIR)
        return -EACCES;
    if (error < 0)
        return (int)error;
    if ((facts->mode & FILE_TYPE_MASK) != FILE_REGULAR || (facts->mode & 0111) == 0)
        return -EACCES;
    return 0;
}

static int fetch(const char *name, struct kept_file *file)
{
    struct file_facts facts = {.size = 0};
    size_t name_size = strlen(name) + 1;
    uint64_t done = 0;
    int error = check(name_stat(name, false, &facts), &facts);

    if (error != 0)
        return error;
    if (facts.size > FILE_MAX)
        return -ENOMEM;
    file->name = heap_alloc(name_size);
    if (file->name == NULL)
        return -ENOMEM;
    memcpy(file->name, name, name_size);
    file->size = facts.size > 0 ? facts.size : 1;
    file->data = heap_alloc(file->size);
    if (file->data == NULL)
        return -ENOMEM;
    while (done < facts.size) {
        int64_t count = name_fetch(name, done, file->data + done, facts.size - done, &facts);

        if (count <= 0)
            return count < 0 ? check(count, &facts) : -EIO;
        done += (uint64_t)count;
    }
    file->size = facts.size > 0 ? facts.size : 1;
    return 0;
}

static int load_name(const char *name, const void **data, size_t *size, void **held)
{
    struct kept_file *file;
    struct cpio_entry entry;
    int error;

    *held = NULL;
    if (instance.kernel == 0) {
        struct file_facts facts = {.mode = 0};
        int64_t found = initramfs_find(name, &entry);

        if (found == 0)
            found = initramfs_stat(name, &facts);
        else if (found == -ENOENT && name_stat(name, false, &facts) == 0)
            found = -EISDIR; /* something of /dev or /proc */
        *data = entry.data;
        *size = entry.size;
        return check(found, &facts);
    }
    spin_lock(&lock);
    file = find_locked(name);
    spin_unlock(&lock);
    if (file == NULL) {
        file = heap_alloc(sizeof(*file));
        if (file == NULL)
            return -ENOMEM;
        list_init(&file->node);
        error = fetch(name, file);
        if (error != 0) {
            kept_free(file);
            return error;
        }
        file = keep(file);
    }
    *data = file->data;
    *size = file->size;
    *held = file;
    return 0;
}

/* A link of /proc that leads to a name, as /proc/self/exe, becomes that name. */
static int64_t follow(char *name, bool *folder)
{
    char *target = proc_has(name) ? heap_alloc(PATH_MAX) : NULL;
    int64_t length = 0;

    if (!proc_has(name))
        return 0;
    if (target == NULL)
        return -ENOMEM;
    length = proc_link(name, target, PATH_MAX - 1);
    if (length > 0 && target[0] == '/') {
        target[length] = '\0';
        length = path_normalize(target, name, PATH_MAX, folder);
    } else {
        length = 0; /* it is what it is, and cannot be run */
    }
    heap_free(target, PATH_MAX);
    return length;
}

int file_load(struct group *group, const char *path, const void **data, size_t *size, void **held)
{
    char *name = heap_alloc(PATH_MAX);
    bool folder = false;
    int64_t error;

    if (name == NULL)
        return -ENOMEM;
    error = name_absolute(group, NAME_FOLDER, path, name, &folder);
    if (error == 0)
        error = follow(name, &folder);
    if (error == 0)
        error = load_name(name, data, size, held);
    if (error == 0 && folder) {
        file_unload(*held);
        error = -ENOTDIR;
    }
    heap_free(name, PATH_MAX);
    return (int)error;
}

void file_unload(void *held)
{
    struct kept_file *file = held;
    struct list evicted;

    if (file == NULL)
        return;
    list_init(&evicted);
    spin_lock(&lock);
    file->users--;
    evict_locked(&evicted);
    spin_unlock(&lock);
    free_all(&evicted);
}

/* Files and descriptors. See the header. */
#include "kernel/fs/file.h"

#include "kernel/abi/errno.h"
#include "kernel/dev/serial.h"
#include "kernel/fs/initramfs.h"
#include "kernel/fs/path.h"
#include "kernel/fs/proc.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"
#include "tasks/group.h"

#define FIRST_SLOTS 64u
#define SLOTS_MAX 1024u       /* descriptors of one process */
#define TERMINAL_DEVICE 0x440 /* major 4, minor 64: the first serial line */

struct file_table {
    struct spinlock lock;
    uint32_t size;       /* [k] slots allocated */
    struct file **slots; /* [k] NULL: free */
};

static struct spinlock files_lock; /* reference counts of all files */

static int64_t memory_read(struct file *file, void *data, size_t size, uint64_t offset, const struct group *group)
{
    (void)group;
    if (offset >= file->facts.size)
        return 0;
    if (size > file->facts.size - offset)
        size = file->facts.size - offset;
    memcpy(data, (const uint8_t *)file->data + offset, size);
    return (int64_t)size;
}

static int64_t terminal_read(struct file *file, void *data, size_t size, uint64_t offset, const struct group *group)
{
    (void)file;
    (void)offset;
    return serial_read(data, size, group);
}

static int64_t terminal_write(struct file *file, const void *data, size_t size)
{
    (void)file;
    serial_write(data, size);
    return (int64_t)size;
}

const struct file_kind file_memory_kind = {.read = memory_read, .seekable = true};
static const struct file_kind terminal_kind = {.read = terminal_read, .write = terminal_write, .terminal = true};
static const struct file_kind directory_kind = {.seekable = true};

static int fork_files(struct group *parent, void **out)
{
    *out = file_table_create(parent->files);
    return *out == NULL ? -ENOMEM : 0;
}

static void exec_files(void *files)
{
    (void)files;
}

void file_init(void)
{
    group_hooks.fork_files = fork_files;
    group_hooks.exec_files = exec_files;
    group_hooks.release_files = file_table_free;
    group_hooks.ending = serial_wake_readers;
}

struct file *file_create(const struct file_kind *kind, const struct file_facts *facts, const void *data, size_t owned)
{
    struct file *file = heap_alloc(sizeof(*file));

    if (file != NULL)
        *file = (struct file){.kind = kind, .facts = *facts, .references = 1, .data = data, .owned = owned};
    return file;
}

static struct file *file_get(struct file *file)
{
    spin_lock(&files_lock);
    file->references++;
    spin_unlock(&files_lock);
    return file;
}

static void file_put(struct file *file)
{
    bool last;

    spin_lock(&files_lock);
    last = --file->references == 0;
    spin_unlock(&files_lock);
    if (!last)
        return;
    if (file->owned != 0)
        heap_free((void *)(uintptr_t)file->data, file->owned);
    heap_free(file, sizeof(*file));
}

static const struct file_facts terminal_facts = {.inode = 1, .device = TERMINAL_DEVICE, .mode = FILE_CHARACTER | 0620};

static struct file *terminal_create(void)
{
    struct file *file = file_create(&terminal_kind, &terminal_facts, NULL, 0);

    if (file != NULL)
        file->flags = 2;
    return file;
}

struct file_table *file_table_create(struct file_table *from)
{
    struct file_table *table = heap_alloc(sizeof(*table));
    struct file *terminal = NULL;

    if (table == NULL)
        return NULL;
    table->size = FIRST_SLOTS;
    table->slots = heap_alloc(table->size * sizeof(struct file *));
    if (from == NULL)
        terminal = terminal_create();
    if (table->slots == NULL || (from == NULL && terminal == NULL)) {
        file_table_free(table);
        return NULL;
    }
    for (uint32_t fd = 0; fd < 3; fd++) {
        if (from == NULL) {
            table->slots[fd] = fd == 0 ? terminal : file_get(terminal);
            continue;
        }
        spin_lock(&from->lock);
        if (from->slots[fd] != NULL)
            table->slots[fd] = file_get(from->slots[fd]);
        spin_unlock(&from->lock);
    }
    return table;
}

void file_table_free(void *files)
{
    struct file_table *table = files;

    for (uint32_t fd = 0; table->slots != NULL && fd < table->size; fd++) {
        if (table->slots[fd] != NULL)
            file_put(table->slots[fd]);
    }
    if (table->slots != NULL)
        heap_free(table->slots, table->size * sizeof(struct file *));
    heap_free(table, sizeof(*table));
}

/* The file of FD with a reference, or NULL. */
static struct file *table_find(struct file_table *table, int64_t fd)
{
    struct file *file = NULL;

    spin_lock(&table->lock);
    if (fd >= 0 && fd < (int64_t)table->size && table->slots[fd] != NULL)
        file = file_get(table->slots[fd]);
    spin_unlock(&table->lock);
    return file;
}

static bool table_grow_locked(struct file_table *table)
{
    struct file **slots;

    if (table->size >= SLOTS_MAX)
        return false;
    slots = heap_alloc(2 * table->size * sizeof(*slots));
    if (slots == NULL)
        return false;
    memcpy(slots, table->slots, table->size * sizeof(*slots));
    heap_free(table->slots, table->size * sizeof(*slots));
    table->slots = slots;
    table->size *= 2;
    return true;
}

/* Puts FILE, whose reference goes to the table, at the lowest free descriptor. */
static int64_t table_add(struct file_table *table, struct file *file)
{
    int64_t fd = 0;

    spin_lock(&table->lock);
    while (fd < (int64_t)table->size && table->slots[fd] != NULL)
        fd++;
    if (fd == (int64_t)table->size && !table_grow_locked(table))
        fd = -EMFILE;
    else
        table->slots[fd] = file;
    spin_unlock(&table->lock);
    if (fd < 0)
        file_put(file);
    return fd;
}

static bool is_terminal_name(const char *name)
{
    return strcmp(name, "dev/console") == 0 || strcmp(name, "dev/tty") == 0 || strcmp(name, "dev/ttyS0") == 0;
}

static int64_t stat_name(const char *name, struct file_facts *facts)
{
    int64_t error;

    if (is_terminal_name(name)) {
        *facts = terminal_facts;
        return 0;
    }
    error = proc_stat(name, facts);
    return error == -ENOENT ? initramfs_stat(name, facts) : error;
}

/* Opens what exists under NAME to read; a directory as a file that only can be closed. */
static int64_t open_name(const char *name, bool folder, struct file **out)
{
    struct file_facts facts;
    int64_t error;

    if (is_terminal_name(name)) {
        *out = terminal_create();
        return *out == NULL ? -ENOMEM : 0;
    }
    error = proc_open(name, out);
    if (error == -ENOENT)
        error = initramfs_open(name, out);
    if (error == 0 && folder) {
        file_put(*out);
        return -ENOTDIR;
    }
    if (error == -EISDIR) {
        error = stat_name(name, &facts);
        if (error == 0)
            *out = file_create(&directory_kind, &facts, NULL, 0);
        if (error == 0 && *out == NULL)
            error = -ENOMEM;
    }
    return error;
}

/* What FLAGS ask for that FILE, which exists, does not give. */
static int64_t check_flags(const struct file *file, uint32_t flags)
{
    bool writing = (flags & OPEN_ACCESS) != 0 || (flags & OPEN_TRUNCATE) != 0;

    if ((flags & OPEN_CREATE) != 0 && (flags & OPEN_EXCLUSIVE) != 0)
        return -EEXIST;
    if (file->kind == &directory_kind)
        return writing || (flags & OPEN_CREATE) != 0 ? -EISDIR : 0;
    if ((flags & OPEN_DIRECTORY) != 0)
        return -ENOTDIR;
    return writing && file->kind->write == NULL ? -EROFS : 0;
}

int64_t file_open(struct file_table *table, const char *path, uint32_t flags)
{
    char *name = heap_alloc(PATH_MAX);
    struct file *file = NULL;
    bool folder = false;
    int64_t error;

    if (name == NULL)
        return -ENOMEM;
    error = path_normalize(path, name, PATH_MAX, &folder);
    if (error == 0)
        error = open_name(name, folder, &file);
    heap_free(name, PATH_MAX);
    if (error == -ENOENT && (flags & OPEN_CREATE) != 0)
        return -EROFS;
    if (error != 0)
        return error;
    error = check_flags(file, flags);
    if (error != 0) {
        file_put(file);
        return error;
    }
    file->flags = flags;
    return table_add(table, file);
}

int64_t file_close(struct file_table *table, int64_t fd)
{
    struct file *file = NULL;

    spin_lock(&table->lock);
    if (fd >= 0 && fd < (int64_t)table->size) {
        file = table->slots[fd];
        table->slots[fd] = NULL;
    }
    spin_unlock(&table->lock);
    if (file == NULL)
        return -EBADF;
    file_put(file);
    return 0;
}

int64_t file_read(struct file_table *table, int64_t fd, void *data, size_t size, const struct group *group)
{
    struct file *file = table_find(table, fd);
    int64_t result;

    if (file == NULL)
        return -EBADF;
    if ((file->flags & OPEN_ACCESS) == 1) {
        result = -EBADF;
    } else if (file->kind->read == NULL) {
        result = -EISDIR;
    } else if (size == 0) {
        result = 0;
    } else {
        uint64_t offset;

        spin_lock(&table->lock);
        offset = file->offset;
        spin_unlock(&table->lock);
        result = file->kind->read(file, data, size, offset, group);
        if (result > 0 && file->kind->seekable) {
            spin_lock(&table->lock);
            file->offset = offset + (uint64_t)result;
            spin_unlock(&table->lock);
        }
    }
    file_put(file);
    return result;
}

int64_t file_write(struct file_table *table, int64_t fd, const void *data, size_t size)
{
    struct file *file = table_find(table, fd);
    int64_t result;

    if (file == NULL)
        return -EBADF;
    if (file->kind->write == NULL || (file->flags & OPEN_ACCESS) == 0)
        result = -EBADF;
    else
        result = size == 0 ? 0 : file->kind->write(file, data, size);
    file_put(file);
    return result;
}

int64_t file_seek(struct file_table *table, int64_t fd, int64_t offset, uint32_t whence)
{
    struct file *file = table_find(table, fd);
    int64_t result = 0;

    if (file == NULL)
        return -EBADF;
    spin_lock(&table->lock);
    if (!file->kind->seekable)
        result = -ESPIPE;
    else if (whence > 2)
        result = -EINVAL;
    else {
        int64_t base = whence == 0 ? 0 : whence == 1 ? (int64_t)file->offset : (int64_t)file->facts.size;

        if (__builtin_add_overflow(base, offset, &result))
            result = -EOVERFLOW;
        else if (result < 0)
            result = -EINVAL;
        else
            file->offset = (uint64_t)result;
    }
    spin_unlock(&table->lock);
    file_put(file);
    return result;
}

int64_t file_stat(struct file_table *table, int64_t fd, struct file_facts *facts)
{
    struct file *file = table_find(table, fd);

    if (file == NULL)
        return -EBADF;
    *facts = file->facts;
    file_put(file);
    return 0;
}

int64_t file_stat_path(const char *path, struct file_facts *facts)
{
    char *name = heap_alloc(PATH_MAX);
    bool folder = false;
    int64_t error;

    if (name == NULL)
        return -ENOMEM;
    error = path_normalize(path, name, PATH_MAX, &folder);
    if (error == 0)
        error = stat_name(name, facts);
    if (error == 0 && folder && (facts->mode & FILE_TYPE_MASK) != FILE_DIRECTORY)
        error = -ENOTDIR;
    heap_free(name, PATH_MAX);
    return error;
}

int64_t file_is_terminal(struct file_table *table, int64_t fd)
{
    struct file *file = table_find(table, fd);
    int64_t result;

    if (file == NULL)
        return -EBADF;
    result = file->kind->terminal ? 1 : 0;
    file_put(file);
    return result;
}

int64_t file_flags(struct file_table *table, int64_t fd)
{
    struct file *file = table_find(table, fd);
    int64_t result;

    if (file == NULL)
        return -EBADF;
    result = file->flags;
    file_put(file);
    return result;
}

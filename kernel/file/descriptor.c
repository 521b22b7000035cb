/* The descriptors of a table. See the header. A file is opened again under the table's lock, as long as its descriptor
 * still keeps it open. Files are closed without the lock. */
#include "kernel/file/descriptor.h"

#include "kernel/abi/errno.h"
#include "kernel/file/descriptor_cache.h"
#include "kernel/file/lock.h"
#include "kernel/file/table.h"
#include "kernel/file/wire.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"

static struct descriptor *slot_locked(struct file_table *table, int64_t fd)
{
    return (uint64_t)fd < table->size && table->slots[fd].file != NULL ? &table->slots[fd] : NULL;
}

/* table_find of FILE_WORKING_DIRECTORY or FILE_ROOT; no other negative FD has a file. */
static __attribute__((noinline)) struct file *find_directory(struct file_table *table, int64_t fd)
{
    struct file *file = NULL;

    table = table->directories;
    spin_lock(&table->lock);
    if (fd == FILE_WORKING_DIRECTORY)
        file = table->directory;
    else if (fd == FILE_ROOT)
        file = table->root;
    if (file != NULL)
        file_pin(file);
    spin_unlock(&table->lock);
    return file;
}

struct file *table_find(struct file_table *table, int64_t fd)
{
    const struct descriptor *slot;
    struct file *file = NULL;

    if (fd < 0)
        return find_directory(table, fd);
    table = table->descriptors;
    spin_lock(&table->lock);
    slot = slot_locked(table, fd);
    if (slot != NULL) {
        file = slot->file;
        file_pin(file);
    }
    spin_unlock(&table->lock);
    return file;
}

/* Makes room for descriptor FD, which is below TABLE_MAX. */
static bool grow_locked(struct file_table *table, int64_t fd)
{
    uint32_t size = table->size;
    struct descriptor *slots;

    while ((int64_t)size <= fd)
        size *= 2;
    if (size == table->size)
        return true;
    slots = heap_alloc(size * sizeof(*slots));
    if (slots == NULL)
        return false;
    memcpy(slots, table->slots, table->size * sizeof(*slots));
    heap_free(table->slots, table->size * sizeof(*slots));
    table->slots = slots;
    table->size = size;
    return true;
}

int table_reserve(struct file_table *table, uint32_t size)
{
    bool there;

    spin_lock(&table->lock);
    there = grow_locked(table, (int64_t)size - 1);
    spin_unlock(&table->lock);
    return there ? 0 : -ENOMEM;
}

/* The limit of TABLE's own process; the descriptors may be in a table of another process that shares them. */
static int64_t limit_of(const struct file_table *table)
{
    return __atomic_load_n(&table->limit, __ATOMIC_RELAXED);
}

bool table_may_have(const struct file_table *table, int64_t fd)
{
    return fd >= 0 && fd < limit_of(table);
}

static int64_t add_locked(struct file_table *table, struct file *file, int64_t least, uint32_t flags, int64_t limit)
{
    int64_t fd = least > (int64_t)table->lowest ? least : (int64_t)table->lowest;

    while (fd < (int64_t)table->size && table->slots[fd].file != NULL)
        fd++;
    if (fd >= limit)
        return -EMFILE;
    if (!grow_locked(table, fd))
        return -ENOMEM;
    table->slots[fd] = (struct descriptor){file, flags};
    if (least <= (int64_t)table->lowest)
        table->lowest = (uint32_t)fd + 1;
    return fd;
}

int64_t table_add(struct file_table *table, struct file *file, int64_t least, uint32_t flags)
{
    int64_t fd = -EINVAL, limit = limit_of(table);

    table = table->descriptors;
    if (least >= 0 && least < TABLE_MAX) {
        spin_lock(&table->lock);
        fd = add_locked(table, file, least, flags, limit);
        spin_unlock(&table->lock);
    }
    if (fd < 0)
        file_close(file);
    return fd;
}

int table_put(struct file_table *table, int64_t fd, struct file *file, uint32_t flags)
{
    int error = 0;

    table = table->descriptors;
    if (fd < 0 || fd >= TABLE_MAX)
        return -EINVAL;
    spin_lock(&table->lock);
    if (!grow_locked(table, fd))
        error = -ENOMEM;
    else if (table->slots[fd].file != NULL)
        error = -EINVAL;
    else
        table->slots[fd] = (struct descriptor){file, flags};
    spin_unlock(&table->lock);
    return error;
}

/* Empties the slot of FD and returns its file. */
static struct file *take_locked(struct file_table *table, int64_t fd)
{
    struct file *file = table->slots[fd].file;

    table->slots[fd] = (struct descriptor){.file = NULL};
    descriptor_cache_changed(table->count);
    if (fd < (int64_t)table->lowest)
        table->lowest = (uint32_t)fd;
    return file;
}

int64_t table_close(struct file_table *table, int64_t fd)
{
    struct file *file = NULL;

    table = table->descriptors;
    spin_lock(&table->lock);
    if (slot_locked(table, fd) != NULL)
        file = take_locked(table, fd);
    spin_unlock(&table->lock);
    if (file == NULL)
        return -EBADF;
    file_close(file);
    return 0;
}

int64_t table_duplicate(struct file_table *table, int64_t fd, int64_t least, uint32_t flags)
{
    const struct descriptor *slot;
    struct file *file = NULL;
    int64_t result = -EBADF, limit = limit_of(table);

    table = table->descriptors;
    spin_lock(&table->lock);
    slot = slot_locked(table, fd);
    if (slot != NULL && (least < 0 || least >= limit)) {
        result = -EINVAL;
    } else if (slot != NULL) {
        file = slot->file;
        file_open_again(file);
        result = add_locked(table, file, least, flags, limit);
    }
    spin_unlock(&table->lock);
    if (file != NULL && result < 0)
        file_close(file);
    return result;
}

int64_t table_duplicate_to(struct file_table *table, int64_t fd, int64_t to, uint32_t flags)
{
    struct file *old = NULL;
    int64_t result = -EBADF;

    const struct file_table *own = table;
    table = table->descriptors;
    if (!table_may_have(own, to))
        return -EBADF;
    spin_lock(&table->lock);
    if (slot_locked(table, fd) != NULL && fd == to) {
        result = to;
    } else if (slot_locked(table, fd) != NULL) {
        result = -ENOMEM;
        if (grow_locked(table, to)) {
            old = table->slots[to].file;
            file_open_again(table->slots[fd].file);
            table->slots[to] = (struct descriptor){table->slots[fd].file, flags};
            descriptor_cache_changed(table->count);
            result = to;
        }
    }
    spin_unlock(&table->lock);
    if (old != NULL)
        file_close(old);
    return result;
}

uint32_t table_list(struct file_table *table, int64_t from, int32_t *fds, uint32_t count)
{
    uint32_t found = 0;

    table = table->descriptors;
    spin_lock(&table->lock);
    for (int64_t fd = from < 0 ? 0 : from; fd < (int64_t)table->size && found < count; fd++) {
        if (table->slots[fd].file != NULL)
            fds[found++] = (int32_t)fd;
    }
    spin_unlock(&table->lock);
    return found;
}

int64_t table_get_flags(struct file_table *table, int64_t fd)
{
    const struct descriptor *slot;
    int64_t result = -EBADF;

    table = table->descriptors;
    spin_lock(&table->lock);
    slot = slot_locked(table, fd);
    if (slot != NULL)
        result = slot->flags;
    spin_unlock(&table->lock);
    return result;
}

int64_t table_set_flags(struct file_table *table, int64_t fd, uint32_t flags)
{
    struct descriptor *slot;

    table = table->descriptors;
    spin_lock(&table->lock);
    slot = slot_locked(table, fd);
    if (slot != NULL)
        slot->flags = flags;
    spin_unlock(&table->lock);
    return slot != NULL ? 0 : -EBADF;
}

/* --- closing, and removing locks --- */

void table_note_lock(struct file_table *table, const struct file_lock *lock)
{
    if (lock->kind == LOCK_PROCESS && lock->type != LOCK_NONE)
        table->process = lock->process;
}

/* Files with locks are on kernel 0. On other kernels they are proxies, whose kind is not known, so any file of kernel 0
 * may have locks. */
bool table_has_locks(const struct file_table *table, const struct file *file)
{
    return table->process != 0 && file->kernel == 0 &&
           (file->kind == NULL || file->kind->locks || file->kind->waits || file->kind->flushes);
}

void table_let_go(const struct file_table *table, struct file *file)
{
    if (table_has_locks(table, file))
        file_unlock_later(file, table->process);
    file_close(file);
}

struct closing {
    uint32_t first, last;
    bool only_mark, only_marked;
    bool later;   /* close the files and let their locks be removed soon, without waiting */
    int64_t gone; /* if not LATER: the descriptor whose file's locks have been removed; -1: none */
};

/* Closes, or marks close-on-exec, the descriptors that CLOSING selects, one at a time, as files are closed without the
 * lock. Returns -1 when all are done; or the first descriptor whose file may have locks of the process: it and those
 * after it stay open. */
static int64_t close_some(struct file_table *table, const struct closing *closing)
{
    const struct file_table *own = table; /* the table of the process whose locks are removed */

    table = table->descriptors;
    spin_lock(&table->lock);
    for (uint32_t fd = closing->first; fd <= closing->last && fd < table->size; fd++) {
        struct descriptor *slot = slot_locked(table, fd);
        struct file *file;

        if (slot == NULL || (closing->only_marked && (slot->flags & DESCRIPTOR_CLOEXEC) == 0))
            continue;
        if (closing->only_mark) {
            slot->flags |= DESCRIPTOR_CLOEXEC;
            continue;
        }
        if (!closing->later && closing->gone != (int64_t)fd && table_has_locks(own, slot->file)) {
            spin_unlock(&table->lock);
            return fd;
        }
        file = take_locked(table, fd);
        spin_unlock(&table->lock);
        if (closing->later)
            table_let_go(own, file);
        else
            file_close(file);
        slice_check();
        spin_lock(&table->lock);
    }
    spin_unlock(&table->lock);
    return -1;
}

void table_close_all(struct file_table *table)
{
    close_some(table, &(struct closing){.last = TABLE_MAX, .later = true, .gone = -1});
}

int64_t table_close_range(struct file_table *table, uint32_t first, uint32_t last, bool only_mark, int64_t gone,
                          int64_t *stopped)
{
    struct closing closing = {.first = first, .last = last, .only_mark = only_mark, .gone = gone};

    *stopped = -1;
    if (first > last)
        return -EINVAL;
    *stopped = close_some(table, &closing);
    return 0;
}

void file_table_exec(struct file_table *table)
{
    struct closing closing = {.last = TABLE_MAX, .only_marked = true, .gone = -1};
    int64_t fd;

    while ((fd = close_some(table, &closing)) >= 0) {
        struct file *file = table_find(table, fd);

        if (file != NULL) {
            file_unlock(file->kernel, file->id, table->process);
            file_unpin(file);
        }
        closing.first = (uint32_t)fd;
        closing.gone = fd;
    }
}

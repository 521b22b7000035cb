/* Descriptor tables: creating and freeing them, and their parts other than descriptors. See the header. */
#include "kernel/file/table.h"

#include "kernel/abi/errno.h"
#include "kernel/file/descriptor.h"
#include "kernel/file/descriptor_cache.h"
#include "kernel/file/lock.h"
#include "kernel/file/root.h"
#include "kernel/file/table_share.h"
#include "kernel/file/wire.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/process/group.h"

#define FIRST_SLOTS 32u

struct file_table *file_table_new(void)
{
    struct file_table *table = heap_alloc(sizeof(*table));

    if (table == NULL)
        return NULL;
    table->users = table->holders = 1;
    table->limit = TABLE_MAX;
    table->file_limit = UINT64_MAX;
    table->descriptors = table->directories = table;
    table->count = descriptor_cache_count_new();
    table->directory_count = descriptor_cache_count_new();
    table->size = FIRST_SLOTS;
    table->slots = heap_alloc(table->size * sizeof(struct descriptor));
    if (table->slots == NULL) {
        heap_free(table, sizeof(*table));
        return NULL;
    }
    return table;
}

void file_table_unlock(struct file_table *table)
{
    for (uint32_t fd = 0; table->process != 0 && fd < table->descriptors->size; fd++) {
        struct file *file = table_find(table, fd);

        if (file != NULL && table_has_locks(table, file))
            file_unlock(file->kernel, file->id, table->process);
        if (file != NULL)
            file_unpin(file);
        slice_check();
    }
}

static void free_text(char *text)
{
    if (text != NULL)
        heap_free(text, strlen(text) + 1);
}

void file_table_free(void *files)
{
    struct file_table *table = files;

    if (__atomic_sub_fetch(&table->users, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    file_table_part(table);
    for (uint32_t fd = 0; fd < table->size; fd++) {
        if (table->slots[fd].file != NULL)
            table_let_go(table, table->slots[fd].file);
        slice_check();
    }
    if (table->directory != NULL)
        file_close(table->directory);
    if (table->root != NULL)
        file_close(table->root);
    file_table_set_executable(table, NULL); /* of a table that no process has had: let_go closes the others' */
    file_table_forget(table);
}

void file_table_forget(struct file_table *table)
{
    free_text(table->program);
    heap_free(table->slots, table->size * sizeof(struct descriptor));
    heap_free(table, sizeof(*table));
}

struct file_table *file_table_of(struct group *group)
{
    struct file_table *table;

    spin_lock(&group->lock);
    table = group->files;
    if (table != NULL)
        __atomic_fetch_add(&table->users, 1, __ATOMIC_RELAXED);
    spin_unlock(&group->lock);
    return table;
}

struct file_table *file_table_create(struct file *terminal)
{
    struct file_table *table = file_table_new();

    if (table == NULL)
        return NULL;
    for (uint32_t fd = 0; fd < 3; fd++) {
        if (fd > 0)
            file_open_again(terminal);
        table->slots[fd].file = terminal;
    }
    table->lowest = 3;
    return table;
}

static int set_text(struct file_table *table, char **place, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = heap_alloc(size);
    char *old;

    if (copy == NULL)
        return -ENOMEM;
    memcpy(copy, text, size);
    spin_lock(&table->lock);
    old = *place;
    *place = copy;
    spin_unlock(&table->lock);
    free_text(old);
    return 0;
}

void file_table_set_working_directory(struct file_table *table, struct file *file)
{
    struct file_table *directories = table->directories;
    struct file *old;

    spin_lock(&directories->lock);
    old = directories->directory;
    directories->directory = file;
    descriptor_cache_changed(directories->directory_count);
    spin_unlock(&directories->lock);
    if (old != NULL)
        file_close(old);
}

void file_table_set_root(struct file_table *table, struct file *file)
{
    struct file_table *directories = table->directories;
    struct file *old;

    spin_lock(&directories->lock);
    old = directories->root;
    directories->root = file;
    root_changed();
    spin_unlock(&directories->lock);
    if (old != NULL)
        file_close(old); /* a walk that begins at it gets -ESRCH, and begins again at the new root */
}

int file_table_set_program(struct file_table *table, const char *path)
{
    return set_text(table, &table->program, path);
}

void file_table_set_executable(struct file_table *table, struct file *file)
{
    struct file *old;

    spin_lock(&table->lock);
    old = table->executable;
    table->executable = file;
    spin_unlock(&table->lock);
    if (old != NULL)
        file_close(old);
}

static int64_t get_text(struct file_table *table, char *const *place, char *out, size_t size)
{
    int64_t length = 0;

    spin_lock(&table->lock);
    if (*place != NULL)
        length = (int64_t)strlen(*place);
    if ((size_t)length >= size)
        length = -ERANGE;
    else if (*place != NULL)
        memcpy(out, *place, (size_t)length + 1);
    else
        out[0] = '\0';
    spin_unlock(&table->lock);
    return length;
}

int64_t file_table_program(struct file_table *table, char *out, size_t size)
{
    return get_text(table, &table->program, out, size);
}

void file_table_limit(struct file_table *table, uint64_t count, uint64_t bytes)
{
    __atomic_store_n(&table->file_limit, bytes, __ATOMIC_RELEASE);
    descriptor_cache_changed(table->descriptors->count);
    __atomic_store_n(&table->limit, count < TABLE_MAX ? (uint32_t)count : TABLE_MAX, __ATOMIC_RELAXED);
}

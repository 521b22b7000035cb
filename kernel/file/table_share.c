/* Shared descriptors. See the header. A table that shares parts of another one is counted in that table's `users`, so
 * the memory stays until all have left. The files in it are closed when the last process that uses its descriptors has
 * left (`holders`). */
#include "kernel/file/table_share.h"

#include "kernel/file/copy.h"
#include "kernel/file/descriptor.h"
#include "kernel/file/descriptor_cache.h"
#include "tasks/process/group.h"

/* Makes *WHAT, a reference of a table to its descriptors or directories, refer to OWNER's. */
static void take_part(struct file_table **what, struct file_table *owner)
{
    __atomic_fetch_add(&owner->users, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&owner->sharers, 1, __ATOMIC_RELAXED);
    *what = owner;
}

static void leave(struct file_table *table, struct file_table **what)
{
    struct file_table *owner = *what;

    if (owner == table)
        return;
    *what = table;
    __atomic_fetch_sub(&owner->sharers, 1, __ATOMIC_RELAXED);
    file_table_free(owner);
}

/* The process of TABLE no longer uses its descriptors. The last such process closes them, even if another one still
 * shares the directories of the same table. The counts are incremented, so that no
 * kernel uses what it has cached of TABLE's process any more, although files stay open for other processes: the process
 * may get another table, and its id may be reused. */
static void let_go(struct file_table *table)
{
    struct file_table *owner = table->descriptors;

    if (table->left)
        return;
    __atomic_store_n(&table->left, true, __ATOMIC_RELEASE); /* visible to readers of the new count */
    file_table_set_executable(table, NULL);                 /* now, whoever else uses the table for a moment */
    descriptor_cache_changed(owner->count);
    descriptor_cache_changed(table->directories->directory_count);
    if (__atomic_sub_fetch(&owner->holders, 1, __ATOMIC_ACQ_REL) == 0 &&
        __atomic_load_n(&owner->users, __ATOMIC_ACQUIRE) > 1) /* else the caller's file_table_free closes them */
        table_close_all(owner);
}

void file_table_leave(struct file_table *table)
{
    let_go(table);
    file_table_free(table);
}

void file_table_part(struct file_table *table)
{
    let_go(table);
    leave(table, &table->descriptors);
    leave(table, &table->directories);
}

bool file_table_is_shared(const struct file_table *table)
{
    return table->descriptors != table || table->directories != table ||
           __atomic_load_n(&table->sharers, __ATOMIC_RELAXED) != 0;
}

int file_table_share(struct group *parent, bool files, bool directory, struct file_table **out)
{
    static const int32_t none;
    struct file_table *from = parent->files, *table;
    /* if the descriptors are shared, only the directories and the program's name are copied */
    int error = files ? file_table_pick(parent, &none, 0, &table) : file_table_fork(parent, &table);

    if (error != 0)
        return error;
    table->limit = from->limit;
    table->file_limit = from->file_limit;
    if (files) {
        take_part(&table->descriptors, from->descriptors);
        __atomic_fetch_add(&table->descriptors->holders, 1, __ATOMIC_RELAXED);
    }
    if (directory)
        take_part(&table->directories, from->directories);
    *out = table;
    return 0;
}

int file_table_unshare(struct group *group)
{
    struct file_table *old = group->files, *table;
    int error;

    if (!file_table_is_shared(old))
        return 0;
    error = file_table_share(group, false, old->directories != old || old->sharers != 0, &table);
    if (error != 0)
        return error;
    table->process = old->process;
    table->undo = old->undo;
    old->process = 0; /* files closed in the old table later do not release this process's locks */
    spin_lock(&group->lock);
    group->files = table;
    spin_unlock(&group->lock);
    file_table_leave(old);
    return 0;
}

/* Shared descriptors. See the header. Who shares holds a user of the other's table, so that stays, with what is open in
 * it, until the last has gone. */
#include "kernel/fs/table_share.h"

#include "kernel/abi/errno.h"
#include "kernel/fs/copy.h"
#include "tasks/group.h"

/* TABLE, the caller's, has WHAT of its own no more, but that of OWNER. */
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

void file_table_part(struct file_table *table)
{
    leave(table, &table->descriptors);
    leave(table, &table->folders);
}

bool file_table_is_shared(const struct file_table *table)
{
    return table->descriptors != table || table->folders != table ||
           __atomic_load_n(&table->sharers, __ATOMIC_RELAXED) != 0;
}

int file_table_share(struct group *parent, bool files, bool folder, struct file_table **out)
{
    static const int32_t none;
    struct file_table *from = parent->files, *table;
    /* without descriptors, which are the parent's; the folder and the name of the program come along */
    int error = files ? file_table_pick(parent, &none, 0, &table) : file_table_fork(parent, &table);

    if (error != 0)
        return error;
    table->limit = from->limit;
    table->file_limit = from->file_limit;
    if (files)
        take_part(&table->descriptors, from->descriptors);
    if (folder)
        take_part(&table->folders, from->folders);
    *out = table;
    return 0;
}

int file_table_unshare(struct group *group)
{
    struct file_table *old = group->files, *table;
    int error;

    if (!file_table_is_shared(old))
        return 0;
    error = file_table_share(group, false, old->folders != old || old->sharers != 0, &table);
    if (error != 0)
        return error;
    table->process = old->process;
    table->undo = old->undo;
    spin_lock(&group->lock);
    group->files = table;
    spin_unlock(&group->lock);
    file_table_free(old);
    return 0;
}

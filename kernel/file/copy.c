/* Tables for new processes. See the header and kernel/file/files.md.
 *
 * The parent's home lists the descriptors, opens each file once more for the child (asking the file's kernel,
 * FILE_SHARE, where that is another), and answers. The child's home finds each file, if it is its own, or makes a
 * proxy. The file has both sides of this exchange, and the copy within one kernel. */
#include "kernel/file/copy.h"

#include "kernel/abi/errno.h"
#include "kernel/file/descriptor.h"
#include "kernel/file/path.h"
#include "kernel/file/wire.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/process/group.h"
#include "tasks/remote/operation.h"

#define OTHERS 3u                        /* the working directory, the root and the executable */
#define ENTRIES_MAX (TABLE_MAX + OTHERS) /* descriptors and those */

/* The files of a parent's descriptors, each with an open of its own, which keeps the file open until the child has its
 * own open. */
struct listing {
    uint32_t count;
    struct copied {
        struct file *file;
        uint32_t flags;
        int32_t fd;
    } entries[];
};

static size_t listing_size(uint32_t count)
{
    return sizeof(struct listing) + count * sizeof(struct copied);
}

static void listing_free(struct listing *listing, uint32_t room)
{
    for (uint32_t i = 0; i < listing->count; i++)
        file_close(listing->entries[i].file);
    heap_free(listing, listing_size(room));
}

static void list_one_locked(struct listing *listing, const struct descriptor *slot, int32_t fd, uint32_t flags)
{
    file_open_again(slot->file);
    listing->entries[listing->count++] = (struct copied){slot->file, flags, fd};
}

/* Lists FILE, which has no descriptor, unless it is NULL. */
static void list_other_locked(struct listing *listing, struct file *file, int32_t fd)
{
    const struct descriptor slot = {.file = file};

    if (file != NULL)
        list_one_locked(listing, &slot, fd, 0);
}

/* Lists the descriptors FDS, or all if FDS is NULL, both directories and the executable. *ROOM is for listing_free. */
static int list_table(struct file_table *table, const int32_t *fds, uint32_t count, struct listing **out,
                      uint32_t *room)
{
    struct file_table *directories = table->directories, *own = table;
    struct listing *listing;
    int error = 0;

    if (fds != NULL && count > TABLE_MAX)
        return -EMFILE;
    *room = (fds != NULL ? count : TABLE_MAX) + OTHERS;
    listing = heap_alloc(listing_size(*room));
    if (listing == NULL)
        return -ENOMEM;
    table = table->descriptors;
    spin_lock(&table->lock);
    for (uint32_t i = 0; i < (fds != NULL ? count : table->size) && error == 0; i++) {
        int64_t fd = fds != NULL ? fds[i] : (int64_t)i;
        bool there = fd >= 0 && fd < (int64_t)table->size && table->slots[fd].file != NULL;

        if (there)
            list_one_locked(listing, &table->slots[fd], (int32_t)i, fds != NULL ? 0 : table->slots[fd].flags);
        else if (fds != NULL && fd != -1)
            error = -EBADF;
    }
    spin_unlock(&table->lock);
    spin_lock(&directories->lock);
    list_other_locked(listing, directories->directory, FILE_WORKING_DIRECTORY);
    list_other_locked(listing, directories->root, FILE_ROOT);
    spin_unlock(&directories->lock);
    spin_lock(&own->lock);
    list_other_locked(listing, own->executable, FILE_EXECUTABLE);
    spin_unlock(&own->lock);
    if (error != 0)
        listing_free(listing, *room);
    *out = error == 0 ? listing : NULL;
    return error;
}

/* --- a parent and a child with the same home --- */

static int copy_name(struct file_table *from, struct file_table *to)
{
    char *name;
    int error = 0;

    if (from->program == NULL)
        return 0;
    name = heap_alloc(PATH_MAX);
    if (name == NULL)
        return -ENOMEM;
    if (file_table_program(from, name, PATH_MAX) > 0)
        error = file_table_set_program(to, name);
    heap_free(name, PATH_MAX);
    return error;
}

/* FILE opened once more, or NULL. */
static struct file *again(struct file *file)
{
    if (file != NULL)
        file_open_again(file);
    return file;
}

/* Copies all descriptors, both directories and the executable of FROM to TO, which is new. */
static int copy_all(struct file_table *from, struct file_table *to)
{
    struct file_table *directories = from->directories, *own = from;
    uint32_t size;

    from = from->descriptors;
    for (;;) {
        size = from->size;
        if (table_reserve(to, size) != 0)
            return -ENOMEM;
        spin_lock(&from->lock);
        if (from->size <= to->size)
            break;
        spin_unlock(&from->lock); /* it has grown meanwhile */
    }
    for (uint32_t fd = 0; fd < from->size; fd++) {
        if (from->slots[fd].file != NULL)
            file_open_again(from->slots[fd].file);
        to->slots[fd] = from->slots[fd];
    }
    to->lowest = from->lowest;
    spin_unlock(&from->lock);
    spin_lock(&directories->lock);
    to->directory = again(directories->directory);
    to->root = again(directories->root);
    spin_unlock(&directories->lock);
    spin_lock(&own->lock);
    to->executable = again(own->executable);
    spin_unlock(&own->lock);
    return 0;
}

/* Puts FILE at descriptor FD of TO, or makes it the working directory, root or executable; TO takes over an open of it.
 * On an error the caller still owns the open. */
static int put_one(struct file_table *to, int32_t fd, struct file *file, uint32_t flags)
{
    if (fd == FILE_WORKING_DIRECTORY)
        to->directory = file;
    else if (fd == FILE_ROOT)
        to->root = file;
    else if (fd == FILE_EXECUTABLE)
        to->executable = file;
    else
        return table_put(to, fd, file, flags);
    return 0;
}

static int copy_picked(struct file_table *from, struct file_table *to, const int32_t *fds, uint32_t count)
{
    struct listing *listing;
    uint32_t room;
    int error = list_table(from, fds, count, &listing, &room);

    if (error != 0)
        return error;
    for (uint32_t i = 0; i < listing->count && error == 0; i++) {
        const struct copied *entry = &listing->entries[i];

        file_open_again(entry->file);
        error = put_one(to, entry->fd, entry->file, entry->flags);
        if (error != 0)
            file_close(entry->file);
    }
    listing_free(listing, room);
    return error;
}

static int copy_here(struct file_table *from, const int32_t *fds, uint32_t count, struct file_table **out)
{
    struct file_table *table = file_table_new();
    int error = table == NULL ? -ENOMEM : copy_name(from, table);

    if (error == 0)
        error = fds == NULL ? copy_all(from, table) : copy_picked(from, table, fds, count);
    if (error != 0 && table != NULL)
        file_table_free(table);
    *out = error == 0 ? table : NULL;
    return error;
}

/* --- the parent's home, for a child elsewhere --- */

/* The kernels of the files that are listed. */
static kernel_set kernels_of(const struct listing *listing)
{
    kernel_set set = 0;

    for (uint32_t i = 0; i < listing->count; i++)
        set |= 1ull << listing->entries[i].file->kernel;
    return set;
}

/* Sets COPY_FIRST in the first entry of each file, which transfers an open. */
static void mark_first(struct copied_entry *entries, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = 0;

        while (j < i && (entries[j].id != entries[i].id || entries[j].kernel != entries[i].kernel))
            j++;
        if (j == i)
            entries[i].flags |= COPY_FIRST;
    }
}

/* Opens each file once more for the child. */
static int share(const struct copied_entry *entries, uint32_t count, kernel_set kernels)
{
    const struct remote_how how = {.why = "files to be shared", .key = count, .sure = true};
    uint64_t *ids = heap_alloc(count * sizeof(*ids) + 1);
    int error = 0;

    if (ids == NULL)
        return -ENOMEM;
    for (; kernels != 0; kernels &= kernels - 1) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(kernels);
        uint32_t found = 0;

        for (uint32_t i = 0; i < count; i++) {
            if (entries[i].kernel != kernel || (entries[i].flags & COPY_FIRST) == 0)
                continue;
            ids[found++] = entries[i].id;
        }
        if (found > 0)
            error = remote_call(kernel, MSG_FILE_SHARE, ids, found * (uint32_t)sizeof(*ids), NULL, 0, &how);
        if (error < 0) /* it has died, or says that it has not these files: they fail for parent and child alike */
            log_line("fs: kernel %u answered %d to the sharing of files that are open", kernel, error);
    }
    heap_free(ids, count * sizeof(*ids) + 1);
    return 0;
}

static size_t add_name(uint8_t *to, struct file_table *table)
{
    int64_t length = file_table_program(table, (char *)to, PATH_MAX);

    if (length < 0) {
        *to = '\0';
        length = 0;
    }
    return (size_t)length + 1;
}

/* Writes the answer for LISTING, after opening its files once more for the child. Returns its length, or a negative
 * errno. */
static int make_answer(const struct listing *listing, struct file_table *table, struct msg_file_copied *answer)
{
    struct copied_entry *entries = (struct copied_entry *)(answer + 1);
    int error;

    for (uint32_t i = 0; i < listing->count; i++) {
        const struct copied *from = &listing->entries[i];

        entries[i] = (struct copied_entry){from->file->id, from->file->kernel, from->flags, from->fd, 0};
    }
    mark_first(entries, listing->count);
    error = share(entries, listing->count, kernels_of(listing));
    if (error != 0)
        return error;
    *answer = (struct msg_file_copied){.count = listing->count};
    answer->name = (uint32_t)add_name((uint8_t *)(entries + listing->count), table);
    return (int)(sizeof(*answer) + listing->count * sizeof(*entries) + answer->name);
}

/* The table of process ID with one more user, as long as the process has not ended; NULL: this is not its home. */
static struct file_table *table_of(uint32_t id)
{
    struct group *group = group_find(id);
    struct file_table *table = group != NULL ? file_table_of(group) : NULL;

    if (group != NULL)
        group_put(group);
    return table;
}

static int room_for_copy(const struct remote_request *request)
{
    const struct msg_file_copy *asked = request->data;
    uint32_t count = asked->count != UINT32_MAX ? asked->count : 0;

    if (count > TABLE_MAX)
        return -EMFILE;
    if (request->length != sizeof(*asked) + count * sizeof(int32_t))
        return -EPROTO;
    return sizeof(struct msg_file_copied) + ENTRIES_MAX * sizeof(struct copied_entry) + PATH_MAX;
}

static int serve_copy(const struct remote_request *request, void *result)
{
    const struct msg_file_copy *asked = request->data;
    const int32_t *fds = asked->count != UINT32_MAX ? (const int32_t *)(asked + 1) : NULL;
    struct file_table *table = table_of(asked->group);
    struct listing *listing;
    uint32_t room;
    int length;

    if (table == NULL)
        return -ESRCH;
    length = list_table(table, fds, asked->count, &listing, &room);
    if (length == 0) {
        length = make_answer(listing, table, result);
        listing_free(listing, room);
    }
    file_table_free(table);
    return length;
}

static int serve_share(const struct remote_request *request, void *result)
{
    const uint64_t *ids = request->data;
    bool all = request->length % sizeof(*ids) == 0;

    (void)result;
    for (uint32_t i = 0; i < request->length / sizeof(*ids); i++)
        all &= file_share(ids[i]) != NULL;
    return all ? 0 : -EPROTO; /* the asker claims to have them open, but does not */
}

int file_share_at(const struct file_place *place)
{
    const struct remote_how how = {.why = "a file to be shared", .key = place->id};
    int error = remote_call(place->kernel, MSG_FILE_SHARE, &place->id, sizeof(place->id), NULL, 0, &how);

    return error >= 0 ? 0 : error == -ENOMEM ? -ENOMEM : -EBADF;
}

void copy_init(void)
{
    REMOTE_SERVE_TASK(FILE_TABLE_COPY, WORK_LEAF, serve_copy, room_for_copy, struct msg_file_copy,
                      struct msg_file_copied);
    REMOTE_SERVE(FILE_SHARE, serve_share, NULL, struct msg_none, struct msg_none);
}

/* --- the child's home --- */

/* The file or proxy for entry I; FILES has those of the entries before it, or NULL. The result takes over the entry's
 * open, or is opened once more if an earlier entry has the same file. */
static struct file *file_of(const struct copied_entry *entries, struct file *const *files, uint32_t i)
{
    for (uint32_t j = 0; j < i; j++) {
        if (entries[j].id == entries[i].id && entries[j].kernel == entries[i].kernel) {
            if (files[j] != NULL)
                file_open_again(files[j]);
            return files[j];
        }
    }
    if (entries[i].kernel == instance.kernel) { /* the entry's open keeps it open */
        struct file *file = file_find(entries[i].id);

        if (file != NULL)
            file_unpin(file);
        return file;
    }
    return file_create_proxy(entries[i].kernel, entries[i].id);
}

static int fill_table(struct file_table *table, const struct msg_file_copied *copied,
                      const struct copied_entry *entries)
{
    struct file **files = heap_alloc(copied->count * sizeof(*files) + 1);
    const char *name = (const char *)(entries + copied->count);
    int error = files == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; i < copied->count; i++) {
        bool first = (entries[i].flags & COPY_FIRST) != 0;
        struct file *file = error == 0 ? file_of(entries, files, i) : NULL;

        if (file == NULL) {
            if (first) /* the open that the entry has transferred */
                file_drop(entries[i].kernel, entries[i].id);
            error = error == 0 ? -ENOMEM : error;
            continue;
        }
        error = put_one(table, entries[i].fd, file, entries[i].flags & DESCRIPTOR_CLOEXEC);
        if (error != 0)
            file_close(file);
        else
            files[i] = file;
    }
    if (files != NULL)
        heap_free(files, copied->count * sizeof(*files) + 1);
    if (error == 0 && *name != '\0')
        error = file_table_set_program(table, name);
    return error;
}

/* Is the answer of the parent's home, LENGTH bytes, complete and well formed? */
static bool is_whole(const struct msg_file_copied *copied, int length)
{
    size_t size = sizeof(*copied);
    const char *name;

    if (length < (int)size || copied->count > ENTRIES_MAX || copied->name > PATH_MAX)
        return false;
    size += copied->count * sizeof(struct copied_entry);
    name = (const char *)copied + size;
    return (size_t)length == size + copied->name && copied->name > 0 &&
           strnlen(name, copied->name) == copied->name - 1u;
}

static int copy_from(uint32_t home, uint32_t group, const int32_t *fds, uint32_t count, struct file_table **out)
{
    const struct remote_how how = {.why = "copy of a descriptor table", .key = group};
    size_t room = sizeof(struct msg_file_copied) + ENTRIES_MAX * sizeof(struct copied_entry) + PATH_MAX;
    size_t size = sizeof(struct msg_file_copy) + (fds != NULL ? count * sizeof(int32_t) : 0);
    struct msg_file_copied *copied;
    struct msg_file_copy *asked;
    struct file_table *table;
    int result = -ENOMEM;

    *out = NULL;
    if (fds != NULL && count > TABLE_MAX)
        return -EMFILE;
    copied = heap_alloc(room);
    asked = heap_alloc(size);
    table = file_table_new();
    if (copied != NULL && asked != NULL && table != NULL) {
        *asked = (struct msg_file_copy){.group = group, .count = fds != NULL ? count : UINT32_MAX};
        if (fds != NULL)
            memcpy(asked + 1, fds, count * sizeof(int32_t));
        result = remote_call(home, MSG_FILE_TABLE_COPY, asked, (uint32_t)size, copied, (uint32_t)room, &how);
        if (result >= 0)
            result = is_whole(copied, result) ? fill_table(table, copied, (const struct copied_entry *)(copied + 1))
                                              : -EPROTO;
    }
    if (copied != NULL)
        heap_free(copied, room);
    if (asked != NULL)
        heap_free(asked, size);
    if (result != 0 && table != NULL)
        file_table_free(table);
    else
        *out = table;
    return result;
}

int file_table_pick_at(uint32_t home, uint32_t id, const int32_t *fds, uint32_t count, struct file_table **out)
{
    struct file_table *table;
    int error;

    if (home != instance.kernel)
        return copy_from(home, id, fds, count, out);
    table = table_of(id);
    if (table == NULL)
        return -ESRCH;
    error = copy_here(table, fds, count, out);
    file_table_free(table);
    return error;
}

int file_table_fork(struct group *parent, struct file_table **out)
{
    return file_table_pick_at(parent->home, parent->id, NULL, 0, out);
}

int file_table_pick(struct group *parent, const int32_t *fds, uint32_t count, struct file_table **out)
{
    static const int32_t none;

    return file_table_pick_at(parent->home, parent->id, fds != NULL ? fds : &none, count, out);
}

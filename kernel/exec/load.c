/* Loading programs. See the header. */
#include "kernel/exec/load.h"

#include "kernel/abi/errno.h"
#include "kernel/file/path.h"
#include "kernel/file/permission.h"
#include "kernel/file/remote.h"
#include "kernel/fs/share/share.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/kept.h"
#include "msg/slice.h"

/* The bound of the cache is KEPT_LEAST bytes or 1/KEPT_PART of the kernel's memory, whichever is more: with a fixed
 * small bound, a program such as perl (12 MiB) would be read again for each exec. */
#define KEPT_LEAST (8ull << 20)
#define KEPT_PART 16
#define FIRST_PAGES (FILE_CHUNK / PAGE_SIZE) /* what one message reads */

struct kept_file {
    struct list node;               /* [k] lock: in kept_files, most recently used first */
    uint32_t users;                 /* [k] lock */
    bool passing;                   /* [k] lock: freed with its last user: it is a script, or the file has changed */
    uint64_t inode, version, ctime; /* [i] identify the file and its content, as name_open returned them */
    struct elf_file file;           /* [i] its pieces are the pages of FRAMES */
    struct frame_kept frames;       /* [i] of the part that is needed to run it */
};

static struct spinlock lock;
static struct list kept_files; /* [k] lock */
static size_t kept_pages;      /* [k] lock: of all of them */

static bool give_up(void);

void load_init(void)
{
    list_init(&kept_files);
    frame_set_give_up(give_up);
}

/* In pages. */
static uint64_t kept_max(void)
{
    struct frame_stats frames;

    frame_stats(&frames);
    return frames.total / KEPT_PART > KEPT_LEAST / PAGE_SIZE ? frames.total / KEPT_PART : KEPT_LEAST / PAGE_SIZE;
}

static void kept_free(struct kept_file *file)
{
    frame_kept_drop(&file->frames);
    heap_free(file, sizeof(*file));
}

static void remove_locked(struct kept_file *file)
{
    list_remove(&file->node);
    kept_pages -= file->frames.count;
}

/* Moves unused files to OUT, for the caller to free: those marked `passing`, and the least recently used ones until the
 * rest is within the bound. */
static void evict_locked(struct list *out)
{
    struct list *node = kept_files.previous;
    uint64_t bound = kept_max();

    while (node != &kept_files) {
        struct kept_file *file = container_of(node, struct kept_file, node);

        node = node->previous;
        if (file->users != 0 || (!file->passing && kept_pages <= bound))
            continue;
        remove_locked(file);
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

/* The least recently used file without users; IDLE: of those that no space maps. NULL: there is none. */
static struct kept_file *oldest_locked(bool idle)
{
    for (struct list *node = kept_files.previous; node != &kept_files; node = node->previous) {
        struct kept_file *file = container_of(node, struct kept_file, node);

        if (file->users == 0 && !(idle && frame_kept_mapped(&file->frames)))
            return file;
    }
    return NULL;
}

/* The cache's shrinker (frame_set_give_up): frees the least recently used file without users, one that no program runs
 * if possible, since the others free less. False: there is none. */
static bool give_up(void)
{
    struct kept_file *file;

    spin_lock(&lock);
    file = oldest_locked(true);
    if (file == NULL)
        file = oldest_locked(false);
    if (file != NULL)
        remove_locked(file);
    spin_unlock(&lock);
    if (file != NULL)
        kept_free(file);
    return file != NULL;
}

/* Marks cached older versions of file INODE to be freed, as they will not be looked up again. */
static void replace_locked(uint64_t inode)
{
    list_for_each(node, &kept_files) {
        struct kept_file *file = container_of(node, struct kept_file, node);

        if (file->inode == inode)
            file->passing = true;
    }
}

static struct kept_file *find_locked(uint64_t inode, uint64_t version, uint64_t ctime)
{
    list_for_each(node, &kept_files) {
        struct kept_file *file = container_of(node, struct kept_file, node);

        if (file->inode == inode && file->version == version && file->ctime == ctime) {
            file->users++;
            list_remove(&file->node);
            list_prepend(&kept_files, &file->node);
            return file;
        }
    }
    return NULL;
}

/* Adds FILE to the cache with one user and returns it; or, if another task has added the same file meanwhile, frees
 * FILE and returns that one. */
static struct kept_file *keep(struct kept_file *file)
{
    struct kept_file *other;
    struct list evicted;

    list_init(&evicted);
    spin_lock(&lock);
    other = find_locked(file->inode, file->version, file->ctime);
    if (other == NULL) {
        replace_locked(file->inode);
        file->users = 1;
        file->passing = file->frames.pages[0][0] == '#' && file->frames.pages[0][1] == '!';
        list_prepend(&kept_files, &file->node);
        kept_pages += file->frames.count;
        evict_locked(&evicted);
    }
    spin_unlock(&lock);
    free_all(&evicted);
    if (other == NULL)
        return file;
    kept_free(file);
    return other;
}

/* Extends FILE to PAGES pages, and reads the new ones from the file at PLACE. What is behind the file's end is zeros;
 * if the file has become shorter, that makes no valid program. */
static int fetch_pages(const struct file_place *place, struct kept_file *file, size_t pages)
{
    struct file_request request = {.operation = MSG_FILE_READ_AT, .fd = -1};
    size_t at = file->frames.count;
    int error = frame_kept_extend(&file->frames, pages);
    struct file_answer answer;

    if (error != 0)
        return error;
    file->file.pieces = (const uint8_t *const *)file->frames.pages;
    while (at < pages) {
        uint8_t *to = file->frames.pages[at];
        size_t count = 1;
        int64_t size, done = 0;

        while (at + count < pages && count < FIRST_PAGES && file->frames.pages[at + count] == to + count * PAGE_SIZE)
            count++;
        size = (int64_t)(count * PAGE_SIZE);
        for (int64_t part = 1; part > 0 && done < size; done += part) {
            request.move.offset = (int64_t)(at * PAGE_SIZE) + done;
            part = file_call_at(place, &request, NULL, 0, to + done, (size_t)(size - done), &answer);
            if (part < 0)
                return (int)part;
        }
        memset(to + done, 0, (size_t)(size - done));
        at += count;
        if (slice_check())
            return -EINTR;
    }
    return 0;
}

/* Is there free memory for PAGES? A hint: others may take it. */
static bool has_room(uint64_t pages)
{
    struct frame_stats frames;

    frame_stats(&frames);
    return pages < frames.free;
}

/* Reads the part of the file at PLACE, of SIZE bytes, that is needed to run it. After the first pages it makes sure
 * that there is memory for the rest, so that a file for which there is not enough does not use it up. */
static int fetch(const struct file_place *place, uint64_t size, struct kept_file *file)
{
    size_t all = size > 0 ? (size + PAGE_SIZE - 1) / PAGE_SIZE : 1, used;
    int error = fetch_pages(place, file, all < FIRST_PAGES ? all : FIRST_PAGES);

    if (error != 0)
        return error;
    file->file.piece_size = PAGE_SIZE;
    file->file.size = size;
    used = (elf_file_used(&file->file) + PAGE_SIZE - 1) / PAGE_SIZE;
    while (error == 0 && used > file->frames.count && !has_room(used - file->frames.count))
        error = frame_make_room() ? 0 : -ENOMEM;
    return error == 0 ? fetch_pages(place, file, used) : error;
}

static int load(const struct name_result *opened, struct loaded *out)
{
    struct kept_file *file;
    int error;

    spin_lock(&lock);
    file = find_locked(opened->facts.inode, opened->version, opened->facts.ctime);
    spin_unlock(&lock);
    if (file == NULL) {
        file = heap_alloc(sizeof(*file));
        if (file == NULL)
            return -ENOMEM;
        list_init(&file->node);
        frame_kept_init(&file->frames);
        file->inode = opened->facts.inode;
        file->version = opened->version;
        file->ctime = opened->facts.ctime;
        error = fetch(&out->place, opened->facts.size, file);
        if (error != 0) {
            kept_free(file);
            return error;
        }
        file = keep(file);
    }
    out->file = file->file;
    out->held = file;
    return 0;
}

int file_load(struct group *group, const struct name *name, struct loaded *out)
{
    struct name_result opened;
    int64_t error;

    *out = (struct loaded){.held = NULL};
    error = name_open(group, name, OPEN_RUN, 0, &opened);
    out->path = opened.text;
    if (error != 0)
        return (int)error;
    out->place = opened.place;
    out->mode = opened.facts.mode;
    out->shared = opened.facts.device >= SHARE_DEVICES;
    if (out->shared) /* nosuid: the server does not know the users of this machine */
        out->mode &= ~(MODE_SET_USER | MODE_SET_GROUP);
    out->uid = opened.facts.uid;
    out->gid = opened.facts.gid;
    return load(&opened, out);
}

int file_load_keep(struct loaded *loaded, struct file **out)
{
    const struct file_place *place = &loaded->place;

    *out = NULL;
    if (loaded->shared)
        return 0;
    if (place->kernel == instance.kernel) {
        *out = file_find(place->id);
        if (*out != NULL)
            file_unpin(*out); /* LOADED's open keeps it */
    } else {
        *out = file_create_proxy(place->kernel, place->id);
    }
    if (*out == NULL)
        return -ENOMEM;
    loaded->place.id = 0;
    return 0;
}

void file_unload(struct loaded *loaded)
{
    struct kept_file *file = loaded->held;
    struct list evicted;

    if (file != NULL) {
        list_init(&evicted);
        spin_lock(&lock);
        file->users--;
        evict_locked(&evicted);
        spin_unlock(&lock);
        free_all(&evicted);
    }
    if (loaded->place.id != 0)
        file_drop(loaded->place.kernel, loaded->place.id);
    heap_free(loaded->path, PATH_MAX);
    *loaded = (struct loaded){.held = NULL};
}

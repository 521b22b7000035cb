/* Loading programs. See the header. */
#include "kernel/exec/load.h"

#include "kernel/abi/errno.h"
#include "kernel/file/path.h"
#include "kernel/file/permission.h"
#include "kernel/file/remote.h"
#include "kernel/fs/node/node.h"
#include "kernel/fs/share/share.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"

/* The bound of the cache is KEPT_LEAST bytes or 1/KEPT_PART of the kernel's memory, whichever is more: with a fixed
 * small bound, a program such as perl (12 MiB) would be read again for each exec. */
#define KEPT_LEAST (8ull << 20)
#define KEPT_PART 16
#define PIECE (256u << 10)

struct kept_file {
    struct list node;               /* [k] lock: in kept_files, most recently used first */
    uint32_t users;                 /* [k] lock */
    bool passing;                   /* [k] lock: freed with its last user: it is a script, or the file has changed */
    uint64_t inode, version, ctime; /* [i] identify the file and its content, as name_open returned them */
    struct elf_file file;           /* [i] without the pieces that are not needed to run it */
    uint8_t **pieces;               /* [i] heap, each PIECE bytes; NULL: missing */
    size_t count;                   /* [i] of pieces */
    size_t bytes;                   /* [i] memory in the pieces */
};

static struct spinlock lock;
static struct list kept_files; /* [k] lock */
static size_t kept_bytes;      /* [k] lock: of all of them */

static bool give_up(void);

void load_init(void)
{
    list_init(&kept_files);
    frame_set_give_up(give_up);
}

static uint64_t kept_max(void)
{
    struct frame_stats frames;
    uint64_t part;

    frame_stats(&frames);
    part = frames.total * PAGE_SIZE / KEPT_PART;
    return part > KEPT_LEAST ? part : KEPT_LEAST;
}

static void kept_free(struct kept_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        heap_free(file->pieces[i], PIECE);
    heap_free(file->pieces, file->count * sizeof(*file->pieces));
    heap_free(file, sizeof(*file));
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
        if (file->users != 0 || (!file->passing && kept_bytes <= bound))
            continue;
        list_remove(&file->node);
        kept_bytes -= file->bytes;
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

/* The cache's shrinker (frame_set_give_up): frees the least recently used file without users. False: there is none. */
static bool give_up(void)
{
    struct kept_file *file = NULL;
    struct list *node;

    spin_lock(&lock);
    for (node = kept_files.previous; node != &kept_files && file == NULL; node = node->previous) {
        file = container_of(node, struct kept_file, node);
        if (file->users != 0)
            file = NULL;
    }
    if (file != NULL) {
        list_remove(&file->node);
        kept_bytes -= file->bytes;
    }
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
        file->passing = file->pieces[0][0] == '#' && file->pieces[0][1] == '!';
        list_prepend(&kept_files, &file->node);
        kept_bytes += file->bytes;
        evict_locked(&evicted);
    }
    spin_unlock(&lock);
    free_all(&evicted);
    if (other == NULL)
        return file;
    kept_free(file);
    return other;
}

/* Reads piece NUMBER of the file at PLACE. */
static int fetch_piece(const struct file_place *place, struct kept_file *file, size_t number)
{
    struct file_request request = {.operation = MSG_FILE_READ_AT, .fd = -1};
    uint64_t begin = (uint64_t)number * PIECE;
    uint64_t size = file->file.size - begin < PIECE ? file->file.size - begin : PIECE;
    struct file_answer answer;
    uint64_t done = 0;

    file->pieces[number] = heap_alloc(PIECE);
    if (file->pieces[number] == NULL)
        return -ENOMEM;
    file->bytes += PIECE;
    while (done < size) {
        uint64_t part = size - done < FILE_CHUNK ? size - done : FILE_CHUNK;
        int64_t count;

        request.move.offset = (int64_t)(begin + done);
        count = file_call_at(place, &request, NULL, 0, file->pieces[number] + done, part, &answer);
        if (count < 0)
            return (int)count;
        if (count == 0) /* the file has become shorter: the rest stays zero, which is no valid program */
            break;
        done += (uint64_t)count;
        if (slice_check())
            return -EINTR;
    }
    return 0;
}

/* Is there free memory for BYTES? A hint: others may take it. */
static bool has_room(uint64_t bytes)
{
    struct frame_stats frames;

    frame_stats(&frames);
    return bytes / PAGE_SIZE < frames.free;
}

/* Reads the part of the file at PLACE, of SIZE bytes, that is needed to run it. After the first piece it makes sure
 * that there is memory for the rest, so that a file for which there is not enough does not use it up. */
static int fetch(const struct file_place *place, uint64_t size, struct kept_file *file)
{
    size_t used = size, count = size > 0 ? (size + PIECE - 1) / PIECE : 1;
    int error = 0;

    file->pieces = heap_alloc(count * sizeof(*file->pieces));
    if (file->pieces == NULL)
        return -ENOMEM;
    file->count = count;
    file->file = (struct elf_file){.pieces = (const uint8_t *const *)file->pieces, .piece_size = PIECE, .size = size};
    for (size_t i = 0; i < count && (i == 0 || i * PIECE < used) && error == 0; i++) {
        error = fetch_piece(place, file, i);
        if (i == 0 && error == 0)
            used = elf_file_used(&file->file);
        while (i == 0 && error == 0 && !has_room(used))
            error = frame_make_room() ? 0 : -ENOMEM;
    }
    return error;
}

/* On kernel 0, uses the bytes of the boot image if the file has not been written since boot (VERSION 0). False: it
 * cannot. */
static bool find_archive(uint64_t version, struct loaded *loaded)
{
    struct file *file = instance.kernel == 0 && version == 0 ? file_find(loaded->place.id) : NULL;
    struct node *node = file != NULL ? file_node(file) : NULL;
    bool found = false;

    if (node != NULL) {
        spin_lock(&node->lock);
        found = node->version == 0 && node->content.archive_size == node->content.size;
        if (found) { /* these bytes stay, even if the file is written later */
            loaded->archive = node->content.archive;
            loaded->file = (struct elf_file){.pieces = &loaded->archive,
                                             .piece_size = node->content.size > 0 ? node->content.size : 1,
                                             .size = node->content.size};
        }
        spin_unlock(&node->lock);
    }
    if (file != NULL)
        file_unpin(file);
    return found;
}

static int load(const struct name_result *opened, struct loaded *out)
{
    struct kept_file *file;
    int error;

    if (find_archive(opened->version, out))
        return 0;
    spin_lock(&lock);
    file = find_locked(opened->facts.inode, opened->version, opened->facts.ctime);
    spin_unlock(&lock);
    if (file == NULL) {
        file = heap_alloc(sizeof(*file));
        if (file == NULL)
            return -ENOMEM;
        list_init(&file->node);
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
    if (opened.facts.device >= SHARE_DEVICES) /* nosuid: the server does not know the users of this machine */
        out->mode &= ~(MODE_SET_USER | MODE_SET_GROUP);
    out->uid = opened.facts.uid;
    out->gid = opened.facts.gid;
    return load(&opened, out);
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

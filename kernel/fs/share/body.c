/* The bytes of regular files of shares that programs map. See kernel/fs/share/internal.h. Frames come from a node of
 * kernel 0 (kernel/fs/node/node.h), which mmap fills with the server's bytes unless it has them already. So all
 * mappings of a file, on any kernel, have the same frames until the host changes the file. Locks are the node's, too.
 */
#include "kernel/abi/errno.h"
#include "kernel/file/wire.h"
#include "kernel/fs/node/map.h"
#include "kernel/fs/node/node.h"
#include "kernel/fs/share/internal.h"
#include "kernel/lib/string.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"

#define BUCKETS 256u
#define PART 61440u /* bytes read from the server at a time */

static struct spinlock lock; /* before the lock of the table of nodes */
static struct list buckets[BUCKETS];

static struct list *bucket_of(uint64_t path)
{
    struct list *bucket = &buckets[(path ^ path >> 16 ^ path >> 40) % BUCKETS];

    if (bucket->next == NULL)
        list_init(bucket);
    return bucket;
}

/* The last reference of a body's node has gone. The node's st_rdev, which regular files do not use, is the key of the
 * body's bucket. */
static void end(struct node *node)
{
    struct share_body *body = NULL;

    spin_lock(&lock);
    list_for_each(at, bucket_of(node->device)) {
        if (container_of(at, struct share_body, list)->node == node) {
            body = container_of(at, struct share_body, list);
            list_remove(at);
            break;
        }
    }
    spin_unlock(&lock);
    if (body != NULL)
        p9_drop(body->kept);
    if (body != NULL && body->name != NULL)
        heap_free(body->name, strlen(body->name) + 1);
    heap_free(body, sizeof(*body));
}

bool share_body_keep(struct share_body *body, struct p9_fid *fid)
{
    bool keep;

    spin_lock(&lock);
    keep = __atomic_load_n(&body->loaded, __ATOMIC_ACQUIRE) && body->kept == NULL;
    if (keep)
        body->kept = fid;
    spin_unlock(&lock);
    return keep;
}

static void describe(struct node *node, char *name, struct file_facts *facts)
{
    struct share_body *body = NULL;
    char *path = heap_alloc(PATH_MAX);

    node_facts(node, facts);
    spin_lock(&lock);
    list_for_each(at, bucket_of(node->device)) {
        if (container_of(at, struct share_body, list)->node == node)
            body = container_of(at, struct share_body, list);
    }
    if (body != NULL) {
        facts->device = body->share->device;
        facts->inode = body->path;
        if (path != NULL && body->name != NULL)
            memcpy(path, body->name, strlen(body->name) + 1);
    }
    spin_unlock(&lock);
    if (body == NULL || path == NULL || *path == '\0' || share_path(body->share, NULL, path, name, PATH_MAX) < 0)
        *name = '\0';
    heap_free(path, PATH_MAX);
}

static const struct node_owner owner = {.describe = describe};

/* Records the name for /proc/PID/maps; without memory the file has none there. */
static void note_name(struct share_open *open)
{
    struct share_body *body = open->body;
    char *name, *old;

    spin_lock(&open->share->lock);
    name = heap_alloc_unset(strlen(open->path) + 1);
    if (name != NULL)
        memcpy(name, open->path, strlen(open->path) + 1);
    spin_unlock(&open->share->lock);
    spin_lock(&lock);
    old = body->name;
    body->name = name;
    spin_unlock(&lock);
    if (old != NULL)
        heap_free(old, strlen(old) + 1);
}

/* Finds a body and takes a reference to its node, unless the node is being freed. */
static struct share_body *find_locked(const struct host_share *share, uint64_t path)
{
    list_for_each(at, bucket_of(path)) {
        struct share_body *body = container_of(at, struct share_body, list);

        if (body->share == share && body->path == path && node_find(body->node->number) == body->node)
            return body;
    }
    return NULL;
}

struct share_body *share_body_get(struct host_share *share, const struct p9_qid *qid)
{
    struct share_body *body = heap_alloc(sizeof(*body)), *other;
    struct node *node = node_create(FILE_REGULAR | 0600);

    if (body == NULL || node == NULL) {
        heap_free(body, sizeof(*body));
        if (node != NULL)
            node_put(node);
        return NULL;
    }
    share_mutex_init(&body->mutex);
    body->share = share;
    body->path = qid->path;
    body->node = node;
    spin_lock(&lock);
    other = find_locked(share, qid->path);
    if (other == NULL) {
        node->device = qid->path;
        node->end = end;
        node->owner = &owner;
        list_append(bucket_of(qid->path), &body->list);
    }
    spin_unlock(&lock);
    if (other != NULL) {
        node_put(node);
        heap_free(body, sizeof(*body));
        body = other;
    }
    return body;
}

/* --- mapping --- */

/* Writes SIZE bytes at AT to the frames. CHANGE: that changes the file. As content_write, but waits while a page moves.
 */
static int64_t write_frames(struct share_body *body, uint64_t at, const void *data, size_t size, bool change)
{
    int64_t count;

    for (;;) {
        spin_lock(&body->node->lock);
        count = content_write(&body->node->content, at, data, size);
        if (change && count != -EAGAIN)
            node_changed_locked(body->node);
        spin_unlock(&body->node->lock);
        if (count != -EAGAIN)
            return count;
        node_await_moves(body->node);
    }
}

void share_body_write(struct share_body *body, uint64_t at, const void *data, size_t size)
{
    if (body->loaded)
        write_frames(body, at, data, size, true);
}

static int64_t resize_frames(struct share_body *body, uint64_t size, struct file_answer *answer)
{
    int64_t error = node_resize(body->node, size, answer);

    while (error == -EAGAIN) {
        node_await_moves(body->node);
        error = node_resize(body->node, size, answer);
    }
    return error;
}

static int fill(struct share_body *body, struct p9_fid *fid, uint64_t size)
{
    uint8_t *bytes = heap_alloc_unset(PART);
    uint64_t at = 0;
    int64_t count = 1;

    if (bytes == NULL)
        return -ENOMEM;
    while (at < size && count > 0) {
        count = p9_read(fid, at, bytes, size - at < PART ? (size_t)(size - at) : PART);
        if (count > 0)
            count = write_frames(body, at, bytes, (size_t)count, false);
        if (count > 0)
            at += (uint64_t)count;
    }
    heap_free(bytes, PART);
    return count < 0 ? (int)count : 0;
}

static bool is_seen(const struct share_body *body, const struct p9_attributes *now)
{
    return body->loaded && body->seen.size == now->size && body->seen.mtime == now->mtime &&
           body->seen.ctime == now->ctime && body->seen.qid.version == now->qid.version;
}

void share_body_resize(struct share_body *body, uint64_t size, struct file_answer *answer)
{
    if (body->loaded && resize_frames(body, size, answer) < 0)
        body->seen.size = UINT64_MAX; /* without memory, the next mmap reads the file again */
}

/* Brings the node up to date with the file. body->mutex is held. 0 or a negative errno. */
static int load(struct share_body *body, struct p9_fid *fid)
{
    struct file_answer settles = {.flags = 0}; /* if the file became shorter, nobody waits for the revocation */
    struct p9_attributes attributes;
    struct frame_stats frames;
    int64_t error = p9_get(fid, &attributes);

    if (error != 0 || is_seen(body, &attributes))
        return (int)error;
    frame_stats(&frames);
    if (attributes.size > body->node->content.size &&
        (attributes.size - body->node->content.size) / PAGE_SIZE >= frames.free)
        return -ENOMEM;
    __atomic_store_n(&body->loaded, true, __ATOMIC_RELEASE); /* from now on, writes update the node, too */
    body->seen = (struct p9_attributes){.size = UINT64_MAX};
    error = resize_frames(body, attributes.size, &settles);
    if (error == 0)
        error = fill(body, fid, attributes.size);
    if (error == 0)
        body->seen = attributes;
    return (int)error;
}

int64_t share_body_map(struct share_open *open, uint32_t home)
{
    struct share_body *body = open->body;
    int error;

    if (home >= KERNELS_MAX)
        return -EPROTO;
    share_mutex_lock(&body->mutex);
    error = load(body, open->fid);
    if (error == 0)
        error = node_maps_grant(body->node, home, false);
    if (error == 0)
        note_name(open);
    share_mutex_unlock(&body->mutex);
    return error != 0 ? error : (int64_t)body->node->number;
}

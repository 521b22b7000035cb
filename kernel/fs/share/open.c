/* Open files of shares: creation and release. See kernel/fs/share/internal.h. */
#include "kernel/abi/errno.h"
#include "kernel/fs/node/lock.h"
#include "kernel/fs/node/node.h"
#include "kernel/fs/share/internal.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

static void open_free(struct share_open *open)
{
    struct node *node = open->body != NULL ? open->body->node : NULL;

    if (open->fid == NULL || open->body == NULL || !share_body_keep(open->body, open->fid))
        p9_drop(open->fid);
    p9_drop(open->list);
    if (open->path != NULL)
        heap_free(open->path, strlen(open->path) + 1);
    heap_free(open, sizeof(*open));
    if (node != NULL)
        node_put(node);
}

static void release(struct file *file)
{
    struct share_open *open = file->state;

    if (open->body != NULL)
        node_lock_release(file, open->body->node);
}

/* Fids are dropped when the file's memory is freed, because operations under way have pinned the file. */
static void forget(struct file *file)
{
    struct share_open *open = file->state;

    spin_lock(&open->share->lock);
    list_remove(&open->of_share);
    spin_unlock(&open->share->lock);
    open_free(open);
}

static const struct file_kind file_kind = {.act = share_file_act, .release = release, .forget = forget, .waits = true};
static const struct file_kind directory_kind = {
    .act = share_file_act, .forget = forget, .waits = true, .directory = true};

static struct share_open *open_make(struct host_share *share, bool body, const struct p9_qid *qid, const char *path)
{
    struct share_open *open = heap_alloc(sizeof(*open));

    if (open == NULL)
        return NULL;
    list_init(&open->of_share);
    share_mutex_init(&open->mutex);
    open->share = share;
    open->path = heap_alloc_unset(strlen(path) + 1);
    if (open->path != NULL)
        memcpy(open->path, path, strlen(path) + 1);
    if (open->path != NULL && body)
        open->body = share_body_get(share, qid);
    if (open->path == NULL || (body && open->body == NULL)) {
        open_free(open);
        return NULL;
    }
    return open;
}

struct file *share_file_open(struct host_share *share, struct p9_fid *fid, struct p9_fid *list, bool body,
                             const struct p9_attributes *attributes, uint32_t flags, const char *path)
{
    struct share_open *open = open_make(share, body, &attributes->qid, path);
    bool directory = (attributes->mode & FILE_TYPE_MASK) == FILE_DIRECTORY;
    struct file_facts facts;
    struct file *file;

    if (open == NULL) {
        p9_drop(fid);
        p9_drop(list);
        return NULL;
    }
    open->fid = fid;
    open->list = list;
    share_facts(share, attributes, &facts);
    spin_lock(&share->lock);
    list_append(&share->opens, &open->of_share);
    open->number = ++share->opened;
    spin_unlock(&share->lock);
    file = file_create(directory ? &directory_kind : &file_kind, &facts, flags, open,
                       open->body != NULL ? &open->body->node->events : NULL);
    if (file == NULL) {
        spin_lock(&share->lock);
        list_remove(&open->of_share);
        spin_unlock(&share->lock);
        open_free(open);
    }
    return file;
}

/* Shares: connecting to servers, and names and attributes of files. See the header. */
#include "kernel/fs/share/share.h"

#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/dev/virtio_9p.h"
#include "kernel/fs/share/internal.h"
#include "kernel/fs/text/text.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

#define OPTION_MAX 1024u /* maximum length of the option */

static struct host_share *shares; /* [i] once programs run */

/* --- mutexes --- */

void share_mutex_init(struct share_mutex *mutex)
{
    *mutex = (struct share_mutex){.held = false};
    waitq_init(&mutex->queue);
}

void share_mutex_lock(struct share_mutex *mutex)
{
    static const struct wait_reason reason = {.what = "another operation on a file of a share", .kernel = -1};

    spin_lock(&mutex->lock);
    while (mutex->held)
        waitq_wait(&mutex->queue, &mutex->lock, &reason, WAIT_FIRM, 0);
    mutex->held = true;
    spin_unlock(&mutex->lock);
}

void share_mutex_unlock(struct share_mutex *mutex)
{
    spin_lock(&mutex->lock);
    mutex->held = false;
    waitq_wake_all(&mutex->queue);
    spin_unlock(&mutex->lock);
}

/* --- connecting --- */

static int connect(struct host_share *share, const char **what)
{
    struct virtio_9p *device = virtio_9p_find(share->option.tag);
    int error;

    *what = "has no device";
    if (device == NULL)
        return -ENODEV;
    *what = "has a device that does not speak 9P2000.L";
    error = p9_connect(&share->p9, device, &share->root, &share->qid);
    if (error != 0)
        return error;
    *what = "cannot be mounted there";
    return tree_mount(share->option.directory, share, &share->mount);
}

static void add(const struct share_option *option, uint64_t number)
{
    struct host_share *share = heap_alloc(sizeof(*share));
    struct host_share **last = &shares;
    const char *what = "finds no memory";
    int error = -ENOMEM;

    if (share != NULL) {
        share->option = *option;
        share->device = SHARE_DEVICES + number;
        list_init(&share->opens);
        error = connect(share, &what);
    }
    if (error != 0) { /* the share's memory is not freed: the device may still write to it */
        log_event("option share: share= %s at %s %s (error %d)", option->tag, option->directory, what, error);
        return;
    }
    while (*last != NULL)
        last = &(*last)->next;
    *last = share;
}

/* Returns whether the boot option names shares; its value is then at VALUE, which has OPTION_MAX bytes or is NULL. */
static bool asked_for(char *value)
{
    return value != NULL && option_find(instance.cmdline, "share", value, OPTION_MAX) && option_valid("share", value) &&
           strcmp(value, "none") != 0;
}

void share_find_devices(void)
{
    char *value = heap_alloc(OPTION_MAX);

    if (asked_for(value))
        virtio_9p_start();
    heap_free(value, OPTION_MAX);
}

void share_start(void)
{
    char *value = heap_alloc(OPTION_MAX);
    const char *text = value;
    struct share_option option;
    uint64_t number = 0;
    int found = asked_for(value) ? 1 : 0;

    while (found != 0) {
        found = share_option_next(&text, &option);
        if (found > 0)
            add(&option, number++);
        else if (found < 0)
            log_event("option invalid share=; a tag or a directory is too long");
    }
    heap_free(value, OPTION_MAX);
}

void share_list(struct text *text, bool info)
{
    char *path = heap_alloc(PATH_MAX);
    const char *may;

    for (struct host_share *share = shares; path != NULL && share != NULL; share = share->next) {
        if (tree_name(share->mount, NULL, path, PATH_MAX) <= 0)
            continue;
        may = share->option.read_only ? "ro" : "rw";
        if (info) /* mount ids follow those of mounts that every machine has */
            text_put(text, "%lu 1 0:%lu / %s %s,nosuid,relatime - 9p %s %s,access=client,trans=virtio\n", share->device,
                     share->device, path, may, share->option.tag, may);
        else
            text_put(text, "%s %s 9p %s,nosuid,relatime,access=client,trans=virtio 0 0\n", share->option.tag, path,
                     may);
    }
    heap_free(path, PATH_MAX);
}

/* --- names and attributes --- */

int64_t share_path(const struct host_share *share, const struct node *root, const char *path, char *out, size_t room)
{
    int64_t length = tree_name(share->mount, root, out, room);
    size_t more = strlen(path);

    if (length < 0 || more == 0)
        return length;
    if ((size_t)length + more + 2 > room)
        return -ENAMETOOLONG;
    out[length] = '/';
    memcpy(out + length + 1, path, more + 1);
    return length + 1 + (int64_t)more;
}

/* Replaces the first LENGTH bytes of OPEN's name by TO. The file becomes nameless if the name gets too long or memory
 * is short. */
static void change_path(struct share_open *open, size_t length, const char *to)
{
    size_t first = strlen(to), rest = strlen(open->path) - length;
    char *path = first + rest < PATH_MAX ? heap_alloc_unset(first + rest + 1) : NULL;

    if (path == NULL) {
        open->nameless = true;
        return;
    }
    snprintf(path, first + rest + 1, "%s%s", to, open->path + length);
    heap_free(open->path, length + rest + 1);
    open->path = path;
}

uint64_t share_opened(struct host_share *share)
{
    uint64_t opened;

    spin_lock(&share->lock);
    opened = share->opened;
    spin_unlock(&share->lock);
    return opened;
}

void share_path_gone(struct host_share *share, const char *path, uint64_t opened)
{
    spin_lock(&share->lock);
    list_for_each(node, &share->opens) {
        struct share_open *open = container_of(node, struct share_open, of_share);

        if (open->number <= opened && strcmp(open->path, path) == 0)
            open->nameless = true;
    }
    spin_unlock(&share->lock);
}

void share_paths_change(struct host_share *share, const char *path, const char *to)
{
    size_t length = strlen(path);

    spin_lock(&share->lock);
    list_for_each(node, &share->opens) {
        struct share_open *open = container_of(node, struct share_open, of_share);

        if (open->nameless || strncmp(open->path, path, length) != 0)
            continue;
        if (open->path[length] == '\0' || open->path[length] == '/')
            change_path(open, length, to);
    }
    spin_unlock(&share->lock);
}

void share_facts(const struct host_share *share, const struct p9_attributes *from, struct file_facts *to)
{
    *to = (struct file_facts){.inode = from->qid.path,
                              .size = from->size,
                              .device = share->device,
                              .number = from->device,
                              .mode = from->mode,
                              .links = (uint32_t)from->links,
                              .uid = from->uid,
                              .gid = from->gid,
                              .blocks = from->blocks,
                              .atime = from->atime,
                              .mtime = from->mtime,
                              .ctime = from->ctime};
}

int share_change(struct p9_fid *fid, const struct node_change *change)
{
    struct p9_change asked = {
        .mode = change->mode, .uid = change->uid, .gid = change->gid, .atime = change->atime, .mtime = change->mtime};

    if ((change->what & CHANGE_MODE) != 0)
        asked.what |= P9_SET_MODE;
    if ((change->what & CHANGE_UID) != 0)
        asked.what |= P9_SET_UID;
    if ((change->what & CHANGE_GID) != 0)
        asked.what |= P9_SET_GID;
    if ((change->what & CHANGE_ATIME) != 0)
        asked.what |= P9_SET_ATIME | ((change->what & CHANGE_ATIME_NOW) != 0 ? 0 : P9_SET_ATIME_TO);
    if ((change->what & CHANGE_MTIME) != 0)
        asked.what |= P9_SET_MTIME | ((change->what & CHANGE_MTIME_NOW) != 0 ? 0 : P9_SET_MTIME_TO);
    if (asked.what == 0)
        asked.what = P9_SET_CTIME;
    return p9_set(fid, &asked);
}

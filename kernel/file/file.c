/* Open files: their table and their counts. See the header. */
#include "kernel/file/file.h"

#include "kernel/file/wire.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/remote/operation.h"
#include "tasks/role/role.h"

#define BUCKETS 256u

const struct file_kind file_memory_kind = {.seekable = true};
const struct file_kind file_directory_kind = {.directory = true};

static struct spinlock files_lock; /* innermost, except for the run queues' locks */
static struct list files[BUCKETS]; /* [t] */
static struct list proxies;        /* [t] */
static uint64_t last_id;           /* [t] */
static struct file_counts counts;  /* [a] */

void file_count(struct file_counts *out)
{
    out->files = __atomic_load_n(&counts.files, __ATOMIC_RELAXED);
    out->proxies = __atomic_load_n(&counts.proxies, __ATOMIC_RELAXED);
}

static void count(uint32_t kernel, int64_t more)
{
    __atomic_fetch_add(kernel == instance.kernel ? &counts.files : &counts.proxies, (uint64_t)more, __ATOMIC_RELAXED);
}

static struct list *bucket_of(uint64_t id)
{
    return &files[id % BUCKETS];
}

static struct file *new_file(uint32_t kernel)
{
    struct file *file = heap_alloc(sizeof(*file));

    if (file == NULL)
        return NULL;
    count(kernel, 1);
    list_init(&file->node);
    file->kernel = kernel;
    file->opens = 1;
    file->pins = 1;
    file->events = &file->own_events;
    file_events_init(&file->own_events);
    return file;
}

static void publish(struct file *file)
{
    spin_lock(&files_lock);
    file->id = (uint64_t)role_own() << ROLE_FILE_SHIFT | ++last_id;
    if (file->facts.inode == 0)
        file->facts.inode = file->id;
    list_append(bucket_of(file->id), &file->node);
    spin_unlock(&files_lock);
}

struct file *file_create(const struct file_kind *kind, const struct file_facts *facts, uint32_t flags, void *state,
                         struct file_events *events)
{
    struct file *file = new_file(instance.kernel);

    if (file == NULL)
        return NULL;
    file->kind = kind;
    file->facts = *facts;
    file->flags = flags;
    file->state = state;
    if (events != NULL)
        file->events = events;
    publish(file);
    return file;
}

struct file *file_create_data(const struct file_kind *kind, const struct file_facts *facts, uint32_t flags,
                              const void *data, size_t owned)
{
    struct file *file = new_file(instance.kernel);

    if (file == NULL) {
        if (owned != 0)
            heap_free((void *)(uintptr_t)data, owned);
        return NULL;
    }
    file->kind = kind;
    file->facts = *facts;
    file->flags = flags;
    file->data = data;
    file->owned = owned;
    publish(file);
    return file;
}

struct file *file_create_proxy(uint32_t kernel, uint64_t id)
{
    struct file *file = new_file(kernel);

    if (file == NULL)
        return NULL;
    file->id = id;
    spin_lock(&files_lock);
    list_append(&proxies, &file->node);
    spin_unlock(&files_lock);
    return file;
}

struct file *file_make(const struct file_kind *kind, uint64_t id)
{
    struct file *file = new_file(instance.kernel);

    if (file != NULL) {
        file->kind = kind;
        file->id = id;
    }
    return file;
}

void file_publish(struct file *file)
{
    spin_lock(&files_lock);
    list_append(bucket_of(file->id), &file->node);
    spin_unlock(&files_lock);
}

void file_each(void (*each)(struct file *file, void *context), void *context)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_for_each(node, &files[i]) {
            each(container_of(node, struct file, node), context);
            slice_check();
        }
    }
}

/* The file after FILE in LIST, or the first if FILE is NULL or has been closed, with a pin. NULL: there is none. */
static struct file *next_pinned(const struct list *list, const struct file *file)
{
    struct file *next = NULL;
    const struct list *node;

    spin_lock(&files_lock);
    node = file == NULL || list_empty(&file->node) ? list->next : file->node.next;
    if (node != list) {
        next = container_of(node, struct file, node);
        file_pin(next);
    }
    spin_unlock(&files_lock);
    return next;
}

static void each_pinned(const struct list *list, void (*each)(struct file *file, void *context), void *context)
{
    struct file *next, *file = next_pinned(list, NULL);

    for (; file != NULL; file = next) {
        each(file, context);
        next = next_pinned(list, file);
        file_unpin(file);
        slice_check();
    }
}

void file_each_pinned(void (*each)(struct file *file, void *context), void *context)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        each_pinned(&files[i], each, context);
}

void file_proxies_each(void (*each)(struct file *file, void *context), void *context)
{
    each_pinned(&proxies, each, context);
}

void file_free(struct file *file)
{
    spin_lock(&files_lock);
    list_remove(&file->node);
    spin_unlock(&files_lock);
    if (file->kind != NULL && file->kind->forget != NULL)
        file->kind->forget(file);
    if (file->owned != 0)
        heap_free((void *)(uintptr_t)file->data, file->owned);
    if (file->path != NULL)
        heap_free(file->path, strlen(file->path) + 1);
    count(file->kernel, -1);
    heap_free(file, sizeof(*file));
}

static struct file *find_locked(uint64_t id)
{
    list_for_each(node, bucket_of(id)) {
        struct file *file = container_of(node, struct file, node);

        if (file->id == id)
            return file;
    }
    return NULL;
}

struct file *file_find(uint64_t id)
{
    struct file *file;

    spin_lock(&files_lock);
    file = find_locked(id);
    if (file != NULL)
        file_pin(file);
    spin_unlock(&files_lock);
    return file;
}

struct file *file_share(uint64_t id)
{
    struct file *file;

    spin_lock(&files_lock);
    file = find_locked(id);
    if (file != NULL)
        file->opens++;
    spin_unlock(&files_lock);
    return file;
}

void file_open_again(struct file *file)
{
    spin_lock(&files_lock);
    file->opens++;
    spin_unlock(&files_lock);
}

static void drop_answered(void *context, uint32_t kernel, const void *reply, int length)
{
    (void)kernel;
    (void)reply;
    (void)length;
    file_unpin(context);
}

void file_close(struct file *file)
{
    void (*fewer)(void) = NULL;
    bool last;

    spin_lock(&files_lock);
    last = --file->opens == 0;
    if (last)
        list_remove(&file->node); /* it cannot be found any more */
    else if (file->kind != NULL)  /* read now: another thread may drop the last open */
        fewer = file->kind->fewer;
    spin_unlock(&files_lock);
    if (fewer != NULL)
        fewer();
    if (!last)
        return;
    if (file->kind == NULL) { /* drop_answered drops the pin of the opens */
        msg_ask(&file->asking, file->kernel, MSG_FILE_DROP, &file->id, sizeof(file->id), drop_answered, file);
        return;
    }
    if (file->kind->release != NULL)
        file->kind->release(file);
    file_event(file->events); /* waiting threads find that it is closed */
    file_unpin(file);
}

void file_drop(uint32_t kernel, uint64_t id)
{
    const struct remote_how how = {.why = "drop of a file", .key = id, .sure = true};

    remote_call(kernel, MSG_FILE_DROP, &id, sizeof(id), NULL, 0, &how);
}

static int serve_drop(const struct remote_request *request, void *result)
{
    const struct msg_file_drop *asked = request->data;
    struct file *file = file_find(asked->id);

    (void)result;
    if (file != NULL) {
        file_close(file);
        file_unpin(file);
    }
    return 0;
}

static struct watch_source *find_source(uint64_t id, void **held)
{
    struct file *file = file_find(id);

    *held = file;
    return file != NULL ? &file->events->source : NULL;
}

static void put_source(void *held)
{
    file_unpin(held);
}

void file_init(void)
{
    static const struct watch_lookup lookup = {find_source, put_source};

    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&files[i]);
    list_init(&proxies);
    watch_register(WATCH_FILE, &lookup);
    REMOTE_SERVE(FILE_DROP, serve_drop, NULL, struct msg_file_drop, struct msg_none);
}

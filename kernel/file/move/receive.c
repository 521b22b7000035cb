/* Moving files, the receiving side: the successor makes the copies, and every kernel changes its references. See
 * kernel/file/move/move.h. Handlers run here, one at a time, while programs are quiesced. */
#include "kernel/abi/errno.h"
#include "kernel/file/descriptor.h"
#include "kernel/file/descriptor_cache.h"
#include "kernel/file/event/epoll.h"
#include "kernel/file/move/internal.h"
#include "kernel/file/move/move.h"
#include "kernel/file/move/references.h"
#include "kernel/file/path.h"
#include "kernel/file/root.h"
#include "kernel/file/table.h"
#include "kernel/fs/device/device.h"
#include "kernel/fs/node/map.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/pipe/pipe.h"
#include "kernel/ipc/socket/socket.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"
#include "tasks/freeze/freeze.h"
#include "tasks/handover/handover.h"

#define BUCKETS 256u

struct laid_file { /* the copy of a file of the kernel that stops */
    struct laid_file *next;
    struct file *file;
};

struct laid_proxy { /* the counterpart of a proxy of the kernel that stops, by its key */
    struct laid_proxy *next;
    uint64_t key;
    struct file *file; /* a proxy of this kernel, or the file itself if it is here */
    uint32_t slots;
    bool here;
};

struct laid_table {
    struct laid_table *next;
    struct file_table *table;
};

static struct laid_file *all_files[BUCKETS]; /* by id */
static struct laid_proxy *proxies[BUCKETS];
static struct laid_table *all_tables;
static struct file *filling; /* the file that MOVE_DATA fills, and the bytes so far */
static size_t filled;

static int lay_file(const struct file_kind *kind, const struct moved_file *facts, struct file **out)
{
    struct laid_file *laid = heap_alloc(sizeof(*laid));
    struct file *file = laid != NULL ? file_make(kind, facts->id) : NULL;

    if (file == NULL) {
        heap_free(laid, sizeof(*laid));
        return -ENOMEM;
    }
    file->opens = facts->opens;
    file->flags = facts->flags;
    file->offset = facts->offset;
    file->facts = facts->facts;
    laid->file = file;
    laid->next = all_files[facts->id % BUCKETS];
    all_files[facts->id % BUCKETS] = laid;
    *out = file;
    return 0;
}

/* The kind of a file that is not a pipe; NULL: nothing that moves. */
static const struct file_kind *kind_of(const struct moved_file *facts)
{
    switch (facts->kind) {
    case MOVED_MEMORY:
        return &file_memory_kind;
    case MOVED_DIRECTORY:
        return &file_directory_kind;
    case MOVED_DEVICE:
        return device_kind(facts->facts.number);
    default:
        return NULL;
    }
}

static int take_file(const struct moved_file *facts, size_t size)
{
    const char *path = (const char *)(facts + 1);
    const struct file_kind *kind = kind_of(facts);
    size_t length = size - sizeof(*facts);
    struct file *file;
    int error;

    if (kind == NULL || (length > 0 && strnlen(path, length) != length - 1) ||
        (facts->size > 0 && facts->kind == MOVED_DEVICE))
        return -EPROTO;
    error = lay_file(kind, facts, &file);
    if (error != 0)
        return error;
    if (length > 0) {
        file->path = heap_alloc(length);
        if (file->path == NULL)
            return -ENOMEM;
        memcpy(file->path, path, length);
    }
    if (facts->size > 0) {
        file->data = heap_alloc(facts->size);
        if (file->data == NULL)
            return -ENOMEM;
        file->owned = facts->size;
    }
    filling = file;
    filled = 0;
    return 0;
}

static int take_pipe(const struct moved_file facts[2])
{
    struct file *ends[2] = {NULL, NULL};
    int error = 0;

    for (int i = 0; i < 2 && error == 0; i++) {
        if (facts[i].id != 0)
            error = lay_file(pipe_end_kind(i), &facts[i], &ends[i]);
    }
    if (error == 0)
        error = pipe_restore(ends);
    filling = ends[0] != NULL ? ends[0] : ends[1];
    filled = 0;
    return error;
}

static int take_data(const uint8_t *data, size_t size)
{
    if (filling == NULL)
        return -EPROTO;
    if (pipe_is_end(filling))
        return pipe_refill(filling, data, size);
    if (size > filling->owned - filled)
        return -EPROTO;
    memcpy((uint8_t *)(uintptr_t)filling->data + filled, data, size);
    filled += size;
    return 0;
}

static int take_table(const struct moved_table *facts, size_t size)
{
    const char *name = (const char *)(facts + 1);
    size_t room = size - sizeof(*facts);
    struct laid_table *laid;
    int error;

    if (facts->size > TABLE_MAX || room == 0 || strnlen(name, room) != room - 1)
        return -EPROTO;
    laid = heap_alloc(sizeof(*laid));
    if (laid == NULL)
        return -ENOMEM;
    laid->table = file_table_new();
    laid->next = all_tables;
    all_tables = laid;
    if (laid->table == NULL)
        return -ENOMEM;
    error = table_reserve(laid->table, facts->size);
    laid->table->lowest = facts->lowest;
    laid->table->process = facts->process;
    laid->table->undo = facts->undo;
    laid->table->limit = facts->limit;
    laid->table->file_limit = facts->file_limit;
    if (error == 0 && *name != '\0')
        error = file_table_set_program(laid->table, name);
    return error != 0 ? error : handover_stage_files(facts->group, laid->table);
}

static struct file *laid_by_id(uint64_t id)
{
    for (struct laid_file *laid = all_files[id % BUCKETS]; laid != NULL; laid = laid->next) {
        if (laid->file->id == id)
            return laid->file;
    }
    return NULL;
}

/* The file or proxy here that replaces a proxy of the kernel that stops. Its opens are counted at the switch. */
static int proxy_of(const struct moved_slot *slot, struct file **out)
{
    struct laid_proxy **bucket = &proxies[(slot->key >> 6) % BUCKETS], *laid = *bucket;

    while (laid != NULL && laid->key != slot->key)
        laid = laid->next;
    if (laid == NULL) {
        laid = heap_alloc(sizeof(*laid));
        if (laid == NULL)
            return -ENOMEM;
        laid->key = slot->key;
        laid->here = slot->kernel == instance.kernel;
        laid->file = laid->here ? file_find(slot->id) : file_create_proxy(slot->kernel, slot->id);
        if (laid->file == NULL) {
            heap_free(laid, sizeof(*laid));
            return slot->kernel == instance.kernel ? -EPROTO : -ENOMEM;
        }
        if (laid->here)
            file_unpin(laid->file); /* the old proxy's open keeps it open */
        laid->next = *bucket;
        *bucket = laid;
    }
    laid->slots++;
    *out = laid->file;
    return 0;
}

static int take_slots(const struct moved_slot *slots, uint32_t count, uint32_t from)
{
    struct file_table *table = all_tables != NULL ? all_tables->table : NULL;

    for (uint32_t i = 0; i < count; i++) {
        struct file *file = NULL;
        int error = 0;

        if (table == NULL || (slots[i].fd >= table->size && slots[i].fd < MOVED_EXECUTABLE) ||
            slots[i].kernel >= instance.kernels)
            return -EPROTO;
        if (slots[i].kernel == from)
            file = laid_by_id(slots[i].id);
        else
            error = proxy_of(&slots[i], &file);
        if (error != 0 || file == NULL)
            return error != 0 ? error : -EPROTO;
        if (slots[i].fd == MOVED_WORKING_DIRECTORY) {
            table->directory = file;
        } else if (slots[i].fd == MOVED_ROOT) {
            table->root = file;
            root_changed();
        } else if (slots[i].fd == MOVED_EXECUTABLE) {
            table->executable = file;
        } else {
            table->slots[slots[i].fd] = (struct descriptor){file, slots[i].flags};
        }
    }
    return 0;
}

static int take(const struct msg_move *message, uint32_t from)
{
    const void *data = message + 1;
    size_t size = message->size;

    switch (message->part) {
    case MOVE_FILE:
        return size < sizeof(struct moved_file) ? -EPROTO : take_file(data, size);
    case MOVE_PIPE:
        return size != 2 * sizeof(struct moved_file) ? -EPROTO : take_pipe(data);
    case MOVE_DATA:
        return take_data(data, size);
    case MOVE_TABLE:
        return size < sizeof(struct moved_table) ? -EPROTO : take_table(data, size);
    case MOVE_SLOTS:
        return size % sizeof(struct moved_slot) != 0
                   ? -EPROTO
                   : take_slots(data, (uint32_t)(size / sizeof(struct moved_slot)), from);
    default:
        return -EPROTO;
    }
}

static void handle_move(const struct msg *m)
{
    const struct msg_move *message = m->data;
    int error = -EPROTO;

    if (freeze_active() && m->length == sizeof(*message) + message->size)
        error = take(message, m->ticket.kernel);
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

/* --- committing or discarding the copies --- */

static void drop_file(struct laid_file *laid, bool undo)
{
    if (undo)
        file_free(laid->file);
    else
        file_publish(laid->file);
    heap_free(laid, sizeof(*laid));
    slice_check();
}

static void drop_proxy(struct laid_proxy *laid, bool undo)
{
    if (!undo) /* the old proxy held one open, which this one takes over; here each slot holds one */
        laid->file->opens += laid->slots - 1;
    else if (!laid->here)
        file_unpin(laid->file);
    heap_free(laid, sizeof(*laid));
    slice_check();
}

/* In slices: each step of the stop is over before the next one begins. */
static void drop_lists(bool undo)
{
    while (all_tables != NULL) {
        struct laid_table *laid = all_tables;

        all_tables = laid->next;
        if (undo && laid->table != NULL)
            file_table_forget(laid->table);
        heap_free(laid, sizeof(*laid));
        slice_check();
    }
    for (uint32_t i = 0; i < BUCKETS; i++) {
        while (all_files[i] != NULL) {
            struct laid_file *laid = all_files[i];

            all_files[i] = laid->next;
            drop_file(laid, undo);
        }
        while (proxies[i] != NULL) {
            struct laid_proxy *laid = proxies[i];

            proxies[i] = laid->next;
            drop_proxy(laid, undo);
        }
    }
    filling = NULL;
}

void move_discard(void)
{
    drop_lists(true);
}

struct switching {
    uint32_t from, to;
};

/* Replaces the proxy at *PLACE by FILE, which has moved here. The proxy is freed with its last reference. */
static void meet(struct file **place, struct file *file)
{
    struct file *proxy = *place;

    file->opens++;
    *place = file;
    if (--proxy->opens > 0)
        return;
    file->opens--; /* the open that the proxy held */
    file_unpin(proxy);
}

static void switch_place(struct file **place, const struct switching *s)
{
    struct file *file = *place, *real;

    if (file == NULL || file->kernel != s->from)
        return;
    if (s->to != instance.kernel) {
        file->kernel = s->to;
        return;
    }
    real = file_find(file->id);
    if (real == NULL)
        panic("fs: file %lx, open here, has not come from kernel %u", (unsigned long)file->id, s->from);
    file_unpin(real);
    meet(place, real); /* other references to this proxy are replaced in their turn */
}

static bool switch_table(struct group *group, void *context)
{
    const struct switching *s = context;
    struct file_table *table = group->files;

    slice_check();
    for (uint32_t fd = 0; table != NULL && fd < table->size; fd++) {
        switch_place(&table->slots[fd].file, s);
        slice_check();
    }
    if (table != NULL) {
        switch_place(&table->directory, s);
        switch_place(&table->root, s);
        switch_place(&table->executable, s);
    }
    root_forget(group);
    return true;
}

void move_switch(uint32_t from, uint32_t to)
{
    struct switching s = {from, to};

    drop_lists(false);
    descriptor_cache_forget_all();
    node_maps_switch(from, to);
    group_each_still(switch_table, &s);
    epoll_switch(from, to);
    socket_switch(from, to);
}

void move_init(void)
{
    references_init();
    msg_register(MSG_MOVE_FILES, handle_move, sizeof(struct msg_move), 0);
}

/* Files after the death of a kernel. See the header.
 *
 * How many opens the dead kernel had of a file is written nowhere but in its own memory, which is not trusted. So they
 * are what remains: an open is held by a place in a descriptor table here, by a packet in a socket here, or by a proxy
 * on another kernel, or by this kernel itself (file_kind.owned), and while programs are quiesced nobody else has any.
 * All kernels count before any of them closes a file: a socket that is closed may have descriptors in flight, whose
 * proxies would go between another kernel's question and the end of the open. */
#include "kernel/file/move/lost.h"

#include "kernel/abi/errno.h"
#include "kernel/file/event/look.h"
#include "kernel/file/file.h"
#include "kernel/file/table.h"
#include "kernel/fs/node/lock.h"
#include "kernel/fs/node/map.h"
#include "kernel/fs/tree/fifo.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/mqueue/mqueue.h"
#include "kernel/ipc/pipe/pipe.h"
#include "kernel/ipc/socket/socket.h"
#include "kernel/ipc/sysv/ipc.h"
#include "kernel/lib/log.h"
#include "kernel/tty/tty.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/remote/operation.h"

#define IDS_AT_ONCE 512u

struct msg_proxies { /* PROXIES */
    uint64_t from;   /* how many to leave out */
};

/* --- counting --- */

static void forget_count(struct file *file, void *context)
{
    (void)context;
    file->counted = file->kind->owned ? 1 : 0;
}

static void count_place(struct file *file)
{
    if (file != NULL && file->kind != NULL)
        file->counted++;
}

static void count_in_flight(struct file *file, void *context)
{
    (void)context;
    count_place(file);
}

static bool forget_table(struct group *group, void *context)
{
    struct file_table *table = group->files;

    (void)context;
    if (table != NULL)
        table->descriptors->counted = table->directories->counted_directories = false;
    return true;
}

/* Tables may share descriptors or directories: these are counted once. */
static bool count_table(struct group *group, void *context)
{
    struct file_table *table = group->files, *part;

    (void)context;
    if (table == NULL)
        return true;
    part = table->descriptors;
    for (uint32_t fd = 0; fd < part->size && !part->counted; fd++)
        count_place(part->slots[fd].file);
    part->counted = true;
    part = table->directories;
    if (!part->counted_directories) {
        count_place(part->directory);
        count_place(part->root);
    }
    part->counted_directories = true;
    count_place(table->executable);
    return true;
}

/* Counts the opens that KERNEL's proxies have of files here. */
static int count_proxies_of(uint32_t kernel, uint64_t *ids)
{
    struct remote_how how = {.why = "files that it has open here", .key = kernel};
    struct msg_proxies asked = {.from = 0};
    int length;

    do {
        length = remote_call(kernel, MSG_PROXIES, &asked, sizeof(asked), ids, IDS_AT_ONCE * sizeof(*ids), &how);
        for (uint32_t i = 0; length > 0 && i < (uint32_t)length / sizeof(*ids); i++) {
            struct file *file = file_find(ids[i]);

            if (file == NULL)
                continue;
            file->counted++;
            file_unpin(file);
        }
        asked.from += IDS_AT_ONCE;
    } while (length == IDS_AT_ONCE * (int)sizeof(*ids));
    return length < 0 ? length : 0;
}

/* On a kernel that has proxies. */
struct listing {
    uint32_t kernel, count;
    uint64_t skip;
    uint64_t *ids;
};

static void list_proxy(struct file *file, void *context)
{
    struct listing *listing = context;

    if (file->kernel != listing->kernel || listing->count == IDS_AT_ONCE)
        return;
    if (listing->skip > 0)
        listing->skip--;
    else
        listing->ids[listing->count++] = file->id;
}

static int room_for_proxies(const struct remote_request *request)
{
    (void)request;
    return IDS_AT_ONCE * sizeof(uint64_t);
}

static int run_proxies(const struct remote_request *request, void *result)
{
    const struct msg_proxies *asked = request->data;
    struct listing listing = {.kernel = request->kernel, .skip = asked->from, .ids = result};

    file_proxies_each(list_proxy, &listing);
    return (int)(listing.count * sizeof(uint64_t));
}

/* --- what is left over --- */

/* From now on `counted` is how many opens are not accounted for. */
static void keep_excess(struct file *file, void *context)
{
    (void)context;
    file->counted = file->opens > file->counted ? file->opens - file->counted : 0;
}

static void drop_locks(struct file *file, void *context)
{
    const kernel_set *lost = context;

    if (pipe_is_end(file))
        pipe_lost(file);
    if (fifo_is_end(file))
        fifo_lost(file);
    if (!file->kind->of_node || !file->kind->locks)
        return;
    for (kernel_set rest = *lost; rest != 0; rest &= rest - 1)
        node_lock_lost(file, (uint32_t)__builtin_ctzll(rest));
}

/* Closing a file changes the list that is walked: so one file is found at a time. */
static void find_excess(struct file *file, void *context)
{
    struct file **found = context;

    if (*found != NULL || file->counted == 0)
        return;
    file_pin(file);
    *found = file;
}

static int64_t drop_opens(void)
{
    int64_t dropped = 0;

    for (;;) {
        struct file *found = NULL;

        file_each(find_excess, &found);
        if (found == NULL)
            return dropped;
        for (; found->counted > 0; found->counted--) {
            file_close(found);
            dropped++;
        }
        file_unpin(found);
        slice_check();
    }
}

void lost_waits(uint32_t kernel)
{
    poll_lost(kernel);
    tty_lost(kernel);
}

int64_t lost_files_count(kernel_set others)
{
    uint64_t *ids = heap_alloc(IDS_AT_ONCE * sizeof(*ids));
    int error = ids == NULL ? -ENOMEM : 0;

    file_each(forget_count, NULL);
    group_each_still(forget_table, NULL);
    group_each_still(count_table, NULL);
    socket_files_each(count_in_flight, NULL);
    for (; others != 0 && error == 0; others &= others - 1)
        error = count_proxies_of((uint32_t)__builtin_ctzll(others), ids);
    heap_free(ids, IDS_AT_ONCE * sizeof(*ids));
    if (error == 0)
        file_each(keep_excess, NULL);
    return error;
}

int64_t lost_files_drop(kernel_set lost)
{
    int64_t dropped;

    file_each(drop_locks, &lost);
    dropped = drop_opens();
    for (; lost != 0; lost &= lost - 1) {
        node_maps_lost((uint32_t)__builtin_ctzll(lost));
        sem_lost((uint32_t)__builtin_ctzll(lost));
        mqueue_lost((uint32_t)__builtin_ctzll(lost));
    }
    return dropped;
}

void lost_files_init(void)
{
    /* Steps of a clean-up wait for it. */
    REMOTE_SERVE_TASK(PROXIES, WORK_LEAF, run_proxies, room_for_proxies, struct msg_proxies, struct msg_none);
}

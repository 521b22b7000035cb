/* Descriptors of processes. See the header. All pidfds of a kernel are in a table by process, through which the end of
 * a process reaches them. A new pidfd checks whether the process has ended after it is in the table, so it cannot miss
 * the end. */
#include "kernel/file/event/pidfd.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/descriptor.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/process/call.h"
#include "tasks/process/permission.h"
#include "tasks/process/process.h"

#define BUCKETS 64u

struct pidfd {
    struct list node;    /* [k] lock: in the table */
    struct group *group; /* [i] with a reference */
    struct file *file;   /* [i] */
    bool ended;          /* [k] lock */
};

static struct spinlock lock;       /* taken alone */
static struct list table[BUCKETS]; /* [k] lock */

static struct list *bucket_of(const struct group *group)
{
    return &table[(group->id ^ group->id >> TID_KERNEL_SHIFT) % BUCKETS];
}

static uint32_t pidfd_poll(struct file *file)
{
    const struct pidfd *pidfd = file->state;
    bool ended;

    spin_lock(&lock);
    ended = pidfd->ended;
    file->wanted |= !ended;
    spin_unlock(&lock);
    return ended ? POLL_IN | POLL_IN_NORMAL : 0;
}

static bool is_known(struct group *group)
{
    bool known;

    spin_lock(&group->lock);
    known = !group->process->over || group->process->zombie;
    spin_unlock(&group->lock);
    return known;
}

/* 0; -ENXIO: the process has been waited for. (-ESRCH would mean that the file has been closed.) */
static int send(struct group *group, const struct signal_info *info)
{
    struct msg_process_call call = {.id = group->id, .type = MSG_PROCESS_SIGNAL, .info = *info};
    struct msg_process_result result;

    return is_known(group) ? (int)process_call(&call, &result) : -ENXIO;
}

/* Finds the file of descriptor ASKER->fd. The permission and the file are checked under one lock: exec and setuid(2)
 * change the process's ids here, at its home, before the process opens anything with the new ids. */
static int64_t find_file(struct group *group, const struct pidfd_asker *asker, void *result)
{
    struct file_place place = {.id = 0};
    struct file *file = NULL;
    int64_t error = -EBADF;

    spin_lock(&group->lock);
    if (group->process->over || group->files == NULL)
        error = -ENXIO;
    else if (asker->any == 0 && !process_may_reach_locked(group->process, asker->uid, asker->gid, true))
        error = -EPERM;
    else
        file = table_find(group->files, asker->fd);
    spin_unlock(&group->lock);
    if (file == NULL)
        return error;
    place.id = file->id;
    place.kernel = file->kernel;
    file_unpin(file);
    memcpy(result, &place, sizeof(place));
    return sizeof(place);
}

static int64_t pidfd_operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                             void *result, size_t room, struct file_answer *answer)
{
    const struct pidfd *pidfd = file->state;
    struct pidfd_facts facts = {pidfd->group->id, file->flags & OPEN_NONBLOCK, !is_known(pidfd->group)};
    struct pidfd_asker asker;
    struct signal_info info;

    (void)answer;
    if (request->special.what == SPECIAL_PROCESS_SIGNAL) {
        if (size != sizeof(info))
            return -EPROTO;
        memcpy(&info, data, sizeof(info));
        return send(pidfd->group, &info);
    }
    if (request->special.what == SPECIAL_INFO) {
        int32_t id = facts.gone != 0 ? -1 : (int32_t)facts.process;
        char text[48];

        snprintf(text, sizeof(text), "Pid:\t%d\nNSpid:\t%d\n", id, id);
        return anonymous_info(data, size, text, result, room);
    }
    if (request->special.what == SPECIAL_PROCESS_FILE) {
        if (size != sizeof(asker) || room < sizeof(struct file_place))
            return -EPROTO;
        memcpy(&asker, data, sizeof(asker));
        return asker.fd >= 0 ? find_file(pidfd->group, &asker, result) : -EBADF;
    }
    if (request->special.what != SPECIAL_PROCESS)
        return -EINVAL;
    if (room < sizeof(facts))
        return -EPROTO;
    memcpy(result, &facts, sizeof(facts));
    return sizeof(facts);
}

static void release(struct file *file)
{
    struct pidfd *pidfd = file->state;

    spin_lock(&lock);
    list_remove(&pidfd->node);
    list_init(&pidfd->node);
    spin_unlock(&lock);
}

static void forget(struct file *file)
{
    struct pidfd *pidfd = file->state;

    group_put(pidfd->group);
    heap_free(pidfd, sizeof(*pidfd));
}

static const struct file_kind pidfd_kind = {
    .poll = pidfd_poll, .operate = pidfd_operate, .release = release, .forget = forget, .no_seek = true};

struct file *pidfd_create_for(uint32_t flags, struct group *group)
{
    struct file_facts facts = {.device = ANONYMOUS_DEVICE, .mode = 0600};
    struct pidfd *pidfd = heap_alloc(sizeof(*pidfd));
    struct file *file;
    bool over;

    if (pidfd == NULL)
        return NULL;
    pidfd->group = group; /* before the file can be found by its id */
    list_init(&pidfd->node);
    file = file_create(&pidfd_kind, &facts, flags | 2, pidfd, NULL);
    if (file == NULL) {
        heap_free(pidfd, sizeof(*pidfd));
        return NULL;
    }
    group_get(group);
    pidfd->file = file;
    spin_lock(&lock);
    list_append(bucket_of(group), &pidfd->node);
    spin_unlock(&lock);
    spin_lock(&group->lock);
    over = group->process->over;
    spin_unlock(&group->lock);
    if (over) {
        spin_lock(&lock);
        pidfd->ended = true;
        spin_unlock(&lock);
    }
    return file;
}

/* The error for ID, which is not a process: -EINVAL if it is a thread, on any kernel, else -ESRCH. */
static int no_process(uint32_t id)
{
    struct thread *thread = thread_lock(id);

    if (thread == NULL)
        return -ESRCH;
    thread_unlock(thread);
    return -EINVAL;
}

/* Makes a pidfd for process ID, whose home is this kernel. -ESRCH; -EINVAL: ID is a thread that is not a process;
 * -ENOMEM. */
static int create(uint32_t flags, uint32_t id, struct file **out)
{
    struct group *group = group_find(id);
    int error = 0;

    if (group == NULL || group->process == NULL) {
        error = no_process(id);
    } else {
        *out = pidfd_create_for(flags, group);
        if (*out == NULL)
            error = -ENOMEM;
    }
    if (group != NULL)
        group_put(group);
    return error;
}

/* Marks a pidfd of GROUP as ended, and returns its file with a pin; NULL: all have been marked. */
static struct file *notify_next(const struct group *group)
{
    struct file *file = NULL;

    spin_lock(&lock);
    list_for_each(node, bucket_of(group)) {
        struct pidfd *pidfd = container_of(node, struct pidfd, node);

        if (pidfd->group != group || pidfd->ended)
            continue;
        pidfd->ended = true;
        file = pidfd->file;
        file_pin(file);
        break;
    }
    spin_unlock(&lock);
    return file;
}

void pidfd_ended(struct group *group)
{
    struct file *file;

    while ((file = notify_next(group)) != NULL) {
        file_event(file->events);
        file_unpin(file);
    }
}

static int make(uint32_t flags, const void *data, size_t size, struct file *made[2])
{
    uint32_t id;

    if (size != sizeof(id))
        return -EPROTO;
    memcpy(&id, data, sizeof(id));
    return create(flags, id, &made[0]);
}

void pidfd_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&table[i]);
    anonymous_register(ANONYMOUS_PROCESS, make);
}

/* System calls that return facts about files: stat and its variants, statx, statfs. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/path.h"
#include "kernel/file/remote.h"
#include "kernel/fs/share/share.h"
#include "kernel/fs/tree/tree.h"
#include "mm/user/user_copy.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define SECOND 1000000000ull
#define STATX_BASIC 0x7ffu
#define STATX_RESERVED 0x80000000u
#define AT_STATX_SYNC_TYPE 0x6000u
#define AT_NO_AUTOMOUNT 0x800u
#define NAME_LENGTH 255

struct linux_stat { /* as asm/stat.h for x86-64 */
    uint64_t dev, ino, nlink;
    uint32_t mode, uid, gid, pad;
    uint64_t rdev;
    int64_t size, block_size, blocks;
    uint64_t atime, atime_ns, mtime, mtime_ns, ctime, ctime_ns;
    int64_t unused[3];
};

struct linux_statx_time {
    int64_t seconds;
    uint32_t ns, pad;
};

struct linux_statx {
    uint32_t mask, block_size;
    uint64_t attributes;
    uint32_t nlink, uid, gid;
    uint16_t mode, pad0;
    uint64_t ino, size, blocks, attributes_mask;
    struct linux_statx_time atime, btime, ctime, mtime;
    uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
    uint64_t pad1[14];
};

struct linux_statfs {
    uint64_t type, block, blocks, free, available, files, files_free, id, name_length, fragment, flags, spare[4];
};

_Static_assert(sizeof(struct linux_stat) == 144, "Linux ABI");
_Static_assert(sizeof(struct linux_statx) == 256, "Linux ABI");
_Static_assert(sizeof(struct linux_statfs) == 120, "Linux ABI");

/* Completes FACTS for a program. A file without times of its own gets the current time. */
static void complete(struct file_facts *facts)
{
    uint32_t type = facts->mode & FILE_TYPE_MASK;
    bool whole = facts->device == TREE_DEVICE || facts->device >= SHARE_DEVICES;

    if (facts->links == 0 && !whole)
        facts->links = 1;
    if (facts->ctime == 0)
        facts->atime = facts->mtime = facts->ctime = clock_epoch() + clock_now();
    if (!whole && type != FILE_REGULAR)
        facts->size = 0;
}

static int64_t give_stat(int64_t error, struct file_facts *facts, uint64_t address)
{
    struct linux_stat stat = {.block_size = PAGE_SIZE};

    if (error < 0)
        return error;
    complete(facts);
    stat.dev = facts->device;
    stat.ino = facts->inode;
    stat.nlink = facts->links;
    stat.mode = facts->mode;
    stat.uid = facts->uid;
    stat.gid = facts->gid;
    stat.rdev = facts->number;
    stat.size = (int64_t)facts->size;
    stat.blocks = (int64_t)facts->blocks;
    stat.atime = facts->atime / SECOND;
    stat.atime_ns = facts->atime % SECOND;
    stat.mtime = facts->mtime / SECOND;
    stat.mtime_ns = facts->mtime % SECOND;
    stat.ctime = facts->ctime / SECOND;
    stat.ctime_ns = facts->ctime % SECOND;
    return user_write(address, &stat, sizeof(stat));
}

static int64_t facts_of(int64_t fd, struct file_facts *facts)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = (int32_t)fd};
    struct file_answer answer;

    if (fd < 0)
        return -EBADF;
    return file_call(thread_current()->group, &request, NULL, 0, facts, sizeof(*facts), &answer);
}

/* FLAGS are those of fstatat. */
static int64_t facts_at(int64_t directory, uint64_t path, uint32_t flags, struct file_facts *facts)
{
    struct msg_file_name asked = {.operation = MSG_NAME_STAT, .flags = files_flags(flags)};
    struct name_result result;
    int64_t error;

    if ((flags & AT_EMPTY_PATH) != 0 && directory != NAME_WORKING_DIRECTORY && (path == 0 || files_empty(path)))
        return facts_of(directory, facts);
    error = files_name(&asked, directory, path, &result);
    *facts = result.facts;
    return error;
}

int64_t call_fstat(struct call *c)
{
    struct file_facts facts = {0};

    return give_stat(facts_of((int32_t)c->a[0], &facts), &facts, c->a[1]);
}

static int64_t stat_at(int64_t directory, uint64_t path, uint32_t flags, uint64_t address)
{
    struct file_facts facts = {0};
    int64_t error;

    if ((flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT)) != 0)
        return -EINVAL;
    error = facts_at(directory, path, flags, &facts);
    return give_stat(error, &facts, address);
}

int64_t call_stat(struct call *c)
{
    return stat_at(NAME_WORKING_DIRECTORY, c->a[0], 0, c->a[1]);
}

int64_t call_lstat(struct call *c)
{
    return stat_at(NAME_WORKING_DIRECTORY, c->a[0], AT_SYMLINK_NOFOLLOW, c->a[1]);
}

int64_t call_newfstatat(struct call *c)
{
    return stat_at((int32_t)c->a[0], c->a[1], (uint32_t)c->a[3], c->a[2]);
}

static struct linux_statx_time time_of(uint64_t ns)
{
    return (struct linux_statx_time){.seconds = (int64_t)(ns / SECOND), .ns = (uint32_t)(ns % SECOND)};
}

int64_t call_statx(struct call *c)
{
    uint32_t flags = (uint32_t)c->a[2];
    struct file_facts facts = {0};
    struct linux_statx statx = {.mask = STATX_BASIC, .block_size = PAGE_SIZE};
    int64_t error;

    if (((uint32_t)c->a[3] & STATX_RESERVED) != 0 || (flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE ||
        (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_SYNC_TYPE)) != 0)
        return -EINVAL;
    error = facts_at((int32_t)c->a[0], c->a[1], flags, &facts);
    if (error < 0)
        return error;
    complete(&facts);
    statx.nlink = facts.links;
    statx.uid = facts.uid;
    statx.gid = facts.gid;
    statx.mode = (uint16_t)facts.mode;
    statx.ino = facts.inode;
    statx.size = facts.size;
    statx.blocks = facts.blocks;
    statx.atime = time_of(facts.atime);
    statx.mtime = time_of(facts.mtime);
    statx.ctime = time_of(facts.ctime);
    statx.rdev_major = (uint32_t)(facts.number >> 8);
    statx.rdev_minor = (uint32_t)(facts.number & 0xff);
    statx.dev_major = (uint32_t)(facts.device >> 8);
    statx.dev_minor = (uint32_t)(facts.device & 0xff);
    return user_write(c->a[4], &statx, sizeof(statx));
}

static int64_t give_space(int64_t error, const struct file_space *space, uint64_t address)
{
    struct linux_statfs statfs = {.type = space->type,
                                  .block = space->block,
                                  .blocks = space->blocks,
                                  .free = space->free,
                                  .available = space->free,
                                  .files = space->files,
                                  .files_free = space->files_free,
                                  .name_length = NAME_LENGTH,
                                  .fragment = space->block};

    return error < 0 ? error : user_write(address, &statfs, sizeof(statfs));
}

int64_t call_fstatfs(struct call *c)
{
    struct file_request request = {.operation = MSG_FILE_SPACE, .fd = (int32_t)c->a[0]};
    struct file_space space = {0};
    struct file_answer answer;
    int64_t error;

    if (request.fd < 0)
        return -EBADF;
    error = file_call(thread_current()->group, &request, NULL, 0, &space, sizeof(space), &answer);
    return give_space(error, &space, c->a[1]);
}

int64_t call_statfs(struct call *c)
{
    struct file_request request = {.operation = MSG_FILE_SPACE, .fd = -1};
    struct msg_file_name asked = {.operation = MSG_NAME_OPEN, .flags = OPEN_PATH};
    struct file_space space = {0};
    struct name_result opened;
    struct file_answer answer;
    int64_t error = files_name(&asked, NAME_WORKING_DIRECTORY, c->a[0], &opened);

    name_result_free(&opened);
    if (error != 0)
        return error;
    error = file_call_at(&opened.place, &request, NULL, 0, &space, sizeof(space), &answer);
    file_drop(opened.place.kernel, opened.place.id);
    return give_space(error, &space, c->a[1]);
}

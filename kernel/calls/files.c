/* System calls on files and descriptors. The work is done at the group's home (kernel/fs/remote.h); here arguments are
 * decoded and data crosses between the program and the kernel, a chunk at a time. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/fs/file.h"
#include "kernel/fs/path.h"
#include "kernel/fs/remote.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"
#include "mm/space.h"
#include "tasks/thread.h"

#define IOV_MAX 1024u
#define TRANSFER_MAX 0x7ffff000ull /* as Linux: bytes of one read or write */
#define AT_FDCWD (-100)
#define AT_EMPTY_PATH 0x1000u
#define TCGETS 0x5401u
#define TIOCGWINSZ 0x5413u
#define F_GETFD 1u
#define F_SETFD 2u
#define F_GETFL 3u

static int64_t simple(uint32_t operation, int64_t fd, int64_t argument, uint32_t extra)
{
    struct file_request request = {.operation = operation, .fd = fd, .argument = argument, .extra = extra};

    return file_call(thread_current()->group, &request, NULL, 0, NULL, 0);
}

/* The error for memory that cannot be used: a bad descriptor comes first, as in Linux. */
static int64_t bad_memory(int64_t fd)
{
    int64_t flags = simple(FILE_FLAGS, fd, 0, 0);

    return flags < 0 ? flags : -EFAULT;
}

/* Reads up to SIZE bytes into the program's memory; stops early where a single read would. */
static int64_t read_into(int64_t fd, uint64_t address, uint64_t size)
{
    struct file_request request = {.operation = FILE_READ, .fd = fd};
    uint8_t buffer[FILE_CHUNK];
    uint64_t done = 0;

    if (!user_range(address, size))
        return bad_memory(fd);
    if (size > TRANSFER_MAX)
        size = TRANSFER_MAX;
    do {
        uint64_t part = size - done < FILE_CHUNK ? size - done : FILE_CHUNK;
        int64_t count;

        if (done > 0 && simple(FILE_TERMINAL, fd, 0, 0) != 0)
            break; /* a terminal gives what it has */
        request.argument = (int64_t)part;
        count = file_call(thread_current()->group, &request, NULL, 0, buffer, FILE_CHUNK);
        if (count < 0)
            return done > 0 ? (int64_t)done : count;
        if (user_write(address + done, buffer, (uint64_t)count) != 0)
            return -EFAULT;
        done += (uint64_t)count;
        if ((uint64_t)count < part)
            break;
    } while (done < size);
    return (int64_t)done;
}

static int64_t write_from(int64_t fd, uint64_t address, uint64_t size)
{
    struct file_request request = {.operation = FILE_WRITE, .fd = fd};
    uint8_t buffer[FILE_CHUNK];
    uint64_t done = 0;

    if (!user_range(address, size))
        return bad_memory(fd);
    if (size > TRANSFER_MAX)
        size = TRANSFER_MAX;
    do {
        uint64_t part = size - done < FILE_CHUNK ? size - done : FILE_CHUNK;
        int64_t count;

        if (user_read(buffer, address + done, part) != 0)
            count = bad_memory(fd);
        else
            count = file_call(thread_current()->group, &request, buffer, part, NULL, 0);
        if (count < 0)
            return done > 0 ? (int64_t)done : count;
        done += (uint64_t)count;
    } while (done < size);
    return (int64_t)done;
}

int64_t call_read(struct call *c)
{
    return read_into((int32_t)c->a[0], c->a[1], c->a[2]);
}

int64_t call_write(struct call *c)
{
    return write_from((int32_t)c->a[0], c->a[1], c->a[2]);
}

/* Runs TRANSFER over an array of struct iovec. */
static int64_t vector(struct call *c, int64_t (*transfer)(int64_t fd, uint64_t address, uint64_t size))
{
    int64_t total = 0;

    if (c->a[2] > IOV_MAX)
        return -EINVAL;
    if (c->a[2] == 0)
        return transfer((int32_t)c->a[0], 0, 0);
    for (uint64_t i = 0; i < c->a[2]; i++) {
        uint64_t iov[2];
        int64_t count;

        if (user_read(iov, c->a[1] + i * sizeof(iov), sizeof(iov)) != 0)
            return total > 0 ? total : -EFAULT;
        if (iov[1] > INT32_MAX)
            return total > 0 ? total : -EINVAL;
        if (iov[1] == 0)
            continue;
        count = transfer((int32_t)c->a[0], iov[0], iov[1]);
        if (count < 0)
            return total > 0 ? total : count;
        total += count;
        if ((uint64_t)count < iov[1])
            break;
    }
    return total;
}

int64_t call_readv(struct call *c)
{
    return vector(c, read_into);
}

int64_t call_writev(struct call *c)
{
    return vector(c, write_from);
}

/* Sends OPERATION with the path at user address PATH. */
static int64_t with_path(uint32_t operation, uint64_t path, int64_t argument, struct file_facts *facts)
{
    struct file_request request = {.operation = operation, .fd = -1, .argument = argument};
    char *name = heap_alloc(FILE_CHUNK); /* longer paths than a chunk have no file here */
    int64_t result;

    if (name == NULL)
        return -ENOMEM;
    result = user_read_string(name, path, FILE_CHUNK);
    if (result >= 0)
        result = file_call(thread_current()->group, &request, name, (size_t)result + 1, facts,
                           facts != NULL ? sizeof(*facts) : 0);
    heap_free(name, FILE_CHUNK);
    return result;
}

int64_t call_open(struct call *c)
{
    return with_path(FILE_OPEN, c->a[0], (int64_t)(c->a[1] & UINT32_MAX), NULL);
}

int64_t call_openat(struct call *c)
{
    return with_path(FILE_OPEN, c->a[1], (int64_t)(c->a[2] & UINT32_MAX), NULL); /* every path starts at the root */
}

int64_t call_close(struct call *c)
{
    return simple(FILE_CLOSE, (int32_t)c->a[0], 0, 0);
}

int64_t call_lseek(struct call *c)
{
    return simple(FILE_SEEK, (int32_t)c->a[0], (int64_t)c->a[1], (uint32_t)c->a[2]);
}

struct linux_stat { /* as asm/stat.h for x86-64 */
    uint64_t dev, ino, nlink;
    uint32_t mode, uid, gid, pad;
    uint64_t rdev;
    int64_t size, block_size, blocks;
    uint64_t atime, atime_ns, mtime, mtime_ns, ctime, ctime_ns;
    int64_t unused[3];
};

_Static_assert(sizeof(struct linux_stat) == 144, "Linux ABI");

static int64_t give_stat(int64_t error, const struct file_facts *facts, uint64_t address)
{
    struct linux_stat stat = {.dev = 1,
                              .ino = facts->inode,
                              .nlink = 1,
                              .mode = facts->mode,
                              .rdev = (facts->mode & FILE_TYPE_MASK) == FILE_CHARACTER ? facts->device : 0,
                              .size = (int64_t)facts->size,
                              .block_size = PAGE_SIZE,
                              .blocks = (int64_t)((facts->size + 511) / 512),
                              .atime = facts->mtime,
                              .mtime = facts->mtime,
                              .ctime = facts->mtime};

    return error < 0 ? error : user_write(address, &stat, sizeof(stat));
}

static int64_t stat_fd(int64_t fd, uint64_t address)
{
    struct file_request request = {.operation = FILE_STAT, .fd = fd};
    struct file_facts facts = {0};
    int64_t error = file_call(thread_current()->group, &request, NULL, 0, &facts, sizeof(facts));

    return give_stat(error, &facts, address);
}

int64_t call_fstat(struct call *c)
{
    return stat_fd((int32_t)c->a[0], c->a[1]);
}

int64_t call_stat(struct call *c)
{
    struct file_facts facts = {0};
    int64_t error = with_path(FILE_STAT_PATH, c->a[0], 0, &facts);

    return give_stat(error, &facts, c->a[1]);
}

int64_t call_newfstatat(struct call *c)
{
    struct file_facts facts = {0};
    char first;
    int64_t error;

    if ((c->a[3] & AT_EMPTY_PATH) != 0 && user_read(&first, c->a[1], 1) == 0 && first == '\0' &&
        (int32_t)c->a[0] != AT_FDCWD)
        return stat_fd((int32_t)c->a[0], c->a[2]);
    error = with_path(FILE_STAT_PATH, c->a[1], 0, &facts);
    return give_stat(error, &facts, c->a[2]);
}

int64_t call_access(struct call *c)
{
    struct file_facts facts = {0};
    int64_t error = with_path(FILE_STAT_PATH, c->a[0], 0, &facts);

    if (error < 0)
        return error;
    if ((c->a[1] & 2) != 0)
        return -EROFS;
    return (c->a[1] & 1) != 0 && (facts.mode & 0111) == 0 ? -EACCES : 0;
}

int64_t call_ioctl(struct call *c)
{
    int64_t terminal = simple(FILE_TERMINAL, (int32_t)c->a[0], 0, 0);

    if (terminal < 0)
        return terminal;
    if (terminal == 0)
        return -ENOTTY;
    if (c->a[1] == TCGETS) {
        /* Raw, 8 bits, 115200 baud: input, output, control and local flags, line discipline, control characters. */
        uint32_t flags[4] = {0, 0, 0x18b2, 0};
        uint8_t rest[20] = {0};

        rest[1 + 6] = 1; /* VMIN */
        if (user_write(c->a[2], flags, sizeof(flags)) != 0)
            return -EFAULT;
        return user_write(c->a[2] + sizeof(flags), rest, sizeof(rest));
    }
    if (c->a[1] == TIOCGWINSZ) {
        uint16_t size[4] = {24, 80, 0, 0};

        return user_write(c->a[2], size, sizeof(size));
    }
    return -EINVAL;
}

int64_t call_fcntl(struct call *c)
{
    int64_t flags = simple(FILE_FLAGS, (int32_t)c->a[0], 0, 0);

    if (flags < 0)
        return flags;
    switch (c->a[1]) {
    case F_GETFD: /* there is no exec that could close them */
    case F_SETFD:
        return 0;
    case F_GETFL:
        return flags;
    default:
        return -EINVAL;
    }
}

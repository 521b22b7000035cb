/* Open files (open file descriptions). A file lives on the kernel where it was opened, under an id that is never used
 * again there. Descriptor tables on any kernel refer to it (kernel/file/table.h); a table on another kernel does so
 * through a proxy. Operations never wait: one that cannot be done now returns -EAGAIN, and the calling thread waits for
 * the file's events and tries again. kernel/file/files.md has the protocol.
 *
 * A file has two counts. `opens` counts the references from descriptor tables on all kernels; the file is closed with
 * the last. `pins` keeps the memory; code that uses a file for a moment holds a pin.
 *
 * Marks: [i] set once, [a] atomic, [t] under the lock of the table of files, [f] file->lock. */
#ifndef KERNEL_FILE_FILE_H
#define KERNEL_FILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/file/events.h"
#include "kernel/lib/list.h"
#include "msg/call.h"

struct file;
struct file_request; /* kernel/file/wire.h */
struct file_answer;

#define FILE_TYPE_MASK 0170000u
#define FILE_FIFO 0010000u
#define FILE_CHARACTER 0020000u
#define FILE_DIRECTORY 0040000u
#define FILE_BLOCK 0060000u
#define FILE_REGULAR 0100000u
#define FILE_LINK 0120000u
#define FILE_SOCKET 0140000u

#define OPEN_ACCESS 3u /* O_RDONLY 0, O_WRONLY 1, O_RDWR 2 */
#define OPEN_CREATE 0100u
#define OPEN_EXCLUSIVE 0200u
#define OPEN_TRUNCATE 01000u
#define OPEN_APPEND 02000u
#define OPEN_NONBLOCK 04000u
#define OPEN_DIRECT 040000u /* of a pipe: each write is a packet */
#define OPEN_LARGE 0100000u
#define OPEN_DIRECTORY 0200000u
#define OPEN_NO_FOLLOW 0400000u
#define OPEN_NO_ATIME 01000000u
#define OPEN_CLOEXEC 02000000u
#define OPEN_PATH 010000000u
#define OPEN_TEMPORARY 020000000u                   /* O_TMPFILE without O_DIRECTORY, which it has, too */
#define OPEN_RUN 040000000u                         /* ours: to execute it */
#define OPEN_QUIET 0100000000u                      /* ours: inotify tells neither this nor its close */
#define OPEN_ANYWAY 0200000000u                     /* ours: root's, for exclusive terminals */
#define OPEN_SETTABLE (OPEN_APPEND | OPEN_NONBLOCK) /* by F_SETFL */

#define POLL_IN 0x001u
#define POLL_PRIORITY 0x002u
#define POLL_OUT 0x004u
#define POLL_ERR 0x008u
#define POLL_HUP 0x010u
#define POLL_NVAL 0x020u
#define POLL_IN_NORMAL 0x040u
#define POLL_OUT_NORMAL 0x100u
#define POLL_READ_HUP 0x2000u /* POLLRDHUP */
#define POLL_SIGNALS 0x10000u /* readable if a signal of a set is pending for whoever asks: only it knows */

#define FILE_WHOLE 1u       /* of a write: all of it or nothing, as pipes promise for PIPE_BUF bytes */
#define FILE_APPEND 2u      /* of a write: at the end, as O_APPEND */
#define FILE_STREAM 4u      /* of a write: no packet, though others of that file are */
#define FILE_CONTROL_MAX 40 /* bytes of an ioctl's argument */
#define FILE_AS_ANY INT64_MIN

struct file_facts {                 /* what stat tells */
    uint64_t inode, size, device;   /* device: the one it is on */
    uint64_t number;                /* st_rdev: the device that it is */
    uint32_t mode, links, uid, gid; /* links 0: reported as 1, for files without names */
    uint64_t blocks;                /* of 512 bytes */
    uint64_t atime, mtime, ctime;   /* ns since 1970 */
};

struct node;

/* What a kind of file can do. No function waits, unless `waits` is set. Results are byte counts, 0, or negative
 * errnos; -EAGAIN: not now, try again after the file's next event. NULL: the kind does not have the operation. */
struct file_kind {
    int64_t (*read)(struct file *file, void *data, size_t size);
    int64_t (*write)(struct file *file, const void *data, size_t size, uint32_t flags);
    uint32_t (*poll)(struct file *file); /* POLL_* that hold now. NULL: can be read and written */
    /* ioctl: DATA (FILE_CONTROL_MAX bytes) is argument and result. -ENOTTY: it does not know COMMAND. */
    int64_t (*control)(struct file *file, uint32_t command, void *data);
    /* Any operation on the file, arguments as file_do's. FILE_AS_ANY: the generic code does it. NULL: for all. */
    int64_t (*act)(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                   size_t room, struct file_answer *answer);
    /* FILE_OPERATE (wire.h): an operation of this kind only. The value is how many bytes of result data there are. */
    int64_t (*operate)(struct file *file, const struct file_request *request, const void *data, size_t size,
                       void *result, size_t room, struct file_answer *answer);
    /* Nanoseconds that a read, or a write, waits at most; 0: any. NULL: 0. Afterwards it returns -EAGAIN. */
    uint64_t (*timeout)(struct file *file, bool writing);
    void (*release)(struct file *file); /* the last open is gone */
    void (*forget)(struct file *file);  /* the last pin is gone: frees the kind's memory */
    bool seekable;                      /* its bytes are at `data`, read-only; `read` is NULL */
    bool directory;                     /* its entries are at `data`, as getdents64 gives them, or: */
    int64_t (*entries)(struct file *file, void *data, size_t room); /* from its offset on */
    int64_t (*opened)(struct file *file);         /* a FIFO's: 0, or -EAGAIN until the other end has been opened */
    bool whole;                                   /* a write of up to PIPE_BUF bytes is all or nothing */
    uint64_t (*signals)(const struct file *file); /* a read takes the caller's signals that are in this set. Or NULL */
    bool socket;                                  /* it takes SPECIAL_SOCKET; other kinds answer -ENOTSOCK */
    bool zeros;                                   /* a mapping of it is anonymous memory */
    bool of_node;                                 /* `state` is a struct node */
    bool waits;    /* operations may wait, so a task does them (serve.c); `state` is a struct share_open */
    bool locks;    /* a process may have locks on it (FILE_LOCK), removed when it closes a descriptor of it */
    bool flushes;  /* gets a FILE_LOCK without a task when a process closes a descriptor of it or ends */
    bool one_read; /* a read returns the result of one operation, though there may be more: a terminal's line */
};

struct file {
    struct list node;             /* [t] in the table of files; a proxy: alone */
    const struct file_kind *kind; /* [i] NULL: a proxy */
    uint64_t id;                  /* [i] at KERNEL */
    uint32_t kernel;              /* where the file is; changes only while programs are quiesced */
    uint32_t opens;               /* [t] */
    uint32_t pins;                /* [a] all opens together hold one */
    volatile uint32_t flags;      /* [a] as open's */
    struct spinlock lock;
    uint64_t offset;            /* [f] */
    struct file_facts facts;    /* [i] */
    const void *data;           /* [i] content, where the kind keeps it in memory */
    size_t owned;               /* [i] bytes of DATA to free with the file, 0: not ours */
    char *path;                 /* [i] a directory's name as path_normalize writes it, heap, or NULL */
    void *state;                /* [i] the kind's */
    bool wanted;                /* under the kind's lock: a thread found it not ready since the last event */
    struct file_events *events; /* [i] */
    struct file_events own_events;
    struct msg_asking asking; /* a proxy's: FILE_DROP */
};

/* The table of files, and the messages about one. Once. */
void file_init(void);

/* A file of KIND on this kernel, open once, with `id`; or NULL. STATE is the kind's; EVENTS, if not NULL, are used
 * in place of its own; an inode 0 becomes the id. */
struct file *file_create(const struct file_kind *kind, const struct file_facts *facts, uint32_t flags, void *state,
                         struct file_events *events);
/* The same with content: DATA of OWNED bytes (0: not ours) is freed with the file, also if the file cannot be made. */
struct file *file_create_data(const struct file_kind *kind, const struct file_facts *facts, uint32_t flags,
                              const void *data, size_t owned);
/* The proxy for file ID of KERNEL, which takes over an open of the caller's; or NULL. */
struct file *file_create_proxy(uint32_t kernel, uint64_t id);
/* For moving files between kernels: a file of KIND with ID that cannot be found until it is published; NULL without
 * memory. */
struct file *file_make(const struct file_kind *kind, uint64_t id);
void file_publish(struct file *file);
/* Calls EACH for every open file of this kernel, while none is opened or closed. EACH may wait. */
void file_each(void (*each)(struct file *file, void *context), void *context);
/* The open file ID of this kernel with a pin, or NULL. */
struct file *file_find(uint64_t id);
/* The same, with another open in place of the pin. */
struct file *file_share(uint64_t id);

static inline void file_pin(struct file *file)
{
    __atomic_fetch_add(&file->pins, 1, __ATOMIC_RELAXED);
}
void file_free(struct file *file);
static inline void file_unpin(struct file *file)
{
    if (__atomic_sub_fetch(&file->pins, 1, __ATOMIC_ACQ_REL) == 0)
        file_free(file);
}

/* Adds an open to a file that the caller knows to be open. */
void file_open_again(struct file *file);
/* Drops an open; with the last the file is closed. Any context; never waits. */
void file_close(struct file *file);
/* Drops an open of file ID of any KERNEL, without a proxy. Tasks only. */
void file_drop(uint32_t kernel, uint64_t id);

/* A thread waits for FILE, or an edge-triggered set has it, so the kind has to count an event when FILE may become
 * ready. Under the lock under which the kind decides readiness. */
static inline bool file_event_wanted(struct file *file)
{
    return file->wanted || !list_empty(&file->events->polls);
}

/* Open files of this kernel, and proxies for those of other kernels. */
struct file_counts {
    uint64_t files, proxies;
};
void file_count(struct file_counts *out);

/* The node that FILE, which is here, has open; or NULL. */
static inline struct node *file_node(const struct file *file)
{
    return file->kind->of_node ? file->state : NULL;
}

/* Read-only content in memory; and a directory whose entries were copied when it was opened. */
extern const struct file_kind file_memory_kind;
extern const struct file_kind file_directory_kind;

#endif

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
#include "msg/request/call.h"

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
#define OPEN_TEMPORARY 020000000u   /* O_TMPFILE without the bit of O_DIRECTORY that it includes */
#define OPEN_RUN 040000000u         /* Kettle's: to execute it */
#define OPEN_QUIET 0100000000u      /* Kettle's: inotify reports neither this open nor its close */
#define OPEN_ANYWAY 0200000000u     /* Kettle's: root opens a terminal although it is exclusive */
#define OPEN_PLACE 0400000000u      /* Kettle's: an empty name opens the file at which it begins */
#define OPEN_INSTALL 01000000000u   /* Kettle's: if the names' kernel is the home, it makes the descriptor */
#define OPEN_UNCOUNTED 02000000000u /* Kettle's: may write, and yet the file may be executed */
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
#define POLL_SIGNALS 0x10000u /* a signalfd: readable if the caller has a pending signal of its set */

#define FILE_WHOLE 1u  /* of a write: all of it or nothing, as pipes promise for PIPE_BUF bytes */
#define FILE_APPEND 2u /* of a write: at the end, as O_APPEND */
#define FILE_STREAM 4u /* of a write: bytes and not a packet, although the pipe is in packet mode */
#define FILE_BY_POLICY                                                                                                 \
    16u /* of a write: if it would make pages of a file it answers -FILE_PLACES, as the caller's thread                \
           has a NUMA policy */
#define FILE_AS_PLACED                                                                                                 \
    32u              /* of a write, with FILE_BY_POLICY: as much of it as has pages is written; -FILE_PLACES: none */
#define FILE_KEEP 8u /* of a read: the file's kernel may keep the request until there is something to read */
#define FILE_CONTROL_MAX 40 /* bytes of an ioctl's argument */
#define FILE_AS_ANY INT64_MIN
/* Nothing was done: a page moves which the operation would write; or, if ANSWER->id is below ANSWER->seen, new pages of
 * the bytes from the one up to the other are wanted in other memory. */
#define FILE_MOVES (INT64_MIN + 1)

struct file_facts {                 /* what stat(2) returns */
    uint64_t inode, size, device;   /* device: st_dev */
    uint64_t number;                /* st_rdev, of a device file */
    uint32_t mode, links, uid, gid; /* links 0 (files without names) is reported as 1 */
    uint64_t blocks;                /* of 512 bytes */
    uint64_t atime, mtime, ctime;   /* ns since 1970 */
};

struct node;

/* Copies SIZE bytes at FROM to address TO; does not wait. 0, or an error, after which some bytes may have been copied.
 */
typedef int (*file_put)(uint64_t to, const void *from, uint64_t size);

/* The functions of a kind of file. None waits, unless `waits` is set. Results are byte counts, 0, or negative errnos;
 * -EAGAIN: try again after the file's next event. NULL: the kind does not have the operation. */
struct file_kind {
    int64_t (*read)(struct file *file, void *data, size_t size);
    int64_t (*write)(struct file *file, const void *data, size_t size, uint32_t flags);
    /* FILE_READ_AT, or with AT negative FILE_READ, of a file that may be read: hands the bytes to PUT where they lie,
     * without a copy in between. FILE_AS_ANY: nothing has changed but bytes at TO, and the usual operations do it. */
    int64_t (*read_out)(struct file *file, size_t size, int64_t at, file_put put, uint64_t to);
    uint32_t (*poll)(struct file *file); /* POLL_* that hold now. NULL: can be read and written */
    /* ioctl: DATA (FILE_CONTROL_MAX bytes) is argument and result. -ENOTTY: it does not know COMMAND. */
    int64_t (*control)(struct file *file, uint32_t command, void *data);
    /* Called first for every operation, with file_do's arguments. FILE_AS_ANY: the generic code does it. NULL: the
     * generic code does all. */
    int64_t (*act)(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                   size_t room, struct file_answer *answer);
    /* FILE_OPERATE (wire.h): an operation that only this kind has. Returns the bytes of result data. */
    int64_t (*operate)(struct file *file, const struct file_request *request, const void *data, size_t size,
                       void *result, size_t room, struct file_answer *answer);
    /* The longest time in nanoseconds that a read or write waits before it fails with -EAGAIN; 0: no limit. NULL: 0. */
    uint64_t (*timeout)(struct file *file, bool writing);
    /* After REQUEST with DATA was answered with FILE_MOVES and ANSWER: waits, and gets such pages. 0; -ENOSPC, -EDQUOT:
     * not all can be had, and the request is to be done with that as `refused`. NULL: it never answers that. */
    int (*await_moves)(struct file *file, const struct file_request *request, const void *data,
                       const struct file_answer *answer);
    void (*release)(struct file *file); /* the last open has been dropped */
    void (*fewer)(void);                /* an open of a file of this kind has been dropped, and others are left */
    void (*forget)(struct file *file);  /* the last pin has been dropped: frees the kind's memory */
    int64_t (*entries)(struct file *file, void *data, size_t room); /* getdents64 from its offset on, or NULL */
    /* Of a FIFO: 0, or -EAGAIN until the other end has been opened. GIVES_UP: FILE is no end any more after -EAGAIN. */
    int64_t (*opened)(struct file *file, bool gives_up);
    uint64_t (*signals)(const struct file *file); /* of a signalfd: its set; else NULL */
    bool seekable;                                /* its bytes are at `data`, read-only, and `read` is NULL */
    bool directory; /* its entries are at `data` as getdents64 returns them, unless it has `entries` */
    bool whole;     /* a write of up to PIPE_BUF bytes is all or nothing */
    bool set;       /* a set of files to wait for: kernel/file/event/epoll.h */
    bool socket;    /* it takes SPECIAL_SOCKET; other kinds answer -ENOTSOCK */
    bool zeros;     /* a mapping of it is anonymous memory */
    bool of_node;   /* `state` is a struct node */
    bool waits;     /* operations may wait, so a task does them (serve.c); `state` is a struct share_open */
    bool locks;    /* a process may have locks on it (FILE_LOCK), which are removed when it closes a descriptor of it */
    bool flushes;  /* gets a FILE_LOCK without a task when a process closes a descriptor of it or ends */
    bool no_seek;  /* lseek(2) is ESPIPE, unlike of other files without a type */
    bool owned;    /* this kernel itself has one open of it */
    bool one_read; /* a system call reads at most once, although more may be readable: a terminal returns one line */
};

struct file {
    struct list node;             /* [t] in the table of files; of a proxy: in the list of proxies */
    const struct file_kind *kind; /* [i] NULL: a proxy */
    uint64_t id;                  /* [i] unique on `kernel` */
    uint32_t kernel;              /* the file's kernel; changes only while programs are quiesced */
    uint32_t opens;               /* [t] */
    uint32_t pins;                /* [a] all opens together hold one pin */
    uint32_t
        counted; /* opens that are found (move/references.c); in a clean-up, then those that are not (move/lost.c) */
    volatile uint32_t flags; /* [a] of open(2), OPEN_* */
    struct spinlock lock;
    uint64_t offset;            /* [f] */
    struct file_facts facts;    /* [i] */
    const void *data;           /* [i] content, if the kind keeps it in memory */
    size_t owned;               /* [i] bytes of DATA to free with the file; 0: DATA is not owned */
    char *path;                 /* [i] a directory's normalized name (dirent.h), on the heap; or NULL */
    void *state;                /* [i] the kind's data */
    bool wanted;                /* under the kind's lock: a thread has found the file not ready since its last event */
    struct file_events *events; /* [i] */
    struct file_events own_events;
    struct msg_asking asking; /* of a proxy: for FILE_DROP */
};

/* Makes the table of files and registers the messages. Once. */
void file_init(void);

/* Makes a file of KIND on this kernel, with a new id and one open; NULL without memory. STATE is the kind's data;
 * EVENTS, if not NULL, are used in place of the file's own; an inode of 0 is replaced by the id. */
struct file *file_create(const struct file_kind *kind, const struct file_facts *facts, uint32_t flags, void *state,
                         struct file_events *events);
/* The same with content: OWNED bytes of DATA are freed with the file, also if the file cannot be made; 0: the caller
 * keeps DATA. */
struct file *file_create_data(const struct file_kind *kind, const struct file_facts *facts, uint32_t flags,
                              const void *data, size_t owned);
/* A proxy for file ID of KERNEL, which takes over an open from the caller; or NULL. */
struct file *file_create_proxy(uint32_t kernel, uint64_t id);
/* For moving files between kernels: a file of KIND with ID that cannot be found until it is published; NULL without
 * memory. */
struct file *file_make(const struct file_kind *kind, uint64_t id);
void file_publish(struct file *file);
/* Calls EACH, which may wait, for every open file of this kernel, in slices. Without a lock: the caller ensures that no
 * file is opened or closed meanwhile (programs are quiesced, and nothing that they have begun is left to a worker).
 * Tasks only. */
void file_each(void (*each)(struct file *file, void *context), void *context);
/* The same where files are closed meanwhile, by EACH or by messages: the file has a pin while EACH, which may wait, is
 * called. EACH may be called for a file more than once. Tasks only. */
void file_each_pinned(void (*each)(struct file *file, void *context), void *context);
/* As file_each_pinned, for every proxy of this kernel. */
void file_proxies_each(void (*each)(struct file *file, void *context), void *context);
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
/* Drops an open; with the last the file is closed. Any context; never waits, but a task without spinlocks may give way
 * to others (msg/slice.h). */
void file_close(struct file *file);
/* Drops an open of file ID of any KERNEL, without a proxy. Tasks only; waits. */
void file_drop(uint32_t kernel, uint64_t id);

/* Does the kind have to count an event when FILE may become ready? True if a thread has found FILE not ready, or a poll
 * or epoll has a hook in it. Called under the lock under which the kind decides readiness. */
static inline bool file_event_wanted(struct file *file)
{
    return file->wanted || file_events_polled(file->events);
}

/* Open files of this kernel, and proxies for those of other kernels. */
struct file_counts {
    uint64_t files, proxies;
};
void file_count(struct file_counts *out);

/* The node of FILE, which is a file of this kernel; or NULL. */
static inline struct node *file_node(const struct file *file)
{
    return file->kind->of_node ? file->state : NULL;
}

/* Read-only content in memory; and a directory whose entries were copied when it was opened. */
extern const struct file_kind file_memory_kind;
extern const struct file_kind file_directory_kind;

#endif

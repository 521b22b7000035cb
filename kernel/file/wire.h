/* Operations on files and names, and the payloads of the messages that ask other kernels for them. Each operation is a
 * row of messages.def: on a descriptor table or an open file, from FILE_CLOSE to FILE_SEALS, all with msg_file_call and
 * file_answer; on a name, from NAME_OPEN to NAME_WHERE. rule.h has the properties of the first group. */
#ifndef KERNEL_FILE_WIRE_H
#define KERNEL_FILE_WIRE_H

#include <stdint.h>

#include "kernel/file/file.h"
#include "mm/mempolicy/mempolicy.h"
#include "msg/message.h"

#define FILE_CHUNK 61440u /* the most bytes of data in one message */

/* in place of a descriptor: the process's root, if it is not the tree's; FILE_LOCATE */
#define FILE_ROOT (INT32_MIN + 1)
#define FILE_EXECUTABLE (INT32_MIN + 2) /* in copies of tables alone */
#define FILE_WORKING_DIRECTORY                                                                                         \
    INT32_MIN /* in place of a descriptor: the working directory; FILE_LOCATE, FILE_PATH, FILE_STAT */

#define DESCRIPTOR_CLOEXEC 1u /* flags of a descriptor: FD_CLOEXEC */

/* An operation on a descriptor or a file, with its arguments, which the operation's row of messages.def describes.
 * Operations without a row in the union take no arguments. */
struct file_request {
    uint16_t operation; /* enum msg_type, from FILE_CLOSE to FILE_SEALS */
    uint8_t zero_copy;  /* FILE_ZERO_COPY_*, 0: none; set only in a request to another kernel */
    uint8_t refused;    /* set only by file_do_waiting: the errno with which a policy's pages were refused; 0: none */
    int32_t fd;
    union {
        struct {            /* FILE_READ, FILE_WRITE; FILE_READ_AT, FILE_WRITE_AT */
            uint32_t flags; /* of a write: FILE_WHOLE, FILE_APPEND, FILE_STREAM; of a read: FILE_KEEP, TTY_LATE */
            uint32_t group; /* the caller's process group, for terminals; 0: see TTY_* of kernel/tty/tty.h */
            int64_t offset; /* of FILE_READ_AT, FILE_WRITE_AT */
        } move;
        struct {               /* FILE_CLOSE, FILE_DUPLICATE_TO; FILE_DUPLICATE */
            int32_t to;        /* the new descriptor; FILE_DUPLICATE: the lowest number it may get */
            uint32_t flags;    /* of the new one */
            uint32_t unlocked; /* 1: its locks have been removed: do not answer FILE_UNLOCKS */
        } close;
        struct { /* FILE_CLOSE_RANGE */
            uint32_t last;
            uint32_t flags;    /* CLOSE_RANGE_CLOEXEC or 0 */
            uint32_t unlocked; /* 1 + the descriptor whose locks have been removed; 0: none */
        } range;
        struct { /* FILE_INSTALL; FILE_SET_DIRECTORY and FILE_SET_ROOT with fd -1 */
            uint64_t id;
            uint32_t kernel;
            uint32_t flags; /* of the descriptor */
        } install;
        uint32_t flags;     /* FILE_SET_DESCRIPTOR: of the descriptor; FILE_SET_FLAGS, FILE_PIPE: of open */
        uint32_t process;   /* FILE_NOTE_UNDO, FILE_NOTE_OWNER */
        int64_t first;      /* FILE_LIST: the lowest descriptor to list */
        struct {            /* FILE_NEW */
            uint32_t what;  /* enum anonymous */
            uint32_t flags; /* of open */
        } make;
        struct { /* FILE_CONTROL */
            uint32_t command;
            uint32_t group; /* as above */
        } control;
        struct { /* FILE_SEEK */
            int64_t offset;
            uint32_t whence;
        } seek;
        uint32_t gives_up; /* FILE_OPENED: 1: the asker closes the file if the other end has not been opened */
        uint64_t root;     /* FILE_PATH: the directory, of this kernel, at which the path begins; 0: the tree's root */
        struct {           /* FILE_MAP */
            uint32_t home; /* of the space that maps the file */
            uint16_t shared, writes;
        } map;
        struct {           /* FILE_OPERATE */
            uint32_t what; /* enum file_special */
            uint64_t argument;
        } special;
        struct { /* FILE_RESIZE, which uses only `offset`; FILE_ALLOCATE */
            int64_t offset;
            uint32_t mode; /* as fallocate's; and FILE_ALLOCATE_BY_POLICY */
        } space;
        uint32_t ahead;       /* FILE_ADVISE: 1: read ahead */
        struct {              /* FILE_ATTRIBUTE */
            uint32_t what;    /* enum attribute_operation */
            uint32_t flags;   /* ATTRIBUTE_* */
            uint32_t trusted; /* 1: a list includes root's attributes */
        } attribute;
        uint32_t lock;     /* FILE_LOCK: enum file_lock_how */
        struct {           /* FILE_SEALS */
            uint32_t adds; /* 1: adds SEALS */
            uint32_t seals;
        } seals;
    };
};

#define FILE_ZERO_COPY_RESULT                                                                                          \
    1u /* the message's data is the physical address of ROOM bytes of the caller's memory for result data */
#define FILE_ZERO_COPY_DATA 2u /* the same for ROOM bytes of data; there is no result data */

/* A request with the RLIMIT_FSIZE that it must observe. The home knows the limit. */
struct file_limited {
    uint64_t limit; /* bytes */
    struct file_request request;
};

#define FILE_NEW_PAGES_MAX (1u << 22) /* bytes */

/* SPECIAL_NEW_PAGES: a call of a thread with POLICY is about to write these bytes. Pages that lack a frame get one
 * where the file's policy, or else this one, wants them. */
struct file_new_pages {
    struct policy policy; /* mm/mempolicy/mempolicy.h */
    uint64_t at;          /* bytes */
    uint64_t size;        /* at most FILE_NEW_PAGES_MAX */
    uint32_t centre;      /* the node of the thread */
    uint32_t pad;
};

enum file_lock_how { LOCK_TEST = 1, LOCK_SET, LOCK_SET_WAIT };

struct file_lock {
    uint32_t kind;         /* enum lock_kind (lock.h) */
    uint32_t type;         /* enum lock_type */
    uint32_t process;      /* the owner, or for LOCK_TEST the asker; UINT32_MAX: an open file owns it */
    uint32_t task;         /* the task that waits for the lock */
    uint32_t whence;       /* of START, as lseek's */
    uint32_t uid;          /* the user for whom the lock counts */
    int64_t start, length; /* as struct flock's */
};

struct msg_file_call { /* of every operation; data follows */
    uint32_t group;    /* the descriptor's group, at its home; 0: the request is for file ID */
    uint32_t room;     /* bytes of result data that the caller has room for */
    uint64_t id;
    struct file_request request;
};

/* Flags of an answer. */
#define FILE_ELSEWHERE 1u   /* nothing was done: send the request to file ID of KERNEL */
#define FILE_MAY_WAIT 2u    /* with -EAGAIN: wait for more than SEEN events of file ID of KERNEL, and try again */
#define FILE_READ_ON 4u     /* the caller may read again for the same system call */
#define FILE_SETTLES 8u     /* programs still map the truncated bytes: FILE_SETTLE with number SEEN waits for them */
#define FILE_MAP_WRITES 16u /* of FILE_MAP: the mapping may write to the file, now or later */
#define FILE_UNLOCKS                                                                                                   \
    32u /* of operations that close: descriptor SEEN is still open, as the process may have locks on file ID of        \
           KERNEL, which have to be removed first; close_range has closed the descriptors before SEEN */
#define FILE_SIGNALS 64u /* with -EAGAIN of a read: the caller takes its own pending signals of the set SEEN */
/* With FILE_MAY_WAIT: when TENTHS have passed the call fails with EAGAIN; without this flag, a terminal is read once
 * more. */
#define FILE_TIMED 128u
#define FILE_LIMITED_SIZE 256u  /* from the home: nothing was done; send it in FILE_LIMITED, with the limit SEEN */
#define FILE_NOT_ZERO_COPY 512u /* nothing was done, as a task has to do it: send it again without zero-copy */
#define FILE_YOURS                                                                                                     \
    1024u /* with -EAGAIN, without FILE_MAY_WAIT: nothing was done; the caller does the operation itself, on process   \
             SEEN, if that still runs the program that began at ID (kernel/fs/proc/live.h); or sets the weight of node \
           ID (kernel/fs/sys/weight.c) if SEEN is FILE_YOURS_WEIGHT, which is no process */
#define FILE_YOURS_WEIGHT 0u
#define FILE_STAMPED                                                                                                   \
    2048u /* with FILE_ELSEWHERE: the answer may be cached until the count SEEN changes (descriptor_cache_stamp) */
#define FILE_NOTED 4096u /* with FILE_STAMPED: the home has noted that the process uses locks */
#define FILE_READY                                                                                                     \
    8192u /* with FILE_MAY_WAIT: the request was kept until an event (kept_read.h): try again at once                  \
           */

_Static_assert((FILE_ELSEWHERE ^ FILE_MAY_WAIT ^ FILE_READ_ON ^ FILE_SETTLES ^ FILE_MAP_WRITES ^ FILE_UNLOCKS ^
                FILE_SIGNALS ^ FILE_TIMED ^ FILE_LIMITED_SIZE ^ FILE_NOT_ZERO_COPY ^ FILE_YOURS ^ FILE_STAMPED ^
                FILE_NOTED ^ FILE_READY) == (1u << 14) - 1,
               "fourteen flags, each a bit of its own");

/* As an error of a write: nothing was done; send the data with the sender's credentials (kernel/ipc/socket/write.h). */
#define FILE_WHO 601
/* The same, also of FILE_ALLOCATE: have the file make its new pages where the caller's policy wants them
 * (SPECIAL_NEW_PAGES): those of the bytes from ANSWER->id up to ANSWER->seen, and send the request again. */
#define FILE_PLACES 602
/* In the mode of FILE_ALLOCATE: as FILE_BY_POLICY of a write (file.h). */
#define FILE_ALLOCATE_BY_POLICY (1u << 31)

struct file_answer { /* of every operation; result data follows */
    int64_t value;
    uint64_t id;
    uint64_t seen;
    uint32_t tenths; /* with FILE_MAY_WAIT: the longest wait, in tenths of a second; 0: no limit */
    uint16_t kernel;
    uint16_t flags; /* FILE_* */
};

/* NANOSECONDS in tenths of a second, rounded up, for struct file_answer. */
static inline uint32_t file_tenths(uint64_t nanoseconds)
{
    uint64_t tenths = nanoseconds / 100000000u + (nanoseconds % 100000000u != 0);

    return tenths < UINT32_MAX ? (uint32_t)tenths : UINT32_MAX;
}

struct file_place {
    uint64_t id;
    uint32_t kernel;
    uint32_t pad;
};

/* In flags, except of NAME_OPEN and NAME_RENAME: a symbolic link as the last component is not followed. */
#define NAME_NO_FOLLOW 1u
#define NAME_EMPTY 2u /* an empty name names the file at which it begins */
#define NAME_NO_REPLACE 1u
#define NAME_EXCHANGE 2u

#define CHANGE_MODE 1u
#define CHANGE_UID 2u
#define CHANGE_GID 4u
#define CHANGE_OWNER 8u /* chown's rules apply, even if it changes neither owner nor group */
#define CHANGE_ATIME 16u
#define CHANGE_MTIME 32u
#define CHANGE_ATIME_NOW 64u
#define CHANGE_MTIME_NOW 128u

struct node_change {
    uint32_t what; /* CHANGE_* */
    uint32_t mode, uid, gid;
    uint64_t atime, mtime; /* ns since 1970 */
};

#define FILE_USER_GROUPS 32u

struct file_user { /* the user of an operation, unless that is root with the tree's root. Only COUNT groups are sent,
                      rounded up to an even number */
    uint32_t uid, gid;
    uint64_t root; /* a directory of kernel 0 where absolute names begin; 0: the root */
    uint32_t count;
    uint32_t pad;
    uint32_t groups[FILE_USER_GROUPS];
};

/* NAME_*, to kernel 0. The asker has a zero-copy buffer of ROOM bytes at ADDRESS, with a request of SIZE bytes at
 * ADDRESS + FILE_NAME_AT. Kernel 0 either sends the answer's facts and text, or writes them to the buffer, as if the
 * answer began at ADDRESS. */
struct msg_file_name_zero_copy {
    uint64_t address; /* physical */
    uint32_t size, room;
};

struct msg_file_name {      /* the request; two names follow, the second perhaps empty, each with its NUL */
    uint16_t operation;     /* enum msg_type, from NAME_OPEN to NAME_WHERE */
    uint16_t as_user;       /* 1: struct file_user follows, before the names */
    uint32_t flags;         /* NAME_*, or as the row of messages.def says */
    uint64_t start, second; /* files of kernel 0 where relative names begin; 0: the root */
    uint64_t number;        /* NAME_OPEN: the group in whose table the file is to be installed, or 0 */
    uint32_t mode;
    uint32_t links; /* symbolic links followed so far */
    struct node_change change;
};

enum named { /* the kind of result */
             NAMED_DONE,
             NAMED_ON,        /* the first name leads out of the tree: continue with the absolute path that follows */
             NAMED_SECOND_ON, /* the same for the second name */
             NAMED_FILE,      /* NAME_OPEN: file ID of kernel 0; the asker owns an open of it */
             NAMED_FILE_SETTLES, /* the same, and programs still map the bytes that O_TRUNC has truncated: NUMBER is the
                                    SEEN of FILE_SETTLES */
             NAMED_FILE_WAIT,    /* the same, for a FIFO whose other end is not open: wait for it by FILE_OPENED */
             NAMED_TERMINAL,     /* NAMED_FILE, and it is a terminal; NUMBER: its session */
             NAMED_DEVICE,       /* NAME_OPEN: NUMBER is the device; struct file_facts follow */
             NAMED_INSTALLED     /* NAME_OPEN: NUMBER is the descriptor; the asker owns nothing */
};

struct msg_file_named {
    int64_t value; /* 0 or a negative errno */
    uint64_t id;
    uint64_t number; /* NAMED_DEVICE, NAMED_FILE_SETTLES; NAMED_FILE, with OPEN_RUN: node_version */
    uint32_t what;   /* enum named */
    uint32_t links;
    uint32_t facts; /* 1: struct file_facts follow, before the text */
    uint32_t text;  /* bytes of text, with its NUL */
};

#define FILE_NAME_AT (sizeof(struct msg_file_named) + sizeof(struct file_facts))

#define TMPFS_MAGIC 0x01021994u /* file_space.type, f_type of statfs(2) */
#define PROCFS_MAGIC 0x9fa0u
#define PIPEFS_MAGIC 0x50495045u

struct file_space { /* FILE_SPACE */
    uint64_t type, block, blocks, free, files, files_free;
};

struct msg_file_make { /* FILE_MAKE: a file without a name */
    uint32_t what;     /* enum anonymous */
    uint32_t flags;    /* of open */
    uint32_t size;     /* of data */
    uint32_t pad;
    uint32_t data[2];
};

struct msg_file_made {
    uint64_t id; /* the asker owns an open of it */
};

struct msg_file_copy { /* FILE_TABLE_COPY; int32_t descriptors follow */
    uint32_t group;
    uint32_t count; /* of descriptors; UINT32_MAX: copy all, and none follow */
};

#define COPY_FIRST 0x80000000u /* in flags: the first entry of its file, which transfers an open of it */

struct msg_file_copied { /* struct copied_entry follow, with FILE_WORKING_DIRECTORY, FILE_ROOT and FILE_EXECUTABLE in
                            place of descriptors; then the name of the program with its NUL */
    int64_t value;
    uint32_t count;
    uint32_t name; /* bytes */
};

struct copied_entry {
    uint64_t id;
    uint32_t kernel;
    uint32_t flags; /* of the descriptor, and COPY_FIRST */
    int32_t fd;
    uint32_t pad;
};

struct msg_file_drop { /* FILE_DROP */
    uint64_t id;
};

struct msg_file_nameless { /* FILE_NAMELESS, answered with msg_file_made */
    uint32_t flags;        /* NAMELESS_* */
    uint32_t uid, gid;
    uint32_t pad;
};

struct msg_file_task { /* FILE_LOCK_OVER */
    uint32_t task;
    uint32_t pad;
};

struct msg_session { /* SESSION_ENDED, SESSION_TERMINAL */
    uint32_t session;
    uint32_t pad;
};

struct msg_session_terminal {
    int64_t terminal; /* device << 32 | process group in the foreground; 0: none */
};

struct msg_file_poll { /* FILE_POLL; struct poll_item follow, answered with a struct poll_state for each */
    uint64_t token;    /* of the asker's wait (tasks/remote/notify.h) */
    uint32_t count;
    uint32_t arm; /* POLL_ARM_* or 0 */
};

#define POLL_ARM_TELL 1u /* if none is ready, notify the asker's wait once one may be */
/* The same; and even if some are ready the hooks stay, so that all events are counted, until FILE_POLL_END. */
#define POLL_ARM_KEEP 2u

struct poll_item {
    uint64_t id;
    uint64_t seen;   /* if EDGE: the file's count of events that the asker has seen */
    uint32_t events; /* POLL_* and perhaps EPOLL_EXCLUSIVE */
    uint32_t edge;   /* 1: edge-triggered: the file is not ready while its count is still SEEN */
};

struct poll_state {
    uint64_t value; /* the file's count of events, read before its state; with POLL_SIGNALS: the signalfd's set */
    uint32_t state; /* POLL_* */
    uint32_t pad;
};

/* What becomes of an arm. PASS: the exclusive event that it has taken goes to another that waits for the file. */
enum poll_end { POLL_END, POLL_END_PASS, POLL_PASS };

struct msg_file_poll_end { /* FILE_POLL_END */
    uint64_t token;
    uint32_t what; /* enum poll_end; with POLL_PASS the arm stays */
    uint32_t pad;
};

_Static_assert(sizeof(struct msg_file_call) == 40, "a byte or two fit into the slot");
_Static_assert(sizeof(struct file_request) == 24, "wire format");
_Static_assert(sizeof(struct file_answer) == 32, "wire format");
_Static_assert(sizeof(struct file_new_pages) == 48, "wire format");
_Static_assert(sizeof(struct copied_entry) == 24, "wire format");
_Static_assert(sizeof(struct msg_file_named) == 40, "one slot");

#endif

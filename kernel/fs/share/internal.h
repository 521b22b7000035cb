/* Declarations shared by the files of kernel/fs/share/.
 *
 * Marks: [i] set once, [a] atomic, [k] share->lock. */
#ifndef KERNEL_FS_SHARE_INTERNAL_H
#define KERNEL_FS_SHARE_INTERNAL_H

#include "kernel/file/file.h"
#include "kernel/file/path.h"
#include "kernel/fs/share/option.h"
#include "kernel/fs/share/p9.h"
#include "kernel/fs/share/share.h"
#include "tasks/sched/waitq.h"

struct node;

struct host_share {
    struct host_share *next;    /* [i] */
    struct share_option option; /* [i] */
    struct p9 p9;
    struct p9_fid *root; /* [i] */
    struct p9_qid qid;   /* [i] of the root */
    struct node *mount;  /* [i] the directory of the tree where it is mounted */
    uint64_t device;     /* [i] st_dev of its files */
    struct spinlock lock;
    struct list opens; /* [k] struct share_open */
    uint64_t opened;   /* [k] number of opens so far */
};

/* --- a lock that tasks wait for --- */

struct share_mutex {
    struct spinlock lock;
    bool held;          /* under LOCK */
    struct waitq queue; /* under LOCK */
};
void share_mutex_init(struct share_mutex *mutex);
void share_mutex_lock(struct share_mutex *mutex);
void share_mutex_unlock(struct share_mutex *mutex);

/* --- the bytes of regular files that are mapped, and their locks --- */

struct share_body {
    struct list list; /* under the lock of bodies */
    struct host_share *share;
    uint64_t path;             /* [i] the file's number (qid path) at the server */
    struct node *node;         /* [i] the body is freed with it */
    struct share_mutex mutex;  /* held for appends, and to change NODE and the server's file together */
    struct p9_fid *kept;       /* under the lock of bodies: the fid of a closed file, or NULL */
    char *name;                /* under the lock of bodies: heap, the file's name at the last mmap, or NULL */
    bool loaded;               /* written under MUTEX, read also without: mmap has filled NODE, and writes update it */
    struct p9_attributes seen; /* under MUTEX: of the file when NODE was filled; size UINT64_MAX: out of date */
};
/* The file has been set to SIZE bytes: does the same to the pages that programs map. MUTEX is held. ANSWER as
 * node_resize's. */
void share_body_resize(struct share_body *body, uint64_t size, struct file_answer *answer);
/* Copies what was written to the frames that programs map. MUTEX is held. A lack of frames is not an error of the
 * write: mappings see the bytes after the next mmap. */
void share_body_write(struct share_body *body, uint64_t at, const void *data, size_t size);
/* Returns the body of file QID with a reference to its node, or NULL without memory. */
struct share_body *share_body_get(struct host_share *share, const struct p9_qid *qid);
/* FID is the open fid of a closed file of BODY. Returns true if BODY keeps it. As long as the server has the file open,
 * no other file gets its number, so the pages of a mapping are never taken for another file's. */
bool share_body_keep(struct share_body *body, struct p9_fid *fid);

/* --- open files --- */

struct share_open {           /* file->state */
    struct list of_share;     /* [k] */
    struct host_share *share; /* [i] */
    struct p9_fid *fid;       /* [i] open for a regular file; not for directories and O_PATH */
    struct p9_fid *list;      /* [i] an open directory's fid for listing, or NULL */
    struct share_body *body;  /* [i] holds a reference to its node: an open regular file's, or NULL */
    struct share_mutex mutex; /* held while the file's offset is used */
    uint64_t number;          /* [k] ordinal among all opens of the share */
    char *path;               /* [k] heap, of the name's size: the name below the mount, normalized */
    bool nameless;            /* [k] the name was removed */
};

/* Makes an open file of FID with FLAGS of open. FID and LIST (or NULL) become the file's, or are dropped on failure.
 * BODY: it is a regular file, and FID is open. NULL: no memory. */
struct file *share_file_open(struct host_share *share, struct p9_fid *fid, struct p9_fid *list, bool body,
                             const struct p9_attributes *attributes, uint32_t flags, const char *path);
static inline struct share_open *share_open_of(const struct file *file)
{
    return file->kind->waits ? file->state : NULL;
}
/* Performs a request on an open file of a share. See file.c. */
int64_t share_file_act(struct file *file, const struct file_request *request, const void *data, size_t size,
                       void *result, size_t room, struct file_answer *answer);
/* Grants the file to HOME for mmap and returns the number of its node. -EPROTO, -ENOMEM, or the server's error. Waits.
 */
int64_t share_body_map(struct share_open *open, uint32_t home);

/* The number of opens of SHARE so far. */
uint64_t share_opened(struct host_share *share);
/* PATH of SHARE was removed. OPENED is share_opened before the removal: a later open may be of a new file of this name.
 */
void share_path_gone(struct host_share *share, const char *path, uint64_t opened);
/* PATH of SHARE was renamed to TO: updates the names of open files at and below it. */
void share_paths_change(struct host_share *share, const char *path, const char *to);
/* Writes the name of PATH below SHARE as seen from ROOT (NULL: the tree's root). As tree_name. -ENAMETOOLONG, -ENOENT.
 */
int64_t share_path(const struct host_share *share, const struct node *root, const char *path, char *out, size_t room);

void share_facts(const struct host_share *share, const struct p9_attributes *from, struct file_facts *to);
struct node_change;
int share_change(struct p9_fid *fid, const struct node_change *change);

/* --- walking --- */

enum share_last { SHARE_NAME, SHARE_DOT, SHARE_DOT_DOT, SHARE_ROOT };

struct share_walk {
    struct host_share *share;
    struct node *root;   /* the user's root, in the tree */
    struct p9_fid *at;   /* the current directory of the walk; NULL: the root of the share */
    struct p9_qid qid;   /* of AT */
    char *path;          /* heap, PATH_MAX: the current directory's name below the mount */
    char *text;          /* heap, PATH_MAX: the path that is walked */
    const char *rest;    /* the rest of TEXT */
    uint32_t links;      /* links followed so far */
    struct p9_name name; /* the last part, set by share_walk_to_parent */
    bool slash;          /* slashes follow it */
    enum share_last last;
    struct p9_fid *node; /* set by share_walk_to_last; NULL: no such name */
    struct p9_qid node_qid;
};

#define SHARE_OUT 1 /* the name leads out of the share: TEXT is the absolute path where it continues */

/* Begins a walk at START (NULL: the root of SHARE) along TEXT, which may be empty and is not absolute. ROOT: the user's
 * root in the tree. 0 or a negative errno; share_walk_end is needed also after an error. */
int share_walk_begin(struct share_walk *walk, struct host_share *share, struct node *root,
                     const struct share_open *start, const char *text, uint32_t links);
/* Walks to the directory of the last part. 0, SHARE_OUT or a negative errno. */
int share_walk_to_parent(struct share_walk *walk);
/* Walks on to the last part, which need not exist. As walk_to_last (kernel/fs/tree/internal.h); or SHARE_OUT. */
int share_walk_to_last(struct share_walk *walk, bool follow);
/* The last part is a link: walks to the directory of the last part of its target. */
int share_walk_on(struct share_walk *walk);
/* Writes the last part's name below the mount to OUT, which has PATH_MAX bytes. -ENAMETOOLONG. */
int share_walk_path(const struct share_walk *walk, char *out);
void share_walk_end(struct share_walk *walk);
/* --- operations on a name whose walk has begun; they return as tree_do, or SHARE_OUT --- */

struct msg_file_name;
struct tree_result;
int64_t share_walk_open(struct share_walk *walk, const struct msg_file_name *asked, struct tree_result *result);
int64_t share_walk_create(struct share_walk *walk, const struct msg_file_name *asked, const struct file_user *user,
                          const char *text);
int64_t share_walk_unlink(struct share_walk *walk, bool directory);
/* NAME_STAT, NAME_CHANGE, NAME_READ_LINK. EMPTY: the name was empty, and FID is that of an open file. */
int64_t share_walk_do(struct share_walk *walk, const struct msg_file_name *asked, struct tree_result *result);
int64_t share_fid_do(struct host_share *share, struct p9_fid *fid, const struct msg_file_name *asked, bool empty,
                     struct tree_result *result);
/* Both walks are at the directories of their last parts. FILE, if not NULL, is what is linked, a directory if
 * DIRECTORY, instead of FROM's last part. */
int64_t share_walk_link(struct share_walk *from, struct p9_fid *file, bool directory, bool follows,
                        struct share_walk *to);
int64_t share_walk_rename(struct share_walk *from, struct share_walk *to, uint32_t flags);

static inline struct p9_fid *share_walk_at(const struct share_walk *walk)
{
    return walk->at != NULL ? walk->at : walk->share->root;
}

#endif

/* What the files of shares have in common: kernel/fs/share/.
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
    struct p9_qid qid;   /* [i] the root's */
    struct node *mount;  /* [i] where it is in the tree */
    uint64_t device;     /* [i] st_dev of its files */
    struct spinlock lock;
    struct list opens; /* [k] struct share_open */
    uint64_t opened;   /* [k] how many there have been */
};

extern struct host_share *shares; /* [i] once programs run */

/* --- a lock that tasks sleep for --- */

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
    uint64_t path;            /* [i] the file's number at the server */
    struct node *node;        /* [i] whose end is this one's */
    struct share_mutex mutex; /* held for what must be one step: appending, and NODE's content with the server's */
    struct p9_fid *kept;      /* under the lock of bodies: that of a file that was closed, or NULL */
    char *name;               /* under the lock of bodies: heap, what mapped it last knew it as, or NULL */
    bool loaded;              /* under MUTEX: NODE has what the file had, when that was as SEEN says */
    struct p9_attributes seen;
};
/* MUTEX is held: the file has SIZE bytes now, and so has what programs map of it. ANSWER as node_resize's. */
void share_body_resize(struct share_body *body, uint64_t size, struct file_answer *answer);
/* The body of file QID with a reference to its node, or NULL without memory. */
struct share_body *share_body_get(struct host_share *share, const struct p9_qid *qid);
/* FID, which is open, of a file of BODY that is closed: BODY has it from now on, if it wants one. As long as the server
 * has the file open, no other gets its number, so what still maps it gets no other's bytes. */
bool share_body_keep(struct share_body *body, struct p9_fid *fid);

/* --- open files --- */

struct share_open {           /* file->state */
    struct list of_share;     /* [k] */
    struct host_share *share; /* [i] */
    struct p9_fid *fid;       /* [i] a regular file's is open; a directory's and one opened with O_PATH are not */
    struct p9_fid *list;      /* [i] a directory's that is open, or NULL */
    struct share_body *body;  /* [i] with a reference to its node: an opened regular file's, or NULL */
    struct share_mutex mutex; /* held while the file's offset is used */
    uint64_t number;          /* [k] among all of the share, as they were opened */
    char *path;               /* [k] heap, as long as it is: its name below the mount, as path_normalize writes it */
    bool nameless;            /* [k] that name was removed */
};

/* Opens FID of SHARE, which becomes the file's, or is dropped, as LIST (or NULL) is. With FLAGS of open; NULL: no
 * memory. BODY: it is regular, and open. */
struct file *share_file_open(struct host_share *share, struct p9_fid *fid, struct p9_fid *list, bool body,
                             const struct p9_attributes *attributes, uint32_t flags, const char *path);
static inline struct share_open *share_open_of(const struct file *file)
{
    return file->kind->waits ? file->state : NULL;
}
/* The file of a regular file's, or directory's, that is opened, does what ACT says. See file.c. */
int64_t share_file_act(struct file *file, const struct file_request *request, const void *data, size_t size,
                       void *result, size_t room, struct file_answer *answer);
/* What mmap gets of it. See body.c. */
int64_t share_body_map(struct share_open *open, uint32_t home);

/* How many files of SHARE have been opened so far. */
uint64_t share_opened(struct host_share *share);
/* PATH of SHARE was removed, after OPENED files had been: what was opened since may be another of this name. */
void share_path_gone(struct host_share *share, const char *path, uint64_t opened);
/* PATH of SHARE is TO from now on, and so is what is below. */
void share_paths_change(struct host_share *share, const char *path, const char *to);
/* The name of PATH below SHARE from ROOT on (NULL: that of the tree), as tree_name's: its length. -ENAMETOOLONG,
 * -ENOENT. */
int64_t share_path(const struct host_share *share, const struct node *root, const char *path, char *out, size_t room);

void share_facts(const struct host_share *share, const struct p9_attributes *from, struct file_facts *to);
struct node_change;
int share_change(struct p9_fid *fid, const struct node_change *change);

/* --- walking --- */

enum share_last { SHARE_NAME, SHARE_DOT, SHARE_DOT_DOT, SHARE_ROOT };

struct share_walk {
    struct host_share *share;
    struct node *root;   /* of who asks, in the tree */
    struct p9_fid *at;   /* the directory where it quiesced; NULL: the root of the share */
    struct p9_qid qid;   /* its */
    char *path;          /* heap, PATH_MAX: its name below the mount */
    char *text;          /* heap, PATH_MAX: what is walked */
    const char *rest;    /* the end of TEXT */
    uint32_t links;      /* followed so far */
    struct p9_name name; /* the last part, once share_walk_to_parent has come there */
    bool slash;          /* there are slashes behind it */
    enum share_last last;
    struct p9_fid *node; /* what share_walk_to_last has found, or NULL: no such name, or: */
    struct p9_qid node_qid;
};

#define SHARE_OUT 1 /* the name leads out of the share: TEXT says where, absolute */

/* From directory or file START on (NULL: the root of SHARE) along TEXT, which may be empty, and is not absolute. ROOT:
 * of who asks, in the tree. 0 or a negative errno. share_walk_end, also after an error. */
int share_walk_begin(struct share_walk *walk, struct host_share *share, struct node *root,
                     const struct share_open *start, const char *text, uint32_t links);
/* To the directory of the last part: 0, SHARE_OUT or a negative errno. */
int share_walk_to_parent(struct share_walk *walk);
/* From there to the last part, which need not exist. As walk_to_last (kernel/fs/tree/internal.h), and SHARE_OUT. */
int share_walk_to_last(struct share_walk *walk, bool follow);
/* The last part, found, is a link: to the directory of the last part that it leads to. */
int share_walk_on(struct share_walk *walk);
/* The name of the last part below the mount: PATH_MAX bytes at OUT. -ENAMETOOLONG. */
int share_walk_path(const struct share_walk *walk, char *out);
void share_walk_end(struct share_walk *walk);
/* --- operations on a name, whose walk has begun, as tree_do's; SHARE_OUT, too --- */

struct msg_file_name;
struct tree_result;
int64_t share_walk_open(struct share_walk *walk, const struct msg_file_name *asked, struct tree_result *result);
int64_t share_walk_create(struct share_walk *walk, const struct msg_file_name *asked, const struct file_user *user,
                          const char *text);
int64_t share_walk_unlink(struct share_walk *walk, bool directory);
/* NAME_STAT, NAME_CHANGE, NAME_READ_LINK. EMPTY: FID is an open file, without a name. */
int64_t share_walk_do(struct share_walk *walk, const struct msg_file_name *asked, struct tree_result *result);
int64_t share_fid_do(struct host_share *share, struct p9_fid *fid, const struct msg_file_name *asked, bool empty,
                     struct tree_result *result);
/* Both walks have come to the directories of their last parts. FILE: what is linked, a DIRECTORY or none, in place of
 * FROM; or NULL. */
int64_t share_walk_link(struct share_walk *from, struct p9_fid *file, bool directory, bool follows,
                        struct share_walk *to);
int64_t share_walk_rename(struct share_walk *from, struct share_walk *to, uint32_t flags);

static inline struct p9_fid *share_walk_at(const struct share_walk *walk)
{
    return walk->at != NULL ? walk->at : walk->share->root;
}

#endif

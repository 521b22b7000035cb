/* A client of a 9P2000.L server: one connection, and the operations that a file system needs. A fid identifies to the
 * server a file that we have walked to, opened or not. The client may drop a fid at any time, which sends a clunk. Any
 * number of tasks use a connection at once. Operations wait for their reply, so only tasks without locks call them.
 * They return 0, a count, or a negative errno: the server's; -EIO if the device is gone or the reply is malformed;
 * -ENOMEM before anything was sent. */
#ifndef KERNEL_FS_SHARE_P9_H
#define KERNEL_FS_SHARE_P9_H

#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/fs/share/p9_message.h"

struct virtio_9p;
struct p9_fid;

/* [i] set once, [k] lock */
struct p9 {
    struct virtio_9p *device; /* [i] */
    uint32_t message;         /* [i] maximum size of a message */
    struct spinlock lock;
    uint32_t *free;      /* [k] fid numbers that are free again; has room for all numbers given out */
    uint32_t free_count; /* [k] */
    uint32_t room;       /* [k] */
    uint32_t next;       /* [k] the lowest number never used */
};

struct p9_name {
    const char *text;
    uint16_t length;
};

/* Negotiates version and message size with the server behind DEVICE, and attaches to its root directory, *ROOT. */
int p9_connect(struct p9 *p9, struct virtio_9p *device, struct p9_fid **root, struct p9_qid *qid);
/* Drops FID. NULL is ignored. Any context; never waits. */
void p9_drop(struct p9_fid *fid);

/* Walks from FID, which is not open, along COUNT names (at most P9_WALK_MAX; 0 copies FID). *DONE names exist, and QIDS
 * has their qids. *OUT is a new fid of the last one, or NULL if a name is missing. */
int p9_walk(struct p9_fid *fid, const struct p9_name *names, uint32_t count, struct p9_fid **out, struct p9_qid *qids,
            uint32_t *done);
/* p9_open opens FID with FLAGS as of open(2). p9_create makes NAME in the directory FID; FID is then the new file, and
 * open. */
int p9_open(struct p9_fid *fid, uint32_t flags);
int p9_create(struct p9_fid *fid, const struct p9_name *name, uint32_t flags, uint32_t mode, struct p9_qid *qid);
/* Reads up to SIZE bytes; fewer at the end of the file, or if an error came after some. */
int64_t p9_read(struct p9_fid *fid, uint64_t at, void *to, size_t size);
/* Writes SIZE bytes; fewer if an error came after some. */
int64_t p9_write(struct p9_fid *fid, uint64_t at, const void *from, size_t size);
/* Reads directory entries from AT on, at most SIZE bytes, for p9_get_entry. 0: the end. SIZE must have room for any one
 * entry. */
int64_t p9_read_directory(struct p9_fid *fid, uint64_t at, void *to, uint32_t size);
int p9_get(struct p9_fid *fid, struct p9_attributes *out);
int p9_set(struct p9_fid *fid, const struct p9_change *change);
int p9_sync(struct p9_fid *fid);
int p9_statfs(struct p9_fid *fid, struct p9_space *out);
/* Reads the target of a link, and adds a NUL. Returns its length; -ENAMETOOLONG: longer than SIZE - 1. */
int64_t p9_read_link(struct p9_fid *fid, char *to, size_t size);
int p9_make_directory(struct p9_fid *directory, const struct p9_name *name, uint32_t mode);
int p9_make_node(struct p9_fid *directory, const struct p9_name *name, uint32_t mode, uint64_t device);
int p9_make_link(struct p9_fid *directory, const struct p9_name *name, const char *text);
int p9_link(struct p9_fid *directory, const struct p9_name *name, struct p9_fid *file);
int p9_unlink(struct p9_fid *directory, const struct p9_name *name, bool is_directory);
int p9_rename(struct p9_fid *from, const struct p9_name *name, struct p9_fid *to, const struct p9_name *new_name);

#endif

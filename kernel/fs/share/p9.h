/* A client of a 9P2000.L server: one connection, and the operations that a file system needs. A fid is what the server
 * knows a file by that we walked to, opened or not; ours is dropped at any moment, and the server told (clunk). Any
 * number of tasks use a connection at once. Operations wait for their answer, so tasks only, without locks; they return
 * 0, a count, or a negative errno: the server's, -EIO when the device is gone or what came makes no sense, -ENOMEM
 * before anything was asked. */
#ifndef KERNEL_FS_SHARE_P9_H
#define KERNEL_FS_SHARE_P9_H

#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/fs/share/p9_message.h"

struct virtio_9p;
struct p9_fid;

/* [i] set once, [k] lock */
struct p9 {
    struct virtio_9p *device; /* [i] */
    uint32_t message;         /* [i] bytes of one, at most */
    struct spinlock lock;
    uint32_t *free;      /* [k] numbers of fids that were used and are free again: room for all there are */
    uint32_t free_count; /* [k] */
    uint32_t room;       /* [k] */
    uint32_t next;       /* [k] the first number that was never used */
};

struct p9_name {
    const char *text;
    uint16_t length;
};

/* Agrees with the server behind DEVICE on version and size, and walks to the ROOT of what it gives. */
int p9_connect(struct p9 *p9, struct virtio_9p *device, struct p9_fid **root, struct p9_qid *qid);
/* FID is not used any more. NULL is ignored. Any context; never waits. */
void p9_drop(struct p9_fid *fid);

/* From FID, which is not open, along COUNT names (0: to itself, at most P9_WALK_MAX): *DONE of them are there, and
 * QIDS says what. *OUT is where that leads, unless some are missing: then NULL. */
int p9_walk(struct p9_fid *fid, const struct p9_name *names, uint32_t count, struct p9_fid **out, struct p9_qid *qids,
            uint32_t *done);
/* FID is open from now on; FLAGS as open(2)'s. Making NAME in the directory FID, it is that file, and open. */
int p9_open(struct p9_fid *fid, uint32_t flags);
int p9_create(struct p9_fid *fid, const struct p9_name *name, uint32_t flags, uint32_t mode, struct p9_qid *qid);
/* Up to SIZE bytes; fewer: the end. */
int64_t p9_read(struct p9_fid *fid, uint64_t at, void *to, size_t size);
/* All SIZE bytes, or fewer when an error came after some. */
int64_t p9_write(struct p9_fid *fid, uint64_t at, const void *from, size_t size);
/* Entries from AT on, at most SIZE bytes, which p9_get_entry reads. 0: the end. SIZE has room for any one entry. */
int64_t p9_read_directory(struct p9_fid *fid, uint64_t at, void *to, uint32_t size);
int p9_get(struct p9_fid *fid, struct p9_attributes *out);
int p9_set(struct p9_fid *fid, const struct p9_change *change);
int p9_sync(struct p9_fid *fid);
int p9_statfs(struct p9_fid *fid, struct p9_space *out);
/* What a link says, with a NUL: its length. -ENAMETOOLONG: it has no room in SIZE bytes. */
int64_t p9_read_link(struct p9_fid *fid, char *to, size_t size);
int p9_make_directory(struct p9_fid *directory, const struct p9_name *name, uint32_t mode);
int p9_make_node(struct p9_fid *directory, const struct p9_name *name, uint32_t mode, uint64_t device);
int p9_make_link(struct p9_fid *directory, const struct p9_name *name, const char *text);
int p9_link(struct p9_fid *directory, const struct p9_name *name, struct p9_fid *file);
int p9_unlink(struct p9_fid *directory, const struct p9_name *name, bool is_directory);
int p9_rename(struct p9_fid *from, const struct p9_name *name, struct p9_fid *to, const struct p9_name *new_name);

#endif

/* 9P2000.L messages: writing requests and reading replies (Plan 9's intro(5); the .L additions are in diod's
 * protocol.md and Linux's include/net/9p/9p.h). Little-endian, every field unaligned. A server's message is not
 * trusted: a reader that reaches the end of its bytes fails, and returns zeros from then on. This part depends on no
 * other, and allocates nothing. */
#ifndef KERNEL_FS_SHARE_P9_MESSAGE_H
#define KERNEL_FS_SHARE_P9_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define P9_HEADER 7u /* size[4] type[1] tag[2] */
#define P9_NO_TAG 0xffffu
#define P9_NO_FID UINT32_MAX
#define P9_WALK_MAX 16u /* names in one walk */
#define P9_NAME_MAX 255u

enum p9_type {               /* of a request; its reply has the next number */
               P9_ERROR = 6, /* never sent; the reply is Rlerror */
               P9_STATFS = 8,
               P9_OPEN = 12,
               P9_CREATE = 14,
               P9_SYMLINK = 16,
               P9_MAKE_NODE = 18,
               P9_READ_LINK = 22,
               P9_GET_ATTRIBUTES = 24,
               P9_SET_ATTRIBUTES = 26,
               P9_READ_DIRECTORY = 40,
               P9_SYNC = 50,
               P9_LINK = 70,
               P9_MAKE_DIRECTORY = 72,
               P9_RENAME = 74,
               P9_UNLINK = 76,
               P9_VERSION = 100,
               P9_ATTACH = 104,
               P9_WALK = 110,
               P9_READ = 116,
               P9_WRITE = 118,
               P9_CLUNK = 120
};

/* The server's identification of a file. No two files have the same PATH at the same time. */
struct p9_qid {
    uint8_t type;
    uint32_t version;
    uint64_t path;
};
#define P9_QID_DIRECTORY 0x80u
#define P9_QID_LINK 0x02u

struct p9_attributes {
    struct p9_qid qid;
    uint32_t mode, uid, gid;
    uint64_t links, device, size, block, blocks; /* device: st_rdev; blocks of 512 bytes */
    uint64_t atime, mtime, ctime;                /* ns since 1970 */
};

#define P9_SET_MODE 0x1u /* of P9_SET_ATTRIBUTES */
#define P9_SET_UID 0x2u
#define P9_SET_GID 0x4u
#define P9_SET_SIZE 0x8u
#define P9_SET_ATIME 0x10u
#define P9_SET_MTIME 0x20u
#define P9_SET_CTIME 0x40u
#define P9_SET_ATIME_TO 0x80u /* to the given time, instead of now */
#define P9_SET_MTIME_TO 0x100u
struct p9_change {
    uint32_t what;
    uint32_t mode, uid, gid;
    uint64_t size, atime, mtime; /* ns */
};

struct p9_space {
    uint32_t type, block;
    uint64_t blocks, free, available, files, files_free, id;
    uint32_t name_max;
};

struct p9_entry { /* of a directory */
    struct p9_qid qid;
    uint64_t next; /* offset of the next entry */
    uint8_t type;  /* DT_* */
    uint16_t length;
    const char *name; /* in the reply, without a NUL; neither empty nor with a slash or NUL */
};

/* --- writing --- */

struct p9_writer {
    uint8_t *bytes;
    uint32_t size, room;
    bool failed; /* the message did not fit */
};

/* Begins a request of TYPE in the ROOM bytes at BYTES. The tag is P9_NO_TAG until the request is sent. */
void p9_begin(struct p9_writer *to, uint8_t *bytes, uint32_t room, enum p9_type type);
void p9_put8(struct p9_writer *to, uint8_t value);
void p9_put16(struct p9_writer *to, uint16_t value);
void p9_put32(struct p9_writer *to, uint32_t value);
void p9_put64(struct p9_writer *to, uint64_t value);
void p9_put_text(struct p9_writer *to, const char *text, size_t length);
void p9_put_bytes(struct p9_writer *to, const void *bytes, uint32_t size);
void p9_put_change(struct p9_writer *to, const struct p9_change *change);
/* Writes the size of the message. False: the message did not fit. */
bool p9_end(struct p9_writer *to);

/* --- reading --- */

struct p9_reader {
    const uint8_t *at;
    uint32_t left;
    bool failed;
};

/* Checks that the GOT bytes at BYTES are the reply to REQUEST (with its header); FROM then reads what follows the
 * header. 0; the server's error as a negative errno; -EIO: it is no such reply. */
int p9_open_answer(struct p9_reader *from, const uint8_t *bytes, uint32_t got, const uint8_t *request);
uint8_t p9_get8(struct p9_reader *from);
uint16_t p9_get16(struct p9_reader *from);
uint32_t p9_get32(struct p9_reader *from);
uint64_t p9_get64(struct p9_reader *from);
void p9_get_qid(struct p9_reader *from, struct p9_qid *qid);
/* Returns *LENGTH bytes of text, which stay in the reply; NULL, and 0 bytes, on failure. */
const char *p9_get_text(struct p9_reader *from, uint16_t *length);
/* Returns the data of a read: *SIZE bytes, at most MOST; NULL on failure. */
const uint8_t *p9_get_bytes(struct p9_reader *from, uint32_t most, uint32_t *size);
void p9_get_attributes(struct p9_reader *from, struct p9_attributes *attributes);
void p9_get_space(struct p9_reader *from, struct p9_space *space);
/* Reads the next entry from a reader of P9_READ_DIRECTORY's data. False: there is none, or it is malformed (FROM has
 * failed then). */
bool p9_get_entry(struct p9_reader *from, struct p9_entry *entry);

#endif

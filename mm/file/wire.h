/* Payloads of messages about mapped objects: mm/file/file_map.md. */
#ifndef MM_FILE_WIRE_H
#define MM_FILE_WIRE_H

#include <stdint.h>

/* FILE_PAGE: a page of an object of the receiver; the answer is a struct msg_frame */
struct msg_file_page {
    uint64_t backing;
    uint64_t written; /* 1: a thread is about to write to it */
};

/* FILE_RESIDENT: pages of an object of the receiver */
struct msg_file_resident {
    uint64_t backing; /* the first */
    uint64_t count;   /* at most 64 */
};

struct msg_file_residents {
    uint64_t pages; /* a bit for each */
};

/* FILE_MOVE: pages of an object of the receiver. COUNT frames follow, as uint64_t: a page moves if it has that frame.
 */
struct msg_file_move {
    uint64_t backing; /* the first page */
    uint64_t token;   /* of the sender, for FILE_MOVED */
    uint64_t count;   /* 1 to 64 */
};

struct msg_file_moves {
    uint64_t pages; /* those that move: a bit for each */
};

/* FILE_MOVED */
struct msg_file_moved {
    uint64_t token;
    uint64_t chosen; /* pages of that FILE_MOVE which move no more: a bit for each */
    uint64_t frame;  /* the frame of the first of them, the others have those behind it; 0: as before */
};

/* FILE_HOLD */
struct msg_file_hold {
    uint64_t backing;          /* an object of the receiver; if MORE is 0, of any kernel */
    uint32_t kernel;           /* the kernel whose grants change */
    int32_t more;              /* the change of the number of grants; 0: a query for what the receiver, a home, knows */
    uint64_t came, went;       /* if MORE is negative: struct file_stamps of mm/file/hold.h */
    uint32_t came_of, went_of; /* likewise: processes */
    uint64_t pad;
};

struct msg_file_held { /* if MORE was 0: struct file_held of mm/file/hold.h, else zeros */
    uint64_t came, went;
    uint32_t came_of, went_of;
    uint32_t granted, attached;
};

_Static_assert(sizeof(struct msg_file_move) == 24, "wire format");
_Static_assert(sizeof(struct msg_file_moved) == 24, "wire format");
_Static_assert(sizeof(struct msg_file_hold) == 48, "wire format");
_Static_assert(sizeof(struct msg_file_held) == 32, "wire format");

#endif

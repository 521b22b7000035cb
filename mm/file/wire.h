/* Payloads about objects that are mapped: mm/file/file_map.md. */
#ifndef MM_FILE_WIRE_H
#define MM_FILE_WIRE_H

#include <stdint.h>

/* FILE_PAGE: a page of an object of the receiver's; the answer is a struct msg_frame */
struct msg_file_page {
    uint64_t backing;
};

/* FILE_HOLD */
struct msg_file_hold {
    uint64_t backing;          /* of the receiver's object; with MORE 0: of any */
    uint32_t kernel;           /* for whose spaces */
    int32_t more;              /* grants, or fewer; 0: what does the receiver, a home, know of the object? */
    uint64_t came, went;       /* with fewer: struct file_stamps of mm/file/hold.h */
    uint32_t came_of, went_of; /* likewise: processes */
    uint64_t pad;
};

struct msg_file_held { /* zeros, unless MORE was 0: struct file_held of mm/file/hold.h */
    uint64_t came, went;
    uint32_t came_of, went_of;
    uint32_t granted, attached;
};

_Static_assert(sizeof(struct msg_file_hold) == 48, "wire format");
_Static_assert(sizeof(struct msg_file_held) == 32, "wire format");

#endif

/* Payloads of the address space messages (32 to 47 in msg/messages.def). */
#ifndef MM_WIRE_H
#define MM_WIRE_H

#include <stdint.h>

#include "msg/message.h"

/* SPACE_LOCK, SPACE_UNLOCK */
struct msg_space_lock {
    uint64_t space; /* id: the group's */
    uint64_t key;   /* page address, or SPACE_HEAVY */
};

struct msg_space_granted {
    uint64_t members; /* kernels that host the space now */
};

/* SPACE_FETCH */
struct msg_space_fetch {
    uint64_t space;
    uint64_t page;
};

enum space_answer { SPACE_NONE = 0, SPACE_AREA = 1, SPACE_FRAME = 2 }; /* precedence: the greater wins */

struct msg_space_mapping {
    uint32_t kind;  /* enum space_answer */
    uint32_t prot;  /* AREA_*, unless SPACE_NONE */
    uint64_t start; /* the area, unless SPACE_NONE */
    uint64_t end;
    uint64_t frame; /* physical address, if SPACE_FRAME */
};

/* SPACE_RECORD */
struct msg_space_record {
    uint64_t space;
    uint64_t page;
    uint64_t frame; /* physical address; the sender's own */
};

/* SPACE_CHANGE, SPACE_SETTLE */
enum space_operation {
    SPACE_MAP = 1,     /* home only: an area of LENGTH at START, or where there is room when START is 0 */
    SPACE_UNMAP = 2,   /* take [START, START + LENGTH) out; own frames wait for SPACE_SETTLE */
    SPACE_PROTECT = 3, /* PROT for [START, START + LENGTH); at the home all of it must be mapped */
    SPACE_BREAK = 4    /* home only: set the program break to START, 0 asks for it; growth adds an area */
};

struct msg_space_change {
    uint64_t space;
    uint64_t start;  /* page aligned, but for SPACE_BREAK */
    uint64_t length; /* whole pages */
    uint32_t operation;
    uint32_t prot;
};

struct msg_space_changed {
    uint64_t value; /* SPACE_MAP: where; SPACE_BREAK: the break now */
};

_Static_assert(sizeof(struct msg_space_lock) == 16, "wire format");
_Static_assert(sizeof(struct msg_space_mapping) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_change) == 32, "wire format");
_Static_assert(sizeof(struct msg_space_mapping) <= MSG_SHORT, "a handler answers in one slot");

#endif

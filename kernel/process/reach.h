/* Memory of any process, from any kernel: the process's home performs each request, because all of the memory can be
 * reached there. */
#ifndef KERNEL_PROCESS_REACH_H
#define KERNEL_PROCESS_REACH_H

#include <stdint.h>

#include "mm/change/change.h"

#define REACH_MAX 28672u /* bytes of one read or write: seven pages, so with its header it fits into eight */

struct reach_target { /* the first field of each request */
    uint32_t process;
    uint32_t pad;
    uint64_t program; /* program_ns of the program that the process must still run, or 0 for any program */
};

struct msg_reach { /* REACH_READ, REACH_COUNT, and REACH_WRITE, where the bytes follow */
    struct reach_target target;
    uint64_t address, size;
};

struct msg_reach_node { /* REACH_NODE; the runs follow, as in a SPACE_RESIDENT (mm/space/wire.h), but perhaps none */
    struct reach_target target;
    uint32_t runs, pages; /* how many of each, together */
};

#define REACH_PAGES 512u /* of one REACH_MOVE */
#define REACH_STAYS 255u /* in place of a node: the page is not to move */

struct msg_reach_move { /* REACH_MOVE; for each of COUNT pages from ADDRESS on, a byte with the node where it is to go
                           follows */
    struct reach_target target;
    uint64_t address; /* of the first page */
    uint32_t count;   /* 1 to REACH_PAGES */
    uint32_t all;     /* 1: also pages whose frames other processes have */
};

struct reach_pages {
    struct msg_reach_move ask;
    uint8_t node[REACH_PAGES];
};

struct msg_reach_statuses { /* the reply to REACH_MOVE: for each page its node, or a negative errno */
    int32_t status[1];
};

struct msg_reach_migrate { /* REACH_MIGRATE */
    struct reach_target target;
    uint64_t from, to; /* sets of nodes */
};

struct msg_reached { /* the reply to all other requests but REACH_READ, whose reply is the bytes, and REACH_NODE, whose
                        reply is a byte for each page as space_where sets it */
    int64_t value;
};

void reach_init(void);
/* Called by a long loop over memory, of which DONE bytes are done: after every 64 windows of 32 pages it polls for
 * messages and yields to other threads. Tasks only. */
void reach_pause(uint64_t done);
/* Returns where such a loop, which is at AT, interrupts a move of pages: at the end of 2 MiB, or at END. */
uint64_t reach_stop(uint64_t at, uint64_t end);
/* The functions below are for tasks only, and they wait. Their errors: -ESRCH: the process does not exist, has no
 * memory any more, or runs another program; -ENOMEM.
 *
 * reach_read and reach_write read or write ASKED->size bytes, at most REACH_MAX. They return how many bytes were
 * copied, which may be fewer; -EFAULT: none. */
int64_t reach_read(const struct msg_reach *asked, void *bytes);
int64_t reach_write(const struct msg_reach *asked, const void *bytes);
/* Sets WHERE for each page of LIST: see space_where. 0 or a negative errno. */
int reach_where(uint32_t process, const struct space_pages *list, uint8_t *where);
/* Returns whether the process exists and has memory: 0 or a negative errno. */
int reach_exists(uint32_t process);
/* Moves pages, and sets STATUS of each of them: see space_move. 0 or a negative errno. */
int64_t reach_move(const struct reach_pages *pages, int32_t *status);
/* Returns how many pages of the SIZE bytes from START on have a frame. */
int64_t reach_count(uint32_t process, uint64_t start, uint64_t size);
/* Moves all pages that are on a node of FROM to the corresponding node of TO. Returns how many could not be moved.
 * It stops when that process ends, or the caller is killed if the process is its own: -ESRCH, -EINTR. */
int64_t reach_migrate(uint32_t process, uint64_t from, uint64_t to);

#endif

/* Memory of any process, from any kernel: the process's home performs each request, because all of the memory can be
 * reached there. */
#ifndef KERNEL_PROCESS_REACH_H
#define KERNEL_PROCESS_REACH_H

#include <stdint.h>

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

struct msg_reach_node { /* REACH_NODE */
    struct reach_target target;
    uint64_t address;
};

struct msg_reach_move { /* REACH_MOVE */
    struct reach_target target;
    uint64_t address;
    uint64_t nodes;
};

struct msg_reach_migrate { /* REACH_MIGRATE */
    struct reach_target target;
    uint64_t from, to; /* sets of nodes */
};

struct msg_reached { /* the reply to all requests but REACH_READ, whose reply is the bytes */
    int64_t value;
};

void reach_init(void);
/* Called by a long loop over memory, of which DONE bytes are done: after every 64 windows of 32 pages it polls for
 * messages and yields to other threads. Tasks only. */
void reach_pause(uint64_t done);
/* The functions below are for tasks only, and they wait. Their errors: -ESRCH: the process does not exist, has no
 * memory any more, or runs another program; -ENOMEM.
 *
 * reach_read and reach_write read or write ASKED->size bytes, at most REACH_MAX. They return how many bytes were
 * copied, which may be fewer; -EFAULT: none. */
int64_t reach_read(const struct msg_reach *asked, void *bytes);
int64_t reach_write(const struct msg_reach *asked, const void *bytes);
/* reach_node returns the node of the page at ADDRESS: see space_page_node. reach_move moves the page to one of NODES:
 * see space_page_move. */
int64_t reach_node(uint32_t process, uint64_t address);
int64_t reach_move(uint32_t process, uint64_t address, uint64_t nodes);
/* Returns how many pages of the SIZE bytes from START on have a frame. */
int64_t reach_count(uint32_t process, uint64_t start, uint64_t size);
/* Moves all pages that are on a node of FROM to the corresponding node of TO. Returns how many could not be moved. */
int64_t reach_migrate(uint32_t process, uint64_t from, uint64_t to);

#endif

/* Memory of any process, from any kernel: the process's home performs each request, because all of the memory can be
 * reached there. */
#ifndef KERNEL_PROCESS_REACH_H
#define KERNEL_PROCESS_REACH_H

#include <stdint.h>

#define REACH_MAX 28672u /* bytes of one read or write: seven pages, and with its head an object of eight */

struct reach_target { /* begins each of these */
    uint32_t process;
    uint32_t pad;
    uint64_t program; /* 0, or only while the process runs the program that began then: program_ns */
};

struct msg_reach { /* REACH_READ; REACH_WRITE: the bytes follow; REACH_COUNT */
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
    uint64_t from, to; /* nodes */
};

struct msg_reached { /* the answer to all but REACH_READ */
    int64_t value;
};

void reach_init(void);
/* DONE bytes of an area have been looked through, by windows of 32 pages: now and then messages and other threads have
 * their turn. Tasks only. */
void reach_pause(uint64_t done);
/* Tasks only; these wait. -ESRCH: there is no such process, or it has no memory any more, or runs another program;
 * -ENOMEM. ASKED->size bytes, at most REACH_MAX, are read or written: how many; -EFAULT: none. */
int64_t reach_read(const struct msg_reach *asked, void *bytes);
int64_t reach_write(const struct msg_reach *asked, const void *bytes);
/* The node of what is at ADDRESS: see space_page_node; MOVE: it goes to one of NODES: see space_page_move. */
int64_t reach_node(uint32_t process, uint64_t address);
int64_t reach_move(uint32_t process, uint64_t address, uint64_t nodes);
/* How many pages of SIZE bytes from START on have a frame. */
int64_t reach_count(uint32_t process, uint64_t start, uint64_t size);
/* Moves all pages on a node of FROM to the corresponding node of TO. Returns how many pages were not moved. */
int64_t reach_migrate(uint32_t process, uint64_t from, uint64_t to);

#endif

/* Memory of any process, from any kernel: its home does what is asked, for there all of it can be had. */
#ifndef KERNEL_PROCESS_REACH_H
#define KERNEL_PROCESS_REACH_H

#include <stdint.h>

#define REACH_MAX 32768u /* bytes of one read or write */

enum reach_operation {
    REACH_READ = 1, /* SIZE bytes at ADDRESS; -> how many, and they follow. -EFAULT: none */
    REACH_WRITE,    /* those that follow; -> how many. -EFAULT: none */
    REACH_NODE,     /* -> the node of what is at ADDRESS: see space_page_node */
    REACH_MOVE,     /* -> the node of what is at ADDRESS, which goes to one of NODES: see space_page_move */
    REACH_COUNT,    /* -> how many pages of SIZE bytes at ADDRESS have a frame */
    REACH_MIGRATE   /* all that is on a node of SIZE goes to that of NODES that corresponds; -> pages that did not */
};

struct msg_reach { /* REACH; bytes follow */
    uint32_t process;
    uint32_t operation; /* enum reach_operation */
    uint64_t address, size;
    uint64_t nodes;
    uint64_t program; /* READ, WRITE: 0, or only while the process runs the program that began then: program_ns */
};

struct msg_reached { /* the answer; bytes follow */
    int64_t value;
};

void reach_init(void);
/* DONE bytes of an area have been looked through, by windows of 32 pages: now and then messages and other threads have
 * their turn. Tasks only. */
void reach_pause(uint64_t done);
/* Does ASKED; BYTES is what is written, or read, ASKED->size of it. -ESRCH: there is no such process, or it has no
 * memory any more, or runs another program; -ENOMEM. Tasks only; waits. */
int64_t reach(const struct msg_reach *asked, void *bytes);

#endif

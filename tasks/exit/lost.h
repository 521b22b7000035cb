/* What the death of a kernel ends: groups, and waits of threads. kernel/machine/death.md has the protocol. All
 * functions are for tasks of a kernel that has fenced the dead one, and may be repeated. */
#ifndef TASKS_EXIT_LOST_H
#define TASKS_EXIT_LOST_H

#include <stdint.h>

#include "msg/message.h"

/* Begins the end of every group here that had a part on KERNEL: SIGKILL for those with a member or their home there,
 * SIGBUS for those that only map a frame of it, if nobody knows who else maps that page. Has parents here learn of the
 * end of their children there, gives children here of parents there to init, wakes the threads that wait for a notice
 * of KERNEL, and removes KERNEL's threads from the queues of futexes here. Returns how many threads and pins here are
 * left of groups at home there. */
int64_t lost_end(uint32_t kernel);
/* Once no kernel has a thread of a group at home on KERNEL any more: frees what this one has of these groups. */
void lost_free(uint32_t kernel);
/* While programs are quiesced: returns how many groups here still have a part on KERNEL. */
uint64_t lost_left(uint32_t kernel);
/* While programs are quiesced: gives children here of parents on LOST to init once more, which they may have got
 * meanwhile, and releases zombies for which a thread there was about to say that its process has waited. Waits for the
 * homes of their parents. 0; -ENOMEM: it is to be repeated. */
int lost_children(kernel_set lost);
/* While programs are quiesced: takes the frames of KERNEL away from the others that map some, which get SIGBUS when
 * they touch such a page. Returns how many groups have to end for want of memory. */
uint64_t lost_pages(uint32_t kernel);

#endif

/* Which ids of this kernel's role are in use: by a thread, or by a thread group, which may outlive its first thread. So
 * a free one is found without a search for threads. */
#ifndef TASKS_THREAD_NUMBER_H
#define TASKS_THREAD_NUMBER_H

#include <stdint.h>

enum number_use { NUMBER_THREAD, NUMBER_GROUP, NUMBER_USES };

/* Note that ID, which is of this kernel's role, gets or loses this use. Any context without the lock of numbers. */
void number_use(uint32_t id, enum number_use use);
void number_leave(uint32_t id, enum number_use use);
/* Returns the next id of this kernel's role, in turn, that has no use; 0: there is none. It is not reserved: the turn
 * comes back to it only after all others. */
uint32_t number_next(void);

#endif

/* Where a new thread or process begins. */
#ifndef TASKS_BALANCE_H
#define TASKS_BALANCE_H

#include <stdint.h>

#include "tasks/thread.h"

enum balance_event { BALANCE_CLONE, BALANCE_FORK, BALANCE_EXEC };

/* The kernel on which a new thread of AFFINITY, made by PARENT, begins. */
uint32_t balance_place(const struct thread *parent, const uint64_t affinity[CPUS_MAX / 64], enum balance_event event);

#endif

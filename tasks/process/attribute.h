/* Attributes of a process: small numbers that its home keeps, set and read by prctl(2) and membarrier(2). */
#ifndef TASKS_PROCESS_ATTRIBUTE_H
#define TASKS_PROCESS_ATTRIBUTE_H

#include <stdint.h>

#include "tasks/process/operation.h"

enum process_attribute {
    ATTRIBUTE_DEATH_SIGNAL, /* signal that the process gets when its parent ends; 0: none. A child begins without it,
                               exec keeps it, a change of user clears it */
    ATTRIBUTE_REAPER,       /* 1: orphaned descendants become its children. A child begins without it, exec keeps it */
    ATTRIBUTE_DUMPABLE,     /* 1: other processes of its user may inspect it; a child inherits it, exec sets it to 1 */
    ATTRIBUTE_BARRIERS,     /* MEMBARRIER_CMD_* bits that it has registered; a child inherits them, exec clears them */
    PROCESS_ATTRIBUTES
};

void process_attributes_init(uint32_t attributes[PROCESS_ATTRIBUTES]);
/* Derives the attributes of a child, and those after exec. */
void process_attributes_inherit(uint32_t child[PROCESS_ATTRIBUTES], const uint32_t parent[PROCESS_ATTRIBUTES]);
void process_attributes_exec(uint32_t attributes[PROCESS_ATTRIBUTES]);
/* To be called when the process has changed its users: it becomes undumpable and loses its parent-death signal. */
void process_attributes_drop(uint32_t attributes[PROCESS_ATTRIBUTES]);
/* PROCESS_ATTRIBUTE on GROUP, whose home this kernel is. */
process_operation process_attribute_operate;
/* Reads or sets attribute WHICH of the current process. Waits for its home. The second function returns the previous
 * value. */
int64_t process_attribute(enum process_attribute which);
int64_t process_attribute_set(enum process_attribute which, uint32_t value);

#endif

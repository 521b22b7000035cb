/* Shared by tasks/account/facts.c and tasks/account/survey.c. */
#ifndef TASKS_ACCOUNT_INTERNAL_H
#define TASKS_ACCOUNT_INTERNAL_H

#include "tasks/account/facts.h"
#include "tasks/process/group.h"

#define FACTS_PART_MAX 16384u /* maximal size of a reply, in bytes */
#define FACTS_IDS_MAX ((FACTS_PART_MAX - (uint32_t)sizeof(struct msg_process_listed)) / (uint32_t)sizeof(uint32_t))
#define FACTS_THREADS_MAX                                                                                              \
    ((FACTS_PART_MAX - (uint32_t)sizeof(struct member_facts)) / (uint32_t)sizeof(struct thread_facts))

bool id_list_add(struct id_list *list, uint32_t id); /* false: no memory */

#endif

/* Groups for host tests of code that holds one that the test has made: none is found by its name, nothing frees one,
 * and no worker runs. Included once. */
#ifndef TESTS_STAND_IN_GROUPS_H
#define TESTS_STAND_IN_GROUPS_H

#include "tasks/remote/work.h"
#include "tasks/thread/group.h"

struct group *group_find(uint32_t id)
{
    (void)id;
    return NULL;
}

void group_get(struct group *of)
{
    (void)of;
}

void group_put(struct group *of)
{
    (void)of;
}

void work_submit(struct work *work)
{
    (void)work;
}

#endif

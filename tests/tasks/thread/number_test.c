/* Ids of threads and groups.
 * sources: tasks/thread/number.c */
#include "tasks/thread/number.h"

#include <stdbool.h>
#include <string.h>

#include "tasks/role/role.h"
#include "tasks/thread/group.h"
#include "tasks/thread/thread.h"
#include "tests/test.h"

static uint32_t role;

uint32_t role_own(void)
{
    return role;
}

TEST(number_turn, "ids come in turn, without those in use, init's and 0, and begin again after the last")
{
    static bool seen[0x10000];
    uint32_t count = 0;

    number_use(5, NUMBER_THREAD);
    number_use(6, NUMBER_GROUP);
    number_use(0x10007, NUMBER_GROUP); /* of another role: does not matter here */
    for (uint32_t id = number_next(); !seen[id]; id = number_next(), count++) {
        CHECK(id > PROCESS_INIT && id < 0x10000 && id != 5 && id != 6);
        seen[id] = true;
    }
    CHECK_EQ(count, 0x10000 - 4);
    number_leave(5, NUMBER_THREAD);
    number_leave(6, NUMBER_GROUP);
}

TEST(number_both, "an id that a thread and a group have is free when both have left it")
{
    for (uint32_t id = 1; id < 0x10000; id++)
        number_use(id, id % 2 == 0 ? NUMBER_THREAD : NUMBER_GROUP);
    CHECK_EQ(number_next(), 0);
    number_use(0x8000, NUMBER_GROUP);
    number_leave(0x8000, NUMBER_THREAD);
    CHECK_EQ(number_next(), 0);
    number_leave(0x8000, NUMBER_THREAD);
    number_leave(0x8000, NUMBER_GROUP);
    CHECK_EQ(number_next(), 0x8000);
    CHECK_EQ(number_next(), 0x8000); /* it is not reserved, and the only one */
    role = 3;
    number_leave(0x8001, NUMBER_GROUP); /* of another role */
    CHECK_EQ(number_next(), 0x38000);
    number_leave(0x38001, NUMBER_GROUP);
    CHECK_EQ(number_next(), 0x38001);
    role = 0;
}

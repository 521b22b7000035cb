/* Further groups are set and told. */
#include "abi.h"

static int child(void)
{
    gid_t groups[3] = {5, 6, 7}, got[8];
    CALL(setgroups(3, groups));
    CALL(getgroups(8, got));
    printf("%d %d %d\n", got[0], got[1], got[2]);
    CALL(getgroups(2, got));
    return 0;
}
int main(void)
{
    reap(spawn(child));
    return 0;
}

/* Children that count in shared memory with atomic instructions lose nothing. */
#include "abi.h"

static atomic_int *count;
static int child(void)
{
    for (int i = 0; i < 1000; i++)
        atomic_fetch_add(count, 1);
    return 0;
}
int main(void)
{
    pid_t children[6];
    count = (atomic_int *)MAP(PAGE, MAP_SHARED);
    for (int i = 0; i < 6; i++)
        children[i] = spawn(child);
    for (int i = 0; i < 6; i++)
        reap(children[i]);
    SHOW(*count);
    return 0;
}

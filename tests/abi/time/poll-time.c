/* poll and select wait their time, not less. */
#include "abi.h"

int main(void)
{
    int64_t begun = now(CLOCK_MONOTONIC);
    CALL(poll(NULL, 0, 40));
    SHOW(now(CLOCK_MONOTONIC) - begun >= 40000000);
    begun = now(CLOCK_MONOTONIC);
    CALL(select(0, NULL, NULL, NULL, &(struct timeval){0, 40000}));
    SHOW(now(CLOCK_MONOTONIC) - begun >= 40000000);
    begun = now(CLOCK_MONOTONIC);
    CALL(ppoll(NULL, 0, &(struct timespec){0, 40000000}, NULL));
    SHOW(now(CLOCK_MONOTONIC) - begun >= 40000000);
    CALL(ppoll(NULL, 0, &(struct timespec){0, -1}, NULL));
    CALL(poll(NULL, 0, 0));
    return 0;
}

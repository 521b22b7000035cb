/* The monotonic clock never goes back, on whatever CPU it is read. */
#include "abi.h"

int main(void)
{
    int64_t last = 0, wrong = 0;
    for (int i = 0; i < 40; i++) {
        go(i);
        for (int k = 0; k < 50; k++) {
            int64_t time = now(CLOCK_MONOTONIC);
            wrong += time < last;
            last = time;
        }
    }
    SHOW(wrong);
    return 0;
}

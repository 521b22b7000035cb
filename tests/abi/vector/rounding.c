/* Each thread has its own rounding mode, born with its creator's. */
#include "abi.h"

static void *work(void *argument)
{
    volatile double one = 1, three = 3;
    printf("%d %a\n", fegetround() == FE_UPWARD, one / three);
    fesetround(FE_DOWNWARD);
    printf("%a\n", one / three);
    return argument;
}
int main(void)
{
    volatile double one = 1, three = 3;
    fesetround(FE_UPWARD);
    printf("%a\n", one / three);
    pthread_join(start(work, NULL), NULL);
    printf("%d %a\n", fegetround() == FE_UPWARD, one / three);
    return 0;
}

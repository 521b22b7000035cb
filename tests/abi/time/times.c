/* times counts ticks of 10 ms. */
#include "abi.h"

int main(void)
{
    struct tms facts;
    clock_t begun = times(&facts);
    sleep_ms(60);
    SHOW(times(&facts) - begun >= 5);
    SHOW(times(&facts) - begun < 1000);
    return 0;
}

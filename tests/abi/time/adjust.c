/* adjtimex tells the state of the clock. */
#include "abi.h"

#include <sys/timex.h>

int main(void)
{
    struct timex facts;
    memset(&facts, 0, sizeof(facts));
    SHOW(adjtimex(&facts) >= 0);
    SHOW(facts.tick);
    return 0;
}

/* What one thread maps another sees at once. */
#include "abi.h"

static char *_Atomic a;
static void *use(void *argument)
{
    char *here;
    go(2);
    while ((here = a) == NULL)
        sched_yield();
    SHOW(here[PAGE]);
    here[0] = 'b';
    return argument;
}
int main(void)
{
    pthread_t thread = start(use, NULL);
    char *fresh = MAP(2 * PAGE, MAP_PRIVATE);
    fresh[PAGE] = 'a';
    a = fresh;
    pthread_join(thread, NULL);
    SHOW(fresh[0]);
    return 0;
}

/* The child's handlers run in the child, first registered first. */
#include "abi.h"

static void child1(void)
{
    say("child 1\n");
}
static void child2(void)
{
    say("child 2\n");
}
static int child(void)
{
    return 3;
}
int main(void)
{
    pthread_atfork(NULL, NULL, child1);
    pthread_atfork(NULL, NULL, child2);
    reap(spawn(child));
    return 0;
}

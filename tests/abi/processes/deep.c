/* A chain of 20 processes, each the child of the one before. */
#include "abi.h"

static int depth;
static int child(void)
{
    int status;
    if (++depth == 20)
        return 100;
    MUST(waitpid(spawn(child), &status, 0));
    return WEXITSTATUS(status) + 1;
}
int main(void)
{
    reap(spawn(child));
    return 0;
}

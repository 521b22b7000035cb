/* 60 children one after another. */
#include "abi.h"

static int child(void)
{
    return 1;
}
int main(void)
{
    int sum = 0, status;
    for (int i = 0; i < 60; i++) {
        MUST(waitpid(spawn(child), &status, 0));
        sum += WEXITSTATUS(status);
    }
    SHOW(sum);
    return 0;
}

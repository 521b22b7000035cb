/* A vfork's child writes to its parent's memory, and the parent waits for it. */
#include "abi.h"

static volatile int value;
int main(void)
{
    pid_t child = vfork();
    if (child == 0) {
        value = 5;
        _exit(0);
    }
    SHOW(value);
    reap(child);
    return 0;
}

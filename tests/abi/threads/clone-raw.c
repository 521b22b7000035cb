/* A clone with shared memory, files and signal handlers runs and clears its id at its end. */
#include "abi.h"

static char stack[65536] __attribute__((aligned(16)));
static volatile int ran;
static atomic_int tid;
static int work(void *argument)
{
    ran = *(int *)argument;
    return 0;
}
int main(void)
{
    int number = 12, seen;
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID |
                CLONE_CHILD_CLEARTID;
    MUST(clone(work, stack + sizeof(stack), flags, &number, &tid, NULL, &tid));
    while ((seen = tid) != 0)
        syscall(SYS_futex, &tid, FUTEX_WAIT, seen, NULL, NULL, 0);
    SHOW(ran);
    return 0;
}

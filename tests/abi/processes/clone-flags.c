/* clone refuses what does not fit together. */
#include "abi.h"

int main(void)
{
    CALL(syscall(SYS_clone, CLONE_THREAD, 0L, 0L, 0L, 0L));
    CALL(syscall(SYS_clone, CLONE_SIGHAND, 0L, 0L, 0L, 0L));
    CALL(syscall(SYS_clone, CLONE_THREAD | CLONE_SIGHAND, 0L, 0L, 0L, 0L));
    CALL(syscall(SYS_clone, CLONE_FS | CLONE_NEWNS, 0L, 0L, 0L, 0L));
    return 0;
}

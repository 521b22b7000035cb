/* renameat2 with RENAME_NOREPLACE and RENAME_EXCHANGE. */
#include "abi.h"

int main(void)
{
    put_file("a", "a");
    put_file("b", "b");
    CALL(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "b", 1));
    CALL(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "b", 2));
    tell_file("a");
    tell_file("b");
    CALL(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "c", 1));
    CALL(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "c", 2));
    CALL(syscall(SYS_renameat2, AT_FDCWD, "c", AT_FDCWD, "b", 64));
    return 0;
}

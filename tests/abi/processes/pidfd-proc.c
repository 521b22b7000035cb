/* pidfd_send_signal takes a descriptor of /proc/PID, too. */
#include "abi.h"

static int child(void)
{
    for (;;)
        pause();
}
int main(void)
{
    pid_t pid = spawn(child);
    char name[64];
    int fd, inner, own;

    snprintf(name, sizeof(name), "/proc/%d", pid);
    fd = (int)MUST(open(name, O_RDONLY | O_DIRECTORY));
    own = (int)MUST(open("/proc/self", O_RDONLY | O_DIRECTORY));
    inner = (int)MUST(open("/proc/self/task", O_RDONLY | O_DIRECTORY));
    CALL(syscall(424, fd, 0, NULL, 0));
    CALL(syscall(424, own, 0, NULL, 0));
    CALL(syscall(424, inner, 0, NULL, 0));
    CALL(syscall(424, 0, 0, NULL, 0));
    CALL(syscall(424, fd, 0, NULL, 1));
    CALL(syscall(424, fd, 99, NULL, 0));
    CALL(syscall(424, (int)MUST(open("/proc", O_RDONLY)), 0, NULL, 0));
    CALL(syscall(424, (int)MUST(open(name, O_PATH | O_DIRECTORY)), 0, NULL, 0));
    CALL(syscall(438, fd, 0, 0));
    CALL(syscall(424, fd, SIGKILL, NULL, 0));
    reap(pid);
    CALL(syscall(424, fd, 0, NULL, 0));
    return 0;
}

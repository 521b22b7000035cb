/* /proc of a child tells its state: sleeping, stopped, zombie, gone. */
#include "abi.h"

static char state(pid_t pid)
{
    char name[64], text[512];
    ssize_t count;
    int fd;
    snprintf(name, sizeof(name), "/proc/%d/stat", pid);
    fd = open(name, O_RDONLY);
    count = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    close(fd);
    if (count < 0)
        return '-';
    text[count] = '\0';
    return strrchr(text, ')')[2];
}
static int child(void)
{
    for (;;)
        pause();
}
int main(void)
{
    siginfo_t info;
    int status;
    pid_t pid = spawn(child);
    while (state(pid) != 'S')
        sched_yield();
    printf("S\n");
    kill(pid, SIGSTOP);
    MUST(waitpid(pid, &status, WUNTRACED));
    printf("%c\n", state(pid));
    kill(pid, SIGKILL);
    MUST(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
    printf("%c\n", state(pid));
    reap(pid);
    printf("%c\n", state(pid));
    return 0;
}

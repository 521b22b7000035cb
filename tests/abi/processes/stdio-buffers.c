/* What stands in a buffer at a fork is written by both. */
#include "abi.h"

int main(void)
{
    pid_t pid;
    fflush(stdout);
    setvbuf(stdout, NULL, _IOFBF, 4096);
    printf("buffered\n");
    pid = fork();
    if (pid == 0)
        exit(0);
    waitpid(pid, NULL, 0);
    printf("parent\n");
    return 0;
}

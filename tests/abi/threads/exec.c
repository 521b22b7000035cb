/* An exec in a thread ends all others; the new program has the process's id. */
#include "abi.h"

static void *spin(void *argument)
{
    go(1);
    for (;;)
        __asm__ volatile("pause");
    return argument;
}
static void *run(void *argument)
{
    char id[16];
    snprintf(id, sizeof(id), "%d", getpid());
    execl("/proc/self/exe", (char *)argument, id, (char *)NULL);
    MUST(-1);
    return NULL;
}
int main(int argc, char **argv)
{
    if (argc == 2) {
        printf("new program, same id %d\n", atoi(argv[1]) == getpid() && syscall(SYS_gettid) == getpid());
        return 5;
    }
    start(spin, NULL);
    pthread_join(start(run, argv[0]), NULL);
    return 1;
}

/* A fork in a thread has a child with that thread alone. */
#include "abi.h"

static void *idle(void *argument)
{
    pause();
    return argument;
}
static int child(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    SHOW(count);
    SHOW(syscall(SYS_gettid) == getpid());
    return 8;
}
static void *work(void *argument)
{
    reap(spawn(child));
    return argument;
}
int main(void)
{
    start(idle, NULL);
    start(idle, NULL);
    pthread_join(start(work, NULL), NULL);
    return 0;
}

/* A killed child's robust mutex passes to its parent. */
#include "abi.h"

static pthread_mutex_t *mutex;
static int channel[2];
static int child(void)
{
    go(1);
    pthread_mutex_lock(mutex);
    MUST(write(channel[1], "", 1));
    pause();
    return 0;
}
int main(void)
{
    pthread_mutexattr_t attributes;
    char byte;
    pid_t pid;
    mutex = (pthread_mutex_t *)MAP(PAGE, MAP_SHARED);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(mutex, &attributes);
    MUST(pipe(channel));
    pid = spawn(child);
    MUST(read(channel[0], &byte, 1));
    CODE(pthread_mutex_trylock(mutex));
    kill(pid, SIGKILL);
    CODE(pthread_mutex_lock(mutex));
    CODE(pthread_mutex_consistent(mutex));
    reap(pid);
    return 0;
}

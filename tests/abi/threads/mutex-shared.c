/* A process-shared mutex and condition work between parent and child. */
#include "abi.h"

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int turn, count;
};
static struct shared *s;
static int play(int me)
{
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&s->mutex);
        while (s->turn != me)
            pthread_cond_wait(&s->cond, &s->mutex);
        s->count++;
        s->turn = 1 - me;
        pthread_cond_broadcast(&s->cond);
        pthread_mutex_unlock(&s->mutex);
    }
    return 0;
}
static int child(void)
{
    go(1);
    return play(1);
}
int main(void)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;
    pid_t pid;
    s = (struct shared *)MAP(PAGE, MAP_SHARED);
    pthread_mutexattr_init(&mutex);
    pthread_condattr_init(&cond);
    CODE(pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED));
    CODE(pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED));
    pthread_mutex_init(&s->mutex, &mutex);
    pthread_cond_init(&s->cond, &cond);
    pid = spawn(child);
    play(0);
    reap(pid);
    SHOW(s->count);
    return 0;
}

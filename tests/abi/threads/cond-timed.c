/* pthread_cond_timedwait ends at its time on either clock. */
#include "abi.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void try(clockid_t clock)
{
    pthread_condattr_t attributes;
    pthread_cond_t cond;
    struct timespec time;
    int64_t end;
    pthread_condattr_init(&attributes);
    CODE(pthread_condattr_setclock(&attributes, clock));
    pthread_cond_init(&cond, &attributes);
    end = now(clock) + 30000000;
    time.tv_sec = end / 1000000000;
    time.tv_nsec = end % 1000000000;
    pthread_mutex_lock(&mutex);
    CODE(pthread_cond_timedwait(&cond, &mutex, &time));
    SHOW(now(clock) >= end);
    time.tv_nsec = 1000000000;
    CODE(pthread_cond_timedwait(&cond, &mutex, &time));
    pthread_mutex_unlock(&mutex);
}
int main(void)
{
    try(CLOCK_REALTIME);
    try(CLOCK_MONOTONIC);
    return 0;
}

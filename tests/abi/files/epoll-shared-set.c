/* Several threads wait for one set: an event wakes one of them, with EPOLLET and with EPOLLONESHOT. */
#include "abi.h"

#define WAITERS 4
static int source, set;
static atomic_int woken;
static atomic_int tids[WAITERS];

static void *waits(void *argument)
{
    struct epoll_event event;
    int i = (int)(long)argument;

    go(i);
    atomic_store(&tids[i], gettid());
    while (epoll_wait(set, &event, 1, -1) < 0) {
    }
    atomic_fetch_add(&woken, 1);
    return NULL;
}
static void round_of(const char *what, uint32_t flags)
{
    struct epoll_event event = {.events = EPOLLIN | flags};
    pthread_t threads[WAITERS];
    uint64_t one = 1;

    MUST(source = eventfd(0, 0));
    MUST(set = epoll_create1(0));
    MUST(epoll_ctl(set, EPOLL_CTL_ADD, source, &event));
    atomic_store(&woken, 0);
    for (int i = 0; i < WAITERS; i++)
        atomic_store(&tids[i], 0);
    for (long i = 0; i < WAITERS; i++)
        threads[i] = start(waits, (void *)i);
    for (int i = 0; i < WAITERS; i++) {
        while (atomic_load(&tids[i]) == 0)
            sched_yield();
        for (int j = 0; j < 4; j++) {
            sleep_ms(10);
            until_asleep(getpid(), atomic_load(&tids[i]));
        }
    }
    for (int i = 0; i < WAITERS; i++) {
        int before = atomic_load(&woken);

        if (flags & EPOLLONESHOT && i > 0)
            MUST(epoll_ctl(set, EPOLL_CTL_MOD, source, &event));
        else
            MUST(write(source, &one, sizeof(one)));
        while (atomic_load(&woken) == before)
            sched_yield();
        sleep_ms(100);
        printf("%s: %d woke\n", what, atomic_load(&woken) - before);
    }
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    close(set);
    close(source);
}
int main(void)
{
    round_of("edges", EPOLLET);
    round_of("one shot", EPOLLONESHOT);
    return 0;
}

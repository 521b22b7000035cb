/* EPOLLEXCLUSIVE: one of those who wait wakes. */
#include "abi.h"

#define EXCLUSIVE (1u << 28)
#define WAITERS 4
static int source;
static atomic_int woken;
static pid_t tids[WAITERS];

static void *waits(void *argument)
{
    struct epoll_event event = {.events = EPOLLIN | (argument != NULL ? EXCLUSIVE : 0)};
    int set = (int)MUST(epoll_create1(0));
    static atomic_int next;
    int i = atomic_fetch_add(&next, 1) % WAITERS;

    MUST(epoll_ctl(set, EPOLL_CTL_ADD, source, &event));
    __atomic_store_n(&tids[i], gettid(), __ATOMIC_RELEASE);
    while (epoll_wait(set, &event, 1, -1) < 0) {
    }
    atomic_fetch_add(&woken, 1);
    close(set);
    return NULL;
}
static void round_of(void *exclusive, int rounds)
{
    pthread_t threads[WAITERS];
    uint64_t one = 1;

    atomic_store(&woken, 0);
    memset(tids, 0, sizeof(tids));
    for (int i = 0; i < WAITERS; i++)
        threads[i] = start(waits, exclusive);
    for (int i = 0; i < WAITERS; i++) {
        while (__atomic_load_n(&tids[i], __ATOMIC_ACQUIRE) == 0)
            sched_yield();
    }
    for (int i = 0; i < WAITERS; i++) {
        for (int j = 0; j < 4; j++) {
            sleep_ms(10);
            until_asleep(getpid(), tids[i]);
        }
    }
    for (int i = 0; i < rounds; i++) {
        int before = atomic_load(&woken);

        MUST(write(source, &one, sizeof(one)));
        while (atomic_load(&woken) == before)
            sched_yield();
        sleep_ms(200);
        printf("%d woke\n", atomic_load(&woken) - before);
    }
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    MUST(read(source, &one, sizeof(one)));
}
static int shown(void)
{
    struct epoll_event event = {.events = EPOLLIN | EXCLUSIVE};
    int set = (int)MUST(epoll_create1(0)), nested = (int)MUST(epoll_create1(0));

    source = (int)MUST(eventfd(0, 0));
    round_of(NULL, 1);
    round_of(&source, WAITERS);
    event.events = EPOLLIN | EXCLUSIVE | EPOLLONESHOT;
    CALL(epoll_ctl(set, EPOLL_CTL_ADD, source, &event));
    event.events = EPOLLIN | EXCLUSIVE;
    CALL(epoll_ctl(set, EPOLL_CTL_ADD, nested, &event));
    event.events = EPOLLIN | EXCLUSIVE | EPOLLET;
    CALL(epoll_ctl(set, EPOLL_CTL_ADD, source, &event));
    event.events = EPOLLIN;
    CALL(epoll_ctl(set, EPOLL_CTL_MOD, source, &event));
    event.events = EPOLLIN | EXCLUSIVE;
    CALL(epoll_ctl(set, EPOLL_CTL_MOD, source, &event));
    CALL(epoll_ctl(set, EPOLL_CTL_DEL, source, NULL));
    return 0;
}

/* Sets, file and waiters belong to one CPU; epoll-exclusive-cpus has those of several. */
int main(void)
{
    reap(spawn_here(shown));
    return 0;
}

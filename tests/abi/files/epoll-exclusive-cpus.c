/* EPOLLEXCLUSIVE wakes one of the threads, or of the processes, that wait on different CPUs. */
#include "abi.h"

#define EXCLUSIVE (1u << 28)
#define WAITERS 4

struct shared {
    atomic_int woken;
    atomic_int pids[WAITERS], tids[WAITERS];
};
static struct shared *shared;
static int source, number;
static uint32_t flags;

/* Waits with a set of its own until there is an event, which stays. */
static void wait_for_it(int i)
{
    struct epoll_event event = {.events = EPOLLIN | EXCLUSIVE | flags};
    int set = (int)MUST(epoll_create1(0));

    MUST(epoll_ctl(set, EPOLL_CTL_ADD, source, &event));
    atomic_store(&shared->pids[i], getpid());
    atomic_store(&shared->tids[i], gettid());
    while (epoll_wait(set, &event, 1, -1) < 0) {
    }
    atomic_fetch_add(&shared->woken, 1);
    close(set);
}
static void *thread(void *argument)
{
    go((int)(long)argument);
    wait_for_it((int)(long)argument);
    return NULL;
}
static int child(void)
{
    wait_for_it(number);
    return 0;
}
static void until_all_wait(void)
{
    for (int i = 0; i < WAITERS; i++) {
        while (atomic_load(&shared->tids[i]) == 0)
            sched_yield();
    }
    for (int i = 0; i < WAITERS; i++) {
        for (int j = 0; j < 4; j++) {
            sleep_ms(25);
            until_asleep(atomic_load(&shared->pids[i]), atomic_load(&shared->tids[i]));
        }
    }
}
static void tell_events(void)
{
    uint64_t one = 1;

    until_all_wait();
    for (int i = 0; i < WAITERS; i++) {
        int before = atomic_load(&shared->woken);

        MUST(write(source, &one, sizeof(one)));
        while (atomic_load(&shared->woken) == before)
            sched_yield();
        sleep_ms(200);
        printf("%d woke\n", atomic_load(&shared->woken) - before);
    }
    MUST(read(source, &one, sizeof(one)));
    memset(shared, 0, sizeof(*shared));
}
static void of_threads(void)
{
    pthread_t threads[WAITERS];

    for (long i = 0; i < WAITERS; i++)
        threads[i] = start(thread, (void *)i);
    tell_events();
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
}
static void of_processes(void)
{
    pid_t children[WAITERS];

    for (number = 0; number < WAITERS; number++) {
        go(number);
        children[number] = spawn(child);
    }
    tell_events();
    for (int i = 0; i < WAITERS; i++)
        reap(children[i]);
}
/* One that was to wake has ended: the event is another's. */
static void of_the_others(void)
{
    pid_t children[WAITERS];
    uint64_t one = 1;

    for (number = 0; number < WAITERS; number++) {
        go(number);
        children[number] = spawn(child);
    }
    until_all_wait();
    for (int i = 0; i < WAITERS - 1; i++) {
        MUST(kill(children[i], SIGKILL));
        reap(children[i]);
    }
    MUST(write(source, &one, sizeof(one)));
    reap(children[WAITERS - 1]);
    SHOW(shared->woken);
}
int main(void)
{
    shared = (struct shared *)(void *)MAP(sizeof(*shared), MAP_SHARED);
    source = (int)MUST(eventfd(0, 0));
    of_threads();
    of_processes();
    flags = EPOLLET;
    of_threads();
    of_processes();
    of_the_others();
    return 0;
}

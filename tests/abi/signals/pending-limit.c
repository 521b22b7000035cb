/* RLIMIT_SIGPENDING bounds what a user may have queued: root, too. */
#include "abi.h"

static int queue_many(void)
{
    union sigval value = {.sival_int = 7};
    struct rlimit limit = {3, 3};
    sigset_t set = set_of(SIGRTMIN);
    struct timespec none = {0, 0};
    siginfo_t info;

    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN + 1);
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    MUST(setrlimit(RLIMIT_SIGPENDING, &limit));
    for (int i = 0; i < 5; i++)
        CALL(sigqueue(getpid(), SIGRTMIN, value));
    CALL(kill(getpid(), SIGUSR1));
    CALL(kill(getpid(), SIGRTMIN + 1));
    for (int i = 0; i < 5; i++) {
        int number = sigtimedwait(&set, &info, &none);

        if (number < 0)
            printf("none left: %s\n", errno_name(errno));
        else
            printf("%s code %d value %d\n", number == SIGUSR1 ? "USR1" : (number == SIGRTMIN ? "RTMIN" : "RTMIN + 1"),
                   info.si_code, info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
    }
    CALL(sigqueue(getpid(), SIGRTMIN, value));
    return 0;
}
static int as_user(void)
{
    MUST(setuid(1234));
    return queue_many();
}
static int none_at_all(void)
{
    union sigval value = {.sival_int = 7};
    struct rlimit limit = {0, 0};
    sigset_t set = set_of(SIGRTMIN);

    sigaddset(&set, SIGUSR2);
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    MUST(setuid(1235));
    MUST(setrlimit(RLIMIT_SIGPENDING, &limit));
    CALL(sigqueue(getpid(), SIGRTMIN, value));
    CALL(sigqueue(getpid(), SIGUSR2, value));
    CALL(kill(getpid(), SIGRTMIN));
    SHOW(sigtimedwait(&set, NULL, &(struct timespec){0, 0}) == SIGUSR2);
    return 0;
}
int main(void)
{
    reap(spawn(as_user));
    reap(spawn(none_at_all));
    MUST(setuid(0));
    reap(spawn(queue_many));
    return 0;
}

/* What a call reads and writes back (lengths, offsets, times, sets) in memory that may only be read, or is bad. */
#include "abi.h"

static char *read_only, *none;

/* BYTES of FROM in memory that may only be read. */
static void *fixed(const void *from, size_t bytes)
{
    MUST(mprotect(read_only, PAGE, PROT_READ | PROT_WRITE));
    memcpy(read_only, from, bytes);
    MUST(mprotect(read_only, PAGE, PROT_READ));
    return read_only;
}
static void sockets(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "s"}, from;
    struct iovec part = {&from, sizeof(from)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr many = {.msg_hdr = message};
    int pair[2], named = (int)MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)), value;
    struct timespec time = {1, 0};
    socklen_t length = sizeof(from);

    MUST(bind(named, (struct sockaddr *)&at, sizeof(at)));
    MUST(listen(named, 4));
    MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    CALL(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, &value, fixed(&length, 4)));
    CALL(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, &value, (void *)none));
    CALL(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, none, &length));
    CALL(getsockname(named, (void *)&from, fixed(&length, 4)));
    CALL(getsockname(named, (void *)&from, (void *)none));
    length = sizeof(from);
    CALL(getsockname(named, (void *)none, &length));
    CALL(getpeername(pair[0], (void *)&from, fixed(&length, 4)));
    for (int i = 0; i < 6; i++)
        MUST(send(pair[1], "text", 4, 0));
    CALL(recvfrom(pair[0], &from, 4, 0, (void *)&from, fixed(&length, 4)));
    CALL(recvfrom(pair[0], &from, 4, 0, (void *)&from, (void *)none));
    CALL(syscall(SYS_recvmsg, pair[0], fixed(&message, sizeof(message)), 0));
    CALL(syscall(SYS_recvmsg, pair[0], none, 0));
    CALL(syscall(SYS_recvmmsg, pair[0], &many, 1, MSG_DONTWAIT, fixed(&time, sizeof(time))));
    CALL(syscall(SYS_recvmmsg, pair[0], &many, 1, MSG_DONTWAIT, none));
    CALL(syscall(SYS_recvmmsg, pair[0], fixed(&many, sizeof(many)), 1, MSG_DONTWAIT, NULL));
    CALL(syscall(SYS_sendmmsg, pair[1], fixed(&many, sizeof(many)), 1, MSG_DONTWAIT));
    CALL(accept(named, (void *)&from, (void *)none));
}
static void times_and_sets(void)
{
    struct timeval brief = {0, 1000};
    struct timespec time = {0, 1000000};
    struct pollfd source = {.fd = (int)MUST(eventfd(1, 0)), .events = POLLIN};
    struct itimerval timer = {{0, 0}, {100, 0}};
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = (int)MUST(epoll_create1(0));
    fd_set set;

    FD_ZERO(&set);
    CALL(syscall(SYS_select, 0, NULL, NULL, NULL, fixed(&brief, sizeof(brief))));
    CALL(syscall(SYS_select, 0, NULL, NULL, NULL, none));
    FD_SET(source.fd, &set);
    CALL(syscall(SYS_select, source.fd + 1, fixed(&set, 128), NULL, NULL, NULL));
    CALL(syscall(SYS_select, source.fd + 1, none, NULL, NULL, NULL));
    CALL(syscall(SYS_pselect6, 0, NULL, NULL, NULL, fixed(&time, sizeof(time)), NULL));
    CALL(syscall(SYS_pselect6, 0, NULL, NULL, NULL, NULL, none));
    CALL(syscall(SYS_ppoll, &source, 0, fixed(&time, sizeof(time)), NULL, 8));
    CALL(syscall(SYS_ppoll, &source, 0, none, NULL, 8));
    CALL(syscall(SYS_ppoll, &source, 0, NULL, none, 8));
    CALL(syscall(SYS_poll, fixed(&source, sizeof(source)), 1, 0));
    CALL(syscall(SYS_poll, none, 1, 0));
    CALL(syscall(SYS_poll, none, 0, 0));
    MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, source.fd, &event));
    CALL(syscall(SYS_epoll_wait, epoll, read_only, 1, 0));
    CALL(syscall(SYS_epoll_wait, epoll, &event, 1, 0));
    CALL(syscall(SYS_setitimer, ITIMER_REAL, &timer, read_only));
    CALL(syscall(SYS_getitimer, ITIMER_REAL, read_only));
    CALL(syscall(SYS_setitimer, ITIMER_REAL, none, NULL));
    timer.it_value.tv_sec = 0;
    CALL(syscall(SYS_setitimer, ITIMER_REAL, &timer, NULL));
    CALL(syscall(SYS_nanosleep, fixed(&time, sizeof(time)), read_only));
    CALL(syscall(SYS_nanosleep, none, NULL));
    CALL(syscall(SYS_clock_gettime, 20, none));
    CALL(syscall(SYS_clock_getres, CLOCK_MONOTONIC, read_only));
    CALL(syscall(SYS_times, read_only));
}
static int child(void)
{
    return 5;
}
static void processes(void)
{
    struct rlimit limit;
    pid_t pid = spawn(child);
    int status;

    MUST(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT));
    CALL(syscall(SYS_wait4, pid, read_only, 0, NULL) == pid ? 1 : -1);
    CALL(syscall(SYS_wait4, pid, &status, 0, NULL));
    pid = spawn(child);
    MUST(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT));
    CALL(syscall(SYS_waitid, P_PID, pid, read_only, WEXITED, NULL));
    CALL(syscall(SYS_waitid, P_PID, pid, NULL, WEXITED, NULL));
    MUST(getrlimit(RLIMIT_CORE, &limit));
    CALL(syscall(SYS_prlimit64, 0, RLIMIT_CORE, &limit, read_only));
    CALL(syscall(SYS_prlimit64, 0, RLIMIT_CORE, none, NULL));
    CALL(syscall(SYS_sched_getaffinity, 0, 128, read_only));
    CALL(syscall(SYS_sched_setaffinity, 0, 128, none));
    CALL(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, read_only, 8));
    CALL(syscall(SYS_rt_sigprocmask, SIG_BLOCK, none, NULL, 8));
    CALL(syscall(SYS_rt_sigaction, SIGUSR1, NULL, read_only, 8));
    CALL(syscall(SYS_rt_sigaction, SIGUSR1, none, NULL, 8));
    CALL(syscall(SYS_sigaltstack, NULL, read_only));
    CALL(syscall(SYS_sigaltstack, none, NULL));
    CALL(syscall(SYS_pipe2, read_only, 0));
    CALL(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, read_only));
    CALL(open("/dev/null", O_RDONLY) < 20 ? 0 : -1);
    CALL(syscall(SYS_getresuid, read_only, &status, &status));
    CALL(syscall(SYS_getgroups, 0, read_only));
    CALL(syscall(SYS_uname, read_only));
    CALL(syscall(SYS_sysinfo, read_only));
    CALL(syscall(SYS_getrusage, RUSAGE_SELF, read_only));
    CALL(syscall(SYS_getcpu, read_only, NULL, NULL));
    CALL(syscall(SYS_getrandom, read_only, 8, 0));
    CALL(syscall(SYS_getcwd, read_only, 100));
    CALL(syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", read_only, 10));
    CALL(syscall(SYS_newfstatat, AT_FDCWD, ".", read_only, 0));
    CALL(syscall(SYS_statfs, ".", read_only));
    CALL(syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, read_only));
    CALL(ioctl((int)MUST(eventfd(0, 0)), FIONBIO, none));
}
int main(void)
{
    read_only = MAP(PAGE, MAP_PRIVATE);
    none = MAP(PAGE, MAP_PRIVATE);
    MUST(mprotect(none, PAGE, PROT_NONE));
    MUST(mprotect(read_only, PAGE, PROT_READ));
    sockets();
    times_and_sets();
    processes();
    return 0;
}

/* A descriptor of O_PATH in the calls of sockets, queues, processes and vectors; what may be done with it by name. */
#include "abi.h"

int main(void)
{
    struct iovec part = {(char[8]){0}, 8};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct itimerspec time = {{0, 0}, {0, 0}};
    struct timespec times[2] = {{1, 0}, {2, 0}};
    struct epoll_event event = {.events = EPOLLIN};
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "s"};
    struct stat facts;
    struct signalfd_siginfo told;
    sigset_t set = set_of(SIGUSR1);
    int fd, folder, sock, pair[2], value = 0;
    siginfo_t info;
    char text[64];

    put_file("a", "text");
    MUST(mkdir("d", 0755));
    MUST(bind((int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)), (struct sockaddr *)&at, sizeof(at)));
    fd = (int)MUST(open("a", O_PATH));
    folder = (int)MUST(open("d", O_PATH));
    sock = (int)MUST(open("s", O_PATH));
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    CALL(readv(fd, &part, 1));
    CALL(writev(fd, &part, 1));
    CALL(preadv(fd, &part, 1, 0));
    CALL(pwritev(fd, &part, 1, 0));
    CALL(syscall(SYS_preadv2, fd, &part, 1, 0, 0, 0));
    CALL(read(folder, text, 1));
    CALL(read(sock, text, 1));
    CALL(connect(sock, (struct sockaddr *)&at, sizeof(at)));
    CALL(listen(sock, 1));
    CALL(accept(sock, NULL, NULL));
    CALL(send(sock, "x", 1, 0));
    CALL(recv(sock, text, 1, 0));
    CALL(sendmsg(sock, &message, 0));
    CALL(recvmsg(sock, &message, 0));
    CALL(shutdown(sock, SHUT_RD));
    CALL(getsockopt(sock, SOL_SOCKET, SO_TYPE, &value, &(socklen_t){4}));
    CALL(setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &value, 4));
    CALL(getpeername(sock, (struct sockaddr *)&at, &(socklen_t){4}));
    CALL(fcntl(fd, F_DUPFD, 50));
    CALL(fcntl(50, F_GETFL) == O_PATH ? 0 : -1);
    CALL(fcntl(fd, F_SETOWN_EX, &(struct f_owner_ex){F_OWNER_PID, getpid()}));
    CALL(fcntl(fd, F_GETOWN_EX, &(struct f_owner_ex){0}));
    CALL(fcntl(fd, F_SETSIG, SIGIO));
    CALL(fcntl(fd, F_GETSIG));
    CALL(fcntl(fd, F_SETLEASE, F_RDLCK));
    CALL(fcntl(fd, F_ADD_SEALS, 1));
    CALL(fcntl(fd, F_SETPIPE_SZ, 4096));
    CALL(fcntl(fd, F_NOTIFY, 0));
    CALL(fcntl(fd, 36, &(struct flock){.l_type = F_RDLCK})); /* F_OFD_GETLK */
    CALL(fcntl(fd, 37, &(struct flock){.l_type = F_RDLCK})); /* F_OFD_SETLK */
    CALL(fcntl(fd, F_SETLKW, &(struct flock){.l_type = F_RDLCK}));
    CALL(fcntl(fd, 9999));
    CALL(flock(folder, LOCK_SH));
    CALL(fsync(folder));
    CALL(fchmod(folder, 0700));
    CALL(syscall(SYS_timerfd_settime, fd, 0, &time, NULL));
    CALL(signalfd(fd, &set, 0));
    CALL(read(fd, &told, sizeof(told)));
    CALL(epoll_ctl(fd, EPOLL_CTL_ADD, pair[0], &event));
    CALL(inotify_rm_watch(fd, 1));
    CALL(syscall(SYS_mq_timedsend, fd, "x", 1, 0, NULL));
    CALL(syscall(SYS_mq_timedreceive, fd, text, 8, NULL, NULL));
    CALL(syscall(SYS_mq_notify, fd, NULL));
    CALL(waitid((idtype_t)3, (id_t)fd, &info, WEXITED)); /* P_PIDFD */
    CALL(syscall(438, fd, 0, 0));
    CALL(syscall(SYS_execveat, fd, "", (char *[]){"a", NULL}, NULL, AT_EMPTY_PATH));
    CALL(fstatat(fd, "", &facts, AT_EMPTY_PATH));
    CALL(fchownat(fd, "", 0, 0, AT_EMPTY_PATH));
    CALL(syscall(SYS_utimensat, fd, "", times, AT_EMPTY_PATH));
    CALL(syscall(SYS_utimensat, fd, NULL, times, 0));
    CALL(syscall(439, fd, "", R_OK, AT_EMPTY_PATH));
    CALL(linkat(fd, "", AT_FDCWD, "b", AT_EMPTY_PATH));
    MUST(stat("a", &facts));
    SHOW(facts.st_nlink);
    CALL(openat(folder, "new", O_CREAT | O_WRONLY, 0600) < 0 ? -1 : 0);
    CALL(unlinkat(folder, "new", 0));
    CALL(mkdirat(folder, "e", 0700));
    CALL(openat(folder, "", O_RDONLY));
    CALL(open("a", O_PATH | O_CREAT | O_EXCL, 0600) < 0 ? -1 : 0);
    CALL(open("none", O_PATH | O_CREAT, 0600));
    CALL(open("a", O_PATH | O_DIRECTORY));
    CALL(open("a", O_PATH | O_RDWR | O_TRUNC) < 0 ? -1 : 0);
    tell_file("a");
    {
        char control[CMSG_SPACE(sizeof(int))] = "";
        struct cmsghdr *header = (struct cmsghdr *)(void *)control;

        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof(fd));
        CALL(sendmsg(pair[0], &message, 0));
        CALL(recvmsg(pair[1], &message, 0));
        memcpy(&value, CMSG_DATA(header), sizeof(value));
        CALL(read(value, text, 1));
        CALL(fstat(value, &facts));
        SHOW(facts.st_size);
    }
    return 0;
}

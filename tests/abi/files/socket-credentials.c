/* As whom a process may send a message, and what the receiver is told (SCM_CREDENTIALS, SO_PASSCRED). */
#include "abi.h"

static int ends[2];

static long say_as(pid_t pid, uid_t uid, gid_t gid)
{
    char room[CMSG_SPACE(sizeof(struct ucred))] = "", byte = 'x';
    struct ucred said = {pid, uid, gid};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);

    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_CREDENTIALS;
    control->cmsg_len = CMSG_LEN(sizeof(said));
    memcpy(CMSG_DATA(control), &said, sizeof(said));
    return sendmsg(ends[0], &message, 0);
}

static void hear(void)
{
    char room[CMSG_SPACE(sizeof(struct ucred))] = "", bytes[64];
    struct ucred said = {0, 0, 0};
    struct iovec data = {bytes, sizeof(bytes)};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *control;

    if (CALL(recvmsg(ends[1], &message, MSG_DONTWAIT)) < 0)
        return;
    control = CMSG_FIRSTHDR(&message);
    if (control == NULL) {
        puts("nobody");
        return;
    }
    memcpy(&said, CMSG_DATA(control), sizeof(said));
    printf("%s, user %d, group %d\n",
           said.pid == getpid()    ? "myself"
           : said.pid == getppid() ? "my parent"
                                   : "another",
           (int)said.uid, (int)said.gid);
}

static void say_all(void)
{
    pid_t child = fork();

    MUST(child);
    if (child == 0)
        _exit(0);
    CALL(say_as(getpid(), getuid(), getgid()));
    CALL(say_as(getpid(), 1, 2));
    CALL(say_as(getpid(), 10, 20));
    CALL(say_as(getpid(), 30, 40));
    CALL(say_as(getpid(), 50, 60));
    CALL(say_as(getpid(), 10, 4));
    CALL(say_as(getppid(), getuid(), getgid()));
    CALL(say_as(child, getuid(), getgid()));
    MUST(waitpid(child, NULL, 0));
    CALL(say_as(child, getuid(), getgid()));
    CALL(say_as(0, getuid(), getgid()));
    CALL(say_as(-5, getuid(), getgid()));
    CALL(say_as(0x7fffffff, getuid(), getgid()));
    CALL(say_as(getpid(), -1, getgid()));
    CALL(say_as(getpid(), getuid(), -1));
    for (int i = 0; i < 10; i++)
        hear();
}

static int of_user(void)
{
    MUST(setresgid(20, 40, 60));
    MUST(setresuid(10, 30, 50));
    say_all();
    return 0;
}

static void lengths(void)
{
    char room[CMSG_SPACE(64)] = "", byte = 'x';
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);

    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_CREDENTIALS;
    control->cmsg_len = CMSG_LEN(8);
    CALL(sendmsg(ends[0], &message, 0));
    control->cmsg_len = CMSG_LEN(16);
    CALL(sendmsg(ends[0], &message, 0));
}

int main(void)
{
    int one = 1, zero = 0;

    for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
        printf("type %d\n", type);
        MUST(socketpair(AF_UNIX, type, 0, ends));
        MUST(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)));
        say_all();
        reap(spawn(of_user));
        lengths();
        MUST(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &zero, sizeof(zero)));
        CALL(say_as(getpid(), 7, 8));
        hear();
        close(ends[0]);
        close(ends[1]);
    }
    return 0;
}

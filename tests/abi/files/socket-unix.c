/* A stream socket with a name: bind, listen, connect, accept. */
#include "abi.h"

static int child(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    char text[16] = "";
    int fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
    MUST(connect(fd, (struct sockaddr *)&address, sizeof(address)));
    MUST(write(fd, "hello", 5));
    MUST(read(fd, text, 15));
    TEXT(text);
    return 0;
}
int main(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    char text[16] = "";
    struct stat facts;
    int fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)), got, other;
    pid_t pid;
    CALL(connect(fd, (struct sockaddr *)&address, sizeof(address)));
    CALL(bind(fd, (struct sockaddr *)&address, sizeof(address)));
    MUST(stat("socket", &facts));
    SHOW(S_ISSOCK(facts.st_mode));
    other = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
    CALL(connect(other, (struct sockaddr *)&address, sizeof(address)));
    CALL(bind(other, (struct sockaddr *)&address, sizeof(address)));
    CALL(listen(fd, 5));
    pid = spawn(child);
    got = (int)MUST(accept4(fd, NULL, NULL, SOCK_CLOEXEC));
    CALL(read(got, text, 15));
    TEXT(text);
    MUST(write(got, "welcome", 7));
    reap(pid);
    CALL(read(got, text, 15));
    CALL(open("socket", O_RDONLY));
    return 0;
}

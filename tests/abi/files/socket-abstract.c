/* A socket with an abstract name; names, credentials and options of sockets. */
#include "abi.h"

int main(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX}, got;
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + 9, room = sizeof(got);
    struct ucred who;
    int fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)),
        other = (int)MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)), type;
    memcpy(address.sun_path, "\0abstract", 9);
    CALL(bind(fd, (struct sockaddr *)&address, size));
    CALL(listen(fd, 1));
    CALL(connect(other, (struct sockaddr *)&address, size));
    CALL(getpeername(other, (struct sockaddr *)&got, &room));
    SHOW(room);
    SHOW(memcmp(got.sun_path, "\0abstract", 9));
    room = sizeof(who);
    CALL(getsockopt(other, SOL_SOCKET, SO_PEERCRED, &who, &room));
    SHOW(who.pid == getpid());
    room = sizeof(type);
    CALL(getsockopt(other, SOL_SOCKET, SO_TYPE, &type, &room));
    SHOW(type == SOCK_STREAM);
    return 0;
}

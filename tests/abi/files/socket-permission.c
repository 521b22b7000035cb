/* Who may not write to the file of a socket may neither connect nor send to it. */
#include "abi.h"

static struct sockaddr_un at = {.sun_family = AF_UNIX};

static int as_user(void)
{
    int stream = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
    int datagram = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0));

    MUST(setuid(1234));
    strcpy(at.sun_path, "s");
    CALL(connect(stream, (struct sockaddr *)&at, sizeof(at)));
    strcpy(at.sun_path, "d");
    CALL(sendto(datagram, "x", 1, 0, (struct sockaddr *)&at, sizeof(at)));
    CALL(connect(datagram, (struct sockaddr *)&at, sizeof(at)));
    strcpy(at.sun_path, "locked/s");
    CALL(connect(stream, (struct sockaddr *)&at, sizeof(at)));
    strcpy(at.sun_path, "file");
    CALL(connect(stream, (struct sockaddr *)&at, sizeof(at)));
    return 0;
}
static int as_user_bind(void)
{
    int stream = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));

    MUST(setuid(1234));
    strcpy(at.sun_path, "read-only/new");
    CALL(bind(stream, (struct sockaddr *)&at, sizeof(at)));
    strcpy(at.sun_path, "s");
    CALL(bind(stream, (struct sockaddr *)&at, sizeof(at)));
    return 0;
}
int main(void)
{
    int stream = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
    int datagram = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0));

    MUST(chmod(".", 0755));
    put_file("file", "text");
    MUST(mkdir("locked", 0700));
    MUST(mkdir("read-only", 0755));
    strcpy(at.sun_path, "s");
    MUST(bind(stream, (struct sockaddr *)&at, sizeof(at)));
    MUST(listen(stream, 8));
    strcpy(at.sun_path, "d");
    MUST(bind(datagram, (struct sockaddr *)&at, sizeof(at)));
    strcpy(at.sun_path, "locked/s");
    MUST(bind((int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)), (struct sockaddr *)&at, sizeof(at)));
    MUST(chmod("s", 0755));
    MUST(chmod("d", 0755));
    reap(spawn(as_user));
    MUST(chmod("s", 0602));
    MUST(chmod("d", 0602));
    reap(spawn(as_user));
    MUST(chmod("s", 0));
    strcpy(at.sun_path, "s");
    CALL(connect((int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)), (struct sockaddr *)&at, sizeof(at)));
    reap(spawn(as_user_bind));
    return 0;
}

/* inotify tells what happens in a folder. */
#include "abi.h"

int main(void)
{
    char bytes[4096];
    int fd = (int)MUST(inotify_init1(IN_NONBLOCK));
    ssize_t count;
    CALL(inotify_add_watch(fd, ".", IN_CREATE | IN_DELETE | IN_CLOSE_WRITE | IN_MOVE));
    put_file("a", "x");
    MUST(rename("a", "b"));
    MUST(unlink("b"));
    count = read(fd, bytes, sizeof(bytes));
    for (char *at = bytes; at < bytes + count;) {
        struct inotify_event *event = (struct inotify_event *)at;
        printf("%x %s\n", event->mask, event->len > 0 ? event->name : "");
        at += sizeof(*event) + event->len;
    }
    CALL(read(fd, bytes, sizeof(bytes)));
    CALL(inotify_add_watch(fd, "none", IN_CREATE));
    return 0;
}

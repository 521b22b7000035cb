/* A named pipe connects those who open it, one waiting for the other. */
#include "abi.h"

static int child(void)
{
    int fd = (int)MUST(open("fifo", O_WRONLY));
    MUST(write(fd, "through the fifo", 16));
    return 0;
}
int main(void)
{
    char text[32] = "";
    struct stat facts;
    pid_t pid;
    int fd;
    CALL(mkfifo("fifo", 0644));
    CALL(mkfifo("fifo", 0644));
    MUST(stat("fifo", &facts));
    printf("%o\n", facts.st_mode);
    CALL(open("fifo", O_WRONLY | O_NONBLOCK));
    pid = spawn(child);
    fd = (int)MUST(open("fifo", O_RDONLY));
    CALL(read(fd, text, 31));
    TEXT(text);
    reap(pid);
    CALL(read(fd, text, 31));
    close(fd);
    fd = (int)CALL(open("fifo", O_RDONLY | O_NONBLOCK));
    CALL(read(fd, text, 31));
    return 0;
}

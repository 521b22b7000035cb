/* F_SETLKW waits; a circle of waits is EDEADLK. */
#include "abi.h"

static int fd, to_child[2], to_parent[2];
static int set(int command, short type, off_t from)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = 1};
    return fcntl(fd, command, &lock);
}
static int child(void)
{
    char byte;
    MUST(set(F_SETLK, F_WRLCK, 1));
    MUST(write(to_parent[1], "", 1));
    int result = set(F_SETLKW, F_WRLCK, 0);
    printf("child has it: %d\n", result);
    MUST(read(to_child[0], &byte, 1));
    return 0;
}
int main(void)
{
    char byte;
    pid_t pid;
    MUST(pipe(to_child));
    MUST(pipe(to_parent));
    fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    MUST(set(F_SETLK, F_WRLCK, 0));
    pid = spawn(child);
    MUST(read(to_parent[0], &byte, 1));
    sleep_ms(50);
    CALL(set(F_SETLKW, F_WRLCK, 1));
    MUST(set(F_SETLK, F_UNLCK, 0));
    MUST(write(to_child[1], "", 1));
    reap(pid);
    return 0;
}

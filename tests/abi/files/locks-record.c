/* Locks of fcntl are of ranges and processes, and told. */
#include "abi.h"

static int fd;
static void set(short type, off_t from, off_t length)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = length};
    printf("%s %ld+%ld: ", type == F_RDLCK ? "read" : type == F_WRLCK ? "write" : "unlock", (long)from, (long)length);
    CALL(fcntl(fd, F_SETLK, &lock));
}
static int child(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
    set(F_RDLCK, 0, 10);
    set(F_WRLCK, 0, 10);
    set(F_RDLCK, 10, 10);
    set(F_WRLCK, 25, 10);
    MUST(fcntl(fd, F_GETLK, &lock));
    printf("type %d from %ld length %ld, parent's %d\n", lock.l_type, (long)lock.l_start, (long)lock.l_len,
           lock.l_pid == getppid());
    return 0;
}
int main(void)
{
    fd = (int)MUST(open("a", O_RDWR | O_CREAT, 0600));
    set(F_RDLCK, 0, 10);
    set(F_WRLCK, 10, 10);
    reap(spawn(child));
    set(F_UNLCK, 5, 10);
    reap(spawn(child));
    close((int)MUST(open("a", O_RDONLY)));
    reap(spawn(child));
    return 0;
}

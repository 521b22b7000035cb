/* mmap is a read of the file for its atime; reads and private writes through the mapping change no time. */
#include "abi.h"

static struct stat before, after;

static void mark(const char *name)
{
    struct timespec times[2] = {{1000, 0}, {2000, 0}};

    MUST(utimensat(AT_FDCWD, name, times, 0));
    MUST(stat(name, &before));
}
static void tell(const char *what, const char *name)
{
    MUST(stat(name, &after));
    printf("%s: atime %s, mtime %s, ctime %s\n", what, after.st_atim.tv_sec == before.st_atim.tv_sec ? "kept" : "new",
           after.st_mtim.tv_sec == before.st_mtim.tv_sec ? "kept" : "new",
           after.st_ctim.tv_sec == before.st_ctim.tv_sec && after.st_ctim.tv_nsec == before.st_ctim.tv_nsec ? "kept"
                                                                                                            : "new");
}
int main(void)
{
    volatile char *at;
    int fd;

    put_file("a", "text");
    fd = (int)MUST(open("a", O_RDWR));
    mark("a");
    at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    tell("mapped", "a");
    mark("a");
    (void)at[0];
    tell("read", "a");
    MUST(munmap((void *)at, PAGE));
    tell("unmapped", "a");
    at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    tell("mapped private", "a");
    mark("a");
    at[0] = 'x';
    tell("written in private", "a");
    at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    tell("mapped for reading", "a");
    return 0;
}
